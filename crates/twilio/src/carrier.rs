//! Implements the engine's carrier port for Twilio, and handles the callbacks to this process.

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
use offhook_engine::ports::callbacks::{Callback, CarrierCallbacks, IncomingCall, MediaConnection};
use offhook_engine::ports::{DialError, DialRequest};
use parking_lot::Mutex;
use reqwest::Url;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::CALLBACK_PATH;
use crate::call::{Call, Progress, end};
use crate::client::{Order, TwilioClient, TwilioError};
use crate::incoming;
use crate::line::{Control, Line, SIGNALS_WAITING, Signal, SpeechOutput};
use crate::login::Login;
use crate::party::{Form, Party};
use crate::settings::{SettingsError, TwilioSettings, address, is_sid};
use crate::signature::Signatures;
use crate::status::{CallStatus, failure_of_code};
use crate::stream::{Connection, connect_twiml};

/// Events that may wait for the engine.
const EVENTS_WAITING: usize = 256;

/// Twilio's ring limit. It is longer than the session's, so it only applies to a call whose process died.
const RING: Duration = Duration::from_secs(60);

/// How much longer than the engine's limit Twilio lets a call last; it only applies to a call whose process died.
const LONGEST_MARGIN: Duration = Duration::from_secs(60);

/// Twilio's largest time limit.
const LONGEST: Duration = Duration::from_secs(86_400);

/// The path of Twilio's request for an incoming call.
const INCOMING: &str = "/incoming";

/// Calls without an owner whose end was not confirmed: how many are kept, and how long.
const MOST_LEFT: usize = 10_000;
const LEFT_FOR: Duration = Duration::from_secs(600);

/// The calls of this process.
#[derive(Default)]
pub(crate) struct Lines {
    live: Mutex<HashMap<CallHandle, Arc<Line>>>,
    /// The secret tokens that connect a call's audio with its call; each can be used once.
    tokens: Mutex<HashMap<String, Arc<Line>>>,
    /// Calls without an owner for which callbacks may still come.
    left: Mutex<HashMap<CallHandle, Left>>,
    /// Connections that have not proved that they carry a call's audio.
    pub(crate) unnamed: AtomicUsize,
}

/// A call without an owner.
struct Left {
    since: Instant,
    party: Arc<Party>,
    /// It may still go on.
    goes_on: bool,
}

impl Lines {
    fn add(&self, line: &Arc<Line>, token: &str) {
        self.tokens
            .lock()
            .insert(token.to_owned(), Arc::clone(line));
        self.live.lock().insert(line.handle, Arc::clone(line));
    }

    fn find(&self, handle: CallHandle) -> Option<Arc<Line>> {
        self.live.lock().get(&handle).cloned()
    }

    /// The call of this handle, if its audio has not started.
    fn find_silent(&self, handle: CallHandle) -> Option<Arc<Line>> {
        self.find(handle)
            .filter(|line| line.stream_sid().is_empty())
    }

    /// Whether a token belongs to this call. It can be used once.
    pub(crate) fn use_token(&self, token: &str, line: &Arc<Line>) -> bool {
        let mut tokens = self.tokens.lock();
        let is_its = tokens.get(token).is_some_and(|of| Arc::ptr_eq(of, line));
        if is_its {
            tokens.remove(token);
        }
        is_its
    }

    /// Accepts no more audio for the call.
    pub(crate) fn forget_token(&self, token: &str) {
        self.tokens.lock().remove(token);
    }

    /// Removes a finished call.
    pub(crate) fn forget(&self, line: &Arc<Line>, token: &str) {
        self.forget_token(token);
        let mut live = self.live.lock();
        // Keep another call with the same handle.
        if live
            .get(&line.handle)
            .is_some_and(|known| Arc::ptr_eq(known, line))
        {
            live.remove(&line.handle);
        }
        drop(live);
        self.remember(line.handle, &line.party, false);
    }

    /// Keeps a call without an owner, to end it as soon as a callback comes.
    pub(crate) fn leave(&self, handle: CallHandle, party: &Arc<Party>) {
        self.remember(handle, party, true);
    }

    fn remember(&self, handle: CallHandle, party: &Arc<Party>, goes_on: bool) {
        let since = Instant::now();
        let mut left = self.left.lock();
        if left.len() >= MOST_LEFT {
            left.retain(|_, one| one.since.elapsed() < LEFT_FOR);
        }
        let is_known = left.get(&handle).is_some_and(|one| one.goes_on);
        if !is_known && left.len() < MOST_LEFT {
            let party = Arc::clone(party);
            left.insert(
                handle,
                Left {
                    since,
                    party,
                    goes_on,
                },
            );
        }
    }

    /// The account of a call without an owner, and whether it may still go on.
    fn left(&self, handle: CallHandle) -> Option<(Arc<Party>, bool)> {
        let left = self.left.lock();
        let one = left.get(&handle)?;
        let is_recent = one.since.elapsed() < LEFT_FOR;
        is_recent.then(|| (Arc::clone(&one.party), one.goes_on))
    }
}

/// Calls through one Twilio account: the deployment's, or a customer account's own. All share the same lines.
#[derive(Clone)]
pub struct TwilioCarrier {
    party: Arc<Party>,
    /// The URL of this process, and the shared URL of all processes.
    our_url: Url,
    public_url: Url,
    lines: Arc<Lines>,
    runtime: Handle,
}

impl fmt::Debug for TwilioCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TwilioCarrier(…)")
    }
}

impl TwilioCarrier {
    /// Calls through the account in the settings. Must be called within the runtime on which its calls will run.
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
        let public_url = address("node_url", &settings.public_url)?;
        if our_url.scheme() != "https" || public_url.scheme() != "https" {
            return Err(SettingsError::new(
                "node_url",
                "must be an https address: keys and sound travel there",
            ));
        }
        Ok(Self {
            party: Arc::new(Party {
                client: TwilioClient::new(&settings.base_url, login)?,
                signatures: Signatures::new(token, shared),
            }),
            our_url,
            public_url,
            lines: Arc::default(),
            runtime: Handle::current(),
        })
    }

    /// The same for the account of this login.
    fn with_login(&self, login: Login) -> Self {
        Self {
            party: Arc::new(Party::of(login, &self.party.client)),
            ..self.clone()
        }
    }

    fn our(&self, path: &str) -> String {
        below(&self.our_url, path)
    }

    /// The URL for a call's audio. It contains the handle, so that strangers cannot occupy the call's connections.
    fn media_url(&self, handle: CallHandle) -> String {
        self.our(&format!("/{handle}/media"))
            .replacen("https://", "wss://", 1)
    }

    /// Creates a call of this process: its task, the engine's leg, and the TwiML for its answer.
    pub(crate) fn open(
        &self,
        handle: CallHandle,
        our_number: E164,
    ) -> Result<(Call, AudioLeg, String), DialError> {
        let token = token()?;
        let (signals, happening) = mpsc::channel(SIGNALS_WAITING);
        let (events, told) = mpsc::channel(EVENTS_WAITING);
        let (ticks, heard) = mpsc::channel(TICKS_AHEAD);
        let (played, became) = mpsc::unbounded_channel();
        let line = Arc::new(Line::new(
            handle,
            our_number,
            Arc::clone(&self.party),
            signals,
        ));
        self.lines.add(&line, &token);
        let twiml = connect_twiml(&self.media_url(handle), &token);
        let call = Call {
            line: Arc::clone(&line),
            lines: Arc::clone(&self.lines),
            token,
            signals: happening,
            events,
            ticks,
            played,
            progress: Progress::default(),
        };
        let leg = AudioLeg {
            events: told,
            ticks: heard,
            played: became,
            playout: Arc::new(SpeechOutput(Arc::clone(&line))),
            signalling: Arc::new(Control(line)),
        };
        Ok((call, leg, twiml))
    }

    /// Starts a call's task.
    pub(crate) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(call);
    }

    /// Handles a verified form about a call.
    fn handle_form(&self, handle: CallHandle, kind: &str, form: &Form) {
        let Some(sid) = form.get("CallSid").filter(|sid| is_sid(sid, "CA")) else {
            return;
        };
        let status = form.get("CallStatus").and_then(CallStatus::read);
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
                    sip_code: form
                        .get("SipResponseCode")
                        .and_then(|code| code.parse().ok()),
                    sequence: form
                        .get("SequenceNumber")
                        .and_then(|number| number.parse().ok()),
                });
            }
            _ => {
                let machine = match form.get("AnsweredBy") {
                    Some("human") => false,
                    Some("fax") => true,
                    Some(verdict) if verdict.starts_with("machine_") => true,
                    _ => return,
                };
                line.signal(Signal::Screened { sid, machine });
            }
        }
    }

    /// Ends a call without an owner when it appears.
    fn end_left(&self, handle: CallHandle, sid: &str, status: Option<CallStatus>) {
        if status.is_some_and(CallStatus::is_final) {
            return;
        }
        let Some((party, true)) = self.lines.left(handle) else {
            return;
        };
        let sid = sid.to_owned();
        let was_answered = status == Some(CallStatus::InProgress);
        self.runtime.spawn(async move {
            match end(&party.client, &sid, was_answered).await {
                Ok(()) => tracing::info!(call = %handle, "a call that was left behind is hung up"),
                Err(error) => {
                    tracing::warn!(call = %handle, %error, "a call that was left behind goes on");
                }
            }
        });
    }
}

fn below(root: &Url, path: &str) -> String {
    let root = root.as_str().trim_end_matches('/');
    format!("{root}{CALLBACK_PATH}{path}")
}

/// The call and the kind of a callback path.
fn route(path: &str) -> Option<(CallHandle, &str)> {
    let rest = path.strip_prefix(CALLBACK_PATH)?.strip_prefix('/')?;
    let (handle, kind) = rest.split_once('/')?;
    Some((handle.parse().ok()?, kind))
}

impl CarrierCallbacks for TwilioCarrier {
    fn callback(&self, callback: &Callback<'_>) -> bool {
        let routed = route(callback.path).filter(|(_, kind)| matches!(*kind, "status" | "amd"));
        let Some((handle, kind)) = routed else {
            return false;
        };
        let line = self.lines.find(handle);
        let party = line.map(|line| Arc::clone(&line.party));
        let party = party.or_else(|| self.lines.left(handle).map(|(party, _)| party));
        let party = party.unwrap_or_else(|| Arc::clone(&self.party));
        let Some(form) = party.verified(&self.our_url, callback) else {
            return false;
        };
        self.handle_form(handle, kind, &form);
        true
    }

    fn media(&self, path: &str) -> Option<Box<dyn MediaConnection>> {
        let (handle, _) = route(path).filter(|(_, kind)| *kind == "media")?;
        let line = self.lines.find_silent(handle)?;
        let connection = Connection::open(Arc::clone(&self.lines), line)?;
        Some(Box::new(connection))
    }

    fn called(&self, callback: &Callback<'_>) -> Option<E164> {
        let is_incoming = callback.path == format!("{CALLBACK_PATH}{INCOMING}");
        let form = Form::read(callback).filter(|_| is_incoming)?;
        form.get("To")?.parse().ok()
    }

    fn accept(
        &self,
        handle: CallHandle,
        callback: &Callback<'_>,
        credential: Option<&str>,
    ) -> Option<IncomingCall> {
        let carrier = match credential {
            Some(credential) => self.with_login(Login::read(credential)?),
            None => self.clone(),
        };
        let form = carrier.party.verified(&self.public_url, callback)?;
        incoming::waiting(carrier, handle, &form)
    }
}

#[async_trait]
impl AudioCarrier for TwilioCarrier {
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError> {
        let handle = request.handle;
        let (call, leg, twiml) = self.open(handle, request.from.clone())?;
        let order = Order {
            twiml,
            status_url: self.our(&format!("/{handle}/status")),
            verdict_url: request.screens.then(|| self.our(&format!("/{handle}/amd"))),
            from: request.from,
            to: request.to,
            ring: RING,
            longest: request
                .longest
                .map(|longest| (longest + LONGEST_MARGIN).min(LONGEST)),
        };
        let (taken, is_taken) = oneshot::channel();
        // A separate task, because the request may have been sent even if the dialer gives up.
        self.runtime.spawn(call.run(order, taken));
        is_taken.await.unwrap_or(Err(DialError::Unknown))?;
        Ok(leg)
    }

    /// Ends a call of this process. Of another process's call only our handle is known, which Twilio cannot look up:
    /// that call ends as soon as a callback for it comes here.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        let Some(line) = self.lines.find(handle) else {
            self.lines.leave(handle, &self.party);
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
        self.lines.leave(handle, &self.party);
        let ended = end(&self.party.client, dialog, true).await;
        ended.map_err(dial_error)
    }

    fn is_down(&self) -> bool {
        self.party.client.is_down()
    }

    fn number_provider(&self) -> NumberProvider {
        NumberProvider::Twilio
    }

    fn lists_numbers(&self) -> bool {
        true
    }

    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let client = self.with_login(own(credential)?).party.client.clone();
        client.numbers().await.map_err(dial_error)
    }

    async fn receive(&self, credential: &str, numbers: &[E164]) -> Result<(), DialError> {
        let client = self.with_login(own(credential)?).party.client.clone();
        let url = below(&self.public_url, INCOMING);
        let received = client.receive(numbers, &url).await;
        received.map_err(dial_error)
    }

    fn of_account(&self, credential: &str) -> Option<Arc<dyn AudioCarrier>> {
        let login = Login::read(credential)?;
        Some(Arc::new(self.with_login(login)))
    }
}

/// An account's own login.
fn own(credential: &str) -> Result<Login, DialError> {
    Login::read(credential).ok_or(DialError::Refused(FailureReason::Rejected))
}

fn dial_error(error: TwilioError) -> DialError {
    match error {
        TwilioError::NotConnected => DialError::NotConnected,
        TwilioError::Unknown => DialError::Unknown,
        TwilioError::RateLimited(_) => DialError::Refused(FailureReason::CarrierError),
        TwilioError::Refused { status, code } => DialError::Refused(failure_of_code(status, code)),
    }
}

/// A random secret.
fn token() -> Result<String, DialError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| DialError::NotConnected)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
