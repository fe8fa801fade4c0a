//! The recognisers of one call: one that listens, and others that step in. What was said since the utterance began is
//! kept, so that the next one hears it too.

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

/// How long a recogniser may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(3);

/// Frames kept of silence: half a second, for the beginning of what is said next.
const KEPT_OF_SILENCE: usize = 25;

/// Frames kept of an utterance: half a minute.
const KEPT_OF_UTTERANCE: usize = 1_500;

/// A recogniser, and how the agent listens by it.
#[derive(Clone)]
pub struct Hearing {
    pub service: Arc<dyn SpeechToText>,
    /// The agent's settings for it.
    pub settings: RecogniserSettings,
}

/// The ear of one call.
pub(super) struct Ear {
    choices: Vec<Hearing>,
    at: usize,
    /// Failures since a recogniser understood anything.
    failures: usize,
    state: State,
    kept: VecDeque<RecogniserInput>,
    in_utterance: bool,
    /// What the present recogniser has yet to be given.
    waiting: VecDeque<RecogniserInput>,
}

enum State {
    Closed,
    Opening(BoxFuture<'static, Result<Recogniser, SpeechError>>),
    Open(Recogniser),
}

/// What an ear tells.
pub(super) enum Heard {
    Event(RecogniserEvent),
    /// A recogniser begins to listen. It is given so many requests to finalize.
    Listens(u64),
    /// None is left.
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

    /// Begins to listen.
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

    /// The utterance is over: no other recogniser needs to hear it.
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
            // A closed channel shows where events are read.
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

    /// Waits for what is heard. Safe to cancel.
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

    /// The next recogniser steps in; each has its turn, and the first a second one.
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

/// Drops the oldest sound beyond a limit; marks stay with what they mark, or nobody would answer them.
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
