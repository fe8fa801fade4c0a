//! The dialogue: what was said so far, and what is to be said next. It knows no line, no clock and no storage; a phone
//! call and a chat use the same one.

use std::sync::Arc;

use crate::TurnRole;
use crate::latencies::Latencies;
use crate::persona::Persona;
use crate::ports::{Knowledge, Message, Models, Purpose, Role, ToolCall, ToolDefinition};
use crate::reply::{Ask, Reply};
use crate::tool_use;

/// Messages of the history that a model is shown; older ones are left out.
const SHOWN_MESSAGES: usize = 200;

/// How often tools are used to answer one turn of the customer; then the model must answer in words.
const TOOL_STEPS: usize = 3;

/// How a spoken answer is to be.
const SPOKEN: &str = "You are in a spoken conversation. Answer briefly, in the language `{}`, in plain sentences that \
                      can be read aloud: no lists, no markup.";

/// How a written answer is to be.
const WRITTEN: &str = "You are in a written chat. Answer briefly, in the language `{}`, in plain text without markup.";

/// What the models are told of a call that is almost as long as it may be.
const ENDING: &str = "The call ends in a few seconds, and the customer has just been told so. Answer in one short sentence \
                      and say goodbye.";

/// One conversation between an agent and a customer.
pub struct Dialogue {
    persona: Arc<Persona>,
    models: Arc<dyn Models>,
    latencies: Latencies,
    tools: Arc<[ToolDefinition]>,
    knowledge: Option<Arc<dyn Knowledge>>,
    history: Vec<Message>,
    /// In writing; else it is spoken.
    is_written: bool,
    ends_soon: bool,
}

impl Dialogue {
    /// A conversation in which nothing was said yet.
    pub fn new(persona: Arc<Persona>, models: Arc<dyn Models>, latencies: Latencies) -> Self {
        Self {
            persona,
            models,
            latencies,
            tools: Arc::default(),
            knowledge: None,
            history: Vec::new(),
            is_written: false,
            ends_soon: false,
        }
    }

    /// The same conversation in writing: its text comes as the models write it, not in sentences.
    #[must_use]
    pub const fn in_writing(mut self) -> Self {
        self.is_written = true;
        self
    }

    /// The same conversation, behind these turns of its transcript.
    #[must_use]
    pub fn behind(mut self, turns: impl IntoIterator<Item = (TurnRole, String)>) -> Self {
        let mut used: Vec<(ToolCall, String)> = Vec::new();
        for (at, (role, text)) in turns.into_iter().enumerate() {
            if role == TurnRole::Tool {
                used.push(tool_use::recalled(&text, format!("turn_{at}")));
                continue;
            }
            self.recall_tools(&mut used);
            match role {
                TurnRole::User => self.heard(&text),
                TurnRole::Agent | TurnRole::Tool => self.said(&text),
            }
        }
        self.recall_tools(&mut used);
        self
    }

    fn recall_tools(&mut self, used: &mut Vec<(ToolCall, String)>) {
        if !used.is_empty() {
            let (calls, answers): (Vec<_>, Vec<_>) = used.drain(..).unzip();
            self.used_tools("", calls, &answers);
        }
    }

    /// The same conversation, in which the models may use these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<[ToolDefinition]>) -> Self {
        self.tools = tools;
        self
    }

    /// The same conversation, in which what fits the customer's words is looked up before each answer.
    #[must_use]
    pub fn with_knowledge(mut self, knowledge: Option<Arc<dyn Knowledge>>) -> Self {
        self.knowledge = knowledge;
        self
    }

    /// Who the agent is.
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

    /// The agent said this, perhaps nothing, and used tools, which answered.
    pub fn used_tools(&mut self, said: &str, calls: Vec<ToolCall>, answers: &[String]) {
        let messages: Vec<Message> = calls
            .iter()
            .zip(answers)
            .map(|(call, answer)| Message::answering(call, answer.as_str()))
            .collect();
        self.history.push(Message::calling(said.trim(), calls));
        self.history.extend(messages);
    }

    /// The customer has been told that the call ends in a few seconds.
    pub(crate) const fn end_soon(&mut self) {
        self.ends_soon = true;
    }

    /// Whether it is the agent's turn: the customer spoke last, or a tool answered.
    pub fn awaits_reply(&self) -> bool {
        self.history
            .last()
            .is_some_and(|last| matches!(last.role, Role::User | Role::Tool))
    }

    /// Asks the models for the agent's next words.
    pub fn reply(&self) -> Reply {
        let from = self.history.len().saturating_sub(SHOWN_MESSAGES);
        // An answer without the call that it belongs to is more than some services bear.
        let orphans = self.history[from..].iter();
        let orphans = orphans.take_while(|message| message.role == Role::Tool);
        let shown = &self.history[from + orphans.count()..];
        let mut messages = Vec::with_capacity(shown.len() + 1);
        messages.push(Message::new(Role::System, self.prompt()));
        messages.extend_from_slice(shown);
        let ask = Ask {
            models: Arc::clone(&self.models),
            latencies: self.latencies.clone(),
            messages,
            temperature: self.persona.llm.temperature,
            purpose: Purpose::Reply,
            tools: Arc::clone(&self.tools),
            may_call: !self.tools.is_empty() && self.tool_steps() < TOOL_STEPS,
        };
        let reply = match self.is_written {
            true => Reply::new(&self.persona.llm, ask).unbroken(),
            false => Reply::new(&self.persona.llm, ask),
        };
        match (&self.knowledge, self.question()) {
            (Some(knowledge), Some(question)) => reply.after(Arc::clone(knowledge), question),
            _ => reply,
        }
    }

    /// The customer's last turn, however many utterances it has.
    fn question(&self) -> Option<String> {
        let said = self.history.iter().rev();
        let said = said.skip_while(|message| message.role != Role::User);
        let mut turn: Vec<&str> = said
            .take_while(|message| message.role == Role::User)
            .map(|message| &*message.content)
            .collect();
        turn.reverse();
        (!turn.is_empty()).then(|| turn.join(" "))
    }

    /// All that was said.
    pub fn into_transcript(self) -> Vec<Message> {
        self.history
    }

    /// How often tools were used since the customer spoke last.
    fn tool_steps(&self) -> usize {
        self.history
            .iter()
            .rev()
            .take_while(|message| message.role != Role::User)
            .filter(|message| !message.calls.is_empty())
            .count()
    }

    fn prompt(&self) -> String {
        let manner = if self.is_written { WRITTEN } else { SPOKEN };
        let manner = manner.replace("{}", &self.persona.language);
        let ending = if self.ends_soon { ENDING } else { "" };
        let prompt = format!("{}\n\n{manner}\n\n{ending}", self.persona.system_prompt);
        prompt.trim_end().to_owned()
    }

    fn note(&mut self, role: Role, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.history.push(Message::new(role, text));
        }
    }
}
