//! The WebSocket of a carrier's sound (RFC 6455): texts, which the carrier's own connection reads and writes.
//!
//! It is the body of its own handshake's answer, as that of a page that talks.

use std::time::Duration;

use actix_http::ws::{CloseCode, CloseReason, Codec, Frame, Item, Message, ProtocolError};
use actix_web::dev::Payload;
use actix_web::web::{Bytes, BytesMut};
use futures_util::StreamExt;
use offhook_services::MediaConnection;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::codec::{Decoder, Encoder};

use crate::HttpState;

/// Bytes that a text may have, in one frame or many.
const TEXT_BYTES: usize = 64 * 1024;

/// The longest head of a frame (RFC 6455 §5.2).
const HEAD_BYTES: usize = 14;

/// How often the connection is tried, so that proxies do not close a quiet one.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How long the other side may take to close once ours is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

enum Stage {
    Open(Box<dyn MediaConnection>),
    /// We have closed; the other side may still have to read why.
    Closing(Instant),
    Closed,
}

enum Happening {
    /// Bytes came, or none will.
    Came(Option<Bytes>),
    /// A text is to be sent, or none will be.
    Says(Option<String>),
    Ping,
    Late,
    /// The process ends.
    Away,
}

pub(super) struct Socket {
    state: HttpState,
    payload: Payload,
    codec: Codec,
    input: BytesMut,
    output: BytesMut,
    /// The text that is coming in pieces.
    pieces: Option<BytesMut>,
    stage: Stage,
    ping: Interval,
}

impl Socket {
    pub(super) fn new(
        state: HttpState,
        payload: Payload,
        connection: Box<dyn MediaConnection>,
    ) -> Self {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            state,
            payload,
            codec: Codec::new().max_size(TEXT_BYTES),
            input: BytesMut::new(),
            output: BytesMut::new(),
            pieces: None,
            stage: Stage::Open(connection),
            ping,
        }
    }

    /// The next bytes to send, or `None` once the connection is to be closed.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.read();
            if !self.output.is_empty() {
                return Some(self.output.split().freeze());
            }
            if matches!(self.stage, Stage::Closed) {
                return None;
            }
            match self.wait().await {
                Happening::Came(Some(_)) if matches!(self.stage, Stage::Closing(_)) => {}
                Happening::Came(Some(bytes)) => self.input.extend_from_slice(&bytes),
                Happening::Came(None) | Happening::Late => self.stage = Stage::Closed,
                Happening::Says(Some(text)) => self.send(Message::Text(text.into())),
                Happening::Says(None) => self.close(CloseCode::Normal, "the call is over"),
                Happening::Ping => self.send(Message::Ping(Bytes::new())),
                Happening::Away => self.close(CloseCode::Away, "the service is being stopped"),
            }
        }
    }

    async fn wait(&mut self) -> Happening {
        let Self {
            state,
            payload,
            stage,
            ping,
            ..
        } = self;
        let is_open = matches!(stage, Stage::Open(_));
        let says = async {
            match stage {
                Stage::Open(connection) => Happening::Says(connection.next().await),
                Stage::Closing(until) => {
                    sleep_until(*until).await;
                    Happening::Late
                }
                Stage::Closed => std::future::pending().await,
            }
        };
        tokio::select! {
            () = state.closing.cancelled(), if is_open => Happening::Away,
            happening = says => happening,
            bytes = payload.next() => Happening::Came(bytes.and_then(Result::ok)),
            _ = ping.tick(), if is_open => Happening::Ping,
        }
    }

    /// Takes the whole frames that have come.
    fn read(&mut self) {
        while matches!(self.stage, Stage::Open(_)) {
            match self.codec.decode(&mut self.input) {
                Ok(Some(frame)) => self.take(frame),
                // The codec judges a frame's length once the whole of it is there.
                Ok(None) if self.input.len() > TEXT_BYTES + HEAD_BYTES => {
                    self.close(CloseCode::Size, "a message is too large");
                }
                Ok(None) => return,
                Err(ProtocolError::Overflow) => {
                    self.close(CloseCode::Size, "a message is too large");
                }
                Err(_) => self.close(CloseCode::Protocol, "that is no frame"),
            }
        }
    }

    fn take(&mut self, frame: Frame) {
        match frame {
            Frame::Text(text) => self.heard(&text),
            Frame::Continuation(Item::FirstText(first)) => {
                self.pieces = Some(BytesMut::new());
                self.piece(&first, false);
            }
            Frame::Continuation(Item::Continue(bytes)) => self.piece(&bytes, false),
            Frame::Continuation(Item::Last(bytes)) => self.piece(&bytes, true),
            Frame::Binary(_) | Frame::Continuation(Item::FirstBinary(_)) => {
                self.close(CloseCode::Unsupported, "texts are understood alone");
            }
            Frame::Ping(bytes) => self.send(Message::Pong(bytes)),
            Frame::Pong(_) => {}
            Frame::Close(_) => {
                self.send(Message::Close(None));
                self.stage = Stage::Closed;
            }
        }
    }

    fn piece(&mut self, bytes: &[u8], is_last: bool) {
        let Some(pieces) = &mut self.pieces else {
            return;
        };
        pieces.extend_from_slice(bytes);
        if pieces.len() > TEXT_BYTES {
            self.close(CloseCode::Size, "a message is too large");
        } else if is_last && let Some(whole) = self.pieces.take() {
            self.heard(&whole);
        }
    }

    fn heard(&mut self, text: &[u8]) {
        let Stage::Open(connection) = &mut self.stage else {
            return;
        };
        let is_taken = std::str::from_utf8(text).is_ok_and(|text| connection.take(text));
        if !is_taken {
            self.close(CloseCode::Policy, "that is no stream of a call here");
        }
    }

    /// Lets go of the call. What the other side has sent meanwhile is read and dropped: a connection with unread bytes
    /// would be reset.
    fn close(&mut self, code: CloseCode, reason: &str) {
        self.send(Message::Close(Some(CloseReason::from((code, reason)))));
        self.stage = Stage::Closing(Instant::now() + CLOSE_WITHIN);
        self.input = BytesMut::new();
    }

    fn send(&mut self, message: Message) {
        if self.codec.encode(message, &mut self.output).is_err() {
            self.stage = Stage::Closed;
        }
    }
}
