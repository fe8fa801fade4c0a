//! Spoken calls as the service holds them, in a process of their own: trunk, pump, turns, session; and pumps alone.

mod noted;
mod numbered;
mod pumped;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, Clock as _, Timestamp};
use offhook_engine::ports::audio::{AudioCarrier, Recorder, Tick};
use offhook_engine::ports::speech::{
    RecogniserSettings, Speech as _, SpeechToText, TextToSpeech, VoiceSettings,
};
use offhook_engine::ports::{DialRequest, NoTools};
use offhook_engine::voice::{
    Hearing, Pronunciation, SpokenCarrier, SpokenSettings, Voice, speech_detector,
};
use offhook_engine::{
    CallControl, CallSink, ClaimLost, Latencies, ModelChoice, Persona, Routing, Session,
    SessionEnd, Turn, TurnLatency, Voicemail,
};
use offhook_media::ports::{PortRange, Ports};
use offhook_media::pump::Latch;
use offhook_providers::{ModelRegistry, SpeechRegistry};
use offhook_services::SystemClock;
use offhook_sip::{
    Listen, SipCarrier, SipSettings, SipTrunks, SoundSettings, Transport, TrunkSettings,
};
use offhook_storage::mint;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::child::parent_is_gone;
use noted::{Added, Noting, Way};
use numbered::{CountingEar, CountingVoice};
pub(crate) use pumped::{Alone, Pumped, alone};

/// The pause that ends a turn, in milliseconds (decision 6.2, `turns.endpointing_ms`: its default).
pub(crate) const ENDPOINTING_MS: u64 = 700;

/// The time between being ready and the first call.
pub(crate) const BEFORE: Duration = Duration::from_millis(500);

/// What a call's sound takes its ports from: room for 10,000 calls.
const PORTS: (u16, u16) = (30_000, 49_999);

/// What to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Options {
    /// Whom to call.
    pub(crate) callee: SocketAddr,
    /// How often.
    pub(crate) calls: usize,
    /// The time between two calls.
    pub(crate) apart: Duration,
    pub(crate) agent: Agent,
    /// Where recordings go, if calls are recorded.
    pub(crate) recordings: Option<PathBuf>,
}

/// Who speaks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Agent {
    /// Says so many words in each of its turns, which are known by their sound; it hears the same words each time that
    /// somebody speaks for long enough.
    Counting {
        replies: Vec<usize>,
        /// The ear finds the ends of turns.
        ends_turns: bool,
    },
    /// The ear and the voice that are built in.
    Scripted,
}

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Called {
    /// What the pumps of all calls counted.
    pub(crate) pumped: Pumped,
    /// Of each reply, where the ear finds the ends of turns: the time from there to the first sound in the playout
    /// queue, in milliseconds. Model and voice take none of it.
    pub(crate) added_ms: Vec<f64>,
    /// How many calls ended as they should: the other side hung up.
    pub(crate) completed: usize,
    /// How the others did.
    pub(crate) faults: Vec<String>,
    /// Turns that were written down.
    pub(crate) turns: usize,
    /// Replies whose way was measured by the engine itself.
    pub(crate) measured: usize,
}

/// Calls, and says what came of it once all calls are over.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let trunk = TrunkSettings {
        name: "bench".to_owned(),
        server: options.callee.to_string(),
        transport: None,
        user: None,
        password: None,
        from_domain: None,
        caller_id_header: None,
        allowed_sources: Vec::new(),
        accept_digest: false,
        keep_alive_seconds: 0,
    };
    let any: SocketAddr = "127.0.0.1:0".parse()?;
    let listen = vec![Listen::on(Transport::Udp, any)];
    let (trunks, _incoming) =
        SipTrunks::start(SipSettings::new(listen), vec![trunk.check()?]).await?;
    let sound = SoundSettings {
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        external: None,
        ports: Ports::new(PortRange::new(PORTS.0, PORTS.1)?),
        latch: Latch::default(),
    };
    let carrier = Arc::new(SipCarrier::new(Arc::new(trunks), "bench", sound)?);
    let stage = Arc::new(Stage::new(carrier.clone(), &options)?);
    say(&"ready")?;
    sleep(BEFORE).await;
    let mut calls = JoinSet::new();
    for number in 0..options.calls {
        calls.spawn(Arc::clone(&stage).call(number));
        sleep(options.apart).await;
    }
    let mut called = Called::default();
    while let Some(ended) = calls.join_next().await {
        match ended? {
            Ok(()) => called.completed += 1,
            Err(fault) => called.faults.push(fault.to_string()),
        }
    }
    called.pumped = Pumped::from(&carrier.counted());
    called.added_ms = stage.added.take();
    (called.turns, called.measured) = *lock(&stage.noted);
    say(&called)?;
    parent_is_gone().await;
    Ok(())
}

pub(super) fn say<T: Serialize>(what: &T) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(what)?);
    Ok(std::io::stdout().flush()?)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all calls share.
struct Stage {
    carrier: Arc<SipCarrier>,
    agent: Agent,
    registry: SpeechRegistry,
    listens: RecogniserSettings,
    sounds: VoiceSettings,
    persona: Arc<Persona>,
    models: Arc<ModelRegistry>,
    latencies: Latencies,
    recordings: Option<PathBuf>,
    added: Arc<Added>,
    /// Turns, and replies that were measured.
    noted: Arc<Mutex<(usize, usize)>>,
}

/// What one call goes by, hears with and speaks with.
struct Parts {
    network: Arc<dyn AudioCarrier>,
    ear: Arc<dyn SpeechToText>,
    mouth: Arc<dyn TextToSpeech>,
}

impl Stage {
    fn new(carrier: Arc<SipCarrier>, options: &Options) -> anyhow::Result<Self> {
        let prompt = match &options.agent {
            Agent::Counting { replies, .. } => numbered::prompt(replies),
            Agent::Scripted => {
                "say: One moment please, I am looking for it. Yes, it is on its way to you."
                    .to_owned()
            }
        };
        Ok(Self {
            carrier,
            agent: options.agent.clone(),
            registry: SpeechRegistry::new([])?,
            listens: RecogniserSettings {
                model: "scripted".to_owned(),
                language: "en-US".to_owned(),
                settings: lines().into(),
            },
            sounds: VoiceSettings {
                voice_id: "scripted".to_owned(),
                model: "scripted".to_owned(),
                language: "en-US".to_owned(),
                speed: 1.0,
                settings: "{}".into(),
                key: None,
            },
            persona: Arc::new(persona(prompt)),
            models: Arc::new(ModelRegistry::new(BTreeMap::new())?),
            latencies: Latencies::new(),
            recordings: options.recordings.clone(),
            added: Arc::default(),
            noted: Arc::default(),
        })
    }

    fn parts(&self) -> anyhow::Result<Parts> {
        let network: Arc<dyn AudioCarrier> = self.carrier.clone();
        Ok(match self.agent {
            Agent::Scripted => Parts {
                network,
                ear: self.registry.recogniser("scripted", &self.listens)?,
                mouth: self.registry.synthesiser("scripted", &self.sounds)?,
            },
            Agent::Counting { ends_turns, .. } => {
                let way = ends_turns.then(|| Arc::new(Way::new(Arc::clone(&self.added))));
                Parts {
                    network: match &way {
                        Some(way) => Arc::new(Noting::new(network, Arc::clone(way))),
                        None => network,
                    },
                    ear: Arc::new(CountingEar { way }),
                    mouth: Arc::new(CountingVoice),
                }
            }
        })
    }

    /// Holds one call; an error tells how it failed.
    async fn call(self: Arc<Self>, number: usize) -> anyhow::Result<()> {
        let now = SystemClock.now();
        let mut written = None;
        let mut recorder: Option<Box<dyn Recorder>> = None;
        if let Some(directory) = &self.recordings {
            let path = directory.join(format!("{number}.wav"));
            let (recording, whole) = offhook_media::recorder::Recorder::begin(move || {
                let mut options = std::fs::File::options();
                options.create(true).truncate(true).read(true).write(true);
                options.open(path)
            });
            recorder = Some(Box::new(Wav(recording)));
            written = Some(whole);
        }
        let parts = self.parts()?;
        let settings = SpokenSettings {
            hearings: vec![Hearing {
                service: parts.ear,
                settings: self.listens.clone(),
            }],
            voices: vec![Voice {
                service: parts.mouth,
                settings: self.sounds.clone(),
            }],
            endpointing: Duration::from_millis(ENDPOINTING_MS),
            screens: false,
            ambient: None,
            pronunciation: Pronunciation::default(),
            detector: speech_detector(),
            recorder,
        };
        let session = Session {
            carrier: Arc::new(SpokenCarrier::new(parts.network, settings)),
            dial: DialRequest {
                handle: CallHandle(mint(now)),
                from: "+15005550100".parse()?,
                to: format!("+1415{number:07}").parse()?,
                node: mint(now),
                screens: false,
                longest: None,
            },
            dial_by: Instant::now() + Duration::from_secs(10),
            persona: Arc::clone(&self.persona),
            models: self.models.clone(),
            latencies: self.latencies.clone(),
            tools: Arc::new(NoTools),
            knowledge: None,
            clock: Arc::new(SystemClock),
        };
        let sink = Counting(Arc::clone(&self.noted));
        let end = offhook_engine::run(session, &sink, &CallControl::new()).await;
        if let Some(written) = written {
            written.wait().await?;
        }
        match end {
            SessionEnd::Ended { outcome, .. } if hung_up(&outcome) => Ok(()),
            SessionEnd::Ended { outcome, .. } => anyhow::bail!("{outcome:?}"),
            SessionEnd::ClaimLost => anyhow::bail!("the claim was lost"),
        }
    }
}

fn hung_up(outcome: &offhook_domain::CallOutcome) -> bool {
    use offhook_domain::{CallOutcome, TerminationReason};
    matches!(
        outcome,
        CallOutcome::Completed(TerminationReason::CustomerHangup)
    )
}

/// A script for the ear that is built in: the same line, as often as it may be said.
fn lines() -> String {
    let lines = vec!["Where is my order now?"; 50];
    serde_json::json!({ "lines": lines }).to_string()
}

fn persona(system_prompt: String) -> Persona {
    Persona {
        system_prompt,
        notice: String::new(),
        first_message: String::new(),
        language: "en-US".to_owned(),
        llm: ModelChoice {
            provider: "scripted".to_owned(),
            model: "scripted".to_owned(),
            temperature: 0.5,
            routing: Routing::Fixed,
            fallback: Vec::new(),
            endpoint: None,
        },
        max_duration: Duration::from_secs(600),
        silence_timeout: Duration::from_secs(60),
        endpointing: Duration::ZERO,
        interruptions: true,
        voicemail: Voicemail::Ignore,
    }
}

/// The WAV writer that the service records with.
struct Wav(offhook_media::recorder::Recorder);

impl Recorder for Wav {
    fn record(&mut self, tick: &Tick) {
        self.0.record(&offhook_media::pump::Tick {
            number: tick.number,
            heard: tick.heard,
            lost: tick.lost,
            said: tick.said,
        });
    }
}

/// Writes nothing down, and counts.
struct Counting(Arc<Mutex<(usize, usize)>>);

#[async_trait]
impl CallSink for Counting {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn answered(&self, _: Timestamp) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn turn(&self, _: Turn) -> Result<(), ClaimLost> {
        lock(&self.0).0 += 1;
        Ok(())
    }

    fn measured(&self, _: &TurnLatency) {
        lock(&self.0).1 += 1;
    }
}
