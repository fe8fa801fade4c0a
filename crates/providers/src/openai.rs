//! Any service that speaks OpenAI's streaming chat completions: OpenAI, Azure, vLLM, llama.cpp, Ollama, LiteLLM,
//! OpenRouter.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_egress::{GuardedClient, TargetUrl};
use offhook_engine::ports::{LanguageModel, ModelDelta, ModelError, ModelRequest};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Url};
use tokio::time::timeout;

use crate::lenient::without_nul;
use crate::sse::Events;
use calls::Calls;
use wire::{Chunk, RequestBody};

mod calls;
mod wire;

/// The longest answer, framing included.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// How long an answer that is complete may take to end, so that its connection can be used again.
const TAIL_LIMIT: Duration = Duration::from_millis(250);

/// One service's endpoint.
#[derive(Clone)]
pub(crate) struct ChatCompletions {
    access: Access,
}

#[derive(Clone)]
enum Access {
    /// Named by the operator.
    Trusted {
        client: reqwest::Client,
        url: Url,
        authorization: Option<HeaderValue>,
    },
    /// Named by a customer: guarded, and without any credential of ours.
    Custom {
        client: GuardedClient,
        url: TargetUrl,
    },
}

/// Where completions are asked for, below a base URL such as `https://api.openai.com/v1`.
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
    pub(crate) const fn trusted(
        client: reqwest::Client,
        url: Url,
        authorization: Option<HeaderValue>,
    ) -> Self {
        let access = Access::Trusted {
            client,
            url,
            authorization,
        };
        Self { access }
    }

    pub(crate) const fn custom(client: GuardedClient, url: TargetUrl) -> Self {
        Self {
            access: Access::Custom { client, url },
        }
    }

    fn request(&self) -> Result<reqwest::RequestBuilder, ModelError> {
        match &self.access {
            Access::Trusted {
                client,
                url,
                authorization,
            } => {
                let request = client.request(Method::POST, url.clone());
                Ok(match authorization {
                    Some(value) => request.header(reqwest::header::AUTHORIZATION, value.clone()),
                    None => request,
                })
            }
            Access::Custom { client, url } => client
                .request(Method::POST, url)
                .map_err(|_| ModelError::NotConfigured),
        }
    }

    async fn open(self, request: ModelRequest) -> Result<Answer, ModelError> {
        let response = self
            .request()?
            .header(ACCEPT, "text/event-stream")
            .json(&RequestBody::new(&request)?)
            .send()
            .await
            .map_err(|error| failure(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(ModelError::Refused(status.as_u16()));
        }
        Ok(Answer::new(response))
    }
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
    bytes: usize,
    /// The model said that it is done.
    finished: bool,
    /// Nothing comes any more.
    over: bool,
}

type Item = Result<ModelDelta, ModelError>;

impl Answer {
    fn new(response: reqwest::Response) -> Self {
        Self {
            body: response.bytes_stream().boxed(),
            events: Events::default(),
            ready: VecDeque::new(),
            calls: Calls::default(),
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
                // An answer read to its end gives its connection back.
                let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
                let _ = timeout(TAIL_LIMIT, rest).await;
                return Some((Ok(ModelDelta::Finish), self));
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
        found.iter().try_for_each(|data| self.take(data))
    }

    /// Takes in the data of one event; an empty one stands for the end of the stream.
    fn take(&mut self, data: &str) -> Result<(), ModelError> {
        match data.trim() {
            _ if self.finished => return Ok(()),
            "" => return Err(ModelError::Protocol("it broke off")),
            "[DONE]" => return self.finish(),
            _ => {}
        }
        let chunk: Chunk = serde_json::from_str(data)
            .map_err(|_| ModelError::Protocol("a piece of it is malformed"))?;
        if let Some(error) = chunk.error {
            return Err(error.into());
        }
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            let delta = choice.delta.unwrap_or_default();
            let text = [delta.content.0, delta.refusal.0].into_iter().flatten();
            for text in text.map(without_nul).filter(|text| !text.is_empty()) {
                self.ready.push_back(ModelDelta::Text(text));
            }
            for part in delta.tool_calls.into_iter().flatten() {
                self.calls.take(part)?;
                self.ready.push_back(ModelDelta::Working);
            }
            if choice.finish_reason.is_some() {
                self.finish()?;
            }
        }
        Ok(())
    }

    /// The model is done: what it called is complete now.
    fn finish(&mut self) -> Result<(), ModelError> {
        self.finished = true;
        let calls = std::mem::take(&mut self.calls).whole()?;
        self.ready.extend(calls.into_iter().map(ModelDelta::Call));
        Ok(())
    }
}
