//! A page's side of a WebSocket: a handshake, short texts, and the responses.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::it::client::{Request, must};

pub(crate) struct Socket(TcpStream);

impl Socket {
    /// Performs the handshake with this request.
    pub(crate) async fn open(request: Request) -> Self {
        let request = request
            .header("Connection", "upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let mut stream = request.open().await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(must(stream.read_u8().await));
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{head:?}");
        Self(stream)
    }

    /// Sends a text of less than 126 bytes.
    pub(crate) async fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let mut frame = vec![0x81, 0x80 | must(u8::try_from(text.len()))];
        frame.extend([0; 4]);
        frame.extend(text.into_bytes());
        must(self.0.write_all(&frame).await);
    }

    /// The next text. Skips audio and pings.
    pub(crate) async fn text(&mut self) -> Value {
        loop {
            match self.next().await {
                (0x81, text) => return must(serde_json::from_slice(&text)),
                (0x88, reason) => panic!("{}", String::from_utf8_lossy(&reason)),
                _ => {}
            }
        }
    }

    /// The code and the reason of the close frame, which comes next.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        let (first, close) = self.next().await;
        let (code, reason) = must(close.split_first_chunk().ok_or(first));
        let reason = String::from_utf8_lossy(reason).into_owned();
        (u16::from_be_bytes(*code), reason)
    }

    /// The next frame: its first byte and its payload.
    async fn next(&mut self) -> (u8, Vec<u8>) {
        let first = must(self.0.read_u8().await);
        let mut length = usize::from(must(self.0.read_u8().await));
        if length == 126 {
            length = usize::from(must(self.0.read_u16().await));
        }
        let mut payload = vec![0; length];
        must(self.0.read_exact(&mut payload).await);
        (first, payload)
    }
}
