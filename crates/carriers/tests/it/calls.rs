//! Sessions over a network, with the scripted model.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, CallOutcome, Clock, ConversationId, E164, NodeId, Timestamp};
use offhook_engine::ports::{Carrier, DialRequest, Models, NoTools};
use offhook_engine::{
    CallControl, CallSink, ClaimLost, Deadline, Latencies, ModelChoice, Moment, Persona, Routing,
    Session, SessionEnd, Turn, TurnRole, Voicemail,
};
use offhook_providers::ModelRegistry;
use parking_lot::Mutex;
use tokio::time::Instant;

pub(crate) const FRIEND: &str = "+5215512345678";

pub(crate) struct TokioClock(Instant);

impl TokioClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_777_000_000_000_000).plus(self.0.elapsed())
    }
}

pub(crate) fn number(text: &str) -> E164 {
    text.parse().unwrap()
}

pub(crate) fn handle(n: u16) -> CallHandle {
    let [high, low] = n.to_be_bytes();
    let random = [0, 0, 0, 0, 0, 0, 0, 0, high, low];
    CallHandle(ConversationId::mint(Timestamp::from_micros(0), random))
}

pub(crate) fn request(n: u16, to: &str) -> DialRequest {
    DialRequest {
        handle: handle(n),
        from: number("+15005550100"),
        to: number(to),
        node: NodeId::nil(),
        screens: false,
        longest: None,
    }
}

pub(crate) fn persona() -> Persona {
    Persona {
        system_prompt: "You are Eva.\n\
            say: I am calling about your room for Friday. Does eight o'clock suit you?\n\
            say: Very well, I have noted eight o'clock. Is there anything else?\n\
            say: You are welcome.\n\
            say: Goodbye!"
            .to_owned(),
        context: String::new(),
        notice: String::new(),
        first_message: "Hello, this is Eva. Do you have a moment?".to_owned(),
        guard: false,
        greets_only: false,
        language: "en".to_owned(),
        llm: ModelChoice {
            provider: "scripted".to_owned(),
            model: "scripted".to_owned(),
            temperature: 0.5,
            routing: Routing::Fixed,
            fallback: Vec::new(),
            endpoint: None,
        },
        max_duration: Duration::from_secs(600),
        silence_timeout: Duration::from_secs(20),
        endpointing: Duration::from_millis(700),
        interruptions: true,
        voicemail: Voicemail::HangUp,
    }
}

/// The results of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct CallResult {
    pub(crate) outcome: CallOutcome,
    pub(crate) script: Vec<String>,
    pub(crate) reported: bool,
}

#[derive(Default)]
struct Notes {
    reported: Mutex<bool>,
    turns: Mutex<Vec<Turn>>,
}

#[async_trait]
impl CallSink for Notes {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        *self.reported.lock() = true;
        Ok(())
    }

    async fn answered(&self, _: Timestamp) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost> {
        self.turns.lock().push(turn);
        Ok(())
    }
}

pub(crate) fn models() -> Arc<dyn Models> {
    Arc::new(ModelRegistry::new([]).unwrap())
}

pub(crate) fn session(
    carrier: Arc<dyn Carrier>,
    dial: DialRequest,
    persona: Arc<Persona>,
    models: Arc<dyn Models>,
) -> Session {
    Session {
        carrier,
        dial,
        dial_by: Deadline::after(Moment::now(), Duration::from_secs(10)),
        persona,
        models,
        latencies: Latencies::new(),
        tools: Arc::new(NoTools),
        knowledge: None,
        clock: Arc::new(TokioClock::new()),
    }
}

pub(crate) async fn run(session: Session, control: &CallControl) -> CallResult {
    let notes = Notes::default();
    let end = offhook_engine::run(session, &notes, control).await;
    let SessionEnd::Ended { outcome, .. } = end else {
        panic!("nobody takes the claim");
    };
    let script = notes
        .turns
        .lock()
        .iter()
        .map(|turn| {
            let who = if turn.role == TurnRole::User {
                'U'
            } else {
                'A'
            };
            let cut = if turn.interrupted { " --" } else { "" };
            format!("{who}: {}{cut}", turn.text)
        })
        .collect();
    let reported = *notes.reported.lock();
    CallResult {
        outcome,
        script,
        reported,
    }
}

/// Calls a number and talks.
pub(crate) async fn call(
    carrier: &Arc<dyn Carrier>,
    n: u16,
    to: &str,
    persona: Persona,
) -> CallResult {
    let session = session(
        Arc::clone(carrier),
        request(n, to),
        Arc::new(persona),
        models(),
    );
    run(session, &CallControl::new()).await
}
