//! The WebSocket of a page that talks (RFC 6455): sound in binary frames, all else as JSON in text frames.
//!
//! It is the body of its own handshake's answer: it lives as long as the connection, and what drops the connection drops
//! the conversation with it. Whoever does not read is not read from, so that nothing piles up.

mod messages;

use std::pin::Pin;
use std::time::Duration;

use actix_http::ws::{
    CloseCode, CloseReason, Codec, Frame, Item, Message, hash_key, verify_handshake,
};
use actix_web::dev::Payload;
use actix_web::http::header::{
    HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::{StreamExt, stream};
use offhook_domain::{AgentId, Json};
use offhook_services::{TALK_FRAME_BYTES, Talk, TalkError, TalkEvent};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::codec::{Decoder, Encoder};

use crate::ask::FromPath;
use crate::body::FromBody;
use crate::connection::Turn;
use crate::page::Page;
use crate::reply::Reply;
use crate::{ApiError, Code, HttpState};
use messages::Asked;

/// What both sides speak.
const PROTOCOL: &str = "offhook.voice.v1";

/// Bytes that a text may have, in one frame or many.
const TEXT_BYTES: usize = 64 * 1024;

/// Texts, pings and the like that a page may send in one conversation.
const MOST_TEXTS: u32 = 1_000;

/// How long a page may take to say what it wants.
const START_WITHIN: Duration = Duration::from_secs(5);

/// How often the connection is tried, so that proxies do not close a quiet one.
const PING_EVERY: Duration = Duration::from_secs(15);

/// How long the page may take to close its side once ours is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// The connection behind a handshake.
pub(crate) struct Incoming(Payload);

impl FromBody for Incoming {
    async fn read(_: &HeaderMap, payload: Payload) -> Result<Self, ApiError> {
        Ok(Self(payload))
    }
}

/// The longest head of a frame (RFC 6455 §5.2).
const HEAD_BYTES: usize = 14;

/// Answers the handshake of a page that may talk to some agent; what follows is a [`Socket`]'s.
pub(crate) fn open(page: Page<Incoming>, req: &HttpRequest) -> Reply {
    let key = req.headers().get(SEC_WEBSOCKET_KEY);
    let (Ok(()), Some(key), true) = (verify_handshake(req.head()), key, offers(req.headers()))
    else {
        return Err(ApiError::new(
            Code::InvalidQuery,
            format!(
                "`Upgrade`: connect with a WebSocket of version 13 and the subprotocol `{PROTOCOL}`"
            ),
        ));
    };
    let accept = hash_key(key.as_bytes());
    if let Some(turn) = req.conn_data::<Turn>() {
        turn.upgrade();
    }
    let socket = Socket::new(page, AgentId::of(req.match_info()));
    let frames = stream::unfold(socket, |mut socket| async move {
        let bytes = socket.next().await?;
        Some((Ok::<_, ApiError>(bytes), socket))
    });
    Ok(HttpResponse::SwitchingProtocols()
        .upgrade("websocket")
        .insert_header((SEC_WEBSOCKET_ACCEPT, &accept[..]))
        .insert_header((SEC_WEBSOCKET_PROTOCOL, PROTOCOL))
        .streaming(frames))
}

fn offers(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_WEBSOCKET_PROTOCOL).any(|line| {
        let names = line.to_str().unwrap_or_default().split(',');
        names.into_iter().any(|name| name.trim() == PROTOCOL)
    })
}

/// A conversation that is being begun.
type Beginning = Pin<Box<dyn Future<Output = Result<Talk, TalkError>>>>;

enum Stage {
    /// The page is to say what it wants.
    Asked(Instant),
    Begins(Beginning),
    Talks(Box<Talk>),
    /// We have closed; the page may still have to read why.
    Closing(Instant),
    Closed,
}

/// What happens on the connection.
enum Happening {
    /// Bytes came, or none will.
    Came(Option<Bytes>),
    Begun(Result<Talk, TalkError>),
    Event(TalkEvent),
    Ping,
    Late,
    /// The process ends.
    Away,
}

/// The message that is coming in pieces.
struct Pieces {
    bytes: BytesMut,
    is_text: bool,
}

struct Socket {
    state: HttpState,
    origin: String,
    agent: AgentId,
    payload: Payload,
    codec: Codec,
    input: BytesMut,
    output: BytesMut,
    pieces: Option<Pieces>,
    stage: Stage,
    ping: Interval,
    texts: u32,
}

impl Socket {
    fn new(page: Page<Incoming>, agent: AgentId) -> Self {
        let now = Instant::now();
        let mut ping = interval_at(now + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            state: HttpState::clone(&page.state),
            origin: page.origin,
            agent,
            payload: page.body.0,
            codec: Codec::new().max_size(TEXT_BYTES),
            input: BytesMut::new(),
            output: BytesMut::new(),
            pieces: None,
            stage: Stage::Asked(now + START_WITHIN),
            ping,
            texts: 0,
        }
    }

    /// The next bytes to send, or `None` once the connection is to be closed.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.read();
            if !self.output.is_empty() {
                return Some(self.output.split().freeze());
            }
            if matches!(self.stage, Stage::Closed) {
                return None;
            }
            match self.wait().await {
                Happening::Came(Some(bytes)) if matches!(self.stage, Stage::Closing(_)) => {
                    drop(bytes)
                }
                Happening::Came(Some(bytes)) => self.input.extend_from_slice(&bytes),
                Happening::Came(None) => self.stage = Stage::Closed,
                Happening::Begun(Ok(talk)) => {
                    self.say(&messages::started(talk.id()));
                    self.stage = Stage::Talks(Box::new(talk));
                }
                Happening::Begun(Err(error)) => self.refuse(error.into()),
                Happening::Event(event) => self.tell(event),
                Happening::Ping => self.send(Message::Ping(Bytes::new())),
                Happening::Late if matches!(self.stage, Stage::Closing(_)) => {
                    self.stage = Stage::Closed
                }
                Happening::Late => self.close(CloseCode::Policy, "say `start` first"),
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
        let is_open = !matches!(stage, Stage::Closing(_) | Stage::Closed);
        let stage = async {
            match stage {
                Stage::Asked(until) | Stage::Closing(until) => {
                    sleep_until(*until).await;
                    Happening::Late
                }
                Stage::Begins(beginning) => Happening::Begun(beginning.await),
                Stage::Talks(talk) => Happening::Event(talk.next().await),
                Stage::Closed => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = state.closing.cancelled(), if is_open => Happening::Away,
            happening = stage => happening,
            bytes = payload.next() => Happening::Came(bytes.and_then(Result::ok)),
            _ = ping.tick() => Happening::Ping,
        }
    }

    /// Takes the whole frames that have come.
    fn read(&mut self) {
        while !matches!(self.stage, Stage::Closing(_) | Stage::Closed) {
            match self.codec.decode(&mut self.input) {
                Ok(Some(frame)) => self.take(frame),
                // The codec judges a frame's length once the whole of it is there.
                Ok(None) if self.input.len() > TEXT_BYTES + HEAD_BYTES => {
                    self.close(CloseCode::Size, "a message is too large");
                }
                Ok(None) => return,
                Err(actix_http::ws::ProtocolError::Overflow) => {
                    self.close(CloseCode::Size, "a message is too large");
                }
                Err(_) => self.close(CloseCode::Protocol, "that is no frame"),
            }
        }
    }

    fn take(&mut self, frame: Frame) {
        if !matches!(frame, Frame::Binary(_)) {
            self.texts += 1;
            if self.texts > MOST_TEXTS {
                self.close(CloseCode::Policy, "too many messages");
                return;
            }
        }
        match frame {
            Frame::Binary(sound) => self.hear(&sound),
            Frame::Text(text) => self.asked(&text),
            Frame::Continuation(Item::FirstBinary(bytes)) => self.begin_pieces(&bytes, false),
            Frame::Continuation(Item::FirstText(bytes)) => self.begin_pieces(&bytes, true),
            Frame::Continuation(Item::Continue(bytes)) => self.piece(&bytes, false),
            Frame::Continuation(Item::Last(bytes)) => self.piece(&bytes, true),
            Frame::Ping(bytes) => self.send(Message::Pong(bytes)),
            Frame::Pong(_) => {}
            Frame::Close(_) => {
                self.send(Message::Close(None));
                self.stage = Stage::Closed;
            }
        }
    }

    fn begin_pieces(&mut self, first: &[u8], is_text: bool) {
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
        let most = if pieces.is_text {
            TEXT_BYTES
        } else {
            TALK_FRAME_BYTES
        };
        if pieces.bytes.len() > most {
            self.close(CloseCode::Size, "a message is too large");
        } else if is_last && let Some(whole) = self.pieces.take() {
            match whole.is_text {
                true => self.asked(&whole.bytes),
                false => self.hear(&whole.bytes),
            }
        }
    }

    /// Sound that comes before the conversation has begun is nobody's.
    fn hear(&mut self, sound: &[u8]) {
        if sound.len() > TALK_FRAME_BYTES {
            self.close(CloseCode::Size, "a frame of sound is too large");
            return;
        }
        if let Stage::Talks(talk) = &self.stage
            && !talk.hear(sound)
        {
            self.close(
                CloseCode::Policy,
                "sound comes faster than it is spoken, or is none",
            );
        }
    }

    fn asked(&mut self, text: &[u8]) {
        let asked = Json::parse(text).ok();
        match (asked.as_ref().and_then(messages::read), &self.stage) {
            (Some(Asked::Start { metadata }), Stage::Asked(_)) => {
                let talks = self.state.services.talks().clone();
                let (origin, agent, metadata) =
                    (self.origin.clone(), self.agent, metadata.cloned());
                self.stage = Stage::Begins(Box::pin(async move {
                    talks.begin(&origin, agent, metadata.as_ref()).await
                }));
            }
            (Some(Asked::Key(key)), Stage::Talks(talk)) => talk.press(key),
            (Some(Asked::End), _) => self.close(CloseCode::Normal, "ended by the page"),
            _ => self.close(CloseCode::Policy, "that message is not understood here"),
        }
    }

    fn tell(&mut self, event: TalkEvent) {
        match event {
            TalkEvent::Sound(sound) => self.send(Message::Binary(sound)),
            TalkEvent::Clear => self.say(&messages::clear()),
            TalkEvent::Turn {
                is_agent,
                text,
                is_cut,
            } => self.say(&messages::turn(is_agent, &text, is_cut)),
            TalkEvent::Ended(outcome) => {
                let (message, reason) = messages::ended(outcome);
                self.say(&message);
                self.close(CloseCode::Normal, reason);
            }
        }
    }

    fn refuse(&mut self, error: ApiError) {
        if error.code.status().is_server_error() {
            let cause = error.cause.as_deref().unwrap_or("");
            tracing::error!(code = error.code.as_str(), cause, "a talk was not begun");
        }
        self.say(&messages::error(&error));
        self.close(CloseCode::Policy, error.code.as_str());
    }

    fn say(&mut self, message: &serde_json::Value) {
        self.send(Message::Text(message.to_string().into()));
    }

    /// Lets go of the conversation. What the page has sent meanwhile is read and dropped: a connection with unread bytes
    /// would be reset, and the page not learn why.
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
