//! A client that sends exactly what a test writes.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::it::contract;

/// A request that is being built.
pub(crate) struct Request {
    address: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(address: SocketAddr, method: &str, target: &str) -> Self {
        Self {
            address,
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn key(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// A JSON body, as text.
    pub(crate) fn json(self, body: impl ToString) -> Self {
        let mut request = self.header("Content-Type", "application/json");
        request.body = body.to_string().into_bytes();
        request
    }

    /// A body without a media type.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, close: bool) -> Vec<u8> {
        let head = format!("{} {} HTTP/1.1\r\nHost: test\r\n", self.method, self.target);
        let mut bytes = head.into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(name.as_bytes());
            bytes.extend(b": ");
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        if !self.body.is_empty() {
            bytes.extend(format!("Content-Length: {}\r\n", self.body.len()).into_bytes());
        }
        if close {
            bytes.extend(b"Connection: close\r\n");
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }

    /// Sends it, reads the complete response, and compares it with the OpenAPI document.
    pub(crate) async fn send(self) -> Answer {
        let bytes = self.bytes(true);
        let answer = Answer::read(exchange(self.address, &bytes).await);
        contract::check(&self.method, &self.target, &answer);
        answer
    }

    /// Sends it and leaves the connection open.
    pub(crate) async fn open(self) -> TcpStream {
        let mut stream = connect(self.address).await;
        must(stream.write_all(&self.bytes(false)).await);
        stream
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
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address).await;
    // The server may respond and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

async fn connect(address: SocketAddr) -> TcpStream {
    must(TcpStream::connect(address).await)
}

pub(crate) fn must<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error:?}"))
}

/// Polls until there is a value.
pub(crate) async fn eventually<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let seen = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(60), seen).await)
}

impl Answer {
    fn read(bytes: Vec<u8>) -> Self {
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let split = split.unwrap_or_else(|| panic!("no answer: {bytes:?}"));
        let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        Self {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            headers,
            body: bytes[split + 4..].to_vec(),
        }
    }

    /// Every header, its name in lower case.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is sent twice");
        value
    }

    pub(crate) fn number(&self, name: &str) -> i64 {
        let value = self.header(name).and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("no number in {name}: {self:?}"))
    }

    pub(crate) fn json(&self) -> Value {
        must(serde_json::from_slice(&self.body))
    }

    /// The body, after checking the status code.
    pub(crate) fn assert(&self, status: u16) -> Value {
        assert_eq!(
            self.status,
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }

    /// The message, after checking the envelope.
    pub(crate) fn assert_error(&self, status: u16, code: &str) -> String {
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
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        body["message"].as_str().unwrap_or_default().to_owned()
    }
}
