//! The recognizers of one call: an active one and its fallbacks. The current utterance's audio is kept, so that a
//! fallback hears it from the beginning.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use crate::ports::audio::Frame;
use crate::ports::speech::{
    Recogniser, RecogniserEvent, RecogniserInput, RecogniserSettings, SpeechError, SpeechToText,
};

/// How long a recognizer may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(3);

/// Frames of silence kept: half a second, for the beginning of the next utterance.
const KEPT_OF_SILENCE: usize = 25;

/// Frames of an utterance kept: half a minute.
const KEPT_OF_UTTERANCE: usize = 1_500;

/// A recognizer and its settings.
#[derive(Clone)]
pub struct Hearing {
    pub service: Arc<dyn SpeechToText>,
    pub settings: RecogniserSettings,
}

/// The recognizers of one call.
pub(super) struct Ear {
    choices: Vec<Hearing>,
    at: usize,
    /// Failures since the last recognition result.
    failures: usize,
    state: State,
    kept: VecDeque<RecogniserInput>,
    in_utterance: bool,
    /// Inputs that the active recognizer has not received yet.
    waiting: VecDeque<RecogniserInput>,
}

enum State {
    Closed,
    Opening(BoxFuture<'static, Result<Recogniser, SpeechError>>),
    Open(Recogniser),
}

/// What the recognizers report.
pub(super) enum Heard {
    Event(RecogniserEvent),
    /// A recognizer starts to listen, with this many pending finalize requests.
    Listens(u64),
    /// All recognizers failed.
    Nothing,
}

impl Ear {
    pub(super) fn new(choices: Vec<Hearing>) -> Self {
        Self {
            choices,
            at: 0,
            failures: 0,
            state: State::Closed,
            kept: VecDeque::new(),
            in_utterance: false,
            waiting: VecDeque::new(),
        }
    }

    /// Starts to open the active recognizer.
    pub(super) fn open(&mut self) {
        let Some(choice) = self.choices.get(self.at).cloned() else {
            self.state = State::Opening(async { Err(SpeechError::NotConfigured) }.boxed());
            return;
        };
        let opening = async move {
            let opened = timeout(OPEN_LIMIT, choice.service.open(choice.settings)).await;
            opened.unwrap_or(Err(SpeechError::Timeout))
        };
        self.waiting.clear();
        self.state = State::Opening(opening.boxed());
    }

    /// Stops listening for good.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.kept.clear();
        self.waiting.clear();
    }

    pub(super) fn hear(&mut self, frame: &Frame) {
        self.give(RecogniserInput::Frame(Box::new(*frame)));
    }

    pub(super) fn speech_began(&mut self) {
        self.in_utterance = true;
        self.give(RecogniserInput::SpeechBegan);
    }

    pub(super) fn finalize(&mut self) {
        self.give(RecogniserInput::Finalize);
    }

    /// The utterance is over, so no fallback needs its audio.
    pub(super) fn forget(&mut self) {
        self.in_utterance = false;
        self.kept.clear();
    }

    fn give(&mut self, input: RecogniserInput) {
        if let State::Open(recogniser) = &self.state {
            let unsent = if self.waiting.is_empty() {
                recogniser.input.try_send(input.clone()).err()
            } else {
                Some(TrySendError::Full(input.clone()))
            };
            // A closed channel is noticed where events are read.
            if let Some(TrySendError::Full(input)) = unsent {
                self.waiting.push_back(input);
                bound(&mut self.waiting, KEPT_OF_UTTERANCE);
            }
        }
        self.kept.push_back(input);
        let limit = if self.in_utterance {
            KEPT_OF_UTTERANCE
        } else {
            KEPT_OF_SILENCE
        };
        bound(&mut self.kept, limit);
    }

    /// Waits for the next report. Cancel-safe.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let failed = match &mut self.state {
                State::Closed => std::future::pending().await,
                State::Opening(opening) => match opening.await {
                    Ok(recogniser) => {
                        self.waiting = self.kept.clone();
                        self.state = State::Open(recogniser);
                        return Heard::Listens(finalizes(&self.waiting));
                    }
                    Err(error) => error,
                },
                State::Open(recogniser) => {
                    let waiting = &mut self.waiting;
                    tokio::select! {
                        biased;
                        event = recogniser.events.recv() => match event {
                            Some(RecogniserEvent::Failed(error)) => error,
                            Some(event) => {
                                if matches!(event, RecogniserEvent::Partial(_) | RecogniserEvent::Final(_)) {
                                    self.failures = 0;
                                }
                                return Heard::Event(event);
                            }
                            None => SpeechError::Unreachable,
                        },
                        permit = recogniser.input.reserve(), if !waiting.is_empty() => match permit {
                            Ok(permit) => {
                                if let Some(input) = waiting.pop_front() {
                                    permit.send(input);
                                }
                                continue;
                            }
                            Err(_) => SpeechError::Unreachable,
                        },
                    }
                }
            };
            if self.gives_up(&failed) {
                return Heard::Nothing;
            }
        }
    }

    /// Switches to the next recognizer. Each gets one turn, the first a second one.
    fn gives_up(&mut self, error: &SpeechError) -> bool {
        tracing::warn!(%error, recogniser = self.at, "a recogniser failed");
        self.failures += 1;
        if self.failures > self.choices.len() {
            self.close();
            return true;
        }
        self.at = (self.at + 1) % self.choices.len().max(1);
        self.open();
        false
    }
}

/// Drops the oldest frames beyond a limit. Marks are kept, because each finalize request needs its answer.
fn bound(inputs: &mut VecDeque<RecogniserInput>, limit: usize) {
    while inputs.len() > limit {
        let oldest = inputs
            .iter()
            .position(|input| matches!(input, RecogniserInput::Frame(_)));
        inputs.remove(oldest.unwrap_or_default());
    }
}

fn finalizes(inputs: &VecDeque<RecogniserInput>) -> u64 {
    let asked = inputs.iter();
    asked
        .filter(|input| matches!(input, RecogniserInput::Finalize))
        .count() as u64
}
