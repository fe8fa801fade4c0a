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
    Recognizer, RecognizerEvent, RecognizerInput, RecognizerSettings, SpeechError, SpeechToText,
};

/// How long a recognizer may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(3);

/// Frames of silence kept: half a second, for the beginning of the next utterance.
const SILENCE_FRAMES: usize = 25;

/// Frames of an utterance kept: half a minute.
const UTTERANCE_FRAMES: usize = 1_500;

/// A recognizer and its settings.
#[derive(Clone)]
pub struct RecognizerChoice {
    pub service: Arc<dyn SpeechToText>,
    pub settings: RecognizerSettings,
}

/// The recognizers of one call.
pub(super) struct SpeechInput {
    choices: Vec<RecognizerChoice>,
    at: usize,
    /// Failures since the last recognition result.
    failures: usize,
    state: State,
    kept: VecDeque<RecognizerInput>,
    in_utterance: bool,
    /// Inputs that the active recognizer has not received yet.
    waiting: VecDeque<RecognizerInput>,
}

enum State {
    Closed,
    Opening(BoxFuture<'static, Result<Recognizer, SpeechError>>),
    Open(Recognizer),
}

/// What the recognizers report.
pub(super) enum RecognizerReport {
    Event(RecognizerEvent),
    /// A recognizer starts to listen, with this many pending finalize requests.
    Opened(u64),
    /// All recognizers failed.
    Failed,
}

impl SpeechInput {
    pub(super) fn new(choices: Vec<RecognizerChoice>) -> Self {
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

    pub(super) fn push_frame(&mut self, frame: &Frame) {
        self.give(RecognizerInput::Frame(Box::new(*frame)));
    }

    pub(super) fn speech_began(&mut self) {
        self.in_utterance = true;
        self.give(RecognizerInput::SpeechBegan);
    }

    pub(super) fn finalize(&mut self) {
        self.give(RecognizerInput::Finalize);
    }

    /// The utterance is over, so no fallback needs its audio.
    pub(super) fn forget(&mut self) {
        self.in_utterance = false;
        self.kept.clear();
    }

    fn give(&mut self, input: RecognizerInput) {
        if let State::Open(recognizer) = &self.state {
            let unsent = if self.waiting.is_empty() {
                recognizer.input.try_send(input.clone()).err()
            } else {
                Some(TrySendError::Full(input.clone()))
            };
            // A closed channel is noticed where events are read.
            if let Some(TrySendError::Full(input)) = unsent {
                self.waiting.push_back(input);
                bound(&mut self.waiting, UTTERANCE_FRAMES);
            }
        }
        self.kept.push_back(input);
        let limit = if self.in_utterance {
            UTTERANCE_FRAMES
        } else {
            SILENCE_FRAMES
        };
        bound(&mut self.kept, limit);
    }

    /// Waits for the next report. Cancel-safe.
    pub(super) async fn next(&mut self) -> RecognizerReport {
        loop {
            let failed = match &mut self.state {
                State::Closed => std::future::pending().await,
                State::Opening(opening) => match opening.await {
                    Ok(recognizer) => {
                        self.waiting = self.kept.clone();
                        self.state = State::Open(recognizer);
                        return RecognizerReport::Opened(finalizes(&self.waiting));
                    }
                    Err(error) => error,
                },
                State::Open(recognizer) => {
                    let waiting = &mut self.waiting;
                    tokio::select! {
                        biased;
                        event = recognizer.events.recv() => match event {
                            Some(RecognizerEvent::Failed(error)) => error,
                            Some(event) => {
                                if matches!(event, RecognizerEvent::Partial(_) | RecognizerEvent::Final(_)) {
                                    self.failures = 0;
                                }
                                return RecognizerReport::Event(event);
                            }
                            None => SpeechError::Unreachable,
                        },
                        permit = recognizer.input.reserve(), if !waiting.is_empty() => match permit {
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
                return RecognizerReport::Failed;
            }
        }
    }

    /// Switches to the next recognizer. Each gets one turn, the first a second one.
    fn gives_up(&mut self, error: &SpeechError) -> bool {
        tracing::warn!(%error, recognizer = self.at, "a recognizer failed");
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
fn bound(inputs: &mut VecDeque<RecognizerInput>, limit: usize) {
    while inputs.len() > limit {
        let oldest = inputs
            .iter()
            .position(|input| matches!(input, RecognizerInput::Frame(_)));
        inputs.remove(oldest.unwrap_or_default());
    }
}

fn finalizes(inputs: &VecDeque<RecognizerInput>) -> u64 {
    let asked = inputs.iter();
    asked
        .filter(|input| matches!(input, RecognizerInput::Finalize))
        .count() as u64
}
