//! Twilio: its REST API over an [`Upstream`], and its own actions: it signs and posts callbacks, opens a call's
//! WebSocket, sends and receives audio, and returns marks.

mod forms;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::upstream::{Answer, ReceivedRequest, Upstream};

pub use forms::{Scheme, SignedForm, incoming_form, sign, status_form, verdict_form};
pub use stream::{Stream, beginning, echo, key, sound, stop};

/// The deployment's Twilio account.
pub const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";
/// The token of [`ACCOUNT`].
pub const TOKEN: &str = "deployment-token";
/// A shared key that may sign callbacks.
pub const SIGNING_KEY: &str = "shared-signing-key";
/// A customer's own Twilio account.
pub const OWN_ACCOUNT: &str = "ACfedcba9876543210fedcba9876543210";
/// The token of [`OWN_ACCOUNT`].
pub const OWN_TOKEN: &str = "own-token";
/// An API key of [`ACCOUNT`], and its secret.
pub const KEY: (&str, &str) = ("SK00112233445566778899aabbccddeeff", "key-secret");

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedCall {
    pub sid: String,
    /// The call's account: [`ACCOUNT`] or [`OWN_ACCOUNT`].
    pub account: &'static str,
    /// Every member of the request.
    pub form: Vec<(String, String)>,
    /// Its status, in Twilio's words.
    pub status: String,
    /// Later updates: `Status` or `Twiml`, and the value.
    pub changes: Vec<(String, String)>,
}

impl PlacedCall {
    /// An incoming call of an account, answered with this TwiML.
    pub fn answered(account: &'static str, sid: &str, twiml: &str) -> Self {
        Self {
            sid: sid.to_owned(),
            account,
            form: vec![("Twiml".to_owned(), twiml.to_owned())],
            status: "in-progress".to_owned(),
            changes: Vec::new(),
        }
    }

    /// A member of the request that placed the call.
    pub fn asked(&self, name: &str) -> Option<&str> {
        let found = self.form.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All members of this name.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let of = self.form.iter().filter(|(known, _)| known == name);
        of.map(|(_, value)| value.as_str()).collect()
    }

    /// The token that its stream must present.
    pub fn stream_token(&self) -> String {
        self.between("value=\"")
    }

    /// The URL of its stream.
    pub fn stream_url(&self) -> String {
        self.between("Stream url=\"")
    }

    pub fn stream_path(&self) -> String {
        let url = self.stream_url();
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        format!("/{path}")
    }

    fn between(&self, before: &str) -> String {
        let twiml = self.asked("Twiml").unwrap_or_default();
        let (_, rest) = twiml.split_once(before).unwrap_or_default();
        let (value, _) = rest.split_once('"').unwrap_or_default();
        value.replace("&amp;", "&")
    }
}

/// A number of [`OWN_ACCOUNT`].
struct OwnNumber {
    number: String,
    /// Whether calls can use it.
    voice: bool,
    /// The webhook URL for incoming calls to it.
    voice_url: String,
}

#[derive(Default)]
struct State {
    calls: Vec<PlacedCall>,
    /// The numbers of [`OWN_ACCOUNT`]. Every other number belongs to [`ACCOUNT`].
    numbers: Vec<OwnNumber>,
    page_size: usize,
}

/// A running fake. It stops when dropped.
pub struct FakeTwilio {
    upstream: Upstream,
    state: Arc<Mutex<State>>,
}

impl FakeTwilio {
    /// Starts with [`ACCOUNT`], and with [`OWN_ACCOUNT`], which has no numbers yet.
    pub async fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        state.lock().page_size = 2;
        let shared = state.clone();
        let upstream = Upstream::start(move |asked| answer(&mut shared.lock(), asked)).await;
        Self { upstream, state }
    }

    /// Its HTTP server.
    pub const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Gives [`OWN_ACCOUNT`] numbers; `false` marks a number that can only send texts.
    pub fn own_numbers(&self, numbers: &[(&str, bool)]) {
        let numbers = numbers.iter();
        self.state.lock().numbers = numbers
            .map(|(number, voice)| OwnNumber {
                number: (*number).to_owned(),
                voice: *voice,
                voice_url: String::new(),
            })
            .collect();
    }

    /// The webhook URL for incoming calls to a number of [`OWN_ACCOUNT`].
    pub fn voice_url(&self, number: &str) -> Option<String> {
        let state = self.state.lock();
        let found = state.numbers.iter().find(|own| own.number == number);
        found.map(|own| own.voice_url.clone())
    }

    /// The placed calls, in order.
    pub fn calls(&self) -> Vec<PlacedCall> {
        self.state.lock().calls.clone()
    }

    /// The call with this id, as it is now.
    ///
    /// # Panics
    /// If there is no such call.
    pub fn call(&self, sid: &str) -> PlacedCall {
        let calls = self.calls();
        let found = calls.into_iter().find(|call| call.sid == sid);
        found.unwrap_or_else(|| panic!("no call {sid}"))
    }

    /// Waits for the n-th call, from 0.
    ///
    /// # Panics
    /// If it never comes.
    pub async fn placed(&self, n: usize) -> PlacedCall {
        self.until("a call", |calls| calls.get(n).cloned()).await
    }

    /// Waits until `look` finds a value in the calls.
    ///
    /// # Panics
    /// If it never does.
    pub async fn until<T>(&self, what: &str, look: impl Fn(&[PlacedCall]) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = look(&self.state.lock().calls) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        found.unwrap_or_else(|_| panic!("{what} never came"))
    }

    /// Sets a call's status.
    pub fn set_status(&self, sid: &str, status: &str) {
        for call in &mut self.state.lock().calls {
            if call.sid == sid {
                call.status = status.to_owned();
            }
        }
    }

    /// Sets the call's status and returns Twilio's callback for it.
    pub fn tells(&self, call: &PlacedCall, status: &str, number: u64) -> SignedForm {
        self.set_status(&call.sid, status);
        let number = number.to_string();
        status_form(call, status, &[("SequenceNumber", &number)], Scheme::Token)
    }
}

fn answer(state: &mut State, asked: &ReceivedRequest) -> Answer {
    let Some((user, account)) = login(asked) else {
        return unopened();
    };
    let base = format!("/2010-04-01/Accounts/{account}");
    let Some(rest) = asked.path.strip_prefix(&base) else {
        return missing();
    };
    match (asked.method.as_str(), rest) {
        // A standard key opens what is below the account, but not the account itself.
        ("GET", ".json") if user != account => unopened(),
        ("GET", ".json") => Answer::json(200, &json!({"sid": account, "status": "active"})),
        ("GET", "/Calls.json") => Answer::json(200, &json!({"calls": [], "page": 0})),
        ("POST", "/Calls.json") => place(state, asked, account),
        ("GET", "/IncomingPhoneNumbers.json") => numbers(state, asked, &base),
        ("POST", number) if number.starts_with("/IncomingPhoneNumbers/PN") => {
            direct(state, asked, number)
        }
        (method, call) => {
            let sid = call
                .strip_prefix("/Calls/")
                .and_then(|it| it.strip_suffix(".json"));
            let mut calls = state.calls.iter_mut();
            let call = calls.find(|call| Some(call.sid.as_str()) == sid && call.account == account);
            match (method, call) {
                ("GET", Some(call)) => shown(200, call),
                ("POST", Some(call)) => change(call, asked),
                _ => missing(),
            }
        }
    }
}

fn refusal(status: u16, code: u32, message: &str) -> Answer {
    let told = json!({"code": code, "message": message, "status": status});
    Answer::json(status, &told)
}

fn unopened() -> Answer {
    refusal(401, 20_003, "Authenticate")
}

fn missing() -> Answer {
    refusal(404, 20_404, "not found")
}

/// The user of a request's login, and the account that it opens.
fn login(asked: &ReceivedRequest) -> Option<(&'static str, &'static str)> {
    let basic = asked.header("authorization")?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(basic).ok()?).ok()?;
    let (user, secret) = pair.split_once(':')?;
    [
        (ACCOUNT, TOKEN, ACCOUNT),
        (OWN_ACCOUNT, OWN_TOKEN, OWN_ACCOUNT),
        (KEY.0, KEY.1, ACCOUNT),
    ]
    .into_iter()
    .find(|known| (known.0, known.1) == (user, secret))
    .map(|known| (known.0, known.2))
}

fn place(state: &mut State, asked: &ReceivedRequest, account: &'static str) -> Answer {
    let call = PlacedCall {
        sid: format!("CA{:032x}", state.calls.len() + 1),
        account,
        form: asked.form(),
        status: "queued".to_owned(),
        changes: Vec::new(),
    };
    let from = call.asked("From").unwrap_or_default();
    let is_own = state.numbers.iter().any(|own| own.number == from);
    if is_own != (account == OWN_ACCOUNT) {
        return refusal(
            400,
            21_210,
            "Phone number not yet verified for your account",
        );
    }
    let answer = shown(201, &call);
    state.calls.push(call);
    answer
}

fn direct(state: &mut State, asked: &ReceivedRequest, path: &str) -> Answer {
    let mut numbers = state.numbers.iter_mut().enumerate();
    let found = numbers.find(|(n, _)| path == format!("/IncomingPhoneNumbers/{}.json", sid_of(*n)));
    let url = asked
        .form()
        .into_iter()
        .find(|(name, _)| name == "VoiceUrl");
    let (Some((_, own)), Some((_, url))) = (found, url) else {
        return missing();
    };
    own.voice_url = url;
    Answer::json(
        200,
        &json!({"phone_number": own.number, "voice_url": own.voice_url}),
    )
}

/// The id of the n-th number.
fn sid_of(n: usize) -> String {
    format!("PN{n:032x}")
}

fn change(call: &mut PlacedCall, asked: &ReceivedRequest) -> Answer {
    let is_over = ["completed", "canceled", "busy", "failed", "no-answer"];
    for (name, value) in asked.form() {
        call.changes.push((name.clone(), value.clone()));
        if is_over.contains(&call.status.as_str()) {
            return refusal(400, 21_220, "not in-progress");
        }
        // An answered call can no longer be canceled.
        if name == "Status" && !(value == "canceled" && call.status == "in-progress") {
            call.status = value;
        }
    }
    shown(200, call)
}

fn shown(status: u16, call: &PlacedCall) -> Answer {
    Answer::json(
        status,
        &json!({"sid": call.sid, "status": call.status, "account_sid": call.account}),
    )
}

fn numbers(state: &State, asked: &ReceivedRequest, base: &str) -> Answer {
    let page = asked
        .parameter("Page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(0);
    let from = page * state.page_size;
    let listed: Vec<Value> = state
        .numbers
        .iter()
        .enumerate()
        .skip(from)
        .take(state.page_size)
        .map(|(n, own)| {
            json!({
                "phone_number": own.number, "sid": sid_of(n), "voice_url": own.voice_url,
                "capabilities": {"voice": own.voice, "sms": true},
            })
        })
        .collect();
    let has_more = from + state.page_size < state.numbers.len();
    let next = has_more.then(|| {
        format!(
            "{base}/IncomingPhoneNumbers.json?PageSize=1000&Page={}",
            page + 1
        )
    });
    Answer::json(
        200,
        &json!({"incoming_phone_numbers": listed, "page": page, "next_page_uri": next}),
    )
}
