//! The dialogue: what was said so far, and what to say next. It has no line, clock or storage; phone calls and chats
//! share it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::TurnRole;
use crate::guard::{self, Guard, Vouchers};
use crate::latencies::Latencies;
use crate::persona::Persona;
use crate::ports::{Knowledge, Message, Models, Purpose, Role, ToolCall, ToolDefinition};
use crate::reply::{Reply, ReplyRequest};
use crate::tool_use;

/// History messages that a model gets; older ones are left out.
const SHOWN_MESSAGES: usize = 200;

/// Rounds of tool calls per customer turn; after them the model must answer in words.
const TOOL_STEPS: usize = 3;

/// Instructions for a spoken answer.
const SPOKEN: &str = "You are in a spoken conversation. Answer briefly, in the language `{}`, in plain sentences that \
                      can be read aloud: no lists, no markup.";

/// Instructions for a written answer.
const WRITTEN: &str = "You are in a written chat. Answer briefly, in the language `{}`, in plain text without markup.";

/// Instructions for a call that is about to reach its maximum length.
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
    /// A written conversation; otherwise it is spoken.
    is_written: bool,
    ends_soon: bool,
    /// What the agent may claim, if it has a guard.
    vouchers: Vouchers,
}

impl Dialogue {
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
            vouchers: Vouchers::default(),
        }
    }

    /// Makes the conversation a written one: text is passed on as the models write it, not by sentence.
    #[must_use]
    pub const fn in_writing(mut self) -> Self {
        self.is_written = true;
        self
    }

    /// Continues the conversation after these transcript turns.
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
                TurnRole::User => self.push_customer(&text),
                TurnRole::Agent | TurnRole::Tool => self.push_agent(&text),
            }
        }
        self.recall_tools(&mut used);
        self
    }

    fn recall_tools(&mut self, used: &mut Vec<(ToolCall, String)>) {
        if !used.is_empty() {
            // The transcript does not say whether something was done.
            let used = used.drain(..).map(|(call, answer)| (call, Err(answer)));
            let (calls, answers): (Vec<_>, Vec<_>) = used.unzip();
            self.used_tools("", calls, &answers);
        }
    }

    /// Lets the models use these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<[ToolDefinition]>) -> Self {
        self.tools = tools;
        self
    }

    /// Looks up knowledge that fits the customer's words before each answer.
    #[must_use]
    pub fn with_knowledge(mut self, knowledge: Option<Arc<dyn Knowledge>>) -> Self {
        self.knowledge = knowledge;
        self
    }

    pub fn persona(&self) -> &Persona {
        &self.persona
    }

    /// Adds what the customer said.
    pub fn push_customer(&mut self, text: &str) {
        let last = self.history.last();
        if last.is_some_and(|last| last.role == Role::Assistant) {
            self.vouchers.answered();
        }
        self.note(Role::User, text);
    }

    /// Adds what the customer heard of the agent's speech, and no more.
    pub fn push_agent(&mut self, text: &str) {
        self.vouch(text);
        self.note(Role::Assistant, text);
    }

    fn vouch(&mut self, text: &str) {
        if self.persona.guard {
            self.vouchers.said(text, &self.persona.language);
        }
    }

    /// Adds the agent's tool calls with their answers, after the text the agent said first, which may be empty. An error
    /// is the answer of a tool that did nothing.
    pub fn used_tools(
        &mut self,
        said: &str,
        calls: Vec<ToolCall>,
        answers: &[Result<String, String>],
    ) {
        self.vouch(said);
        let acted = calls.iter().zip(answers);
        let acted = acted.filter(|(call, answer)| answer.is_ok() && guard::acts(&self.tools, call));
        let acted = u32::try_from(acted.count()).unwrap_or(u32::MAX);
        self.vouchers.acted(acted);
        let messages: Vec<Message> = calls
            .iter()
            .zip(answers)
            .map(|(call, answer)| Message::answering(call, tool_use::text(answer).as_str()))
            .collect();
        self.history.push(Message::calling(said.trim(), calls));
        self.history.extend(messages);
    }

    /// Records that the customer has heard that the call ends in a few seconds.
    pub(crate) const fn end_soon(&mut self) {
        self.ends_soon = true;
    }

    /// Whether the agent must speak next: the customer spoke last, or a tool answered.
    pub fn awaits_reply(&self) -> bool {
        self.history
            .last()
            .is_some_and(|last| matches!(last.role, Role::User | Role::Tool))
    }

    /// Requests the agent's next words from the models.
    pub fn reply(&self) -> Reply {
        let from = self.history.len().saturating_sub(SHOWN_MESSAGES);
        // Some model services reject a tool answer without the call that it belongs to.
        let orphans = self.history[from..].iter();
        let orphans = orphans.take_while(|message| message.role == Role::Tool);
        let shown = &self.history[from + orphans.count()..];
        let mut messages = Vec::with_capacity(shown.len() + 1);
        messages.push(Message::new(Role::System, self.prompt()));
        messages.extend_from_slice(shown);
        let request = ReplyRequest {
            models: Arc::clone(&self.models),
            latencies: self.latencies.clone(),
            messages,
            temperature: self.persona.llm.temperature,
            purpose: Purpose::Reply,
            tools: Arc::clone(&self.tools),
            may_call: !self.tools.is_empty() && self.tool_steps() < TOOL_STEPS,
        };
        let guard = self.persona.guard.then(|| Guard {
            language: self.persona.language.clone(),
            vouchers: self.vouchers,
            tools: Arc::clone(&self.tools),
            may_call: request.may_call,
            held: VecDeque::new(),
            has_replaced: false,
            skips: false,
        });
        let reply = Reply::new(&self.persona.llm, request);
        let reply = match (guard, self.is_written) {
            (Some(guard), is_written) => reply.guarded(guard, is_written),
            (None, true) => reply.unbroken(),
            (None, false) => reply,
        };
        match (&self.knowledge, self.question()) {
            (Some(knowledge), Some(question)) => reply.after(Arc::clone(knowledge), question),
            _ => reply,
        }
    }

    /// The customer's last turn, which may have several utterances.
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

    pub fn into_transcript(self) -> Vec<Message> {
        self.history
    }

    /// Rounds of tool calls since the customer's last turn.
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
        let Persona {
            system_prompt,
            context,
            ..
        } = &*self.persona;
        let parts = [system_prompt.as_str(), context, &manner, ending];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }

    fn note(&mut self, role: Role, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.history.push(Message::new(role, text));
        }
    }
}
