//! A client that sends exactly what a test writes, one connection per request.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use offhook_testkit::Interface;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stream::Stream;
use crate::wait::must;

/// The committed API document.
static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
    let document = include_str!("../../docs/openapi.json");
    Interface::new(must("docs/openapi.json", serde_json::from_str(document)))
});

/// How long a response may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The server's address; a restart changes it for every client.
#[derive(Debug, Clone)]
pub struct Address(Arc<Mutex<SocketAddr>>);

impl Address {
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self(Arc::new(Mutex::new(address)))
    }

    /// The current address.
    #[must_use]
    pub fn get(&self) -> SocketAddr {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, address: SocketAddr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// Sends requests to a server, with one key or none.
#[derive(Debug, Clone)]
pub struct Client {
    address: Address,
    token: Option<String>,
}

impl Client {
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self {
            address,
            token: None,
        }
    }

    /// A client of the same server, with this key.
    #[must_use]
    pub fn with_key(&self, token: &str) -> Self {
        Self {
            address: self.address.clone(),
            token: Some(token.to_owned()),
        }
    }

    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// A request that is not sent yet.
    #[must_use]
    pub fn request(&self, method: &str, target: &str) -> Request {
        let request = Request {
            address: self.address.get(),
            line: format!("{method} {target} HTTP/1.1"),
            headers: Vec::new(),
            body: Vec::new(),
        };
        match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    #[must_use]
    pub fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    /// A POST of JSON, given as text or as a value.
    #[must_use]
    pub fn post(&self, target: &str, body: impl ToString) -> Request {
        self.request("POST", target).json(body)
    }

    #[must_use]
    pub fn patch(&self, target: &str, body: impl ToString) -> Request {
        self.request("PATCH", target).json(body)
    }

    #[must_use]
    pub fn delete(&self, target: &str) -> Request {
        self.request("DELETE", target)
    }

    /// Reads an existing resource.
    ///
    /// # Panics
    /// If the status code is not 200.
    pub async fn read(&self, target: &str) -> Value {
        self.get(target).await.assert(200)
    }
}

/// A request that is being built.
#[derive(Debug, Clone)]
pub struct Request {
    address: SocketAddr,
    line: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Request {
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    #[must_use]
    pub fn idempotency_key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    #[must_use]
    pub fn json(self, body: impl ToString) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.to_string())
    }

    /// Sets a body without a media type.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\nHost: test\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(name.as_bytes());
            bytes.extend(b": ");
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        if !self.body.is_empty() {
            bytes.extend(format!("Content-Length: {}\r\n", self.body.len()).into_bytes());
        }
        bytes.extend(b"Connection: close\r\n\r\n");
        bytes.extend(&self.body);
        bytes
    }

    /// Sends it and reads the complete response.
    ///
    /// # Panics
    /// If there is none.
    pub async fn send(self) -> Answer {
        let line = self.line.clone();
        must(&line, self.try_send().await)
    }

    /// Sends it; fails if the connection breaks before the complete response has arrived.
    pub async fn try_send(self) -> std::io::Result<Answer> {
        let exchanged = tokio::time::timeout(LIMIT, async {
            let mut socket = TcpStream::connect(self.address).await?;
            // The server may respond and close before it has read everything.
            let _ = socket.write_all(&self.bytes()).await;
            let mut bytes = Vec::new();
            let end = socket.read_to_end(&mut bytes).await;
            match Answer::read(&bytes) {
                Some(answer) => {
                    self.saw(answer.status, &answer.body);
                    Ok(answer)
                }
                None => end.and_then(|_| Err(std::io::ErrorKind::UnexpectedEof.into())),
            }
        });
        exchanged.await?
    }

    /// Sends it and reads the response as server-sent events.
    ///
    /// # Panics
    /// If the response is not 200.
    pub async fn stream(self) -> Stream {
        let stream = must("a stream", self.try_stream().await);
        assert!(stream.head.starts_with("HTTP/1.1 200"), "{}", stream.head);
        stream
    }

    /// Sends it and reads the head of the response, with any status code.
    pub async fn try_stream(self) -> std::io::Result<Stream> {
        let mut socket = TcpStream::connect(self.address).await?;
        socket.write_all(&self.bytes()).await?;
        let stream = Stream::read(socket).await?;
        // A refusal is judged by its status code alone.
        if stream.head.starts_with("HTTP/1.1 200") {
            self.saw(200, b"");
        }
        Ok(stream)
    }

    fn saw(&self, status: u16, body: &[u8]) {
        let mut words = self.line.split(' ');
        let (method, target) = (words.next(), words.next());
        INTERFACE.saw(
            method.unwrap_or_default(),
            target.unwrap_or_default(),
            status,
            body,
        );
    }
}

/// Awaiting a request sends it and returns its response.
impl IntoFuture for Request {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Sends raw bytes and reads until the server closes.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(bytes).await?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Parses a response; `None` if it is incomplete.
    fn read(bytes: &[u8]) -> Option<Self> {
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..split]).ok()?;
        let rest = &bytes[split + 4..];
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        if let Some((_, length)) = length
            && length.parse() != Ok(rest.len())
        {
            return None;
        }
        Some(Self {
            status,
            headers,
            body: rest.to_vec(),
        })
    }

    /// A header that occurs at most once.
    ///
    /// # Panics
    /// If it occurs twice.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is sent twice: {self:?}");
        value
    }

    /// A header that is a whole number.
    ///
    /// # Panics
    /// If it is missing or not a number.
    #[must_use]
    pub fn number(&self, name: &str) -> i64 {
        let value = self.header(name).and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("no number in {name}: {self:?}"))
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        must(&self.text(), serde_json::from_slice(&self.body))
    }

    /// The body, after checking the status code and the headers that every response has.
    ///
    /// # Panics
    /// If one of them is wrong.
    #[track_caller]
    pub fn assert(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        let id = self.header("x-request-id").unwrap_or_default();
        assert_eq!(id.len(), 36, "no request id: {self:?}");
        self.json()
    }

    /// The message of an error, after checking its envelope.
    ///
    /// # Panics
    /// If the response differs.
    #[track_caller]
    pub fn assert_error(&self, status: u16, code: &str) -> String {
        let body = self.assert(status);
        let members: Vec<_> = body
            .as_object()
            .into_iter()
            .flatten()
            .map(|(n, _)| n)
            .collect();
        assert_eq!(members, ["error", "message", "request_id"], "{body}");
        assert_eq!(body["error"], code, "{body}");
        assert_eq!(body["request_id"].as_str(), self.header("x-request-id"));
        let message = body["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "an error without a message: {body}");
        message.to_owned()
    }
}
