//! WebSockets to speech services.

use std::time::Duration;

use super::Result;

use offhook_egress::{Connection, Failure, GuardedDialer};
use offhook_engine::ports::speech::SpeechError;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use futures_util::{SinkExt as _, StreamExt as _};

/// Limit for opening a connection, including the upgrade.
const OPEN_LIMIT: Duration = Duration::from_secs(3);

/// Limit for sending a message.
const SEND_LIMIT: Duration = Duration::from_secs(3);

/// Limit for closing a connection.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// The longest message of a service: some seconds of audio in base64, and the times of its words.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

pub(crate) struct Socket(WebSocketStream<Connection>);

/// The parameters of a WebSocket connection.
#[derive(Clone)]
pub(crate) struct Upgrade {
    pub(crate) dialer: GuardedDialer,
    /// A `ws` or `wss` URL.
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Upgrade {
    /// Connects within three seconds. Returns [`SpeechError::Refused`] with the HTTP status if the service refuses the
    /// upgrade.
    pub(crate) async fn open(&self) -> Result<Socket> {
        timeout(OPEN_LIMIT, self.open_slowly())
            .await
            .map_err(|_| SpeechError::Timeout)?
    }

    async fn open_slowly(&self) -> Result<Socket> {
        let connection = self.dialer.open(&self.url).await.map_err(not_open)?;
        let mut request = self
            .url
            .as_str()
            .into_client_request()
            .map_err(|_| SpeechError::Protocol("the request could not be made"))?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        match client_async_with_config(request, connection, Some(config)).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(Error::Http(answer)) => Err(SpeechError::Refused(answer.status().as_u16())),
            Err(error) => Err(broken(&error)),
        }
    }
}

/// A received message.
pub(crate) enum Received {
    Text(String),
    /// A message type that no protocol here uses.
    Other,
}

impl Socket {
    /// Sends a message. Returns [`SpeechError::Timeout`] if the service stops reading, [`SpeechError::Unreachable`] if
    /// it is gone.
    pub(crate) async fn send(&mut self, message: Message) -> Result<()> {
        match timeout(SEND_LIMIT, self.0.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => Err(SpeechError::Timeout),
        }
    }

    /// Waits for the next message. Cancel-safe. Fails once the connection has ended.
    pub(crate) async fn next(&mut self) -> Result<Received> {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => Ok(Received::Text(text.as_str().to_owned())),
            Some(Ok(Message::Close(_))) | None => Err(SpeechError::Unreachable),
            Some(Ok(_)) => Ok(Received::Other),
            Some(Err(error)) => Err(broken(&error)),
        }
    }

    /// Sends the last message, and gives the service a moment to close too.
    pub(crate) async fn close(mut self, farewell: Option<Message>) {
        let goodbye = async {
            if let Some(farewell) = farewell
                && self.0.send(farewell).await.is_err()
            {
                return;
            }
            if self.0.close(None).await.is_ok() {
                while let Some(Ok(_)) = self.0.next().await {}
            }
        };
        let _ = timeout(CLOSE_LIMIT, goodbye).await;
    }
}

/// Parses a message. Returns [`SpeechError::Protocol`] for a malformed one.
pub(crate) fn message<T: DeserializeOwned>(text: &str) -> Result<T> {
    let fault = SpeechError::Protocol("a message is not of its form");
    serde_json::from_str(text).map_err(|_| fault)
}

pub(crate) fn text(json: &serde_json::Value) -> Message {
    Message::text(json.to_string())
}

fn not_open(failure: Failure) -> SpeechError {
    match failure {
        Failure::Timeout => SpeechError::Timeout,
        _ => SpeechError::Unreachable,
    }
}

fn broken(error: &Error) -> SpeechError {
    match error {
        Error::Capacity(_) => SpeechError::Protocol("a message is too long"),
        Error::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::HandshakeIncomplete
            | tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
        ) => SpeechError::Unreachable,
        Error::Protocol(_) | Error::Utf8(_) | Error::HttpFormat(_) => {
            SpeechError::Protocol("it is no WebSocket")
        }
        _ => SpeechError::Unreachable,
    }
}
