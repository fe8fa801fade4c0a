//! A phone network, models and a sink that a test controls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_domain::{CallHandle, Clock, ConversationId, E164, NodeId, Timestamp};
use offhook_engine::ports::{
    Carrier, DialError, DialRequest, Endpoint, LanguageModel, Leg, LegEvent, Line, LineError,
    ModelDelta, ModelError, ModelRequest, Models, NoTools, Spoken, ToolCall, Tools,
};
use offhook_engine::{
    CallControl, CallSink, ClaimLost, Deadline, Latencies, ModelChoice, Moment, Persona, Routing,
    Session, SessionEnd, Turn, TurnLatency, Voicemail,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// The time to speak a character.
pub(crate) const PER_CHAR: Duration = Duration::from_millis(60);

/// A wall clock that follows tokio's.
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

pub(crate) fn persona() -> Persona {
    Persona {
        system_prompt: "You are Eva.".to_owned(),
        context: String::new(),
        notice: String::new(),
        first_message: "Hello, Eva here.".to_owned(),
        guard: false,
        greets_only: false,
        language: "en".to_owned(),
        llm: choice("main", &[]),
        max_duration: Duration::from_secs(600),
        silence_timeout: Duration::from_secs(20),
        endpointing: Duration::from_millis(700),
        interruptions: true,
        voicemail: Voicemail::HangUp,
    }
}

pub(crate) fn choice(provider: &str, fallback: &[&str]) -> ModelChoice {
    ModelChoice {
        provider: provider.to_owned(),
        model: "m".to_owned(),
        temperature: 0.5,
        routing: Routing::Fixed,
        fallback: fallback
            .iter()
            .map(|p| ((*p).to_owned(), "m".to_owned()))
            .collect(),
        endpoint: None,
    }
}

/// The steps of a fake model.
#[derive(Clone)]
pub(crate) enum Does {
    Wait(Duration),
    Write(&'static str),
    Fail(ModelError),
    Call(&'static str, &'static str),
    Finish,
}

/// A model that repeats its steps, or goes through several lists of steps and repeats the last.
#[derive(Clone, Default)]
pub(crate) struct FakeModel {
    pub(crate) does: Vec<Vec<Does>>,
    pub(crate) asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl FakeModel {
    pub(crate) fn new(does: &[Does]) -> Self {
        Self {
            does: vec![does.to_vec()],
            asked: Arc::default(),
        }
    }

    pub(crate) fn then(mut self, does: &[Does]) -> Self {
        self.does.push(does.to_vec());
        self
    }

    pub(crate) fn says(text: &'static str) -> Self {
        Self::new(&[Does::Write(text), Does::Finish])
    }

    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().clone()
    }
}

impl LanguageModel for FakeModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let mut asked = self.asked.lock();
        let does = self.does.get(asked.len()).or(self.does.last());
        asked.push(request);
        stream::iter(does.cloned().unwrap_or_default())
            .filter_map(|step| async move {
                match step {
                    Does::Wait(wait) => {
                        sleep(wait).await;
                        None
                    }
                    Does::Write(text) => Some(Ok(ModelDelta::Text(text.to_owned()))),
                    Does::Fail(error) => Some(Err(error)),
                    Does::Call(name, arguments) => Some(Ok(ModelDelta::Call(ToolCall {
                        id: "c1".to_owned(),
                        name: name.to_owned(),
                        arguments: arguments.to_owned(),
                        vendor: None,
                    }))),
                    Does::Finish => Some(Ok(ModelDelta::Finish)),
                }
            })
            .boxed()
    }
}

#[derive(Clone, Default)]
pub(crate) struct FakeModels(pub(crate) HashMap<&'static str, FakeModel>);

impl FakeModels {
    pub(crate) fn with(mut self, provider: &'static str, model: &FakeModel) -> Self {
        self.0.insert(provider, model.clone());
        self
    }
}

impl Models for FakeModels {
    fn find(
        &self,
        provider: &str,
        _: &str,
        _: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let model = self.0.get(provider).ok_or(ModelError::NotConfigured)?;
        Ok(Arc::new(model.clone()))
    }
}

/// A network with one line, whose events the test sends.
pub(crate) struct FakeCarrier {
    dials: Mutex<Vec<Result<(), DialError>>>,
    pub(crate) dialed: AtomicUsize,
    pub(crate) orphans_ended: AtomicUsize,
    leg: Mutex<Option<Leg>>,
    pub(crate) line: Arc<LineState>,
}

#[derive(Default)]
pub(crate) struct LineState {
    stop: Notify,
    pub(crate) hung_up: AtomicUsize,
    pub(crate) said: Mutex<Vec<(Duration, String)>>,
    pub(crate) did: Mutex<Vec<String>>,
    /// Whether transfers of the customer fail.
    pub(crate) refuses: AtomicBool,
}

struct FakeLine {
    state: Arc<LineState>,
    since: Instant,
}

#[async_trait]
impl Line for FakeLine {
    async fn say(&self, text: &str) -> Spoken {
        self.state
            .said
            .lock()
            .push((self.since.elapsed(), text.to_owned()));
        let began = Instant::now();
        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let complete = tokio::select! {
            () = sleep(PER_CHAR * chars) => true,
            () = self.state.stop.notified() => false,
        };
        let heard = (began.elapsed().as_millis() / PER_CHAR.as_millis()) as usize;
        Spoken {
            heard_text: text.chars().take(heard).collect(),
            complete,
            duration_ms: u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX),
            sound: None,
        }
    }

    fn stop_speaking(&self) {
        self.state.stop.notify_waiters();
    }

    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        if self.state.refuses.load(Ordering::Relaxed) {
            return Err(LineError::Refused);
        }
        self.state.did.lock().push(format!("transfer {to}"));
        Ok(())
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        for digit in digits.chars() {
            sleep(Duration::from_millis(if digit == 'w' { 500 } else { 200 })).await;
        }
        self.state.did.lock().push(format!("digits {digits}"));
        Ok(())
    }

    async fn hang_up(&self) {
        self.state.hung_up.fetch_add(1, Ordering::Relaxed);
        self.state.stop.notify_waiters();
    }
}

#[async_trait]
impl Carrier for FakeCarrier {
    async fn dial(&self, _: DialRequest) -> Result<Leg, DialError> {
        self.dialed.fetch_add(1, Ordering::Relaxed);
        let mut dials = self.dials.lock();
        if !dials.is_empty() {
            dials.remove(0)?;
        }
        self.leg.lock().take().ok_or(DialError::Unknown)
    }

    async fn hang_up_orphan(&self, _: CallHandle) -> Result<(), DialError> {
        self.orphans_ended.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// What the session stored.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) reported: AtomicUsize,
    pub(crate) answered: Mutex<Vec<Timestamp>>,
    pub(crate) signaled: Mutex<Vec<String>>,
    pub(crate) turns: Mutex<Vec<Turn>>,
    pub(crate) measured: Mutex<Vec<TurnLatency>>,
    /// How many steps succeed before the claim is lost; `None`: all.
    pub(crate) steps_left: Mutex<Option<usize>>,
}

impl Notes {
    fn step(&self) -> Result<(), ClaimLost> {
        match &mut *self.steps_left.lock() {
            Some(0) => Err(ClaimLost),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

#[async_trait]
impl CallSink for Notes {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        self.step()?;
        self.reported.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn rang(&self, _: Timestamp) {
        self.signaled.lock().push("rang".to_owned());
    }

    fn refused(&self, status: u16) {
        self.signaled.lock().push(status.to_string());
    }

    async fn answered(&self, at: Timestamp) -> Result<(), ClaimLost> {
        self.step()?;
        self.answered.lock().push(at);
        Ok(())
    }

    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost> {
        self.step()?;
        self.turns.lock().push(turn);
        Ok(())
    }

    fn measured(&self, latency: &TurnLatency) {
        self.measured.lock().push(*latency);
    }
}

/// The setup of a call under test.
pub(crate) struct Stage {
    pub(crate) persona: Persona,
    pub(crate) models: FakeModels,
    pub(crate) latencies: Latencies,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) speed: f64,
    pub(crate) dials: Vec<Result<(), DialError>>,
    pub(crate) steps_left: Option<usize>,
}

/// A running call.
pub(crate) struct OnStage {
    pub(crate) events: mpsc::Sender<LegEvent>,
    pub(crate) control: CallControl,
    pub(crate) notes: Arc<Notes>,
    pub(crate) carrier: Arc<FakeCarrier>,
    pub(crate) since: Instant,
    task: JoinHandle<SessionEnd>,
}

pub(crate) fn stage() -> Stage {
    Stage {
        persona: persona(),
        models: FakeModels::default().with("main", &FakeModel::says("I see. Go on.")),
        latencies: Latencies::new(),
        tools: Arc::new(NoTools),
        speed: 1.0,
        dials: Vec::new(),
        steps_left: None,
    }
}

pub(crate) fn dial_request() -> DialRequest {
    let number: E164 = "+15005550100"
        .parse()
        .unwrap_or_else(|_| panic!("a number"));
    DialRequest {
        handle: CallHandle(ConversationId::nil()),
        from: number.clone(),
        to: number,
        node: NodeId::nil(),
        screens: false,
        longest: None,
    }
}

impl Stage {
    pub(crate) fn session(self) -> (Session, mpsc::Sender<LegEvent>, Arc<FakeCarrier>) {
        let (events, receiver) = mpsc::channel(8);
        let line = Arc::new(LineState::default());
        let since = Instant::now();
        let leg = Leg {
            events: receiver,
            line: Box::new(FakeLine {
                state: Arc::clone(&line),
                since,
            }),
            speed: self.speed,
        };
        let carrier = Arc::new(FakeCarrier {
            dials: Mutex::new(self.dials),
            dialed: AtomicUsize::default(),
            orphans_ended: AtomicUsize::default(),
            leg: Mutex::new(Some(leg)),
            line,
        });
        let session = Session {
            carrier: Arc::<FakeCarrier>::clone(&carrier),
            dial: dial_request(),
            dial_by: Deadline::after(Moment::now(), Duration::from_secs(10)),
            persona: Arc::new(self.persona),
            models: Arc::new(self.models),
            latencies: self.latencies,
            tools: self.tools,
            knowledge: None,
            clock: Arc::new(TokioClock::new()),
        };
        (session, events, carrier)
    }

    pub(crate) fn begin(self) -> OnStage {
        self.begin_with(CallControl::new())
    }

    pub(crate) fn begin_with(self, control: CallControl) -> OnStage {
        let since = Instant::now();
        let notes = Arc::new(Notes {
            steps_left: Mutex::new(self.steps_left),
            ..Notes::default()
        });
        let (session, events, carrier) = self.session();
        let task = tokio::spawn({
            let (notes, control) = (Arc::clone(&notes), control.clone());
            async move { offhook_engine::run(session, &*notes, &control).await }
        });
        OnStage {
            events,
            control,
            notes,
            carrier,
            since,
            task,
        }
    }
}

impl OnStage {
    pub(crate) async fn send(&self, event: LegEvent) {
        let sent = self.events.send(event).await;
        assert!(sent.is_ok(), "the session has ended");
    }

    pub(crate) async fn answer(&self) {
        self.send(LegEvent::Ringing).await;
        self.send(LegEvent::Answered { machine: false }).await;
    }

    /// The customer speaks for one second.
    pub(crate) async fn customer_says(&self, text: &str) {
        self.send(LegEvent::CustomerStarted).await;
        sleep(Duration::from_secs(1)).await;
        self.send(heard(text)).await;
    }

    pub(crate) async fn end(self) -> End {
        let end = self
            .task
            .await
            .unwrap_or_else(|error| panic!("the session panicked: {error}"));
        End {
            end,
            took: self.since.elapsed(),
            hung_up: self.carrier.line.hung_up.load(Ordering::Relaxed) > 0,
            turns: self.notes.turns.lock().clone(),
            said: self.carrier.line.said.lock().clone(),
            did: self.carrier.line.did.lock().clone(),
        }
    }
}

/// The result of a call.
pub(crate) struct End {
    pub(crate) end: SessionEnd,
    pub(crate) took: Duration,
    pub(crate) hung_up: bool,
    pub(crate) turns: Vec<Turn>,
    pub(crate) said: Vec<(Duration, String)>,
    pub(crate) did: Vec<String>,
}

impl End {
    pub(crate) fn outcome(&self) -> offhook_domain::CallOutcome {
        match &self.end {
            SessionEnd::Ended { outcome, .. } => *outcome,
            SessionEnd::ClaimLost => panic!("the claim was lost"),
        }
    }

    /// The transcript as `A: …`, `U: …`, with ` --` after an interrupted turn.
    pub(crate) fn script(&self) -> Vec<String> {
        script(&self.turns)
    }

    pub(crate) fn latencies(&self) -> Vec<u32> {
        match &self.end {
            SessionEnd::Ended { latencies_ms, .. } => latencies_ms.clone(),
            SessionEnd::ClaimLost => Vec::new(),
        }
    }
}

pub(crate) fn script(turns: &[Turn]) -> Vec<String> {
    use offhook_engine::TurnRole::{Agent, Tool, User};
    let line = |turn: &Turn| {
        let who = match turn.role {
            Agent => 'A',
            User => 'U',
            Tool => 'T',
        };
        let cut = if turn.interrupted { " --" } else { "" };
        format!("{who}: {}{cut}", turn.text)
    };
    turns.iter().map(line).collect()
}

pub(crate) fn heard(text: &str) -> LegEvent {
    LegEvent::Heard {
        text: text.to_owned(),
        duration_ms: 1_000,
    }
}
