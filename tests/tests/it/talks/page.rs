//! A page that talks: a WebSocket, and a microphone that never falls silent.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use offhook_media::codec::Codec;
use offhook_media::resample::Resampler;
use offhook_tests::{must, within};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Bytes of 20 ms.
const FRAME: usize = 640;

pub(super) type Socket = WebSocketStream<TcpStream>;

/// Performs the handshake as a page of this origin; fails with the status code of a refusal.
pub(super) async fn connect(address: SocketAddr, agent: &str, origin: &str) -> Result<Socket, u16> {
    connect_speaking(address, agent, (Some(origin), "offhook.voice.v1")).await
}

/// As [`connect`], with these handshake headers.
pub(super) async fn connect_speaking(
    address: SocketAddr,
    agent: &str,
    (origin, protocol): (Option<&str>, &str),
) -> Result<Socket, u16> {
    let url = format!("ws://{address}/widget/v1/agents/{agent}/voice");
    let mut request = must("a request", url.into_client_request());
    let headers = request.headers_mut();
    if let Some(origin) = origin {
        headers.insert("Origin", must("an origin", origin.parse()));
    }
    headers.insert(
        "Sec-WebSocket-Protocol",
        must("a protocol", protocol.parse()),
    );
    let stream = must("a connection", TcpStream::connect(address).await);
    match within("a handshake", PATIENCE, client_async(request, stream)).await {
        Ok((socket, answer)) => {
            let protocol = answer.headers().get("sec-websocket-protocol");
            assert_eq!(
                protocol.map(|it| it.as_bytes()),
                Some(&b"offhook.voice.v1"[..])
            );
            Ok(socket)
        }
        Err(Error::Http(answer)) => Err(answer.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

/// "Hello, do you have a table for two?", in a page's format.
pub(super) fn speech() -> Vec<u8> {
    let mut samples = Vec::new();
    let codes = include_bytes!("../../../../crates/media/tests/it/speech.ulaw");
    Codec::Pcmu.decode_into(codes, &mut samples);
    let mut wide = Vec::new();
    let mut resampler = must("a filter", Resampler::new(8_000, 16_000));
    resampler.push(&samples, &mut wide);
    resampler.finish(&mut wide);
    wide.into_iter().flat_map(i16::to_le_bytes).collect()
}

/// What a page receives.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// Audio, and whether it is loud.
    Sound(bool),
    Text(Value),
    /// The socket was closed, with this code and reason.
    Closed(u16, String),
}

/// A page in a conversation.
pub(super) struct Page {
    events: SplitStream<Socket>,
    says: mpsc::UnboundedSender<Vec<u8>>,
    texts: mpsc::UnboundedSender<Message>,
    microphone: JoinHandle<()>,
}

/// Sends 20 ms of audio every 20 ms, or silence.
async fn listen(
    mut sink: SplitSink<Socket, Message>,
    mut says: mpsc::UnboundedReceiver<Vec<u8>>,
    mut texts: mpsc::UnboundedReceiver<Message>,
) {
    let mut tick = interval(Duration::from_millis(20));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut saying: Vec<u8> = Vec::new();
    loop {
        let message = tokio::select! {
            _ = tick.tick() => {
                while let Ok(more) = says.try_recv() {
                    saying.extend(more);
                }
                let mut frame: Vec<u8> = saying.drain(..FRAME.min(saying.len())).collect();
                frame.resize(FRAME, 0);
                Message::binary(frame)
            }
            Some(text) = texts.recv() => text,
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

impl Page {
    /// A page whose conversation has begun, and its id.
    pub(super) async fn talks(address: SocketAddr, agent: &str, origin: &str) -> (Self, String) {
        let mut page = Self::starts(address, agent, origin).await;
        let started = page.text("started").await;
        assert_eq!(started["sample_rate"], 16_000);
        let id = started["id"].as_str().unwrap_or_default().to_owned();
        (page, id)
    }

    /// A page that has requested a conversation.
    pub(super) async fn starts(address: SocketAddr, agent: &str, origin: &str) -> Self {
        let socket = must("a socket", connect(address, agent, origin).await);
        let (sink, events) = socket.split();
        let (says, said) = mpsc::unbounded_channel();
        let (texts, written) = mpsc::unbounded_channel();
        let page = Self {
            events,
            says,
            texts,
            microphone: tokio::spawn(listen(sink, said, written)),
        };
        page.send(&json!({"type": "start", "metadata": {"name": "Ana"}}));
        page
    }

    pub(super) fn send(&self, message: &Value) {
        let _ = self.texts.send(Message::text(message.to_string()));
    }

    pub(super) fn says(&self, sound: Vec<u8>) {
        let _ = self.says.send(sound);
    }

    /// The next item that it receives.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let message = within("a message", PATIENCE, self.events.next()).await;
            match must("a message", message.transpose()) {
                Some(Message::Binary(bytes)) => {
                    let loud = bytes
                        .chunks_exact(2)
                        .any(|it| i16::from_le_bytes([it[0], it[1]]).unsigned_abs() > 500);
                    assert!(bytes.len() <= FRAME, "{}", bytes.len());
                    return Heard::Sound(loud);
                }
                Some(Message::Text(text)) => {
                    return Heard::Text(must("JSON", serde_json::from_str(&text)));
                }
                Some(Message::Close(Some(frame))) => {
                    return Heard::Closed(frame.code.into(), frame.reason.to_string());
                }
                Some(Message::Close(None)) | None => return Heard::Closed(0, String::new()),
                Some(_) => {}
            }
        }
    }

    /// The next text, which must have this type. Skips audio.
    pub(super) async fn text(&mut self, kind: &str) -> Value {
        loop {
            match self.next().await {
                Heard::Sound(_) => {}
                Heard::Text(text) => {
                    assert_eq!(text["type"], kind, "{text}");
                    return text;
                }
                closed @ Heard::Closed(..) => panic!("{kind}: {closed:?}"),
            }
        }
    }

    /// Waits for this many frames of loud audio.
    pub(super) async fn hears(&mut self, frames: usize) {
        let mut heard = 0;
        while heard < frames {
            match self.next().await {
                Heard::Sound(loud) => heard += usize::from(loud),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The close of the socket. Skips everything else.
    pub(super) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Heard::Closed(code, reason) = self.next().await {
                return (code, reason);
            }
        }
    }
}

/// The connection breaks without a close frame.
impl Drop for Page {
    fn drop(&mut self) {
        self.microphone.abort();
    }
}
