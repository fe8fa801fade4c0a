//! What the engine needs of an agent: its published configuration with the call's variables filled in.

use std::time::Duration;

use offhook_domain::config::{Routing, Voicemail};

use crate::ports::Endpoint;

/// An agent as configured for one call.
#[derive(Debug, Clone)]
pub struct Persona {
    /// The prompt, variables already filled in (see [`fill`](crate::fill)).
    pub system_prompt: String,
    /// What the model is told of the day and of earlier conversations; may be empty.
    pub context: String,
    /// The first words, such as that the call is recorded. The customer cannot interrupt them. Empty: no notice. An
    /// answering machine does not get the notice.
    pub notice: String,
    /// The agent's greeting; if empty, the agent waits for the customer.
    pub first_message: String,
    /// Whether the agent ends the call with the first message.
    pub greets_only: bool,
    /// Whether a reply may claim an action only if a tool has carried it out.
    pub guard: bool,
    /// BCP 47.
    pub language: String,
    pub llm: ModelChoice,
    /// The longest duration of a call, from the answer.
    pub max_duration: Duration,
    /// How long the customer may be silent before the agent asks again, and then before it hangs up.
    pub silence_timeout: Duration,
    /// How long the customer must be silent before the agent answers.
    pub endpointing: Duration,
    /// Whether the customer may barge in.
    pub interruptions: bool,
    /// What to do when an answering machine picks up.
    pub voicemail: Voicemail,
}

/// Which models write the replies (`llm`).
#[derive(Debug, Clone)]
pub struct ModelChoice {
    /// A name of the models catalog, or `custom`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// 0–2.
    pub temperature: f64,
    pub routing: Routing,
    /// Provider and model of each fallback, in order.
    pub fallback: Vec<(String, String)>,
    /// The server of provider `custom`.
    pub endpoint: Option<Endpoint>,
}
