//! Spoken calls: combines an audio leg, recognizers and synthesizers into the [`Leg`] of a session. Dialogue, tools and
//! timers are the same as on every other call.
//!
//! One task per call receives frames, words and keys. A pure state machine decides what follows: who speaks, who goes
//! silent, when a turn is over, and what was heard of a sentence.

mod activity;
mod call;
mod carrier;
mod detector;
mod gate;
mod heard;
mod line;
mod pronunciation;
mod speech_input;
mod speech_output;
mod turns;
mod words;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::ports::Leg;
use crate::ports::audio::{AudioLeg, Recorder, SpeechDetector};
use call::Call;
use line::SpokenLine;

pub use offhook_media::ambient::Ambient;

pub use carrier::SpokenCarrier;
pub use detector::speech_detector;
pub use pronunciation::{Pronunciation, PronunciationRule};
pub use speech_input::RecognizerChoice;
pub use speech_output::Voice;

/// Events that may wait for the session; further ones wait in the call.
const EVENTS_AHEAD: usize = 16;

/// Speech settings of an agent for one call.
pub struct SpokenSettings {
    /// The recognizers. The first one listens; the others are fallbacks that take over within the same utterance.
    pub recognizers: Vec<RecognizerChoice>,
    /// The voices. The first one speaks; the others are fallbacks that take over within the same sentence.
    pub voices: Vec<Voice>,
    /// How long the customer must be silent before the turn is over (`endpointing_ms`). Endpointing happens only here:
    /// the session answers a reported turn at once.
    pub endpointing: Duration,
    /// Whether to detect a machine or a person before the agent speaks.
    pub screens: bool,
    /// The background sound.
    pub ambient: Option<Ambient>,
    pub pronunciation: Pronunciation,
    /// The voice activity detection.
    pub detector: Box<dyn SpeechDetector>,
    /// Records both sides of the call from the answer on.
    pub recorder: Option<Box<dyn Recorder>>,
}

/// Turns an audio leg into a leg. It must run within a tokio runtime. The call's task lives there until the leg is
/// dropped or the call is over.
pub fn spoken_leg(leg: AudioLeg, settings: SpokenSettings) -> Leg {
    let (commands, asked) = mpsc::unbounded_channel();
    let (session, events) = mpsc::channel(EVENTS_AHEAD);
    let line = SpokenLine {
        commands,
        signalling: Arc::clone(&leg.signalling),
        screens: settings.screens,
    };
    tokio::spawn(Call::new(leg, settings, asked, session).run());
    Leg {
        events,
        line: Box::new(line),
        speed: 1.0,
    }
}
