//! A minimal client: one connection per request, so that the cause of a failure is known.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) token: &'a str,
    /// Idempotency-Key.
    pub(crate) key: Option<&'a str>,
    /// JSON.
    pub(crate) body: Option<&'a str>,
}

impl<'a> Ask<'a> {
    pub(crate) const fn get(path: &'a str, token: &'a str) -> Self {
        Self {
            method: "GET",
            path,
            token,
            key: None,
            body: None,
        }
    }

    pub(crate) const fn post(path: &'a str, token: &'a str, body: &'a str) -> Self {
        Self {
            method: "POST",
            body: Some(body),
            ..Self::get(path, token)
        }
    }
}

/// A complete response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) retry_after: Option<u64>,
    pub(crate) replayed: bool,
    pub(crate) took: Duration,
}

impl Reply {
    /// The body; `null` if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// The error's code.
    pub(crate) fn code(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

/// Why there is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// No connection was made.
    Refused,
    /// The connection broke.
    Broken,
    /// The client gave up waiting.
    TimedOut,
}

/// Sends a request and waits for the complete response, at most `patience` long.
pub(crate) async fn ask(
    address: SocketAddr,
    ask: Ask<'_>,
    patience: Duration,
) -> Result<Reply, NoReply> {
    let began = Instant::now();
    let exchange = async {
        let mut socket = TcpStream::connect(address)
            .await
            .map_err(|_| NoReply::Refused)?;
        let _ = socket.set_nodelay(true);
        let _ = socket.write_all(head_and_body(ask).as_bytes()).await;
        let mut bytes = Vec::new();
        // A server that dies may reset the connection after a complete response.
        let _ = socket.read_to_end(&mut bytes).await;
        read(&bytes, began).ok_or(NoReply::Broken)
    };
    match tokio::time::timeout(patience, exchange).await {
        Ok(result) => result,
        Err(_) => Err(NoReply::TimedOut),
    }
}

fn head_and_body(ask: Ask<'_>) -> String {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nHost: chaos\r\nConnection: close\r\n",
        ask.method, ask.path
    );
    if !ask.token.is_empty() {
        text += &format!("Authorization: Bearer {}\r\n", ask.token);
    }
    if let Some(key) = ask.key {
        text += &format!("Idempotency-Key: {key}\r\n");
    }
    let body = ask.body.unwrap_or_default();
    if ask.body.is_some() {
        text += &format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
    }
    text + "\r\n" + body
}

/// Parses a response; `None` if it is incomplete.
fn read(bytes: &[u8], began: Instant) -> Option<Reply> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header = |name: &str| {
        lines
            .clone()
            .filter_map(|line| line.split_once(':'))
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    };
    let length: usize = header("content-length")?.parse().ok()?;
    (length == body.len()).then(|| Reply {
        status,
        body: body.to_owned(),
        retry_after: header("retry-after").and_then(|value| value.parse().ok()),
        replayed: header("idempotent-replayed") == Some("true"),
        took: began.elapsed(),
    })
}
