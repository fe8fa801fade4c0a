//! The dialogue: what was said so far, and what is to be said next. It knows no line, no clock and no storage; a phone
//! call and a chat use the same one.

use std::sync::Arc;

use crate::latencies::Latencies;
use crate::persona::Persona;
use crate::ports::{Message, Models, Purpose, Role};
use crate::reply::{Ask, Reply};

/// Messages of the history that a model is shown; older ones are left out.
const SHOWN_MESSAGES: usize = 200;

/// One conversation between an agent and a customer.
pub struct Dialogue {
    persona: Arc<Persona>,
    models: Arc<dyn Models>,
    latencies: Latencies,
    history: Vec<Message>,
}

impl Dialogue {
    /// A conversation in which nothing was said yet.
    #[must_use]
    pub fn new(persona: Arc<Persona>, models: Arc<dyn Models>, latencies: Latencies) -> Self {
        Self {
            persona,
            models,
            latencies,
            history: Vec::new(),
        }
    }

    /// Who the agent is.
    #[must_use]
    pub fn persona(&self) -> &Persona {
        &self.persona
    }

    /// The customer said this.
    pub fn heard(&mut self, text: &str) {
        self.note(Role::User, text);
    }

    /// The customer heard the agent say this, and no more.
    pub fn said(&mut self, text: &str) {
        self.note(Role::Assistant, text);
    }

    /// Whether the customer spoke last.
    #[must_use]
    pub fn awaits_reply(&self) -> bool {
        self.history
            .last()
            .is_some_and(|last| last.role == Role::User)
    }

    /// Asks the models for the agent's next words.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let from = self.history.len().saturating_sub(SHOWN_MESSAGES);
        let shown = &self.history[from..];
        let mut messages = Vec::with_capacity(shown.len() + 1);
        messages.push(Message::new(Role::System, self.prompt()));
        messages.extend_from_slice(shown);
        let ask = Ask {
            models: Arc::clone(&self.models),
            latencies: self.latencies.clone(),
            messages,
            temperature: self.persona.llm.temperature,
            purpose: Purpose::Reply,
        };
        Reply::new(&self.persona.llm, ask)
    }

    /// All that was said.
    #[must_use]
    pub fn into_transcript(self) -> Vec<Message> {
        self.history
    }

    fn prompt(&self) -> String {
        format!(
            "{}\n\nYou are in a spoken conversation. Answer briefly, in the language `{}`, in plain sentences that can \
             be read aloud: no lists, no markup.",
            self.persona.system_prompt, self.persona.language
        )
    }

    fn note(&mut self, role: Role, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.history.push(Message::new(role, text));
        }
    }
}
