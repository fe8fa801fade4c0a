//! The public interface, as a client uses it.

use std::fmt;

use bytes::Bytes;
use futures_util::StreamExt as _;
use offhook_providers::Events;
use reqwest::header::{ACCEPT, RETRY_AFTER};
use reqwest::{Method, RequestBuilder};

use crate::prelude::*;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(15);

/// The pause before a stream that broke is opened again.
const REOPENED_AFTER: Duration = Duration::from_secs(1);

/// How often a request waits for the rate limit.
const WAITS: usize = 20;

/// What heals within so many seconds is asked for again.
const SOON: u64 = 60;

/// A client with its key.
pub(crate) struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
}

/// Why a request was not answered well.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nothing answers there, or it stopped in the middle of its answer.
    Unreachable(String),
    Answered {
        status: u16,
        code: String,
        message: String,
        /// `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
}

impl Refused {
    /// Whether the same request may succeed later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Answered {
                status,
                retry_after,
                ..
            } => *status >= 500 || retry_after.is_some_and(|seconds| seconds <= SOON),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(base) => write!(
                f,
                "nothing answers at {base}: is `offhook serve` running there? --url names another address"
            ),
            Self::Answered {
                status,
                code,
                message,
                ..
            } => write!(f, "{status} {code}: {message}"),
        }
    }
}

impl std::error::Error for Refused {}

impl Api {
    pub(crate) fn new(base: String, key: String) -> anyhow::Result<Self> {
        Ok(Self {
            http: crate::parts::http_client()?,
            base,
            key,
        })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.http.get(format!("{}{path}", self.base));
        Ok(self.exchange(request).await?)
    }

    /// `doing` is what an error says that this was for.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: Value,
        doing: &'static str,
    ) -> anyhow::Result<Value> {
        let request = self.http.post(format!("{}{path}", self.base));
        self.exchange(request.json(&body)).await.context(doing)
    }

    pub(crate) async fn put(
        &self,
        path: &str,
        body: Value,
        doing: &'static str,
    ) -> anyhow::Result<Value> {
        let request = self.http.put(format!("{}{path}", self.base));
        self.exchange(request.json(&body)).await.context(doing)
    }

    pub(super) async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let request = self.http.request(method, format!("{}{path}", self.base));
        Ok(self.exchange(request.json(body)).await?)
    }

    /// Places a call under an Idempotency-Key.
    pub(super) async fn place_call(&self, key: &str, body: &Value) -> Result<Value, Refused> {
        let request = self.http.post(format!("{}/v1/calls", self.base));
        let request = request.header("Idempotency-Key", key).json(body);
        self.exchange(request).await
    }

    /// What is at a path, as it is.
    pub(crate) async fn bytes(&self, path: &str) -> anyhow::Result<Bytes> {
        let request = self.http.get(format!("{}{path}", self.base));
        let response = self.send(request.timeout(LIMIT)).await?;
        Ok(response.bytes().await?)
    }

    /// Hands each event of a stream to `shown` until that says `false`.
    pub(crate) async fn follow(
        &self,
        path: &str,
        mut shown: impl FnMut(&Value) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let read = |data: &str| shown(&serde_json::from_str(data).context("an event is not JSON")?);
        self.follow_text(path, read).await
    }

    /// The same with the events' data as it came. A stream that breaks is opened again where it was.
    pub(super) async fn follow_text(
        &self,
        path: &str,
        mut shown: impl FnMut(&str) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let mut events = Events::default();
        let mut is_open = false;
        loop {
            match self
                .read_stream(path, &mut events, &mut is_open, &mut shown)
                .await
            {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(error) => {
                    let refused = error.downcast_ref::<Refused>();
                    if !is_open || !refused.is_some_and(Refused::may_pass) {
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(REOPENED_AFTER).await;
        }
    }

    /// Whether the stream is to be opened again when it ends.
    async fn read_stream(
        &self,
        path: &str,
        events: &mut Events,
        is_open: &mut bool,
        shown: &mut impl FnMut(&str) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let request = self.http.get(format!("{}{path}", self.base));
        let mut request = request.header(ACCEPT, "text/event-stream");
        if let Some(id) = events.last_id() {
            request = request.header("Last-Event-ID", id);
        }
        let mut stream = self.send(request).await?.bytes_stream();
        *is_open = true;
        events.begin_again();
        while let Some(Ok(piece)) = stream.next().await {
            let mut data = Vec::new();
            let read = events.push(&piece, |one| data.push(one));
            ensure!(read.is_ok(), "an event is too long, or no text");
            for one in data {
                if !shown(&one)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Value, Refused> {
        let response = self.send(request.timeout(LIMIT)).await?;
        let unreachable = |_| Refused::Unreachable(self.base.clone());
        response.json().await.map_err(unreachable)
    }

    /// The answer, if it says success. A request that the rate limit refuses waits for its turn.
    async fn send(&self, request: RequestBuilder) -> Result<reqwest::Response, Refused> {
        for _ in 0..WAITS {
            let Some(again) = request.try_clone() else {
                break;
            };
            match self.send_once(again).await {
                Err(Refused::Answered {
                    status: 429,
                    retry_after: Some(seconds),
                    ..
                }) if seconds <= SOON => {
                    let seconds = seconds.max(1);
                    eprintln!("the rate limit is reached; going on in {seconds} s");
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
                answer => return answer,
            }
        }
        self.send_once(request).await
    }

    async fn send_once(&self, request: RequestBuilder) -> Result<reqwest::Response, Refused> {
        let unreachable = |_| Refused::Unreachable(self.base.clone());
        let response = request
            .bearer_auth(&self.key)
            .send()
            .await
            .map_err(unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.bytes().await.unwrap_or_default();
        let envelope: Value = serde_json::from_slice(&body).unwrap_or_default();
        let word = |name: &str| envelope[name].as_str().unwrap_or("?").to_owned();
        Err(Refused::Answered {
            status: status.as_u16(),
            code: word("error"),
            message: word("message"),
            retry_after,
        })
    }
}
