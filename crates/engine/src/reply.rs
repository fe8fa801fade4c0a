//! One text from the models: the candidates in turn, cut into sentences as it comes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::time::{Instant, timeout_at};

use crate::latencies::Latencies;
use crate::persona::{ModelChoice, Routing};
use crate::ports::{Message, ModelDelta, ModelError, ModelRequest, Models, Purpose};
use crate::segments::Segments;

/// How long a model may take to its first token, and from one token to the next (voice design 5.4).
const TOKEN_LIMIT: Duration = Duration::from_secs(6);

/// A reply beyond this is cut: nobody listens to it.
const MAX_REPLY_BYTES: usize = 16 * 1024;

/// No candidate wrote anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no model could be reached")]
pub struct NoReply;

/// A text on its way. Dropping it cancels the request.
pub struct Reply {
    ask: Ask,
    candidates: std::vec::IntoIter<Candidate>,
    writing: Option<Writing>,
    segments: Segments,
    bytes: usize,
    done: bool,
}

/// What every candidate is asked.
pub(crate) struct Ask {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) latencies: Latencies,
    pub(crate) messages: Vec<Message>,
    pub(crate) temperature: f64,
    pub(crate) purpose: Purpose,
}

struct Candidate {
    provider: String,
    model: String,
    endpoint: Option<String>,
}

struct Writing {
    stream: BoxStream<'static, Result<ModelDelta, ModelError>>,
    key: String,
    asked_at: Instant,
    deadline: Instant,
    begun: bool,
}

impl Candidate {
    fn key(&self) -> String {
        let endpoint = self.endpoint.as_deref().unwrap_or_default();
        format!("{}\n{}\n{endpoint}", self.provider, self.model)
    }
}

impl Reply {
    pub(crate) fn new(choice: &ModelChoice, ask: Ask) -> Self {
        let candidates = candidates(choice, &ask.latencies).into_iter();
        Self {
            ask,
            candidates,
            writing: None,
            segments: Segments::default(),
            bytes: 0,
            done: false,
        }
    }

    /// The next sentence; `None` when the text is complete. Safe to cancel.
    ///
    /// # Errors
    /// [`NoReply`] if no candidate wrote anything. One that breaks off after its first sentence ends the text there:
    /// what was said cannot be taken back.
    pub async fn next(&mut self) -> Option<Result<String, NoReply>> {
        loop {
            if let Some(segment) = self.segments.next() {
                return Some(Ok(segment));
            }
            if self.done {
                return self.segments.rest().map(Ok);
            }
            let Some(writing) = self.writing.as_mut() else {
                if self.ask_the_next() {
                    continue;
                }
                self.done = true;
                return Some(Err(NoReply));
            };
            let delta = timeout_at(writing.deadline, writing.stream.next())
                .await
                .unwrap_or(Some(Err(ModelError::Timeout)))
                .unwrap_or(Err(ModelError::Protocol("it broke off")));
            self.take(delta);
        }
    }

    fn take(&mut self, delta: Result<ModelDelta, ModelError>) {
        let Some(writing) = self.writing.as_mut() else {
            return;
        };
        match delta {
            Ok(ModelDelta::Text(text)) => {
                let now = Instant::now();
                if !writing.begun {
                    writing.begun = true;
                    self.ask
                        .latencies
                        .record(&writing.key, now - writing.asked_at);
                }
                writing.deadline = now + TOKEN_LIMIT;
                self.bytes += text.len();
                self.segments.push(&text);
                if self.bytes > MAX_REPLY_BYTES {
                    self.finish();
                }
            }
            Ok(ModelDelta::Finish) if self.bytes > 0 => self.finish(),
            Ok(ModelDelta::Finish) => self.give_up(&ModelError::Protocol("it wrote nothing")),
            Err(error) => self.give_up(&error),
        }
    }

    fn finish(&mut self) {
        self.writing = None;
        self.done = true;
    }

    /// The candidate failed: the next one starts afresh, unless something was given out already.
    fn give_up(&mut self, error: &ModelError) {
        let Some(writing) = self.writing.take() else {
            return;
        };
        tracing::warn!(%error, begun = writing.begun, "a model failed");
        self.ask.latencies.record(&writing.key, TOKEN_LIMIT);
        if self.segments.is_untouched() {
            self.segments = Segments::default();
            self.bytes = 0;
        } else {
            self.done = true;
        }
    }

    fn ask_the_next(&mut self) -> bool {
        for candidate in self.candidates.by_ref() {
            let endpoint = candidate.endpoint.as_deref();
            match self
                .ask
                .models
                .find(&candidate.provider, &candidate.model, endpoint)
            {
                Ok(model) => {
                    let asked_at = Instant::now();
                    self.writing = Some(Writing {
                        key: candidate.key(),
                        stream: model.stream(ModelRequest {
                            model: candidate.model,
                            messages: self.ask.messages.clone(),
                            temperature: self.ask.temperature,
                            purpose: self.ask.purpose,
                        }),
                        asked_at,
                        deadline: asked_at + TOKEN_LIMIT,
                        begun: false,
                    });
                    return true;
                }
                Err(error) => tracing::warn!(%error, "a model cannot be asked"),
            }
        }
        false
    }
}

fn candidates(choice: &ModelChoice, latencies: &Latencies) -> Vec<Candidate> {
    let first = (choice.provider.clone(), choice.model.clone());
    let mut all: Vec<Candidate> = std::iter::once(first)
        .chain(choice.fallback.iter().cloned())
        .map(|(provider, model)| Candidate {
            endpoint: choice.endpoint.clone().filter(|_| provider == "custom"),
            provider,
            model,
        })
        .collect();
    if choice.routing == Routing::Fastest {
        all.sort_by_key(|candidate| latencies.recent(&candidate.key()));
    }
    all
}
