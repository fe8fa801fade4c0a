//! The live events of a conversation, as server-sent events.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::{Stream, StreamExt, stream};
use offhook_domain::{ConversationId, KeyId};
use offhook_services::Caller;
use offhook_services::store::{Moment, StoreError};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::ask::{bearer_token, key_of};
use crate::body::FromBody;
use crate::reply::Reply;
use crate::wire::conversation::{StateBody, TurnEvent};
use crate::{ApiError, Code, HttpState};

/// Decision 1.14.
const MAX_STREAMS_PER_KEY: u32 = 10;

/// A comment this often keeps proxies from closing a quiet stream.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// What a stream needs of the request's headers: where to go on, and the key to check again.
#[derive(Debug)]
pub(crate) struct Resume {
    after: i32,
    token: String,
}

/// The headers alone; a GET has no body.
impl FromBody for Resume {
    async fn read(req: &HttpRequest, _: Payload) -> Result<Self, ApiError> {
        let headers = req.headers();
        Ok(Self {
            after: last_event_id(headers)?,
            token: bearer_token(headers).unwrap_or_default().to_owned(),
        })
    }
}

/// The moment that a reconnecting client saw last: the header `Last-Event-ID`.
fn last_event_id(headers: &HeaderMap) -> Result<i32, ApiError> {
    let Some(line) = headers.get("last-event-id") else {
        return Ok(0);
    };
    let text = line.to_str().unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(seq) if digits => Ok(seq),
        _ => {
            Err(Code::InvalidQuery
                .error("`Last-Event-ID`: must be the id of an event of this stream"))
        }
    }
}

/// Answers with the stream of a conversation of the caller, from where the client left off.
pub(crate) fn open(
    state: &HttpState,
    caller: &Caller,
    id: ConversationId,
    resume: &Resume,
) -> Reply {
    let key = key_of(caller)?;
    let slot = StreamSlots::take(&state.slots, key.id).ok_or_else(|| {
        let message = format!(
            "This key has {MAX_STREAMS_PER_KEY} open streams, the most it may have: close one first."
        );
        Code::Conflict.error(message)
    })?;
    let conversations = state.services.conversations();
    let live = Live {
        moments: Box::pin(conversations.follow(caller, id, resume.after)),
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
    // The comment sends the head at once, before anything has happened.
    let opening = stream::once(async { Ok(Bytes::from_static(b": open\n\n")) });
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
    moments: Pin<Box<dyn Stream<Item = Result<Moment, StoreError>> + Send>>,
    keep_alive: Interval,
    key_check: Interval,
    state: HttpState,
    token: String,
    closing: CancellationToken,
    _slot: Slot,
}

impl Live {
    /// The next piece to send; `None` ends the stream, and a client that wants more reconnects.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return None,
                _ = self.key_check.tick() => self.is_permitted().await.then_some(())?,
                moment = self.moments.next() => {
                    self.keep_alive.reset();
                    return match moment? {
                        Ok(moment) => event(&moment),
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

    /// While the database is out of reach nobody knows, and the stream ends too.
    async fn is_permitted(&self) -> bool {
        let keys = self.state.services.keys();
        let caller = keys.authenticate(&self.token).await;
        caller.is_ok_and(|caller| caller.is_some_and(|caller| caller.terms.api))
    }
}

/// A turn is `event: turn`, a change of state is `event: state`; the id is the moment's number.
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
fn format(seq: i32, name: &str, data: &impl Serialize) -> Option<Bytes> {
    let data = serde_json::to_string(data).ok()?;
    Some(Bytes::from(format!(
        "id: {seq}\nevent: {name}\ndata: {data}\n\n"
    )))
}

/// How many streams each key has open in this process.
#[derive(Debug, Default)]
pub(crate) struct StreamSlots(Mutex<HashMap<KeyId, u32>>);

/// One open stream; dropping it frees its place.
struct Slot {
    slots: Arc<StreamSlots>,
    key: KeyId,
}

impl StreamSlots {
    fn take(slots: &Arc<Self>, key: KeyId) -> Option<Slot> {
        let mut open = slots.0.lock();
        let count = open.entry(key).or_insert(0);
        if *count >= MAX_STREAMS_PER_KEY {
            return None;
        }
        *count += 1;
        Some(Slot {
            slots: slots.clone(),
            key,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.slots.0.lock().entry(self.key) {
            match entry.get_mut() {
                0 | 1 => {
                    entry.remove();
                }
                count => *count -= 1,
            }
        }
    }
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
            ..moment()
        };
        let told = event(&measured).unwrap();
        let told = String::from_utf8_lossy(&told);
        assert!(
            told.ends_with(&format!("\"latency\":{steps}}}\n\n")),
            "{told}"
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

    #[test]
    fn a_key_has_ten_places_and_gets_them_back() {
        let slots = Arc::new(StreamSlots::default());
        let key = KeyId::nil();
        let mut open: Vec<_> = (0..10).map(|_| StreamSlots::take(&slots, key)).collect();
        assert!(open.iter().all(Option::is_some));
        assert!(StreamSlots::take(&slots, key).is_none());
        open.pop();
        assert!(StreamSlots::take(&slots, key).is_some());
        open.clear();
        assert!(slots.0.lock().is_empty());
    }
}
