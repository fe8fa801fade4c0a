//! Spoken calls: an audio leg, recognisers and voices made into the [`Leg`] that a session holds, so that dialogue,
//! tools and timers are those of every other call.
//!
//! One task per call hears frames, words and keys, and asks one pure state, the rules of the floor,
//! what follows: who speaks, who falls silent, when a turn is over, what was heard of a sentence.

mod activity;
mod call;
mod carrier;
mod detector;
mod ear;
mod gate;
mod heard;
mod line;
mod mouth;
mod pronunciation;
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
pub use ear::Hearing;
pub use mouth::Voice;
pub use pronunciation::{Pronunciation, SaidAs};

/// Events that may wait for the session; beyond that the call keeps them.
const EVENTS_AHEAD: usize = 16;

/// How an agent hears and speaks on one call.
pub struct SpokenSettings {
    /// The recognisers, the first of which listens; the others step in where it fails, within the same utterance.
    pub hearings: Vec<Hearing>,
    /// The voices, the first of which speaks; the others step in where it fails, within the same sentence.
    pub voices: Vec<Voice>,
    /// How long the customer must be quiet before their turn is over (`endpointing_ms`). It is judged
    /// here alone: a turn that is told is answered at once.
    pub endpointing: Duration,
    /// Whether it is to be found out who answered, a person or a machine, before the agent speaks.
    pub screens: bool,
    /// Where the agent seems to be.
    pub ambient: Option<Ambient>,
    /// How terms are said.
    pub pronunciation: Pronunciation,
    /// What tells speech from other sound.
    pub detector: Box<dyn SpeechDetector>,
    /// What keeps both sides of the call from the answer on.
    pub recorder: Option<Box<dyn Recorder>>,
}

/// Makes a leg of an audio leg. It must be called within a tokio runtime, on which the call's task lives until the leg
/// is dropped or the call is over.
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
