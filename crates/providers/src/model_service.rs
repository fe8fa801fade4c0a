//! What the adapters of language models share: the request, what a model may refuse of it, and the stream of its answer.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt};
use offhook_egress::{GuardedClient, TargetUrl, http_url};
use offhook_engine::ports::{
    KeyAnswer, LanguageModel, ModelDelta, ModelError, ModelRequest, Tokens,
};
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use reqwest::{Method, StatusCode};
use tokio::time::timeout;

use crate::http;
use crate::settings::SettingsError;
use crate::sse::Events;

/// The longest answer in bytes, including event framing.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// The largest part of an error answer that is read.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;

/// Models in the cache of those that refuse an option.
const KNOWN_AT_MOST: usize = 256;

/// How long a vendor may take to say whether it accepts a key.
const ASK_LIMIT: Duration = Duration::from_secs(5);

/// The reason in Google's 400 for a key that is not valid.
const GOOGLES_BAD_KEY: &str = "API_KEY_INVALID";

/// How long a complete answer may take to end its stream, so that its connection can be reused.
const TAIL_LIMIT: Duration = Duration::from_millis(250);

/// How a vendor writes requests and answers.
pub(crate) trait WireFormat: Send + Sync + 'static {
    type Answer: AnswerFormat;

    /// The header of the key, and the prefix of its value.
    const KEY_IN: (HeaderName, &'static str);

    /// Headers of each request besides its key.
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    /// What a model may refuse of a request, in the words of refusals; one that may be refused twice stands there twice.
    const OPTIONAL: &'static [&'static str];

    /// The URL of a model's answers below a base URL. Fails if there is none for this model.
    fn url(base: &str, model: &str) -> Option<String>;

    /// The request without the options that the model refused. Fails with [`ModelError::Protocol`] if a tool's schema is
    /// not valid JSON.
    fn body(request: &ModelRequest, without: &[&str]) -> Result<Vec<u8>, ModelError>;
}

/// How a vendor writes the events of one answer.
pub(crate) trait AnswerFormat: Default + Send + 'static {
    /// Reads the data of one event. Returns whether the model has finished; then all its tool calls are in `found`.
    fn read(&mut self, data: &str, found: &mut VecDeque<ModelDelta>) -> Result<bool, ModelError>;

    /// Reads an event after the end, which may count the tokens.
    fn read_late(&mut self, _data: &str) {}

    /// The tokens that the answer has used, if an event said so.
    fn used(&self) -> Option<Tokens>;
}

/// The option that a refusal names, if the request had it.
fn refused_option(
    optional: &'static [&'static str],
    without: &[&str],
    refusal: &str,
) -> Option<&'static str> {
    let times = |all: &[&str], one: &str| all.iter().filter(|other| **other == one).count();
    let refusal = refusal.to_lowercase();
    let mut sent = optional.iter().copied();
    sent.find(|one| times(without, one) < times(optional, one) && refusal.contains(one))
}

/// The options that models refused, by URL and model. Clones share it.
pub(crate) type Refusals = Arc<Mutex<HashMap<(String, String), Vec<&'static str>>>>;

#[derive(Clone)]
pub(crate) enum Client {
    /// For the operator's URLs.
    Trusted(reqwest::Client),
    /// For URLs of accounts: guarded against private addresses.
    Guarded(GuardedClient),
}

/// A service, its URL and its key.
pub(crate) struct Service {
    pub(crate) client: Client,
    /// Without a slash at its end.
    pub(crate) base: String,
    pub(crate) key: Option<String>,
    pub(crate) refusals: Refusals,
}

/// A service in a vendor's format.
struct ModelService<F>(Arc<Service>, std::marker::PhantomData<fn() -> F>);

impl Service {
    /// The service in a vendor's format. The error names the provider.
    pub(crate) fn in_format<F: WireFormat>(
        self,
        provider: &str,
    ) -> Result<Arc<dyn LanguageModel>, SettingsError> {
        http::given_credential(provider, F::KEY_IN.1, self.key.as_deref())?;
        let url = F::url(&self.base, "m");
        if url.is_none_or(|url| self.request::<F>(Method::POST, &url).is_err()) {
            return Err(SettingsError::BaseUrl(provider.to_owned()));
        }
        let service = ModelService::<F>(Arc::new(self), std::marker::PhantomData);
        Ok(Arc::new(service))
    }

    fn request<F: WireFormat>(
        &self,
        method: Method,
        url: &str,
    ) -> Result<reqwest::RequestBuilder, ModelError> {
        let mut request = match &self.client {
            Client::Trusted(client) => {
                let url = http_url(url).ok_or(ModelError::NotConfigured)?;
                client.request(method, url)
            }
            Client::Guarded(client) => {
                let url = TargetUrl::parse(url, client.policy());
                let url = url.map_err(|_| ModelError::NotConfigured)?;
                let request = client.request(method, &url);
                request.map_err(|_| ModelError::NotConfigured)?
            }
        };
        for (name, value) in F::HEADERS {
            request = request.header(*name, *value);
        }
        let key = self.key.as_deref();
        let value = key.and_then(|key| http::credential(F::KEY_IN.1, key));
        Ok(match value {
            Some(value) => request.header(F::KEY_IN.0, value),
            None => request,
        })
    }

    async fn open<F: WireFormat>(
        self: Arc<Self>,
        request: ModelRequest,
    ) -> Result<Answer<F::Answer>, ModelError> {
        let model = &request.model;
        let url = F::url(&self.base, model).ok_or(ModelError::NotConfigured)?;
        let place = (url, model.clone());
        let known = self.refusals.lock().get(&place).cloned();
        let mut without = known.unwrap_or_default();
        loop {
            let response = self
                .request::<F>(Method::POST, &place.0)?
                .header(ACCEPT, "text/event-stream")
                .header(CONTENT_TYPE, "application/json")
                .body(F::body(&request, &without)?)
                .send()
                .await
                .map_err(|error| failure(&error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(Answer::new(response));
            }
            let may_name_one = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
            if !may_name_one.contains(&status) {
                return Err(ModelError::Refused(status.as_u16()));
            }
            let text = refusal(response).await;
            let Some(option) = refused_option(F::OPTIONAL, &without, &text) else {
                let status = if text.contains(GOOGLES_BAD_KEY) {
                    401
                } else {
                    status.as_u16()
                };
                return Err(ModelError::Refused(status));
            };
            without.push(option);
            let mut known = self.refusals.lock();
            if known.len() < KNOWN_AT_MOST {
                known.insert(place.clone(), without.clone());
            }
        }
    }
}

async fn refusal(response: reqwest::Response) -> String {
    let text = http::whole(response, MAX_REFUSAL_BYTES).await;
    let text = text.ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Asks a vendor once, whether it accepts the key of the request. A key that may only do less than what is asked is not
/// refused.
pub(crate) async fn ask(request: reqwest::RequestBuilder) -> KeyAnswer {
    let asked = async {
        let Ok(response) = request.send().await else {
            return KeyAnswer::Unconfirmed;
        };
        let status = response.status();
        if status.is_success() {
            return KeyAnswer::Accepted;
        }
        let text = refusal(response).await;
        match status {
            StatusCode::UNAUTHORIZED if !text.contains("permission") => KeyAnswer::Refused(401),
            _ if text.contains(GOOGLES_BAD_KEY) => KeyAnswer::Refused(status.as_u16()),
            _ => KeyAnswer::Unconfirmed,
        }
    };
    let answer = timeout(ASK_LIMIT, asked).await;
    answer.unwrap_or(KeyAnswer::Unconfirmed)
}

impl<F: WireFormat> LanguageModel for ModelService<F> {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let opening = Arc::clone(&self.0).open::<F>(request);
        stream::once(opening)
            .flat_map(|opened| match opened {
                Ok(answer) => stream::unfold(answer, Answer::next).boxed(),
                Err(error) => stream::once(async { Err(error) }).boxed(),
            })
            .boxed()
    }
    /// Asks for the list of models, the cheapest request that needs a key.
    fn ask(&self) -> BoxFuture<'static, KeyAnswer> {
        let base = self.0.base.trim_end_matches("/chat/completions");
        match self.0.request::<F>(Method::GET, &format!("{base}/models")) {
            Ok(list) => ask(list).boxed(),
            Err(_) => std::future::ready(KeyAnswer::Unconfirmed).boxed(),
        }
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
struct Answer<A> {
    body: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    events: Events,
    ready: VecDeque<ModelDelta>,
    format: A,
    bytes: usize,
    /// The model has finished.
    finished: bool,
    /// The stream has ended.
    over: bool,
}

type Item = Result<ModelDelta, ModelError>;

impl<A: AnswerFormat> Answer<A> {
    fn new(response: reqwest::Response) -> Self {
        Self {
            body: response.bytes_stream().boxed(),
            events: Events::default(),
            ready: VecDeque::new(),
            format: A::default(),
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
                // A connection is reusable only after its answer was read completely. OpenAI counts the tokens last.
                let (body, events, format) = (&mut self.body, &mut self.events, &mut self.format);
                let rest = async {
                    while let Some(Ok(piece)) = body.next().await {
                        let _ = events.push(&piece, |data| format.read_late(&data));
                    }
                };
                let _ = timeout(TAIL_LIMIT, rest).await;
                let used = self.format.used().map(ModelDelta::Used);
                self.ready
                    .extend(used.into_iter().chain([ModelDelta::Finish]));
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
        let mut is_end = false;
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
                is_end = true;
                self.events.finish(|data| found.push(data))
            }
        }
        .map_err(|_| ModelError::Protocol("it is no event stream"))?;
        for data in &found {
            match data.trim() {
                data if self.finished => self.format.read_late(data),
                "" => return Err(ModelError::Protocol("it broke off")),
                data => self.finished = self.format.read(data, &mut self.ready)?,
            }
        }
        if is_end && !self.finished {
            return Err(ModelError::Protocol("it broke off"));
        }
        Ok(())
    }
}
