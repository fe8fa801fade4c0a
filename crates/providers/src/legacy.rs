//! The simulated provider of legacy agents. It runs in this process: its calls use the given phone network, its agents
//! speak by script, and its state is lost when the process ends.

mod wav;
mod workspace;

use futures_util::FutureExt as _;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, CallOutcome, Clock, Json, NodeId, Timestamp};
use offhook_engine::legacy::{
    LegacyAgent, LegacyCall, LegacyEnd, LegacyError, LegacyPace, LegacyProgress, LegacyProvider,
    LegacyReference, LegacyRefusal, RecordingError,
};
use offhook_engine::ports::{
    Carrier, DialRequest, Endpoint, LanguageModel, ModelError, Models, NoTools,
};
use offhook_engine::{
    CallControl, CallSink, ClaimLost, Deadline, EndRequest, Latencies, ModelChoice, Moment,
    Persona, Routing, Session, SessionEnd, Turn, Voicemail, fill, run, summarize,
};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::Scripted;
use workspace::Workspace;

type Result<T, E = LegacyError> = std::result::Result<T, E>;

/// Calls kept at most; the oldest are dropped first.
const REMEMBERED_CALLS: usize = 10_000;

/// The deadline for the dial request to the phone network.
const DIAL_WITHIN: Duration = Duration::from_secs(10);

const MAX_DURATION: Duration = Duration::from_secs(600);

/// A provider of legacy agents in this process. Clones share their state.
#[derive(Clone)]
pub struct SimulatedLegacy(Arc<Provider>);

struct Provider {
    carrier: Arc<dyn Carrier>,
    clock: Arc<dyn Clock>,
    node: NodeId,
    models: Arc<dyn Models>,
    latencies: Latencies,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// New names of agents, by agent id.
    names: HashMap<String, String>,
    calls: HashMap<CallHandle, Call>,
    order: VecDeque<CallHandle>,
}

struct Call {
    control: CallControl,
    progress: LegacyProgress,
}

/// Simulated agents use the scripted model only.
struct OnlyScripted;

impl Models for OnlyScripted {
    fn find(
        &self,
        _: &str,
        _: &str,
        _: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(Scripted))
    }
}

impl SimulatedLegacy {
    /// A provider whose calls run on `carrier`, for the process `node`.
    #[must_use]
    pub fn new(carrier: Arc<dyn Carrier>, clock: Arc<dyn Clock>, node: NodeId) -> Self {
        Self(Arc::new(Provider {
            carrier,
            clock,
            node,
            models: Arc::new(OnlyScripted),
            latencies: Latencies::default(),
            state: Mutex::default(),
        }))
    }
}

#[async_trait]
impl LegacyProvider for SimulatedLegacy {
    async fn agents(&self, credential: &str) -> Result<Vec<LegacyAgent>> {
        let mut agents = Workspace::of(credential)?.agents();
        let state = self.0.state.lock();
        for agent in &mut agents {
            if let Some(name) = state.names.get(&agent.id) {
                agent.name.clone_from(name);
            }
        }
        Ok(agents)
    }

    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<()> {
        let agent = Workspace::of(credential)?.agent(agent)?;
        self.0.state.lock().names.insert(agent.id, name.to_owned());
        Ok(())
    }

    async fn place(
        &self,
        credential: &str,
        call: LegacyCall,
        _: Deadline,
    ) -> Result<Option<String>> {
        let agent = Workspace::of(credential)?.agent(&call.agent)?;
        let control = CallControl::new();
        self.0.state.lock().add(call.reference, control.clone())?;
        let provider = self.0.clone();
        tokio::spawn(async move { provider.run_call(&agent, call, control).await }.boxed());
        Ok(None)
    }

    async fn progress(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Option<LegacyProgress>> {
        Workspace::of(credential)?;
        let state = self.0.state.lock();
        Ok(state
            .calls
            .get(&reference.call)
            .map(|call| call.progress.clone()))
    }

    async fn hang_up(&self, credential: &str, reference: &LegacyReference) -> Result<()> {
        Workspace::of(credential)?;
        let reference = reference.call;
        let control = {
            let state = self.0.state.lock();
            state.calls.get(&reference).map(|call| call.control.clone())
        };
        match control {
            Some(control) => control.end(EndRequest::ApiHangup),
            // A call of a process that is gone: the network may still have its line.
            None => {
                let ended = self.0.carrier.hang_up_orphan(reference).await;
                ended.map_err(|_| LegacyError::Unknown)?;
            }
        }
        Ok(())
    }

    /// It has a phone network of its own.
    fn is_simulated(&self) -> bool {
        true
    }

    async fn recording(
        &self,
        credential: &str,
        reference: &LegacyReference,
        mut to: File,
    ) -> Result<bool, RecordingError> {
        let progress = self.progress(credential, reference).await?;
        let progress =
            progress.filter(|progress| progress.end.as_ref().is_some_and(|end| end.recorded));
        let Some(progress) = progress else {
            return Ok(false);
        };
        let written = spawn_blocking(move || to.write_all(&wav::of(&progress.turns))).await;
        written.map_err(io::Error::other)??;
        Ok(true)
    }

    /// Its state changes at once.
    fn pace(&self) -> LegacyPace {
        LegacyPace {
            soonest: Duration::from_millis(50),
            latest: Duration::from_millis(50),
            appears_within: Duration::ZERO,
            ..LegacyPace::default()
        }
    }
}

impl State {
    /// Adds a call; each reference can be used once.
    fn add(&mut self, reference: CallHandle, control: CallControl) -> Result<()> {
        if self.calls.contains_key(&reference) {
            return Err(LegacyError::Refused(LegacyRefusal::UsedReference));
        }
        let call = Call {
            control,
            progress: LegacyProgress::default(),
        };
        self.calls.insert(reference, call);
        self.order.push_back(reference);
        while self.order.len() > REMEMBERED_CALLS {
            let over = self.order.iter().position(|reference| {
                let call = self.calls.get(reference);
                call.is_none_or(|call| call.progress.end.is_some())
            });
            let Some(oldest) = over.and_then(|at| self.order.remove(at)) else {
                break;
            };
            self.calls.remove(&oldest);
        }
        Ok(())
    }
}

impl Provider {
    async fn run_call(
        self: Arc<Self>,
        agent: &LegacyAgent,
        call: LegacyCall,
        control: CallControl,
    ) {
        let reference = call.reference;
        let persona = Arc::new(persona(agent, &call));
        let session = Session {
            carrier: self.carrier.clone(),
            dial: DialRequest {
                handle: reference,
                from: call.from,
                to: call.to,
                node: self.node,
                screens: false,
                longest: None,
            },
            dial_by: Deadline::after(Moment::now(), DIAL_WITHIN),
            persona: persona.clone(),
            models: self.models.clone(),
            knowledge: None,
            tools: Arc::new(NoTools),
            latencies: self.latencies.clone(),
            clock: self.clock.clone(),
        };
        let notes = Notes {
            provider: self.clone(),
            reference,
        };
        let SessionEnd::Ended {
            outcome,
            answered_at,
            ended_at,
            transcript,
            ..
        } = Box::pin(run(session, &notes, &control)).await
        else {
            return;
        };
        let summary = match answered_at {
            Some(_) => {
                let (llm, language) = (&persona.llm, &persona.language);
                summarize(&self.models, &self.latencies, llm, &transcript, language).await
            }
            None => None,
        };
        self.note(reference, |progress| {
            progress.reported = true;
            progress.end = Some(LegacyEnd {
                outcome,
                ended_at,
                summary: summary.unwrap_or_default(),
                recorded: matches!(outcome, CallOutcome::Completed(_)),
                is_final: true,
            });
        });
    }

    fn note(&self, reference: CallHandle, change: impl FnOnce(&mut LegacyProgress)) {
        if let Some(call) = self.state.lock().calls.get_mut(&reference) {
            change(&mut call.progress);
        }
    }
}

/// The provider's record of a call.
struct Notes {
    provider: Arc<Provider>,
    reference: CallHandle,
}

#[async_trait]
impl CallSink for Notes {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        self.provider
            .note(self.reference, |progress| progress.reported = true);
        Ok(())
    }

    async fn answered(&self, at: Timestamp) -> Result<(), ClaimLost> {
        self.provider
            .note(self.reference, |progress| progress.answered_at = Some(at));
        Ok(())
    }

    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost> {
        self.provider
            .note(self.reference, |progress| progress.turns.push(turn));
        Ok(())
    }
}

/// A variable's value as text.
fn words(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    }
}

fn persona(agent: &LegacyAgent, call: &LegacyCall) -> Persona {
    let variables = call.variables.iter();
    let variables: Vec<(&str, String)> = variables
        .map(|(name, value)| (name.as_str(), words(value)))
        .collect();
    let filled = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        fill(text, |name| {
            let variable = variables.iter().find(|(known, _)| *known == name);
            variable.map(|(_, value)| value.as_str())
        })
    };
    Persona {
        system_prompt: filled(&agent.system_prompt),
        context: String::new(),
        notice: String::new(),
        first_message: filled(&agent.first_message),
        guard: false,
        greets_only: false,
        language: agent.language.clone().unwrap_or_else(|| "en".to_owned()),
        llm: ModelChoice {
            provider: "scripted".to_owned(),
            model: "scripted".to_owned(),
            temperature: 0.0,
            routing: Routing::Fixed,
            fallback: Vec::new(),
            endpoint: None,
        },
        max_duration: MAX_DURATION,
        silence_timeout: Duration::from_secs(20),
        endpointing: Duration::from_millis(700),
        interruptions: true,
        voicemail: Voicemail::HangUp,
    }
}
