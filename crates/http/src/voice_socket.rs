//! The WebSocket of a page that talks: audio in binary messages, everything else as JSON in text messages.

mod messages;

use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use actix_http::ws::CloseCode;
use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, SEC_WEBSOCKET_PROTOCOL};
use offhook_domain::{AgentId, Json};
use offhook_services::{TALK_FRAME_BYTES, Talk, TalkEvent, UseCaseError};
use tokio::time::{Instant, sleep_until};

use crate::reply::Reply;
use crate::request::ask::FromPath;
use crate::request::body::FromBody;
use crate::request::page::Page;
use crate::websocket::{self, Line, Speaker};
use crate::{ApiError, Code, HttpState, address_of};
use messages::Asked;

const PROTOCOL: &str = "offhook.voice.v1";

/// How long a page may take to send its start message.
const START_WITHIN: Duration = Duration::from_secs(5);

/// The connection behind a handshake.
pub(crate) struct Incoming(Payload);

impl FromBody for Incoming {
    async fn read(_: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        Ok(Self(payload))
    }
}

/// Accepts the handshake of a page that may talk to some agent.
pub(crate) fn open(page: Page<Incoming>, req: &HttpRequest) -> Reply {
    let visitor = Visitor {
        state: HttpState::clone(&page.state),
        origin: page.origin,
        agent: AgentId::of(req.match_info()),
        address: address_of(req),
        stage: Stage::Asked(Instant::now() + START_WITHIN),
        has_hung_up: false,
    };
    let opened = offers(req.headers())
        .then(|| websocket::open(req, page.body.0, page.state.closing.clone(), visitor))
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
type Beginning = Pin<Box<dyn Future<Output = Result<Talk, UseCaseError>>>>;

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
    Begun(Result<Talk, UseCaseError>),
    Event(TalkEvent),
}

/// The page's conversation. Dropping it hangs up.
struct Visitor {
    state: HttpState,
    origin: String,
    agent: AgentId,
    address: Option<IpAddr>,
    stage: Stage,
    has_hung_up: bool,
}

impl Speaker for Visitor {
    const PROTOCOL: Option<&str> = Some(PROTOCOL);
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
            News::Begun(Err(error)) => refuse(line, &error.into()),
            News::Event(event) => tell(line, event),
        }
    }

    fn text(&mut self, text: &[u8], line: &mut Line) {
        let asked = Json::parse(text).ok();
        match (asked.as_ref().and_then(messages::read), &mut self.stage) {
            (Some(Asked::Start { metadata }), Stage::Asked(_)) => {
                let talks = self.state.services.talks().clone();
                let (origin, agent, metadata) =
                    (self.origin.clone(), self.agent, metadata.cloned());
                let address = self.address;
                self.stage = Stage::Begins(Box::pin(async move {
                    talks
                        .begin(&origin, agent, metadata.as_ref(), address)
                        .await
                }));
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
        } => say(line, &messages::turn(is_agent, &text, is_cut)),
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
