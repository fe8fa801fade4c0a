//! A conversation as Anthropic and Google want it: instructions apart, customer and model by turns, the customer first
//! and last, and each tool's answer with its call.

use std::collections::HashMap;

use offhook_engine::ports::{ModelRequest, Role, ToolCall};

/// What the customer is taken to say before an agent that speaks first.
const OPENING: &str = "(The conversation begins.)";

/// And after an agent that is to speak again.
const CONTINUING: &str = "(Go on.)";

pub(crate) struct Turns<'a> {
    pub(crate) instructions: String,
    pub(crate) turns: Vec<Turn<'a>>,
}

pub(crate) struct Turn<'a> {
    pub(crate) is_model: bool,
    pub(crate) parts: Vec<Part<'a>>,
}

/// `id` is unique in the conversation; those of the messages are not, as they come from several vendors.
pub(crate) enum Part<'a> {
    Text(&'a str),
    Call {
        id: String,
        call: &'a ToolCall,
    },
    Answer {
        id: String,
        name: &'a str,
        text: &'a str,
    },
}

impl<'a> Turns<'a> {
    /// Without tools in the request, earlier calls are left out: the services refuse them.
    pub(crate) fn of(request: &'a ModelRequest) -> Self {
        let mut all = Self {
            instructions: String::new(),
            turns: Vec::new(),
        };
        let mut called: HashMap<&str, (String, &str)> = HashMap::new();
        let mut count = 0;
        for message in &request.messages {
            if message.role == Role::System {
                if !all.instructions.is_empty() {
                    all.instructions.push_str("\n\n");
                }
                all.instructions.push_str(&message.content);
                continue;
            }
            let mut parts = Vec::new();
            if message.role != Role::Tool && !message.content.trim().is_empty() {
                parts.push(Part::Text(&message.content));
            }
            if !request.tools.is_empty() {
                for call in message.calls.iter() {
                    count += 1;
                    let id = format!("call_{count}");
                    called.insert(&call.id, (id.clone(), &call.name));
                    parts.push(Part::Call { id, call });
                }
                if let Some((id, name)) = message.answers.as_deref().and_then(|id| called.get(id)) {
                    let (id, text) = (id.clone(), &*message.content);
                    parts.push(Part::Answer { id, name, text });
                }
            }
            all.push(message.role == Role::Assistant, parts);
        }
        if all.turns.first().is_none_or(|first| first.is_model) {
            let (is_model, parts) = (false, vec![Part::Text(OPENING)]);
            all.turns.insert(0, Turn { is_model, parts });
        }
        if all.turns.last().is_some_and(|last| last.is_model) {
            all.push(false, vec![Part::Text(CONTINUING)]);
        }
        all
    }

    fn push(&mut self, is_model: bool, parts: Vec<Part<'a>>) {
        match self.turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.is_model == is_model => last.parts.extend(parts),
            _ => self.turns.push(Turn { is_model, parts }),
        }
    }
}
