//! What the engine needs to know of an agent: its published configuration, with the call's variables filled in.

use std::time::Duration;

use offhook_domain::config::{Routing, Voicemail};

use crate::ports::Endpoint;

/// An agent as one call knows it.
#[derive(Debug, Clone)]
pub struct Persona {
    /// The prompt, variables already filled in (see [`fill`](crate::fill)).
    pub system_prompt: String,
    /// What is said before anything else, to its end whatever the customer says: that the call is recorded. Empty:
    /// nothing. A machine is not told.
    pub notice: String,
    /// What the agent says first; empty means that it waits for the customer.
    pub first_message: String,
    /// BCP 47.
    pub language: String,
    /// Which models write the replies.
    pub llm: ModelChoice,
    /// The longest call, from the answer.
    pub max_duration: Duration,
    /// How long the customer may say nothing before the agent asks again, and then before it hangs up.
    pub silence_timeout: Duration,
    /// How long the customer must be quiet before the agent answers.
    pub endpointing: Duration,
    /// Whether the customer may interrupt the agent.
    pub interruptions: bool,
    /// What to do when a machine answers.
    pub voicemail: Voicemail,
}

/// Which models write the replies (`llm`).
#[derive(Debug, Clone)]
pub struct ModelChoice {
    /// A name of the models catalog, or `custom`.
    pub provider: String,
    /// The model's name at its provider.
    pub model: String,
    /// 0–2.
    pub temperature: f64,
    /// How the next model is chosen.
    pub routing: Routing,
    /// Provider and model of those that step in, in order.
    pub fallback: Vec<(String, String)>,
    /// The server of provider `custom`.
    pub endpoint: Option<Endpoint>,
}
