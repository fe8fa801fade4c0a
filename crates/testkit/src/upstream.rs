//! A fake HTTP/1.1 server of a provider: a test's handler answers, the server records all requests, and injects
//! faults on demand.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The largest request that it reads, in bytes.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;

/// A request as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// In upper case.
    pub method: String,
    /// The target without its query, as sent.
    pub path: String,
    /// The text after the `?`, as sent; empty without one.
    pub query: String,
    /// With names in lower case.
    pub headers: Vec<(String, String)>,
    /// As sent.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// The first header with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The decoded members of a form body, in order.
    pub fn form(&self) -> Vec<(String, String)> {
        pairs(&String::from_utf8_lossy(&self.body))
    }

    /// The decoded members of the query, in order.
    pub fn parameters(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// The first query parameter of this name, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let found = self.parameters().into_iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value)
    }
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let plain = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
    };
    let parts = text.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| (plain(key), plain(value)))
        .collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Besides `content-length`, which is always correct.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// A response with a JSON value.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::bytes(status, "application/json", value.to_string().into_bytes())
    }

    /// A response with a text of this media type.
    pub fn text(status: u16, kind: &str, text: &str) -> Self {
        Self::bytes(status, kind, text.as_bytes().to_vec())
    }

    /// A response with bytes of this media type.
    pub fn bytes(status: u16, kind: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body,
        }
    }

    /// A response without a body.
    pub const fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A fault of the server. To refuse connections, use [`Upstream::stop`]; to fail TLS, call the server by `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Reads the request and closes the connection without handling it.
    Close,
    /// Handles the request, and closes the connection without a response.
    LoseAnswer,
    /// Handles the request; the first byte of the response comes this late.
    Slow(Duration),
    /// Handles the request, and closes the connection in the middle of the response's body.
    CutBody,
    /// Responds with this status code and internal details in the body, without handling the request.
    Status(u16),
    /// Responds with this status code and `Retry-After` in seconds, without handling the request.
    RetryAfter(u16, u64),
    /// Handles the request, and responds 200 with a body that is not JSON.
    Malformed,
    /// Handles the request, and responds 200 with JSON of another shape.
    Unknown,
    /// Responds 200 with a body that does not end.
    Endless,
}

/// The text in the body of a [`Fault::Status`]. It must not appear in anything that a customer reads.
pub const UPSTREAM_WORDS: &str = "internal detail of the upstream 7f3a";

struct Planned {
    method: String,
    path_prefix: String,
    fault: Fault,
    times: usize,
}

#[derive(Default)]
struct State {
    asked: Vec<ReceivedRequest>,
    planned: Vec<Planned>,
}

type Handler = dyn Fn(&ReceivedRequest) -> Answer + Send + Sync;

/// A server on a local port, until it is dropped or stopped.
pub struct Upstream {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stopped: watch::Sender<bool>,
}

impl Upstream {
    /// Starts a server that answers with `handler`, on the test's runtime.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(
        handler: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.unwrap_or_else(|error| panic!("a port: {error}"));
        let address = listener.local_addr();
        let address = address.unwrap_or_else(|error| panic!("an address: {error}"));
        let state = Arc::<Mutex<State>>::default();
        let handler: Arc<Handler> = Arc::new(handler);
        let (stopped, mut stop) = watch::channel(false);
        let shared = state.clone();
        tokio::spawn(async move {
            loop {
                let socket = tokio::select! {
                    _ = stop.wait_for(|stopped| *stopped) => return,
                    accepted = listener.accept() => accepted,
                };
                let Ok((socket, _)) = socket else { return };
                let (state, handler, mut stop) = (shared.clone(), handler.clone(), stop.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = stop.wait_for(|stopped| *stopped) => {}
                        () = converse(socket, &state, &*handler) => {}
                    }
                });
            }
        });
        Self {
            address,
            state,
            stopped,
        }
    }

    /// `http://` and its address, without a path.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Injects a fault into the next `times` requests with this method (`*`: any) and path prefix. Faults happen in
    /// the order of these calls.
    pub fn fail(&self, method: &str, path_prefix: &str, fault: Fault, times: usize) {
        self.state.lock().planned.push(Planned {
            method: method.to_owned(),
            path_prefix: path_prefix.to_owned(),
            fault,
            times,
        });
    }

    /// Removes the faults that have not happened yet.
    pub fn behave(&self) {
        self.state.lock().planned.clear();
    }

    /// Every request, in order of arrival.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.state.lock().asked.clone()
    }

    /// Every request with this method (`*`: any) and path prefix.
    pub fn asked_of(&self, method: &str, path_prefix: &str) -> Vec<ReceivedRequest> {
        let mut asked = self.asked();
        asked.retain(|asked| is_of(asked, method, path_prefix));
        asked
    }

    /// Closes every connection, and refuses new ones.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_of(asked: &ReceivedRequest, method: &str, path_prefix: &str) -> bool {
    (method == "*" || asked.method == method) && asked.path.starts_with(path_prefix)
}

impl State {
    /// Records a request, and returns its fault.
    fn take(&mut self, asked: &ReceivedRequest) -> Option<Fault> {
        self.asked.push(asked.clone());
        let of = |planned: &Planned| is_of(asked, &planned.method, &planned.path_prefix);
        let at = self
            .planned
            .iter()
            .position(|planned| planned.times > 0 && of(planned))?;
        let planned = self.planned.get_mut(at)?;
        planned.times -= 1;
        Some(planned.fault)
    }
}

/// Answers the requests of a connection one after another.
async fn converse(mut socket: TcpStream, state: &Mutex<State>, handler: &Handler) {
    let mut read = Vec::new();
    while let Some(asked) = next(&mut socket, &mut read).await {
        let fault = state.lock().take(&asked);
        let (answer, cut) = match fault {
            None => (handler(&asked), false),
            Some(Fault::Close) => return,
            Some(Fault::LoseAnswer) => {
                handler(&asked);
                return;
            }
            Some(Fault::Slow(late)) => {
                let answer = handler(&asked);
                tokio::time::sleep(late).await;
                (answer, false)
            }
            Some(Fault::CutBody) => (handler(&asked), true),
            Some(Fault::Status(status)) => (refusal(status), false),
            Some(Fault::RetryAfter(status, seconds)) => {
                let refusal = refusal(status);
                (refusal.with("retry-after", &seconds.to_string()), false)
            }
            Some(Fault::Malformed) => {
                handler(&asked);
                let answer = Answer::text(200, "application/json", "{\"cut\": [1, 2");
                (answer, false)
            }
            Some(Fault::Endless) => return endless(&mut socket).await,
            Some(Fault::Unknown) => {
                handler(&asked);
                let value = serde_json::json!({"of_another_shape": [{"nothing": true}]});
                (Answer::json(200, &value), false)
            }
        };
        if send(&mut socket, &answer, cut).await.is_err() || cut {
            return;
        }
    }
}

/// Sends zeros until the client stops reading.
async fn endless(socket: &mut TcpStream) {
    let head = b"HTTP/1.1 200 X\r\nconnection: close\r\n\r\n";
    if socket.write_all(head).await.is_ok() {
        while socket.write_all(&[0; 64 * 1024]).await.is_ok() {}
    }
}

fn refusal(status: u16) -> Answer {
    Answer::json(
        status,
        &serde_json::json!({"detail": {"status": "refused", "message": UPSTREAM_WORDS}}),
    )
}

async fn send(socket: &mut TcpStream, answer: &Answer, cut: bool) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // A cut body announces more bytes than it has, whatever its length.
    let announced = answer.body.len() + usize::from(cut);
    if answer.status != 204 {
        head.push_str(&format!("content-length: {announced}\r\n"));
    }
    head.push_str("\r\n");
    let sent = if cut {
        answer.body.len() / 2
    } else {
        answer.body.len()
    };
    let mut bytes = head.into_bytes();
    bytes.extend(answer.body.iter().take(sent));
    socket.write_all(&bytes).await?;
    socket.flush().await
}

/// The next request of a connection; `read` keeps the bytes after it.
async fn next(socket: &mut TcpStream, read: &mut Vec<u8>) -> Option<ReceivedRequest> {
    let head_ends = loop {
        // A TLS handshake: like any plain server, it closes the connection.
        if read.first() == Some(&0x16) {
            return None;
        }
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        more(socket, read).await?;
    };
    let head = String::from_utf8_lossy(read.get(..head_ends)?).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    read.drain(..head_ends + 4);
    let value = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let body = if value("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        chunks(socket, read).await?
    } else {
        let length = value("content-length").map_or(Some(0), |length| length.parse().ok())?;
        exactly(socket, read, length).await?
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(ReceivedRequest {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body,
    })
}

async fn more(socket: &mut TcpStream, read: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 16 * 1024];
    let n = socket.read(&mut buffer).await.ok()?;
    read.extend(buffer.get(..n)?);
    (n > 0 && read.len() <= REQUEST_BYTES).then_some(())
}

async fn exactly(socket: &mut TcpStream, read: &mut Vec<u8>, length: usize) -> Option<Vec<u8>> {
    while read.len() < length {
        more(socket, read).await?;
    }
    Some(read.drain(..length).collect())
}

async fn chunks(socket: &mut TcpStream, read: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_ends = loop {
            if let Some(at) = read.windows(2).position(|two| two == b"\r\n") {
                break at;
            }
            more(socket, read).await?;
        };
        let line = exactly(socket, read, line_ends + 2).await?;
        let size = String::from_utf8_lossy(&line);
        let size = usize::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
        let chunk = exactly(socket, read, size + 2).await?;
        body.extend(chunk.get(..size)?);
        if size == 0 {
            return Some(body);
        }
    }
}
