//! A response of server-sent events.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

use crate::wait::must;

#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// `id`, empty without one.
    pub id: String,
    /// `event`.
    pub event: String,
    /// `data`.
    pub data: Value,
    /// When it arrived.
    pub at: Instant,
}

/// A response of server-sent events.
#[derive(Debug)]
pub struct Stream {
    /// The head of the response.
    pub head: String,
    lines: BufReader<TcpStream>,
    pending: Vec<u8>,
    ended: bool,
}

impl Stream {
    /// Reads the head of a response; its events follow later.
    pub(crate) async fn read(socket: TcpStream) -> std::io::Result<Self> {
        let mut lines = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if lines.read_line(&mut head).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self {
            head,
            lines,
            pending: Vec::new(),
            ended: false,
        })
    }

    /// The next event; `None` at the orderly end of the response.
    ///
    /// # Panics
    /// If the response breaks off, or no event comes in time.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.pending.drain(..end + 2).collect();
                match event(&String::from_utf8_lossy(&block)) {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            if self.ended {
                return None;
            }
            let read = tokio::time::timeout(Duration::from_secs(60), self.chunk()).await;
            must("an event in time", read);
        }
    }

    /// Every event up to the end of the response.
    pub async fn rest(&mut self) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Reads one chunk of the transfer coding.
    async fn chunk(&mut self) {
        let mut size = String::new();
        must("the size of a chunk", self.lines.read_line(&mut size).await);
        let size = must(&size, usize::from_str_radix(size.trim(), 16));
        let mut chunk = vec![0; size + 2];
        must("a chunk", self.lines.read_exact(&mut chunk).await);
        self.pending.extend(&chunk[..size]);
        self.ended = size == 0;
    }
}

/// `None` for a comment.
fn event(block: &str) -> Option<StreamEvent> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines
            .find_map(|line| line.strip_prefix(name))
            .map(str::to_owned)
    };
    Some(StreamEvent {
        id: field("id: ").unwrap_or_default(),
        event: field("event: ")?,
        data: must(block, serde_json::from_str(&field("data: ")?)),
        at: Instant::now(),
    })
}
