//! A call's audio as Twilio sends it: messages over a WebSocket.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{PATIENCE, PlacedCall};

/// The messages with which Twilio begins a stream.
pub fn beginning(call: &PlacedCall, token: &str) -> [String; 2] {
    let start = json!({
        "event": "start", "sequenceNumber": "1", "streamSid": "MZ0123456789abcdef0123456789abcdef",
        "start": {
            "accountSid": call.account, "streamSid": "MZ0123456789abcdef0123456789abcdef", "callSid": call.sid,
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
            "customParameters": {"token": token},
        },
    });
    let connected = json!({"event": "connected", "protocol": "Call", "version": "1.0.0"});
    [connected.to_string(), start.to_string()]
}

/// An audio message: µ-law, with this number.
pub fn sound(codes: &[u8], number: u64) -> String {
    let media = json!({
        "track": "inbound", "chunk": number.to_string(), "timestamp": (number * 20).to_string(),
        "payload": STANDARD.encode(codes),
    });
    json!({"event": "media", "sequenceNumber": (number + 1).to_string(), "media": media})
        .to_string()
}

/// The message that playback reached a mark.
pub fn echo(name: &str) -> String {
    json!({"event": "mark", "sequenceNumber": "4", "mark": {"name": name}}).to_string()
}

/// The message that the callee pressed a key.
pub fn key(digit: char) -> String {
    json!({"event": "dtmf", "dtmf": {"track": "inbound_track", "digit": digit.to_string()}})
        .to_string()
}

/// The message that a stream has ended.
pub fn stop(call: &PlacedCall) -> String {
    json!({"event": "stop", "stop": {"accountSid": call.account, "callSid": call.sid}}).to_string()
}

async fn upgrade(to: SocketAddr, path: &str) -> Result<WebSocketStream<TcpStream>, Error> {
    let upgrading = async {
        let request = format!("ws://{to}{path}").into_client_request()?;
        let socket = TcpStream::connect(to).await.map_err(Error::Io)?;
        let (socket, _) = tokio_tungstenite::client_async(request, socket).await?;
        Ok(socket)
    };
    let upgraded = tokio::time::timeout(PATIENCE, upgrading).await;
    upgraded.unwrap_or_else(|_| panic!("nothing answers at {to}{path}"))
}

/// A stream's WebSocket, on Twilio's side.
pub struct Stream(WebSocketStream<TcpStream>);

impl Stream {
    /// Opens a stream to a local server.
    ///
    /// # Panics
    /// If the server refuses it.
    pub async fn open(to: SocketAddr, path: &str) -> Self {
        match upgrade(to, path).await {
            Ok(socket) => Self(socket),
            Err(error) => panic!("no stream at {to}{path}: {error}"),
        }
    }

    /// The status code with which a local server refuses the stream.
    ///
    /// # Panics
    /// If the server accepts it.
    pub async fn refused(to: SocketAddr, path: &str) -> u16 {
        match upgrade(to, path).await {
            Err(Error::Http(answer)) => answer.status().as_u16(),
            _ => panic!("no refusal at {to}{path}"),
        }
    }

    /// Sends a message; `false` if the stream is closed.
    pub async fn send(&mut self, text: String) -> bool {
        self.0.send(Message::Text(text.into())).await.is_ok()
    }

    /// The next message, or `None` once the stream is closed.
    ///
    /// # Panics
    /// If no message arrives for 30 s.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next()).await;
            let next = next.unwrap_or_else(|_| panic!("nothing comes from the stream"));
            match next {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).ok(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    }
}
