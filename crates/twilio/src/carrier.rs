//! Twilio as the engine knows phone networks, and the door by which it reaches this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::{CallHandle, E164, FailureReason, NumberProvider};
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg, TICKS_AHEAD};
use offhook_engine::ports::door::{Callback, CarrierDoor, MediaConnection};
use offhook_engine::ports::{DialError, DialRequest};
use parking_lot::Mutex;
use reqwest::Url;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use url::form_urlencoded;

use crate::CALLBACK_PATH;
use crate::call::{Call, Progress, end};
use crate::client::{Order, TwilioClient, TwilioError};
use crate::line::{Control, Line, Mouth, SIGNALS_WAITING, Signal};
use crate::login::Login;
use crate::settings::{SettingsError, TwilioSettings, address, is_sid};
use crate::signature::Signatures;
use crate::status::{CallStatus, failure_of_code};
use crate::stream::{Connection, connect_twiml};

/// Events that may wait for the engine.
const EVENTS_WAITING: usize = 256;

/// How long a phone may ring, by Twilio's own reckoning. The session's limit is less, so this is that of a call whose
/// process died.
const RING: Duration = Duration::from_secs(60);

/// How much longer than the engine wants it a call may last before Twilio ends it: that of a call whose process died.
const LONGEST_MARGIN: Duration = Duration::from_secs(60);

/// Twilio ends no call later.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The largest form that is read; Twilio's have a few KiB.
const MOST_FORM_BYTES: usize = 64 * 1024;

/// Calls that were left without their end confirmed, and how long they are remembered.
const MOST_LEFT: usize = 10_000;
const LEFT_FOR: Duration = Duration::from_secs(600);

/// Calls of this process.
pub(crate) struct Lines {
    /// The deployment's account at Twilio.
    pub(crate) account: String,
    live: Mutex<HashMap<CallHandle, Arc<Line>>>,
    /// The secrets by which a call's sound names its call; each is good once.
    tokens: Mutex<HashMap<String, Arc<Line>>>,
    /// Calls that nobody has any more, and that may still go on.
    left: Mutex<HashMap<CallHandle, Instant>>,
    /// Connections that have not shown that they carry a call's sound.
    pub(crate) unnamed: AtomicUsize,
}

impl Lines {
    fn new(account: String) -> Self {
        Self {
            account,
            live: Mutex::default(),
            tokens: Mutex::default(),
            left: Mutex::default(),
            unnamed: AtomicUsize::new(0),
        }
    }

    fn add(&self, line: &Arc<Line>, token: &str) {
        self.tokens
            .lock()
            .insert(token.to_owned(), Arc::clone(line));
        self.live.lock().insert(line.handle, Arc::clone(line));
    }

    fn find(&self, handle: CallHandle) -> Option<Arc<Line>> {
        self.live.lock().get(&handle).cloned()
    }

    /// The call of this handle, if its sound has not begun.
    fn find_silent(&self, handle: CallHandle) -> Option<Arc<Line>> {
        self.find(handle)
            .filter(|line| line.stream_sid().is_empty())
    }

    /// Whether a token is this call's. It is once.
    pub(crate) fn take_token(&self, token: &str, line: &Arc<Line>) -> bool {
        let mut tokens = self.tokens.lock();
        let is_its = tokens.get(token).is_some_and(|of| Arc::ptr_eq(of, line));
        if is_its {
            tokens.remove(token);
        }
        is_its
    }

    /// No sound is taken for the call any more.
    pub(crate) fn forget_token(&self, token: &str) {
        self.tokens.lock().remove(token);
    }

    /// The call is over.
    pub(crate) fn forget(&self, line: &Arc<Line>, token: &str) {
        self.forget_token(token);
        let mut live = self.live.lock();
        // Not another one of the same handle.
        if live
            .get(&line.handle)
            .is_some_and(|known| Arc::ptr_eq(known, line))
        {
            live.remove(&line.handle);
        }
    }

    /// Nobody has the call any more: whatever is heard of it, it is ended then.
    pub(crate) fn leave(&self, handle: CallHandle) {
        let now = Instant::now();
        let mut left = self.left.lock();
        left.retain(|_, since| now.saturating_duration_since(*since) < LEFT_FOR);
        if left.len() < MOST_LEFT {
            left.insert(handle, now);
        }
    }

    fn is_left(&self, handle: CallHandle) -> bool {
        let left = self.left.lock();
        left.get(&handle)
            .is_some_and(|since| since.elapsed() < LEFT_FOR)
    }
}

/// Calls over the deployment's account at Twilio.
pub struct TwilioCarrier {
    client: TwilioClient,
    signatures: Signatures,
    our_url: Url,
    lines: Arc<Lines>,
    runtime: Handle,
}

impl fmt::Debug for TwilioCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TwilioCarrier(…)")
    }
}

impl TwilioCarrier {
    /// Calls by the account that the settings name. It must be called within the runtime on which its calls are to live.
    pub fn new(settings: &TwilioSettings) -> Result<Self, SettingsError> {
        let key = settings.api_key.as_ref();
        let key = key.map(|(key, secret)| (key.as_str(), secret.as_str()));
        let (token, shared) = (
            settings.auth_token.as_deref(),
            settings.signing_key.as_deref(),
        );
        if token.is_none() && shared.is_none() {
            return Err(SettingsError::new(
                "auth_token",
                "is missing: callbacks are signed with the account's token, or with a shared key (`signing_key`)",
            ));
        }
        let login = Login::new(&settings.account_sid, token, key)?;
        let our_url = address("node_url", &settings.our_url)?;
        if our_url.scheme() != "https" {
            return Err(SettingsError::new(
                "node_url",
                "must be an https address: keys and sound travel there",
            ));
        }
        Ok(Self {
            lines: Arc::new(Lines::new(login.account().to_owned())),
            client: TwilioClient::new(&settings.base_url, login)?,
            signatures: Signatures::new(token, shared),
            our_url,
            runtime: Handle::current(),
        })
    }

    fn our(&self, path: &str) -> String {
        let root = self.our_url.as_str().trim_end_matches('/');
        format!("{root}{CALLBACK_PATH}{path}")
    }

    /// The address that a call's sound goes to. Whoever does not know the handle takes none of its connections' places.
    fn media_url(&self, handle: CallHandle) -> String {
        self.our(&format!("/{handle}/media"))
            .replacen("https://", "wss://", 1)
    }

    /// What a form says of a call, once it is known to be Twilio's.
    fn told(&self, handle: CallHandle, kind: &str, form: &[(String, String)]) {
        let member = |name: &str| {
            let found = form.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let Some(sid) = member("CallSid").filter(|sid| is_sid(sid, "CA")) else {
            return;
        };
        let status = member("CallStatus").and_then(CallStatus::read);
        let Some(line) = self.lines.find(handle) else {
            self.end_left(handle, sid, status);
            return;
        };
        let sid = sid.to_owned();
        match kind {
            "status" => {
                let Some(status) = status else { return };
                line.signal(Signal::Status {
                    sid,
                    status,
                    sip_code: member("SipResponseCode").and_then(|code| code.parse().ok()),
                    sequence: member("SequenceNumber").and_then(|number| number.parse().ok()),
                });
            }
            _ => {
                let machine = match member("AnsweredBy") {
                    Some("human") => false,
                    Some("fax") => true,
                    Some(verdict) if verdict.starts_with("machine_") => true,
                    _ => return,
                };
                line.signal(Signal::Screened { sid, machine });
            }
        }
    }

    /// Ends a call that shows itself though nobody has it.
    fn end_left(&self, handle: CallHandle, sid: &str, status: Option<CallStatus>) {
        if !self.lines.is_left(handle) || status.is_some_and(CallStatus::is_final) {
            return;
        }
        let (client, sid) = (self.client.clone(), sid.to_owned());
        let was_answered = status == Some(CallStatus::InProgress);
        self.runtime.spawn(async move {
            match end(&client, &sid, was_answered).await {
                Ok(()) => tracing::info!(call = %handle, "a call that was left behind is hung up"),
                Err(error) => {
                    tracing::warn!(call = %handle, %error, "a call that was left behind goes on");
                }
            }
        });
    }
}

/// Which call a path is about, and what of it.
fn route(path: &str) -> Option<(CallHandle, &str)> {
    let rest = path.strip_prefix(CALLBACK_PATH)?.strip_prefix('/')?;
    let (handle, kind) = rest.split_once('/')?;
    Some((handle.parse().ok()?, kind))
}

impl CarrierDoor for TwilioCarrier {
    fn callback(&self, callback: &Callback<'_>) -> bool {
        let routed = route(callback.path).filter(|(_, kind)| matches!(*kind, "status" | "amd"));
        let Some((handle, kind)) = routed else {
            return false;
        };
        if callback.body.len() > MOST_FORM_BYTES {
            return false;
        }
        let mut url = self.our_url.clone();
        url.set_path(callback.path);
        url.set_query(callback.query);
        let header = callback.header;
        let Some(signature) = header("x-twilio-signature") else {
            return false;
        };
        let settings = header("x-twilio-webhooks-signature-settings");
        let form: Vec<(String, String)> =
            form_urlencoded::parse(callback.body).into_owned().collect();
        let signatures = &self.signatures;
        if !signatures.verify(&url, &form, &signature, settings.as_deref()) {
            return false;
        }
        let account = form.iter().find(|(name, _)| name == "AccountSid");
        if account.is_none_or(|(_, account)| *account != self.lines.account) {
            return false;
        }
        self.told(handle, kind, &form);
        true
    }

    fn media(&self, path: &str) -> Option<Box<dyn MediaConnection>> {
        let (handle, _) = route(path).filter(|(_, kind)| *kind == "media")?;
        let line = self.lines.find_silent(handle)?;
        let connection = Connection::open(Arc::clone(&self.lines), line)?;
        Some(Box::new(connection))
    }
}

#[async_trait]
impl AudioCarrier for TwilioCarrier {
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError> {
        let handle = request.handle;
        let token = token()?;
        let (signals, happening) = mpsc::channel(SIGNALS_WAITING);
        let (events, told) = mpsc::channel(EVENTS_WAITING);
        let (ticks, heard) = mpsc::channel(TICKS_AHEAD);
        let (played, became) = mpsc::unbounded_channel();
        let client = self.client.clone();
        let line = Arc::new(Line::new(
            handle,
            request.from.clone(),
            client.clone(),
            signals,
        ));
        self.lines.add(&line, &token);
        let order = Order {
            twiml: connect_twiml(&self.media_url(handle), &token),
            status_url: self.our(&format!("/{handle}/status")),
            verdict_url: request.screens.then(|| self.our(&format!("/{handle}/amd"))),
            from: request.from,
            to: request.to,
            ring: RING,
            longest: request
                .longest
                .map(|longest| (longest + LONGEST_MARGIN).min(LONGEST)),
        };
        let call = Call {
            line: Arc::clone(&line),
            lines: Arc::clone(&self.lines),
            client,
            token,
            signals: happening,
            events,
            ticks,
            played,
            progress: Progress::default(),
        };
        let (taken, is_taken) = oneshot::channel();
        // A task of its own: when whoever dials gives up, the request may have left.
        self.runtime.spawn(call.run(order, taken));
        is_taken.await.unwrap_or(Err(DialError::Unknown))?;
        Ok(AudioLeg {
            events: told,
            ticks: heard,
            played: became,
            playout: Arc::new(Mouth(Arc::clone(&line))),
            signalling: Arc::new(Control(line)),
        })
    }

    /// A call of this process is ended. Of another's nothing is known but its handle, which Twilio does not go by: it is
    /// ended as soon as Twilio tells of it here.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        let Some(line) = self.lines.find(handle) else {
            self.lines.leave(handle);
            return Ok(());
        };
        match line.hang_up_and_wait().await {
            true => Ok(()),
            false => Err(DialError::Unknown),
        }
    }

    fn dialog(&self, handle: CallHandle) -> Option<String> {
        self.lines.find(handle)?.sid().map(str::to_owned)
    }

    fn early_dialog(&self, handle: CallHandle) -> Option<String> {
        self.dialog(handle)
    }

    async fn hang_up_dialog(&self, handle: CallHandle, dialog: &str) -> Result<(), DialError> {
        if self.lines.find(handle).is_some() {
            return self.hang_up_orphan(handle).await;
        }
        if !is_sid(dialog, "CA") {
            tracing::warn!(call = %handle, "a call that was left behind cannot be ended: it was not Twilio's");
            return Err(DialError::Refused(FailureReason::CarrierError));
        }
        self.lines.leave(handle);
        let ended = end(&self.client, dialog, true).await;
        ended.map_err(dial_error)
    }

    fn is_down(&self) -> bool {
        self.client.is_down()
    }

    fn number_provider(&self) -> NumberProvider {
        NumberProvider::Twilio
    }

    fn lists_numbers(&self) -> bool {
        true
    }

    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let login = Login::read(credential);
        let login = login.ok_or(DialError::Refused(FailureReason::Rejected))?;
        let numbers = self.client.with_login(login).numbers().await;
        numbers.map_err(dial_error)
    }
}

fn dial_error(error: TwilioError) -> DialError {
    match error {
        TwilioError::NotConnected => DialError::NotConnected,
        TwilioError::Unknown => DialError::Unknown,
        TwilioError::RateLimited(_) => DialError::Refused(FailureReason::CarrierError),
        TwilioError::Refused { status, code } => DialError::Refused(failure_of_code(status, code)),
    }
}

/// A secret that nobody guesses.
fn token() -> Result<String, DialError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| DialError::NotConnected)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
