//! What happens, as server-sent events: the events of a conversation, an account's log and its webhook events.

pub(crate) mod slots;

use std::fmt::Display;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use futures_util::{Stream, StreamExt, stream};
use offhook_services::store::{Campaign, Moment, StoreError};
use offhook_services::{Caller, Followed, Progress};
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::prelude::*;
use crate::request::ask::{bearer_token, key_of};
use crate::request::body::FromBody;
use crate::wire::campaign::CampaignView;
use crate::wire::conversation::{StateBody, TurnEvent};
use crate::wire::scenario::{TestResultBody, TestRunView};
use slots::{MAX_STREAMS_PER_KEY, Slot};

/// How often a comment goes out, so that proxies do not close a quiet stream.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// What a stream needs from the request's headers: where to resume, and the key to check again.
#[derive(Debug)]
pub(crate) struct Resume {
    last: Option<String>,
    token: String,
}

/// Reads the headers only; a GET has no body.
impl FromBody for Resume {
    async fn read(req: &HttpRequest, _: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        Ok(Self {
            last: last_event_id(headers),
            token: bearer_token(headers).unwrap_or_default().to_owned(),
        })
    }
}

fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let line = headers.get("last-event-id")?;
    Some(line.to_str().unwrap_or_default().to_owned())
}

impl Resume {
    /// The event that a reconnecting client saw last: the header `Last-Event-ID`.
    pub(crate) fn after<Id: FromStr>(&self) -> Result<Option<Id>, ApiError> {
        let Some(last) = &self.last else {
            return Ok(None);
        };
        // No id has a sign before it.
        let id = last.parse().ok().filter(|_| !last.starts_with(['+', '-']));
        id.map(Some).ok_or_else(|| {
            Code::InvalidQuery.error("`Last-Event-ID`: must be the id of an event of this stream")
        })
    }
}

/// Answers with the stream of a conversation of the caller, from where the client left off.
pub(crate) async fn of_conversation(
    state: &HttpState,
    caller: &Caller,
    id: ConversationId,
    resume: &Resume,
) -> Reply {
    let after = resume.after()?.unwrap_or(0);
    let moments = state.services.conversations().follow(caller, id, after);
    let opening = async { Ok((Bytes::from_static(b": open\n\n"), moments)) };
    open(state, caller, resume, opening, event).await
}

/// Answers with the rows of an account as they are committed, each of which `format` writes.
pub(crate) async fn of_account<
    T: 'static,
    S: Stream<Item = Result<T, StoreError>> + Send + 'static,
>(
    state: &HttpState,
    caller: &Caller,
    resume: &Resume,
    followed: impl Future<Output = Result<Followed<S>, StoreError>>,
    format: fn(&T) -> Option<Bytes>,
) -> Reply {
    // The id says where a client that sees no event is to go on.
    let opening = async {
        let Followed { begins, rows } = followed.await?;
        Ok((Bytes::from(format!(": open\nid: {begins}\n\n")), rows))
    };
    open(state, caller, resume, opening, format).await
}

/// Answers with the states of a campaign, each of which is the whole.
pub(crate) async fn of_campaign(
    state: &HttpState,
    caller: &Caller,
    resume: &Resume,
    followed: impl Stream<Item = Result<Campaign, StoreError>> + Send + 'static,
) -> Reply {
    let opening = async { Ok((Bytes::from_static(b": open\n\n"), followed)) };
    open(state, caller, resume, opening, |campaign| {
        let data = serde_json::to_string(&CampaignView(campaign)).ok()?;
        Some(Bytes::from(format!("event: campaign\ndata: {data}\n\n")))
    })
    .await
}

/// Answers with what comes of a run of scenarios: each result, and the run whenever it has changed.
pub(crate) async fn of_test_run(
    state: &HttpState,
    caller: &Caller,
    resume: &Resume,
    followed: impl Stream<Item = Result<Progress, StoreError>> + Send + 'static,
) -> Reply {
    let opening = async { Ok((Bytes::from_static(b": open\n\n"), followed)) };
    open(state, caller, resume, opening, |progress| {
        let mut events = String::new();
        for result in &progress.results {
            let data = serde_json::to_string(&TestResultBody(result)).ok()?;
            events.push_str(&format!("event: result\ndata: {data}\n\n"));
        }
        let data = serde_json::to_string(&TestRunView(&progress.run)).ok()?;
        events.push_str(&format!("event: run\ndata: {data}\n\n"));
        Some(Bytes::from(events))
    })
    .await
}

/// Answers with a stream of events, once it has a place among those of the key.
async fn open<T: 'static>(
    state: &HttpState,
    caller: &Caller,
    resume: &Resume,
    opening: impl Future<
        Output = Result<
            (
                Bytes,
                impl Stream<Item = Result<T, StoreError>> + Send + 'static,
            ),
            StoreError,
        >,
    >,
    format: fn(&T) -> Option<Bytes>,
) -> Reply {
    let whose = (caller.account.id, key_of(caller)?.id);
    let conversations = state.services.conversations();
    let slot = Slot::take(&state.slots, conversations, whose).await?.ok_or_else(|| {
        let message = format!(
            "This key has {MAX_STREAMS_PER_KEY} open streams, the most it may have: close one first."
        );
        Code::Conflict.error(message)
    })?;
    let (opening, items) = opening.await?;
    let items = items.map(move |item| item.map(|item| format(&item)));
    let live = Live {
        items: Box::pin(items),
        keep_alive: every(KEEP_ALIVE_EVERY),
        key_check: every(state.config.stream_key_check),
        state: state.clone(),
        token: resume.token.clone(),
        closing: state.closing.clone(),
        _slot: slot,
    };
    let events = stream::unfold(live, |mut live| async move {
        live.next()
            .await
            .map(|event| (Ok::<_, ApiError>(event), live))
    });
    // The comment sends the head at once, before the first event.
    let opening = stream::once(async { Ok(opening) });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(opening.chain(events)))
}

fn every(period: Duration) -> Interval {
    let mut interval = interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

struct Live {
    /// What to send next; `None` ends the stream.
    items: Pin<Box<dyn Stream<Item = Result<Option<Bytes>, StoreError>> + Send>>,
    keep_alive: Interval,
    key_check: Interval,
    state: HttpState,
    token: String,
    closing: CancellationToken,
    _slot: Slot,
}

impl Live {
    /// The next piece to send; `None` ends the stream, and the client may reconnect.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                _ = self.key_check.tick() => self.is_permitted().await.then_some(())?,
                item = self.items.next() => {
                    self.keep_alive.reset();
                    return match item? {
                        Ok(bytes) => bytes,
                        Err(error) => {
                            tracing::warn!(%error, "an event stream ends early");
                            None
                        }
                    };
                }
                _ = self.keep_alive.tick() => return Some(Bytes::from_static(b": keep-alive\n\n")),
            }
        }
    }

    /// While the database is unreachable the key cannot be checked, and the stream also ends.
    async fn is_permitted(&self) -> bool {
        let keys = self.state.services.keys();
        let caller = keys.authenticate(&self.token).await;
        caller.is_ok_and(|caller| caller.is_some_and(|caller| caller.terms.api))
    }
}

/// A turn is `event: turn`, a change of state is `event: state`. The event id is the moment's number.
fn event(moment: &Moment) -> Option<Bytes> {
    match moment.state {
        Some(state) => format(
            moment.seq,
            "state",
            &StateBody {
                state: state.as_str(),
                at: moment.at,
            },
        ),
        None => format(moment.seq, "turn", &TurnEvent::from(moment)),
    }
}

/// JSON text has no line breaks, so one `data` line holds it.
pub(crate) fn format(id: impl Display, name: &str, data: &impl Serialize) -> Option<Bytes> {
    let data = serde_json::to_string(data).ok()?;
    Some(Bytes::from(format!(
        "id: {id}\nevent: {name}\ndata: {data}\n\n"
    )))
}

#[cfg(test)]
mod tests {
    use offhook_domain::{CallState, Timestamp};

    use super::*;

    fn moment() -> Moment {
        Moment {
            seq: 3,
            at: Timestamp::from_micros(1_777_550_400_000_000),
            state: None,
            role: Some("user".to_owned()),
            content: Some("line\nbreak".to_owned()),
            duration_ms: Some(900),
            interrupted: Some(false),
            latency: None,
            source: None,
        }
    }

    #[test]
    fn a_turn_and_a_state_are_events_with_the_number_of_their_moment() {
        let turn = event(&moment()).unwrap();
        assert_eq!(
            turn,
            "id: 3\nevent: turn\ndata: {\"role\":\"user\",\"text\":\"line\\nbreak\",\
             \"started_at\":\"2026-04-30T12:00:00.000Z\",\"duration_ms\":900,\"interrupted\":false}\n\n"
        );
        let steps = "{\"end_of_turn_ms\":700,\"first_token_ms\":900,\"first_sentence_ms\":900,\"first_byte_ms\":1000,\
                     \"first_frame_ms\":1010}";
        let measured = Moment {
            latency: Some(steps.to_owned()),
            source: None,
            ..moment()
        };
        let text = event(&measured).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(
            text.ends_with(&format!("\"latency\":{steps}}}\n\n")),
            "{text}"
        );
        let state = Moment {
            state: Some(CallState::Live),
            ..moment()
        };
        assert_eq!(
            event(&state).unwrap(),
            "id: 3\nevent: state\ndata: {\"state\":\"live\",\"at\":\"2026-04-30T12:00:00.000Z\"}\n\n"
        );
    }
}
