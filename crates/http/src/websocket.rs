//! WebSockets (RFC 6455): frames, pings, limits and closing, for any [`Speaker`].
//!
//! A WebSocket is the body of its handshake's response: it lives as long as the connection, and dropping the
//! connection drops its speaker. While the client does not read, the server does not read from it, so that nothing
//! piles up. After ten seconds in which nothing could be sent, the connection ends
//! ([`Connection`](crate::edge::connection::Connection)).

use std::time::Duration;

use actix_http::ws::{
    CloseCode, CloseReason, Codec, Frame, Item, Message, ProtocolError, hash_key, verify_handshake,
};
use actix_web::dev::Payload;
use actix_web::http::header::{SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL};
use actix_web::web::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::codec::{Decoder, Encoder};
use tokio_util::sync::CancellationToken;

use crate::edge::connection::Turn;
use crate::prelude::*;

/// The longest head of a frame (RFC 6455 §5.2).
const HEAD_BYTES: usize = 14;

/// How often the server pings, so that proxies do not close a quiet connection.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How long the client may take to close after the server has.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// The application side of a connection. It is dropped as soon as either side closes.
pub(crate) trait Speaker {
    /// The subprotocol, if the handshake must name one.
    const PROTOCOL: Option<&str>;

    /// The longest text message in bytes, in one frame or many; no message of any kind may be longer.
    const MOST_TEXT: usize = 64 * 1024;

    /// The longest binary message in bytes; 0 if binary messages are not accepted.
    const MOST_BINARY: usize;

    /// How many frames may arrive in all, not counting whole binary ones.
    const MOST_OTHERS: u32;

    /// What happens on the server's side.
    type News;

    /// The next event. Cancel safe.
    async fn news(&mut self) -> Self::News;

    /// Sends an event to the client.
    fn tell(&mut self, news: Self::News, line: &mut Line);

    /// Handles a text message.
    fn text(&mut self, text: &[u8], line: &mut Line);

    /// Handles a binary message.
    fn binary(&mut self, bytes: &[u8], line: &mut Line);
}

/// Answers a handshake; `None` if it is not a version 13 handshake. `closing` ends the connection when the process
/// stops.
pub(crate) fn open<S: Speaker + 'static>(
    req: &HttpRequest,
    payload: Payload,
    closing: CancellationToken,
    speaker: S,
) -> Option<HttpResponse> {
    verify_handshake(req.head()).ok()?;
    let accept = hash_key(req.headers().get(SEC_WEBSOCKET_KEY)?.as_bytes());
    if let Some(turn) = req.conn_data::<Turn>() {
        turn.upgrade();
    }
    let socket = Socket::new(payload, closing, speaker);
    let frames = stream::unfold(socket, |mut socket| async move {
        let bytes = socket.next().await?;
        Some((Ok::<_, ApiError>(bytes), socket))
    });
    let mut answer = HttpResponse::SwitchingProtocols();
    answer
        .upgrade("websocket")
        .insert_header((SEC_WEBSOCKET_ACCEPT, &accept[..]));
    if let Some(protocol) = S::PROTOCOL {
        answer.insert_header((SEC_WEBSOCKET_PROTOCOL, protocol));
    }
    Some(answer.streaming(frames))
}

/// The output to the client.
pub(crate) struct Line {
    codec: Codec,
    output: BytesMut,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Open,
    /// The server has closed; the client may still have to read why.
    Closing(Instant),
    Closed,
}

impl Line {
    pub(crate) fn text(&mut self, text: String) {
        self.send(Message::Text(text.into()));
    }

    pub(crate) fn binary(&mut self, bytes: Bytes) {
        self.send(Message::Binary(bytes));
    }

    /// Closes the connection with a reason.
    pub(crate) fn close(&mut self, code: CloseCode, reason: &str) {
        self.send(Message::Close(Some(CloseReason::from((code, reason)))));
        self.stage = Stage::Closing(Instant::now() + CLOSE_WITHIN);
    }

    const fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open)
    }

    fn send(&mut self, message: Message) {
        if self.codec.encode(message, &mut self.output).is_err() {
            self.stage = Stage::Closed;
        }
    }
}

#[cfg(test)]
impl Line {
    /// The bytes that `speak` sends.
    pub(crate) fn sent(speak: impl FnOnce(&mut Self)) -> Bytes {
        let mut line = Self {
            codec: Codec::new(),
            output: BytesMut::new(),
            stage: Stage::Open,
        };
        speak(&mut line);
        line.output.freeze()
    }
}

/// What happens on the connection.
enum Happening<N> {
    /// Bytes arrived; `None`: no more will.
    Came(Option<Bytes>),
    News(N),
    Ping,
    /// The client did not close in time.
    Late,
    /// The process is stopping.
    Away,
}

/// A message that arrives in several frames.
struct Pieces {
    bytes: BytesMut,
    is_text: bool,
}

struct Socket<S> {
    payload: Payload,
    closing: CancellationToken,
    codec: Codec,
    input: BytesMut,
    pieces: Option<Pieces>,
    others: u32,
    ping: Interval,
    line: Line,
    /// `Some` while the connection is open.
    speaker: Option<S>,
}

impl<S: Speaker> Socket<S> {
    fn new(payload: Payload, closing: CancellationToken, speaker: S) -> Self {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            payload,
            closing,
            codec: Codec::new().max_size(S::MOST_TEXT),
            input: BytesMut::new(),
            pieces: None,
            others: 0,
            ping,
            line: Line {
                codec: Codec::new(),
                output: BytesMut::new(),
                stage: Stage::Open,
            },
            speaker: Some(speaker),
        }
    }

    /// The next bytes to send, or `None` when the connection should close.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.read();
            if !self.line.is_open() {
                self.let_go();
            }
            if !self.line.output.is_empty() {
                return Some(self.line.output.split().freeze());
            }
            if matches!(self.line.stage, Stage::Closed) {
                return None;
            }
            match self.wait().await {
                Happening::Came(Some(bytes)) if self.line.is_open() => {
                    self.input.extend_from_slice(&bytes);
                }
                Happening::Came(Some(_)) => {}
                Happening::Came(None) | Happening::Late => self.line.stage = Stage::Closed,
                Happening::News(news) => {
                    if let Some(speaker) = &mut self.speaker {
                        speaker.tell(news, &mut self.line);
                    }
                }
                Happening::Ping => self.line.send(Message::Ping(Bytes::new())),
                Happening::Away => {
                    let reason = "the service is being stopped";
                    self.line.close(CloseCode::Away, reason);
                }
            }
        }
    }

    async fn wait(&mut self) -> Happening<S::News> {
        let is_open = self.line.is_open();
        let stage = self.line.stage;
        let speaker = &mut self.speaker;
        let news = async {
            match (speaker, stage) {
                (Some(speaker), _) => Happening::News(speaker.news().await),
                (None, Stage::Closing(until)) => {
                    sleep_until(until).await;
                    Happening::Late
                }
                (None, _) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled(), if is_open => Happening::Away,
            happening = news => happening,
            bytes = self.payload.next() => Happening::Came(bytes.and_then(Result::ok)),
            _ = self.ping.tick(), if is_open => Happening::Ping,
        }
    }

    /// Drops the speaker. The server keeps reading and dropping the client's input: closing a connection with unread
    /// bytes would reset it, and the client would not learn the reason.
    fn let_go(&mut self) {
        self.speaker = None;
        self.pieces = None;
        self.input = BytesMut::new();
    }

    /// Handles the complete frames that have arrived.
    fn read(&mut self) {
        while self.line.is_open() {
            match self.codec.decode(&mut self.input) {
                Ok(Some(frame)) => self.take(frame),
                // The codec only checks a frame's length once the whole frame has arrived.
                Ok(None) if self.input.len() > S::MOST_TEXT + HEAD_BYTES => self.too_large(),
                Ok(None) => return,
                Err(ProtocolError::Overflow) => self.too_large(),
                Err(_) => self.line.close(CloseCode::Protocol, "that is no frame"),
            }
        }
    }

    fn take(&mut self, frame: Frame) {
        if !matches!(frame, Frame::Binary(_)) {
            self.others = self.others.saturating_add(1);
            if self.others > S::MOST_OTHERS {
                self.line.close(CloseCode::Policy, "too many messages");
                return;
            }
        }
        match frame {
            Frame::Binary(bytes) => self.whole(&bytes, false),
            Frame::Text(text) => self.whole(&text, true),
            Frame::Continuation(Item::FirstBinary(bytes)) => self.begin(&bytes, false),
            Frame::Continuation(Item::FirstText(bytes)) => self.begin(&bytes, true),
            Frame::Continuation(Item::Continue(bytes)) => self.piece(&bytes, false),
            Frame::Continuation(Item::Last(bytes)) => self.piece(&bytes, true),
            Frame::Ping(bytes) => self.line.send(Message::Pong(bytes)),
            Frame::Pong(_) => {}
            Frame::Close(_) => {
                self.line.send(Message::Close(None));
                self.line.stage = Stage::Closed;
            }
        }
    }

    fn begin(&mut self, first: &[u8], is_text: bool) {
        self.pieces = Some(Pieces {
            bytes: BytesMut::new(),
            is_text,
        });
        self.piece(first, false);
    }

    fn piece(&mut self, bytes: &[u8], is_last: bool) {
        let Some(pieces) = &mut self.pieces else {
            return;
        };
        pieces.bytes.extend_from_slice(bytes);
        let (length, is_text) = (pieces.bytes.len(), pieces.is_text);
        if self.may_have(length, is_text)
            && is_last
            && let Some(pieces) = self.pieces.take()
        {
            self.whole(&pieces.bytes, is_text);
        }
    }

    fn whole(&mut self, message: &[u8], is_text: bool) {
        if !self.may_have(message.len(), is_text) {
            return;
        }
        match (&mut self.speaker, is_text) {
            (Some(speaker), true) => speaker.text(message, &mut self.line),
            (Some(speaker), false) => speaker.binary(message, &mut self.line),
            (None, _) => {}
        }
    }

    /// Whether a message may have this kind and length; if not, closes the connection.
    fn may_have(&mut self, length: usize, is_text: bool) -> bool {
        let most = if is_text {
            S::MOST_TEXT
        } else {
            S::MOST_BINARY
        };
        if most == 0 {
            let reason = "texts are understood alone";
            self.line.close(CloseCode::Unsupported, reason);
        } else if length > most {
            self.too_large();
        }
        self.line.is_open()
    }

    fn too_large(&mut self) {
        self.line.close(CloseCode::Size, "a message is too large");
    }
}

#[cfg(test)]
mod tests;
