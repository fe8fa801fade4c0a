//! The client of a simulator in a separate process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use offhook_domain::{CallHandle, E164, FailureReason};
use offhook_engine::ports::{
    Carrier, DialError, DialRequest, Leg, LegEvent, Line, LineError, Spoken,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::simulator::numbers::{self, SHARED_NUMBER};
use crate::simulator::wire::{
    ClientEvent, DialBody, DigitsBody, EventLine, SPEED_HEADER, SayBody, StopBody, TransferBody,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How often to probe a simulator that is down.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// Events that may wait for the session.
const EVENTS_WAITING: usize = 8;

/// The longest event line.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// A simulated network in another process. Clones share its connections.
#[derive(Clone)]
pub struct RemoteSimulator(Arc<Remote>);

/// The simulator's URL is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a URL such as http://127.0.0.1:8090")]
pub struct UrlError;

impl RemoteSimulator {
    /// The network at `url`, such as `http://127.0.0.1:8090`. It does not connect yet. Returns [`UrlError`] for
    /// anything but a plain http URL.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let base: Uri = url.trim_end_matches('/').parse().map_err(|_| UrlError)?;
        let is_plain = base.scheme_str() == Some("http") && base.host().is_some();
        if !is_plain || !matches!(base.path(), "" | "/") || base.query().is_some() {
            return Err(UrlError);
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_LIMIT));
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(64)
            .build(connector);
        Ok(Self(Arc::new(Remote {
            http,
            base: url.trim_end_matches('/').to_owned(),
            down: AtomicBool::new(false),
            probing: AtomicBool::new(false),
        })))
    }
}

#[async_trait]
impl Carrier for RemoteSimulator {
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError> {
        let response = self.0.post("/dial", &DialBody::from(&request)).await?;
        match response.status() {
            StatusCode::OK => Ok(self.leg(request.handle, response)),
            StatusCode::MISDIRECTED_REQUEST => Err(DialError::NotConnected),
            _ => Err(DialError::Refused(FailureReason::CarrierError)),
        }
    }

    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        self.0.hang_up(handle).await
    }

    fn is_down(&self) -> bool {
        self.0.down.load(Ordering::Relaxed)
    }

    fn shared_number(&self) -> Option<E164> {
        SHARED_NUMBER.parse().ok()
    }

    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        if self.is_down() {
            return Err(DialError::NotConnected);
        }
        numbers::of_credential(credential).ok_or(DialError::Refused(FailureReason::CarrierError))
    }

    fn gives(&self, number: &E164) -> bool {
        numbers::are_given(number)
    }
}

impl RemoteSimulator {
    fn leg(&self, handle: CallHandle, response: Response<Incoming>) -> Leg {
        let speed = response
            .headers()
            .get(SPEED_HEADER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .unwrap_or(1.0);
        let (outbox, events) = mpsc::channel(EVENTS_WAITING);
        let line = Arc::new(LineState {
            handle,
            said: AtomicU64::new(0),
            awaited: Mutex::new(None),
            over: AtomicBool::new(false),
        });
        tokio::spawn(read_events(response.into_body(), outbox, Arc::clone(&line)));
        let line = Box::new(RemoteLine {
            remote: Arc::clone(&self.0),
            state: line,
        });
        Leg {
            events,
            line,
            speed,
        }
    }
}

struct Remote {
    http: Client<HttpConnector, Full<Bytes>>,
    base: String,
    down: AtomicBool,
    probing: AtomicBool,
}

impl Remote {
    async fn post(
        self: &Arc<Self>,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response<Incoming>, DialError> {
        let body = serde_json::to_vec(body).unwrap_or_default();
        let request = Request::post(format!("{}{path}", self.base))
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| DialError::NotConnected)?;
        match timeout(ANSWER_LIMIT, self.http.request(request)).await {
            Ok(Ok(response)) => {
                self.down.store(false, Ordering::Relaxed);
                Ok(response)
            }
            Ok(Err(error)) if error.is_connect() => {
                self.down.store(true, Ordering::Relaxed);
                self.probe();
                Err(DialError::NotConnected)
            }
            Ok(Err(_)) | Err(_) => {
                self.probe();
                Err(DialError::Unknown)
            }
        }
    }

    /// Probes the simulator until it answers. Only one probe runs at a time.
    fn probe(self: &Arc<Self>) {
        if self.probing.swap(true, Ordering::Relaxed) {
            return;
        }
        let remote = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let Some(remote) = remote.upgrade() else {
                    return;
                };
                if remote.is_there().await {
                    remote.down.store(false, Ordering::Relaxed);
                    remote.probing.store(false, Ordering::Relaxed);
                    return;
                }
                remote.down.store(true, Ordering::Relaxed);
                drop(remote);
                sleep(PROBE_EVERY).await;
            }
        });
    }

    async fn is_there(&self) -> bool {
        let request = Request::get(format!("{}/healthz", self.base)).body(Full::default());
        let Ok(request) = request else {
            return false;
        };
        matches!(
            timeout(ANSWER_LIMIT, self.http.request(request)).await,
            Ok(Ok(_))
        )
    }

    async fn hang_up(self: &Arc<Self>, handle: CallHandle) -> Result<(), DialError> {
        let response = self.post(&format!("/calls/{handle}/hangup"), &()).await?;
        if response.status().is_success() {
            Ok(())
        } else {
            Err(DialError::Unknown)
        }
    }
}

struct LineState {
    handle: CallHandle,
    said: AtomicU64,
    /// The text being spoken, and the channel of its result.
    awaited: Mutex<Option<(u64, oneshot::Sender<Spoken>)>>,
    /// The other side has ended the call.
    over: AtomicBool,
}

/// Reads a call's events until the call or the session is over.
async fn read_events(mut body: Incoming, events: mpsc::Sender<LegEvent>, line: Arc<LineState>) {
    let mut buffer = Vec::new();
    'reading: while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        buffer.extend_from_slice(data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let told = serde_json::from_slice::<EventLine>(&buffer[..end]);
            buffer.drain(..=end);
            match told.map(ClientEvent::from) {
                Ok(ClientEvent::Spoken(id, spoken)) => line.report(id, spoken),
                Ok(ClientEvent::Leg(event)) => {
                    if matches!(event, LegEvent::Hangup | LegEvent::Failed(_)) {
                        line.over.store(true, Ordering::Relaxed);
                    }
                    if events.send(event).await.is_err() {
                        break 'reading;
                    }
                }
                Err(_) => break 'reading,
            }
        }
        if buffer.len() > MAX_LINE_BYTES {
            break;
        }
    }
    line.awaited.lock().take();
}

impl LineState {
    fn report(&self, id: u64, spoken: Spoken) {
        let mut awaited = self.awaited.lock();
        if awaited.as_ref().is_some_and(|(waiting, _)| *waiting == id)
            && let Some((_, waiter)) = awaited.take()
        {
            let _ = waiter.send(spoken);
        }
    }
}

struct RemoteLine {
    remote: Arc<Remote>,
    state: Arc<LineState>,
}

impl RemoteLine {
    fn path(&self, action: &str) -> String {
        format!("/calls/{}/{action}", self.state.handle)
    }

    async fn send_action(&self, action: &str, body: &impl Serialize) -> Result<(), LineError> {
        match self.remote.post(&self.path(action), body).await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) if response.status() == StatusCode::GONE => Err(LineError::Gone),
            Ok(_) | Err(_) => Err(LineError::Refused),
        }
    }
}

#[async_trait]
impl Line for RemoteLine {
    async fn say(&self, text: &str) -> Spoken {
        let id = self.state.said.fetch_add(1, Ordering::Relaxed) + 1;
        let (waiter, spoken) = oneshot::channel();
        *self.state.awaited.lock() = Some((id, waiter));
        let body = SayBody {
            id,
            text: text.to_owned(),
        };
        if self.remote.post(&self.path("say"), &body).await.is_err() {
            // It may have been heard all the same, as after a stop of this process: then the events say so.
            let spoken = timeout(ANSWER_LIMIT, spoken).await;
            return spoken.ok().and_then(Result::ok).unwrap_or_default();
        }
        spoken.await.unwrap_or_default()
    }

    fn stop_speaking(&self) {
        let id = self.state.said.load(Ordering::Relaxed);
        let (remote, path) = (Arc::clone(&self.remote), self.path("stop"));
        tokio::spawn(async move { remote.post(&path, &StopBody { id }).await.is_ok() });
    }

    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        let to = to.to_string();
        self.send_action("transfer", &TransferBody { to }).await?;
        // There is nothing left to hang up.
        self.state.over.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        let digits = digits.to_owned();
        self.send_action("digits", &DigitsBody { digits }).await
    }

    async fn hang_up(&self) {
        if !self.state.over.swap(true, Ordering::Relaxed)
            && self.remote.hang_up(self.state.handle).await.is_err()
        {
            self.state.over.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for RemoteLine {
    fn drop(&mut self) {
        if self.state.over.load(Ordering::Relaxed) {
            return;
        }
        let (remote, handle) = (Arc::clone(&self.remote), self.state.handle);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remote.hang_up(handle).await.is_ok() });
        }
    }
}
