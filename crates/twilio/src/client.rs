//! Twilio's REST API: forms in, JSON out. Of an error answer only its code is read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::E164;
use offhook_domain::json::read_foreign;
use parking_lot::Mutex;
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use url::form_urlencoded::Serializer;

use crate::login::Login;
use crate::settings::{SettingsError, address, http_client, is_sid};
use crate::status::CallStatus;

pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Limit for an answer, including the connection.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// How long Twilio counts as unreachable after a call found no connection. Only another call can detect its recovery,
/// so after this time one is tried.
const DOWN_FOR: Duration = Duration::from_secs(10);

const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The page size, and the most pages of a list.
const PAGE_SIZE: &str = "1000";
const MOST_PAGES: usize = 200;

/// The time limit of a transferred call in seconds: the same as for a call without a limit.
const HANDED_OVER_LIMIT: &str = "14400";

/// Twilio's error code for a change of a call that is over.
const NOT_IN_PROGRESS: u32 = 21_220;

/// Why a request to Twilio failed. It contains numbers only, none of Twilio's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TwilioError {
    /// No connection could be opened, so no request was sent.
    #[error("no connection to Twilio could be opened")]
    NotConnected,
    /// The request was sent; its effect is unknown.
    #[error("Twilio did not answer as it should")]
    Unknown,
    /// Twilio accepts no requests for now and did nothing. Contains the delay, if Twilio named one.
    #[error("Twilio takes no more requests for now")]
    RateLimited(Option<Duration>),
    /// Twilio refused the request.
    #[error("Twilio refused with status {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Twilio's error code.
        code: Option<u32>,
    },
}

/// A call to place.
pub(crate) struct Order {
    pub(crate) from: E164,
    pub(crate) to: E164,
    pub(crate) twiml: String,
    /// The URL for status callbacks.
    pub(crate) status_url: String,
    /// The URL for the result of answering machine detection, if it is wanted.
    pub(crate) verdict_url: Option<String>,
    /// The ring limit.
    pub(crate) ring: Duration,
    /// The longest duration.
    pub(crate) longest: Option<Duration>,
}

type Result<T, E = TwilioError> = std::result::Result<T, E>;

/// The REST API for one account.
#[derive(Clone)]
pub struct TwilioClient {
    client: reqwest::Client,
    base: Url,
    login: Login,
    /// When the last request to place a call found no connection; `None` once Twilio has answered any request since.
    unreached: Arc<Mutex<Option<Instant>>>,
}

impl fmt::Debug for TwilioClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TwilioClient(…)")
    }
}

#[derive(Deserialize)]
struct CallBody {
    sid: String,
    status: String,
}

impl CallBody {
    /// An unknown status says nothing about the call, and must not count as its end.
    fn known_status(&self) -> Result<CallStatus> {
        CallStatus::read(&self.status).ok_or(TwilioError::Unknown)
    }
}

#[derive(Deserialize)]
struct AccountBody {
    sid: String,
    status: String,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: Option<u32>,
}

#[derive(Deserialize)]
struct NumbersPage {
    incoming_phone_numbers: Vec<ListedNumber>,
    next_page_uri: Option<String>,
}

#[derive(Deserialize)]
struct ListedNumber {
    phone_number: String,
    #[serde(default)]
    sid: String,
    voice_url: Option<String>,
    #[serde(default)]
    capabilities: Capabilities,
}

#[derive(Deserialize)]
struct Capabilities {
    #[serde(default = "yes", alias = "Voice")]
    voice: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { voice: true }
    }
}

const fn yes() -> bool {
    true
}

impl TwilioClient {
    /// A client for the account at `base_url`.
    pub fn new(base_url: &str, login: Login) -> Result<Self, SettingsError> {
        Ok(Self {
            client: http_client()?,
            base: address("base_url", base_url)?,
            login,
            unreached: Arc::default(),
        })
    }

    /// The same for another account.
    #[must_use]
    pub fn with_login(&self, login: Login) -> Self {
        Self {
            login,
            ..self.clone()
        }
    }

    /// The account of the login.
    pub fn account(&self) -> &str {
        self.login.account()
    }

    /// Whether Twilio is known to be unreachable now.
    pub(crate) fn is_down(&self) -> bool {
        self.unreached
            .lock()
            .is_some_and(|since| since.elapsed() < DOWN_FOR)
    }

    /// Places a call once and returns its id. After [`TwilioError::Unknown`] the call may exist.
    pub(crate) async fn place(&self, order: &Order) -> Result<String> {
        let (ring, longest);
        let mut members = vec![
            ("To", order.to.as_str()),
            ("From", order.from.as_str()),
            ("Twiml", &order.twiml),
            ("StatusCallback", &order.status_url),
            ("StatusCallbackMethod", "POST"),
        ];
        for event in ["initiated", "ringing", "answered", "completed"] {
            members.push(("StatusCallbackEvent", event));
        }
        ring = order.ring.as_secs().to_string();
        members.push(("Timeout", &ring));
        if let Some(limit) = order.longest {
            longest = limit.as_secs().to_string();
            members.push(("TimeLimit", &longest));
        }
        if let Some(url) = &order.verdict_url {
            members.extend([
                ("MachineDetection", "Enable"),
                ("AsyncAmd", "true"),
                ("AsyncAmdStatusCallback", url),
                ("AsyncAmdStatusCallbackMethod", "POST"),
            ]);
        }
        let answer = self.post::<CallBody>("Calls.json", form(&members)).await;
        if matches!(answer, Err(TwilioError::NotConnected)) {
            *self.unreached.lock() = Some(Instant::now());
        }
        let call = answer?;
        match is_sid(&call.sid, "CA") {
            true => Ok(call.sid),
            false => Err(TwilioError::Unknown),
        }
    }

    /// Ends a call and returns its status; `None` if the call does not exist or is over. A failed request may be
    /// retried.
    pub(crate) async fn end(&self, sid: &str, answered: bool) -> Result<Option<CallStatus>> {
        let status = if answered { "completed" } else { "canceled" };
        self.change(sid, &[("Status", status)]).await
    }

    /// Replaces a call's instructions, and its time limit by that of a transferred call. Fails if Twilio did not
    /// confirm.
    pub(crate) async fn redirect(&self, sid: &str, twiml: &str) -> Result<()> {
        let members = [("Twiml", twiml), ("TimeLimit", HANDED_OVER_LIMIT)];
        match self.change(sid, &members).await? {
            Some(status) if !status.is_final() => Ok(()),
            _ => Err(TwilioError::Refused {
                status: 404,
                code: None,
            }),
        }
    }

    async fn change(&self, sid: &str, members: &[(&str, &str)]) -> Result<Option<CallStatus>> {
        let path = format!("Calls/{sid}.json");
        match self.post::<CallBody>(&path, form(members)).await {
            Ok(call) => call.known_status().map(Some),
            Err(
                TwilioError::Refused { status: 404, .. }
                | TwilioError::Refused {
                    code: Some(NOT_IN_PROGRESS),
                    ..
                },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The status of a call; `None` if it does not exist.
    pub(crate) async fn status(&self, sid: &str) -> Result<Option<CallStatus>> {
        let path = format!("Calls/{sid}.json");
        match self.get::<CallBody>(&self.path(&path)?).await {
            Ok(call) => call.known_status().map(Some),
            Err(TwilioError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the login opens the account, and the account may place calls.
    pub async fn is_active(&self) -> Result<bool> {
        // A standard key cannot read the account itself (401), only the resources below it.
        if self.login.user() != self.login.account() {
            let mut url = self.path("Calls.json")?;
            url.set_query(Some("PageSize=1"));
            let list: Value = self.get(&url).await?;
            return match list.get("calls").is_some_and(Value::is_array) {
                true => Ok(true),
                false => Err(TwilioError::Unknown),
            };
        }
        let url = self.below(&format!("{}.json", self.login.account()))?;
        let account: AccountBody = self.get(&url).await?;
        match account.sid == self.login.account() {
            true => Ok(account.status == "active"),
            false => Err(TwilioError::Unknown),
        }
    }

    /// The account's numbers with voice calls. Fails unless Twilio listed all of them.
    pub async fn numbers(&self) -> Result<Vec<E164>> {
        let numbers = self.listed().await?.into_iter();
        Ok(numbers.map(|(number, _)| number).collect())
    }

    /// Routes calls to these numbers of the account to `url`, in place of any previous handler. The account's other
    /// numbers stay unchanged. Fails unless Twilio confirmed all numbers; a retry is safe.
    pub(crate) async fn receive(&self, numbers: &[E164], url: &str) -> Result<()> {
        let listed = self.listed().await?.into_iter();
        let elsewhere = listed.filter(|(number, listed)| {
            numbers.contains(number) && listed.voice_url.as_deref() != Some(url)
        });
        for (_, listed) in elsewhere {
            if !is_sid(&listed.sid, "PN") {
                return Err(TwilioError::Unknown);
            }
            let path = format!("IncomingPhoneNumbers/{}.json", listed.sid);
            // An application would take precedence over the URL.
            let members = [
                ("VoiceUrl", url),
                ("VoiceMethod", "POST"),
                ("VoiceApplicationSid", ""),
            ];
            self.post::<Value>(&path, form(&members)).await?;
        }
        Ok(())
    }

    async fn listed(&self) -> Result<Vec<(E164, ListedNumber)>> {
        let list = format!(
            "/2010-04-01/Accounts/{}/IncomingPhoneNumbers.json",
            self.login.account()
        );
        let mut numbers = Vec::new();
        let mut next = Some(format!("{list}?PageSize={PAGE_SIZE}"));
        for _ in 0..MOST_PAGES {
            let Some(uri) = next else {
                return Ok(numbers);
            };
            // The next page must belong to this list, whatever Twilio's answer says.
            if !uri.starts_with(&format!("{list}?")) {
                return Err(TwilioError::Unknown);
            }
            let url = Url::parse(&format!("{}{uri}", self.root()));
            let page: NumbersPage = self.get(&url.map_err(|_| TwilioError::Unknown)?).await?;
            numbers.extend(
                page.incoming_phone_numbers
                    .into_iter()
                    .filter(|listed| listed.capabilities.voice)
                    .filter_map(|listed| Some((listed.phone_number.parse().ok()?, listed))),
            );
            next = page.next_page_uri.filter(|uri| !uri.is_empty());
        }
        Err(TwilioError::Unknown)
    }

    fn root(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    fn path(&self, path: &str) -> Result<Url> {
        self.below(&format!("{}/{path}", self.login.account()))
    }

    fn below(&self, path: &str) -> Result<Url> {
        let url = format!("{}/2010-04-01/Accounts/{path}", self.root());
        // Consists of validated ids and constants.
        Url::parse(&url).map_err(|_| TwilioError::NotConnected)
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, form: String) -> Result<T> {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        let request = self.client.request(Method::POST, self.path(path)?);
        let request = request.header(CONTENT_TYPE, kind).body(form);
        // Parsed strictly: if this answer is unreadable, the effect is looked up elsewhere.
        serde_json::from_slice(&self.send(request).await?).map_err(|_| TwilioError::Unknown)
    }

    async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T> {
        let body = self.send(self.client.get(url.clone())).await?;
        read_foreign(&body).map_err(|_| TwilioError::Unknown)
    }

    /// The body of the answer.
    async fn send(&self, request: RequestBuilder) -> Result<Vec<u8>> {
        let request = request.basic_auth(self.login.user(), Some(self.login.secret()));
        let answer = request.send().await.map_err(|error| {
            if error.is_connect() {
                TwilioError::NotConnected
            } else {
                TwilioError::Unknown
            }
        })?;
        *self.unreached.lock() = None;
        let status = answer.status();
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return Err(TwilioError::Unknown);
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Err(TwilioError::RateLimited(retry_after(&answer)));
        }
        let body = whole(answer).await;
        if status.is_success() {
            return body.ok_or(TwilioError::Unknown);
        }
        let said = body.and_then(|body| read_foreign::<ErrorBody>(&body).ok());
        Err(refused(status, said.and_then(|said| said.code)))
    }
}

fn form(members: &[(&str, &str)]) -> String {
    let mut form = Serializer::new(String::new());
    form.extend_pairs(members);
    form.finish()
}

fn refused(status: StatusCode, code: Option<u32>) -> TwilioError {
    TwilioError::Refused {
        status: status.as_u16(),
        code,
    }
}

/// `Retry-After` in seconds.
fn retry_after(answer: &Response) -> Option<Duration> {
    let header = answer.headers().get(RETRY_AFTER)?;
    let seconds = header.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The whole body, unless it breaks off or is too large.
async fn whole(mut answer: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        if body.len() + chunk.len() > MOST_BYTES {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body)
}
