//! The simulated network as a separate process, with an HTTP/1.1 API on loopback.
//!
//! | Request | Answer |
//! |---|---|
//! | `POST /dial` | 200, the call's events as they happen, one JSON object per line; 421 for the unreachable number |
//! | `POST /calls/{handle}/say`, `…/stop`, `…/hangup` | 204, also for a call that is over |
//! | `POST /calls/{handle}/transfer`, `…/digits` | 204; 410 for a call that is over |
//! | `GET /calls` | 200, the handles of the calls in progress |
//! | `GET /healthz` | 204 |
//!
//! The result of a text is an event line, so that a call holds only one connection, and all other requests are short.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use offhook_domain::{CallHandle, Clock, Timestamp};
use offhook_engine::ports::{DialRequest, LegEvent};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::simulator::network::Exchange;
use crate::simulator::numbers::Behaviour;
use crate::simulator::person::Command;
use crate::simulator::wire::{
    DialBody, DigitsBody, EventLine, SPEED_HEADER, SayBody, StopBody, TransferBody,
};

/// The largest request.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The settings of a simulator process.
#[derive(Clone)]
pub struct SimulatorSettings {
    /// How many times faster than real time its people are.
    pub speed: f64,
    /// The file to which each dial is appended as a JSON line, before the dial is answered.
    pub dial_log: Option<PathBuf>,
    /// The file to which each text that a side heard is appended as a JSON line, before the caller gets the event.
    pub heard_log: Option<PathBuf>,
    /// Timestamps the dials.
    pub clock: Arc<dyn Clock>,
}

/// Serves the network on `listener`; returns only with an error. Dropping the future stops accepting connections. Fails
/// if a log cannot be opened.
pub async fn serve(listener: TcpListener, settings: SimulatorSettings) -> std::io::Result<()> {
    let log = settings.dial_log.as_deref().map(open_log).transpose()?;
    let heard = settings.heard_log.as_deref().map(open_log).transpose()?;
    let network = Arc::new(Network {
        exchange: Exchange::new(settings.speed),
        log: log.map(Mutex::new),
        heard: heard.map(Mutex::new),
        clock: settings.clock,
        speakers: Mutex::default(),
    });
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = socket.set_nodelay(true);
        let network = Arc::clone(&network);
        tokio::spawn(async move {
            let service = service_fn(|request| Arc::clone(&network).answer(request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

fn open_log(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

struct Network {
    exchange: Arc<Exchange>,
    log: Option<Mutex<File>>,
    heard: Option<Mutex<File>>,
    clock: Arc<dyn Clock>,
    /// The channels for the results of the agent's texts, by call.
    speakers: Mutex<HashMap<CallHandle, mpsc::UnboundedSender<EventLine>>>,
}

#[derive(Serialize)]
struct LogLine<'a> {
    at: Timestamp,
    handle: CallHandle,
    to: &'a offhook_domain::E164,
    node: offhook_domain::NodeId,
}

#[derive(Serialize)]
struct TranscriptLine<'a> {
    handle: CallHandle,
    /// The speaker: `user` or `agent`.
    role: &'static str,
    text: &'a str,
}

impl Network {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Infallible> {
        let path = request.uri().path().to_owned();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let is_post = request.method() == Method::POST;
        let response = match segments.as_slice() {
            ["healthz"] => empty(StatusCode::NO_CONTENT),
            ["calls"] if !is_post => self.list(),
            ["dial"] if is_post => self.dial(request).await,
            ["calls", handle, action] if is_post => match handle.parse() {
                Ok(handle) => self.act(handle, action, request).await,
                Err(_) => empty(StatusCode::BAD_REQUEST),
            },
            _ => empty(StatusCode::NOT_FOUND),
        };
        Ok(response)
    }

    fn list(&self) -> Response<Body> {
        let body = serde_json::json!({ "live": self.exchange.live() }).to_string();
        Response::new(Full::new(Bytes::from(body)).boxed_unsync())
    }

    async fn dial(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let body = read::<DialBody>(request).await;
        let Some(request) = body.and_then(|body| body.request()) else {
            return empty(StatusCode::BAD_REQUEST);
        };
        if Behaviour::of(&request.to) == Behaviour::Unreachable {
            return empty(StatusCode::MISDIRECTED_REQUEST);
        }
        if let Err(error) = self.write_down(&request) {
            tracing::error!(%error, "the dial log cannot be written");
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        }
        let (events, _) = self.exchange.dial(&request);
        let speed = self.exchange.pace.speed().to_string();
        let mut response = Response::new(self.event_lines(request.handle, events));
        if let Ok(value) = speed.parse() {
            response.headers_mut().insert(SPEED_HEADER, value);
        }
        response
    }

    fn write_down(&self, request: &DialRequest) -> std::io::Result<()> {
        let Some(log) = &self.log else {
            return Ok(());
        };
        append(
            log,
            &LogLine {
                at: self.clock.now(),
                handle: request.handle,
                to: &request.to,
                node: request.node,
            },
        )
    }

    fn log_transcript(&self, handle: CallHandle, line: &EventLine) {
        let (role, text) = match line {
            EventLine::Heard { text, .. } => ("user", text),
            EventLine::Spoken { heard_text, .. } => ("agent", heard_text),
            _ => return,
        };
        let noted = self.heard.as_ref().map_or(Ok(()), |log| {
            append(log, &TranscriptLine { handle, role, text })
        });
        if let Err(error) = noted {
            tracing::error!(%error, "what was heard cannot be written down");
        }
    }

    /// Streams the call's events until it is over or the client is gone. The call itself does not depend on the stream.
    fn event_lines(self: Arc<Self>, handle: CallHandle, events: mpsc::Receiver<LegEvent>) -> Body {
        let (speaker, spoken) = mpsc::unbounded_channel();
        self.speakers.lock().insert(handle, speaker.clone());
        let lines = Lines {
            events,
            spoken,
            entry: Entry {
                network: self,
                handle,
                speaker,
            },
        };
        let frames = stream::unfold(lines, |mut lines| async move {
            let line = lines.next().await?;
            lines
                .entry
                .network
                .log_transcript(lines.entry.handle, &line);
            let frame = Frame::data(Bytes::from(line.to_bytes()));
            Some((Ok::<_, Infallible>(frame), lines))
        });
        BodyExt::boxed_unsync(StreamBody::new(frames))
    }

    async fn act(
        self: Arc<Self>,
        handle: CallHandle,
        action: &str,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let command = match action {
            "say" => read::<SayBody>(request)
                .await
                .map(|body| self.saying(handle, body)),
            "stop" => read::<StopBody>(request)
                .await
                .map(|body| Command::Stop { id: body.id }),
            "hangup" => Some(Command::HangUp),
            "transfer" | "digits" => return self.line_action(handle, action, request).await,
            _ => return empty(StatusCode::NOT_FOUND),
        };
        match command {
            Some(command) => {
                self.exchange.command(handle, command);
                empty(StatusCode::NO_CONTENT)
            }
            None => empty(StatusCode::BAD_REQUEST),
        }
    }

    /// Actions whose result the client needs.
    async fn line_action(
        &self,
        handle: CallHandle,
        action: &str,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let Some(call) = self.exchange.call(handle) else {
            return empty(StatusCode::GONE);
        };
        let done = if action == "transfer" {
            let to = read::<TransferBody>(request).await;
            to.and_then(|body| body.to.parse().ok())
                .map(|to| self.exchange.transfer(&call, handle, to))
        } else {
            let digits = read::<DigitsBody>(request).await;
            digits.map(|body| self.exchange.send_digits(&call, handle, body.digits))
        };
        empty(match done {
            Some(Ok(())) => StatusCode::NO_CONTENT,
            Some(Err(_)) => StatusCode::GONE,
            None => StatusCode::BAD_REQUEST,
        })
    }

    fn saying(&self, handle: CallHandle, body: SayBody) -> Command {
        let speaker = self.speakers.lock().get(&handle).cloned();
        let id = body.id;
        Command::Say {
            id,
            text: body.text,
            done: Box::new(move |spoken| {
                if let Some(speaker) = speaker {
                    let _ = speaker.send(EventLine::of_speech(id, spoken));
                }
            }),
        }
    }
}

/// The event lines of one call.
struct Lines {
    events: mpsc::Receiver<LegEvent>,
    spoken: mpsc::UnboundedReceiver<EventLine>,
    entry: Entry,
}

impl Lines {
    async fn next(&mut self) -> Option<EventLine> {
        loop {
            let event = tokio::select! {
                biased;
                Some(line) = self.spoken.recv() => return Some(line),
                event = self.events.recv() => event,
            };
            match event {
                Some(event) => {
                    if let Some(line) = EventLine::of_leg(event) {
                        return Some(line);
                    }
                }
                // The person reported what was heard before leaving.
                None => return self.spoken.try_recv().ok(),
            }
        }
    }
}

/// Removes a call's channel when its event stream ends.
struct Entry {
    network: Arc<Network>,
    handle: CallHandle,
    speaker: mpsc::UnboundedSender<EventLine>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut speakers = self.network.speakers.lock();
        if speakers
            .get(&self.handle)
            .is_some_and(|known| known.same_channel(&self.speaker))
        {
            speakers.remove(&self.handle);
        }
    }
}

fn append(log: &Mutex<File>, line: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    log.lock().write_all(&line)
}

async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Option<T> {
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES);
    let bytes = body.collect().await.ok()?.to_bytes();
    serde_json::from_slice(&bytes).ok()
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}
