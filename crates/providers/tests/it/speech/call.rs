//! A call with scripted speech: the engine with its recognizer, synthesizer and turn taking.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::E164;
use offhook_engine::ports::audio::{
    AudioEvent, AudioLeg, Cleared, FRAME_SAMPLES, FRAME_TIME, Frame, Played, Playout, SILENCE,
    SegmentId, Signalling, SpeechDetector, TICKS_AHEAD, Tick,
};
use offhook_engine::ports::speech::{RecognizerSettings, Speech as _};
use offhook_engine::ports::{LegEvent, LineError};
use offhook_engine::voice::{Pronunciation, RecognizerChoice, SpokenSettings, Voice, spoken_leg};
use offhook_media::playout::{self, Segment, Speaker};
use offhook_media::vad::Likelihood;
use offhook_providers::SpeechRegistry;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, timeout};

use super::{gather, sounding, words};

/// Both ends of the line.
struct Wire {
    agent: Speaker,
    /// The caller's audio that is not sent yet.
    caller: Mutex<Vec<i16>>,
    /// The agent's frames that were not silent.
    heard: Mutex<usize>,
}

impl Playout for Wire {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.agent.enqueue(Segment(segment.0), samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.agent.finish(Segment(segment.0));
    }

    fn pause(&self) {
        self.agent.pause();
    }

    fn resume(&self) {
        self.agent.resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        self.agent.set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let cleared = self.agent.clear().into_iter();
        cleared
            .map(|cleared| Cleared {
                segment: SegmentId(cleared.segment.0),
                played: cleared.played,
                enqueued: cleared.enqueued,
                finished: cleared.finished,
            })
            .collect()
    }
}

#[async_trait]
impl Signalling for Wire {
    async fn transfer(&self, _: &E164) -> Result<(), LineError> {
        Err(LineError::Refused)
    }

    async fn send_digits(&self, _: &str) -> Result<(), LineError> {
        Err(LineError::Refused)
    }

    async fn hang_up(&self) {}
}

struct Net(Likelihood);

impl SpeechDetector for Net {
    fn likelihood(&mut self, frame: &Frame) -> f32 {
        self.0.of(frame)
    }
}

/// Carries a frame each way every 20 ms, until the receiver is gone.
async fn carry(wire: Arc<Wire>, ticks: mpsc::Sender<Tick>) {
    let mut clock = interval(FRAME_TIME);
    for number in 0.. {
        clock.tick().await;
        let mut said = SILENCE;
        let count = wire.agent.pull(&mut said, Instant::now());
        if said != SILENCE {
            *wire.heard.lock() += 1;
        }
        let mut heard = SILENCE;
        {
            let mut caller = wire.caller.lock();
            let count = caller.len().min(FRAME_SAMPLES);
            heard[..count].copy_from_slice(&caller[..count]);
            caller.drain(..count);
        }
        let tick = Tick {
            number,
            heard,
            lost: false,
            said: (count > 0).then_some(said),
        };
        if ticks.send(tick).await.is_err() {
            return;
        }
    }
}

async fn tell(
    mut told: mpsc::UnboundedReceiver<playout::Played>,
    played: mpsc::UnboundedSender<Played>,
) {
    while let Some(told) = told.recv().await {
        let told = match told {
            playout::Played::Began(segment, at) => Played::Began(SegmentId(segment.0), at),
            playout::Played::Ended(segment, at) => Played::Ended(SegmentId(segment.0), at),
        };
        if played.send(told).is_err() {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_held_in_sound_and_understood() {
    let registry = SpeechRegistry::new([]).unwrap();
    let listening = RecognizerSettings {
        model: "scripted".to_owned(),
        language: "en".to_owned(),
        settings: r#"{"lines": ["A room for two nights, please."]}"#.into(),
    };
    let sounding = sounding("scripted", "{}");
    let ear = registry.recognizer("scripted", &listening).unwrap();
    let voice = registry.synthesizer("scripted", &sounding).unwrap();

    let (agent, told) = Speaker::new();
    let wire = Arc::new(Wire {
        agent,
        caller: Mutex::default(),
        heard: Mutex::default(),
    });
    let (signals, events) = mpsc::channel(8);
    let (ticks_in, ticks) = mpsc::channel(TICKS_AHEAD);
    let (played_in, played) = mpsc::unbounded_channel();
    tokio::spawn(tell(told, played_in));
    tokio::spawn(carry(wire.clone(), ticks_in));
    let leg = AudioLeg {
        events,
        ticks,
        played,
        playout: wire.clone(),
        signalling: wire.clone(),
    };
    let settings = SpokenSettings {
        recognizers: vec![RecognizerChoice {
            service: ear,
            settings: listening,
        }],
        voices: vec![Voice {
            service: voice.clone(),
            settings: sounding.clone(),
        }],
        endpointing: Duration::from_millis(700),
        screens: false,
        ambient: None,
        pronunciation: Pronunciation::default(),
        detector: Box::new(Net(Likelihood::default())),
        recorder: None,
    };
    let mut leg = spoken_leg(leg, settings);
    signals.send(AudioEvent::Answered).await.unwrap();
    let answered = leg.events.recv().await;
    assert!(
        matches!(answered, Some(LegEvent::Answered { .. })),
        "{answered:?}"
    );

    let greeting = "Good morning, how can I help you?";
    let spoken = leg.line.say(greeting).await;
    assert_eq!(spoken.heard_text.as_str(), greeting);
    assert!(spoken.complete);
    let frames = u64::try_from(*wire.heard.lock()).unwrap();
    assert!(frames > 50, "{frames} frames were heard");

    // The caller hums too: its words come from the script.
    let mouth = voice.open(sounding).await.unwrap();
    let hum = "I would like to have a room for two nights, please.";
    let (hum, _, _) = gather(mouth.speak(words(hum))).await;
    wire.caller.lock().extend(hum);
    let mut heard = None;
    while heard.is_none() {
        let event = timeout(Duration::from_secs(30), leg.events.recv()).await;
        match event.unwrap().unwrap() {
            LegEvent::TurnOver { text, .. } if text.is_empty() => {}
            LegEvent::TurnOver { text, .. } => heard = Some(text),
            _ => {}
        }
    }
    assert_eq!(heard.as_deref(), Some("A room for two nights, please."));
}
