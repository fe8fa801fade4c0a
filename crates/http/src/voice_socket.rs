//! The WebSocket of a page that talks: audio in binary messages, everything else as JSON in text messages. The page is one
//! that an agent's widget serves, or the editor of an agent.

mod messages;

use std::pin::Pin;
use std::time::Duration;

use actix_http::ws::CloseCode;
use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, SEC_WEBSOCKET_PROTOCOL};
use offhook_services::{TALK_FRAME_BYTES, Talk, TalkEvent};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::address_of;
use crate::prelude::*;
use crate::request::ask::{FromPath, state};
use crate::request::body::FromBody;
use crate::request::page::Page;
use crate::websocket::{self, Line, Speaker};
use messages::Asked;
pub use messages::Start;

const PROTOCOL: &str = "offhook.voice.v1";

/// How long a page may take to send its start message.
const START_WITHIN: Duration = Duration::from_secs(5);

/// Bytes of the form that an editor starts a trial with.
const FORM_BYTES: usize = 1024 * 1024;

/// The connection behind a handshake.
pub(crate) struct Incoming(Payload);

impl FromBody for Incoming {
    async fn read(_: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        Ok(Self(payload))
    }
}

/// Accepts the handshake of a page that may talk to some agent.
pub(crate) fn open(page: Page<Incoming>, req: &HttpRequest) -> Reply {
    let (talks, origin) = (page.state.services.talks().clone(), page.origin);
    let (agent, address) = (AgentId::of(req.match_info()), address_of(req));
    let begin = move |start: Start| async move {
        let metadata = start.metadata.as_ref();
        let begun = talks.begin(&origin, agent, metadata, address).await;
        Ok(begun?)
    };
    let closing = page.state.closing.clone();
    let visitor = Visitor::<{ 64 * 1024 }>::new(begin, false);
    opened(req, page.body.0, closing, visitor)
}

/// Accepts the handshake of an editor's page: its `start` may name a form, and `begin` starts the conversation. `req` must
/// be a request of a member; another site's page must have been refused.
pub fn open_trial<F>(
    req: &HttpRequest,
    payload: Payload,
    begin: impl FnOnce(Start) -> F + 'static,
) -> Reply
where
    F: Future<Output = Result<Talk, ApiError>> + 'static,
{
    let closing = state(req)?.closing.clone();
    let visitor = Visitor::<FORM_BYTES>::new(begin, true);
    opened(req, payload, closing, visitor)
}

fn opened<const MOST_TEXT: usize>(
    req: &HttpRequest,
    payload: Payload,
    closing: CancellationToken,
    visitor: Visitor<MOST_TEXT>,
) -> Reply {
    let opened = offers(req.headers())
        .then(|| websocket::open(req, payload, closing, visitor))
        .flatten();
    opened.ok_or_else(|| {
        let message = format!(
            "`Upgrade`: connect with a WebSocket of version 13 and the subprotocol `{PROTOCOL}`"
        );
        Code::InvalidQuery.error(message)
    })
}

fn offers(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_WEBSOCKET_PROTOCOL).any(|line| {
        let names = line.to_str().unwrap_or_default().split(',');
        names.into_iter().any(|name| name.trim() == PROTOCOL)
    })
}

/// A conversation that is starting.
type Beginning = Pin<Box<dyn Future<Output = Result<Talk, ApiError>>>>;

/// What starts a conversation.
type Begin = Box<dyn FnOnce(Start) -> Beginning>;

enum Stage {
    /// Waiting for the page's start message, until this time.
    Asked(Instant),
    Begins(Beginning),
    Talks(Box<Talk>),
}

/// What happens on the agent's side.
enum News {
    /// The page did not send its start message in time.
    Late,
    Begun(Result<Talk, ApiError>),
    Event(TalkEvent),
}

/// The page's conversation. Dropping it hangs up.
struct Visitor<const MOST_TEXT: usize> {
    /// Until it was started.
    begin: Option<Begin>,
    /// Whether its `start` may name a form.
    has_form: bool,
    stage: Stage,
    has_hung_up: bool,
}

impl<const MOST_TEXT: usize> Visitor<MOST_TEXT> {
    fn new<F>(begin: impl FnOnce(Start) -> F + 'static, has_form: bool) -> Self
    where
        F: Future<Output = Result<Talk, ApiError>> + 'static,
    {
        Self {
            begin: Some(Box::new(move |start| Box::pin(begin(start)))),
            has_form,
            stage: Stage::Asked(Instant::now() + START_WITHIN),
            has_hung_up: false,
        }
    }
}

impl<const MOST_TEXT: usize> Speaker for Visitor<MOST_TEXT> {
    const PROTOCOL: Option<&str> = Some(PROTOCOL);
    const MOST_TEXT: usize = MOST_TEXT;
    const MOST_BINARY: usize = TALK_FRAME_BYTES;
    const MOST_OTHERS: u32 = 1_000;
    type News = News;

    async fn news(&mut self) -> News {
        match &mut self.stage {
            Stage::Asked(until) => {
                sleep_until(*until).await;
                News::Late
            }
            Stage::Begins(beginning) => News::Begun(beginning.await),
            Stage::Talks(talk) => News::Event(talk.next().await),
        }
    }

    fn tell(&mut self, news: News, line: &mut Line) {
        match news {
            News::Late => line.close(CloseCode::Policy, "say `start` first"),
            News::Begun(Ok(mut talk)) => {
                say(line, &messages::started(talk.id()));
                if self.has_hung_up {
                    talk.hang_up();
                }
                self.stage = Stage::Talks(Box::new(talk));
            }
            News::Begun(Err(error)) => refuse(line, &error),
            News::Event(event) => tell(line, event),
        }
    }

    fn text(&mut self, text: &[u8], line: &mut Line) {
        let asked = Json::parse(text).ok();
        let asked = asked.as_ref().and_then(messages::read);
        match (asked, &mut self.stage) {
            (Some(Asked::Start(start)), Stage::Asked(_))
                if start.form.is_none() || self.has_form =>
            {
                if let Some(begin) = self.begin.take() {
                    self.stage = Stage::Begins(begin(start));
                }
            }
            (Some(Asked::Key(key)), Stage::Talks(talk)) => talk.press(key),
            (Some(Asked::End), Stage::Asked(_)) => {
                line.close(CloseCode::Normal, "ended by the page");
            }
            // The page gets the outcome first; then the connection closes.
            (Some(Asked::End), Stage::Begins(_)) => self.has_hung_up = true,
            (Some(Asked::End), Stage::Talks(talk)) => talk.hang_up(),
            _ => line.close(CloseCode::Policy, "that message is not understood here"),
        }
    }

    /// Drops audio that arrives before the conversation has begun.
    fn binary(&mut self, sound: &[u8], line: &mut Line) {
        if let Stage::Talks(talk) = &self.stage
            && !talk.hear(sound)
        {
            let reason = "sound comes faster than it is spoken, or is none";
            line.close(CloseCode::Policy, reason);
        }
    }
}

fn tell(line: &mut Line, event: TalkEvent) {
    match event {
        TalkEvent::Sound(sound) => line.binary(sound),
        TalkEvent::Clear => say(line, &messages::clear()),
        TalkEvent::Turn {
            is_agent,
            text,
            is_cut,
            ..
        } => say(line, &messages::turn(is_agent, &text, is_cut)),
        TalkEvent::Tool(text) => say(line, &messages::tool(&text)),
        TalkEvent::Passages(passages) => say(line, &messages::passages(&passages)),
        TalkEvent::Measured(latency) => say(line, &messages::measured(&latency)),
        TalkEvent::Ended(outcome) => {
            let (message, reason) = messages::ended(outcome);
            say(line, &message);
            line.close(CloseCode::Normal, reason);
        }
    }
}

fn refuse(line: &mut Line, error: &ApiError) {
    if error.code.status().is_server_error() {
        let cause = error.cause.as_deref().unwrap_or("");
        tracing::error!(code = error.code.as_str(), cause, "a talk was not begun");
    }
    say(line, &messages::error(error));
    line.close(CloseCode::Policy, error.code.as_str());
}

fn say(line: &mut Line, message: &serde_json::Value) {
    line.text(message.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_to_forget_what_it_has_not_played_when_its_agent_is_interrupted() {
        let sent = Line::sent(|line| tell(line, TalkEvent::Clear));
        // A short text in one frame, after its length.
        assert_eq!(sent, &b"\x81\x10{\"type\":\"clear\"}"[..]);
    }
}
