//! Any service with OpenAI's streaming chat completions: OpenAI, Azure, vLLM, llama.cpp, Ollama, LiteLLM, OpenRouter.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_egress::{GuardedClient, TargetUrl};
use offhook_engine::ports::{LanguageModel, ModelDelta, ModelError, ModelRequest, Tokens};
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use tokio::time::timeout;

use crate::http;
use crate::lenient::without_nul;
use crate::sse::Events;
use calls::Calls;
use wire::{Chunk, Member, RequestBody};

mod calls;
pub(crate) mod speech;
mod wire;

/// The longest answer in bytes, including event framing.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// The largest part of an error answer that is read.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;

/// Models in the cache of those that reject an optional member.
const KNOWN_AT_MOST: usize = 64;

/// How long a complete answer may take to end its stream, so that its connection can be reused.
const TAIL_LIMIT: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub(crate) struct ChatCompletions {
    access: Access,
    /// Models that have rejected optional members; later requests leave these out.
    rejected: Arc<Mutex<HashMap<String, Vec<Member>>>>,
}

#[derive(Clone)]
enum Access {
    /// The operator's endpoint.
    Trusted {
        client: reqwest::Client,
        url: Url,
        authorization: Option<HeaderValue>,
    },
    /// A customer's endpoint: guarded against private addresses, and without our credentials.
    Custom {
        client: GuardedClient,
        url: TargetUrl,
        authorization: Option<HeaderValue>,
    },
}

/// The completions URL below a base URL such as `https://api.openai.com/v1`.
pub(crate) fn completions_url(base: &str) -> String {
    const PATH: &str = "/chat/completions";
    let base = base.trim_end_matches('/');
    if base.ends_with(PATH) {
        base.to_owned()
    } else {
        format!("{base}{PATH}")
    }
}

impl ChatCompletions {
    pub(crate) fn trusted(
        client: reqwest::Client,
        url: Url,
        authorization: Option<HeaderValue>,
    ) -> Self {
        Self::by(Access::Trusted {
            client,
            url,
            authorization,
        })
    }

    pub(crate) fn custom(
        client: GuardedClient,
        url: TargetUrl,
        authorization: Option<HeaderValue>,
    ) -> Self {
        Self::by(Access::Custom {
            client,
            url,
            authorization,
        })
    }

    fn by(access: Access) -> Self {
        Self {
            access,
            rejected: Arc::default(),
        }
    }

    fn request(&self) -> Result<reqwest::RequestBuilder, ModelError> {
        let (request, authorization) = match &self.access {
            Access::Trusted {
                client,
                url,
                authorization,
            } => (client.request(Method::POST, url.clone()), authorization),
            Access::Custom {
                client,
                url,
                authorization,
            } => {
                let request = client.request(Method::POST, url);
                let request = request.map_err(|_| ModelError::NotConfigured)?;
                (request, authorization)
            }
        };
        Ok(match authorization {
            Some(value) => request.header(AUTHORIZATION, value.clone()),
            None => request,
        })
    }

    async fn open(self, request: ModelRequest) -> Result<Answer, ModelError> {
        let known = self.rejected.lock().get(&request.model).cloned();
        let mut without = known.unwrap_or_default();
        loop {
            let response = self
                .request()?
                .header(ACCEPT, "text/event-stream")
                .json(&RequestBody::new(&request, &without)?)
                .send()
                .await
                .map_err(|error| failure(&error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(Answer::new(response));
            }
            let may_name_one = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
            let named = match may_name_one.contains(&status) && without.len() < Member::ALL.len() {
                true => named_in(response, &without).await,
                false => None,
            };
            let Some(member) = named else {
                return Err(ModelError::Refused(status.as_u16()));
            };
            without.push(member);
            let mut known = self.rejected.lock();
            if known.len() < KNOWN_AT_MOST {
                known.insert(request.model.clone(), without.clone());
            }
        }
    }
}

/// The optional member, of those that were sent, that an error answer names: some models support only one temperature, and some services refuse
/// members that they do not know.
async fn named_in(refusal: reqwest::Response, without: &[Member]) -> Option<Member> {
    let body = http::whole(refusal, MAX_REFUSAL_BYTES).await;
    let body = body.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let mut all = Member::ALL.into_iter();
    all.find(|member| !without.contains(member) && text.contains(member.as_str()))
}

impl LanguageModel for ChatCompletions {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let opening = self.clone().open(request);
        stream::once(opening)
            .flat_map(|opened| match opened {
                Ok(answer) => stream::unfold(answer, Answer::next).boxed(),
                Err(error) => stream::once(async { Err(error) }).boxed(),
            })
            .boxed()
    }
}

fn failure(error: &reqwest::Error) -> ModelError {
    if error.is_timeout() {
        ModelError::Timeout
    } else if error.is_builder() || error.is_redirect() {
        ModelError::Protocol("the request could not be made")
    } else {
        ModelError::Unreachable
    }
}

/// An answer that is being read.
struct Answer {
    body: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    events: Events,
    ready: VecDeque<ModelDelta>,
    calls: Calls,
    used: Option<Tokens>,
    bytes: usize,
    /// The model has finished.
    finished: bool,
    /// The stream has ended.
    over: bool,
}

/// The tokens that an event after the end of the answer counts.
fn counted(data: &str) -> Option<Tokens> {
    serde_json::from_str::<Chunk>(data).ok()?.used()
}

type Item = Result<ModelDelta, ModelError>;

impl Answer {
    fn new(response: reqwest::Response) -> Self {
        Self {
            body: response.bytes_stream().boxed(),
            events: Events::default(),
            ready: VecDeque::new(),
            calls: Calls::default(),
            used: None,
            bytes: 0,
            finished: false,
            over: false,
        }
    }

    async fn next(mut self) -> Option<(Item, Self)> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some((Ok(delta), self));
            }
            if self.over {
                return None;
            }
            if self.finished {
                self.over = true;
                // A connection is reusable only after its answer was read completely. The count of tokens comes last.
                let (body, events, used) = (&mut self.body, &mut self.events, &mut self.used);
                let rest = async {
                    while let Some(Ok(piece)) = body.next().await {
                        let _ = events.push(&piece, |data| *used = counted(&data).or(*used));
                    }
                };
                let _ = timeout(TAIL_LIMIT, rest).await;
                self.ready.extend(self.used.map(ModelDelta::Used));
                self.ready.push_back(ModelDelta::Finish);
                continue;
            }
            if let Err(error) = self.read().await {
                self.over = true;
                return Some((Err(error), self));
            }
        }
    }

    async fn read(&mut self) -> Result<(), ModelError> {
        let mut found = Vec::new();
        match self.body.next().await {
            Some(Ok(piece)) => {
                self.bytes += piece.len();
                if self.bytes > MAX_ANSWER_BYTES {
                    return Err(ModelError::Protocol("it is too long"));
                }
                self.events.push(&piece, |data| found.push(data))
            }
            Some(Err(error)) if error.is_timeout() => return Err(ModelError::Timeout),
            Some(Err(_)) => return Err(ModelError::Protocol("it broke off")),
            None => {
                let last = self.events.finish(|data| found.push(data));
                found.push(String::new());
                last
            }
        }
        .map_err(|_| ModelError::Protocol("it is no event stream"))?;
        found.iter().try_for_each(|data| self.handle(data))
    }

    /// Handles the data of one event; an empty one stands for the end of the stream.
    fn handle(&mut self, data: &str) -> Result<(), ModelError> {
        match data.trim() {
            _ if self.finished => {
                self.used = counted(data).or(self.used);
                return Ok(());
            }
            "" => return Err(ModelError::Protocol("it broke off")),
            "[DONE]" => return self.finish(),
            _ => {}
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|_| ModelError::Protocol("a piece of it is malformed"))?;
        if let Some(error) = chunk.error {
            return Err(error.into());
        }
        self.used = chunk.used().or(self.used);
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            let delta = choice.delta.unwrap_or_default();
            let text = [delta.content.0, delta.refusal.0].into_iter().flatten();
            for text in text.map(without_nul).filter(|text| !text.is_empty()) {
                self.ready.push_back(ModelDelta::Text(text));
            }
            for part in delta.tool_calls.into_iter().flatten() {
                self.calls.add(part)?;
                self.ready.push_back(ModelDelta::Working);
            }
            if choice.finish_reason.is_some() {
                self.finish()?;
            }
        }
        Ok(())
    }

    /// The model has finished: its tool calls are complete.
    fn finish(&mut self) -> Result<(), ModelError> {
        self.finished = true;
        let calls = std::mem::take(&mut self.calls).whole()?;
        self.ready.extend(calls.into_iter().map(ModelDelta::Call));
        Ok(())
    }
}
