//! The batch operations of ElevenLabs, below `/v1/convai/batch-calling` (voice design 2.2), beside the fake of its other
//! ones: submitted batches are listed page by page under their names, and dialed at once or when the test says so. Each
//! call is then one of [`ElevenLabs::calls`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::elevenlabs::{BEGAN_AT, Call, ElevenLabs, State};
use crate::upstream::{Answer, Asked};

/// What every path of it begins with.
pub const BATCH_CALLING: &str = "/v1/convai/batch-calling/";

/// Batches on a page of the list, whatever is asked for.
const PAGE: usize = 3;

/// How many seconds a call lasts that ends by itself.
const FINISHED_AFTER: i64 = 30;

/// A batch as the provider keeps it.
#[derive(Debug, Clone)]
struct Batch {
    id: String,
    key: String,
    submitted: Value,
    status: &'static str,
    recipients: Vec<Recipient>,
}

#[derive(Debug, Clone)]
struct Recipient {
    submitted: Value,
    status: String,
    conversation: Option<String>,
}

#[derive(Default)]
struct Kept {
    batches: Vec<Batch>,
    holds: bool,
    finishes: bool,
    dialed: Vec<String>,
}

/// The provider's batches. Clones are the same ones.
#[derive(Clone, Default)]
pub struct ElevenLabsBatches(Arc<Mutex<Kept>>);

impl ElevenLabsBatches {
    /// The batches of this provider, which is the one to be asked for them.
    #[must_use]
    pub fn on(provider: &ElevenLabs) -> Self {
        let batches = Self::default();
        let answers = batches.clone();
        provider.answer_more(move |state, key, asked| answers.answer(state, key, asked));
        batches
    }

    fn answer(&self, state: &mut State, key: &str, asked: &Asked) -> Option<Answer> {
        let rest = asked.path.strip_prefix(BATCH_CALLING)?;
        let parts: Vec<&str> = rest.split('/').collect();
        Some(match (asked.method.as_str(), parts.as_slice()) {
            ("POST", ["submit"]) => self.submit(state, key, &asked.json()),
            ("GET", ["workspace"]) => self.list(asked),
            ("GET", [id]) => self.get(id),
            ("POST", [id, "cancel"]) => self.cancel(id),
            _ => return None,
        })
    }

    /// From now on recipients wait until [`dispatch`](Self::dispatch).
    pub fn hold(&self) {
        self.lock().holds = true;
    }

    /// From now on everybody who is dialed talks for a while, and hangs up.
    pub fn finish(&self) {
        self.lock().finishes = true;
    }

    /// Dials everybody who waits.
    pub fn dispatch(&self, provider: &ElevenLabs) {
        // In the order in which a request takes them.
        let mut state = provider.state();
        let mut kept = self.lock();
        kept.holds = false;
        kept.dial_all(&mut state);
    }

    /// Every number that was dialed, in order.
    #[must_use]
    pub fn dialed(&self) -> Vec<String> {
        self.lock().dialed.clone()
    }

    /// What was submitted, in order.
    #[must_use]
    pub fn submitted(&self) -> Vec<Value> {
        let kept = self.lock();
        let batches = kept.batches.iter();
        batches.map(|batch| batch.submitted.clone()).collect()
    }

    /// Forgets every batch, and with it who waits.
    pub fn forget(&self) {
        self.lock().batches.clear();
    }

    /// Says that everybody with this number stands so (`completed`, `failed`, …), with a conversation or without.
    pub fn set(&self, phone_number: &str, status: &str, conversation: Option<&str>) {
        let mut kept = self.lock();
        let batches = kept.batches.iter_mut();
        let recipients = batches.flat_map(|batch| &mut batch.recipients);
        for recipient in recipients.filter(|one| one.submitted["phone_number"] == phone_number) {
            status.clone_into(&mut recipient.status);
            recipient.conversation = conversation.map(str::to_owned);
        }
    }

    fn submit(&self, state: &mut State, key: &str, body: &Value) -> Answer {
        let has = |name: &str| body[name].as_str().is_some_and(|text| !text.is_empty());
        let is_named = ["call_name", "agent_id", "agent_phone_number_id"]
            .into_iter()
            .all(has);
        let recipients = body["recipients"].as_array().cloned().unwrap_or_default();
        let numbers = recipients.iter().all(|one| one["phone_number"].is_string());
        if !is_named || !numbers || recipients.is_empty() {
            let detail = json!({"detail": [{"loc": ["body"], "msg": "Field required"}]});
            return Answer::json(422, &detail);
        }
        let mut kept = self.lock();
        let recipients = recipients.into_iter().map(|submitted| Recipient {
            submitted,
            status: "pending".to_owned(),
            conversation: None,
        });
        let batch = Batch {
            id: format!("btcal_{}", kept.batches.len() + 1),
            key: key.to_owned(),
            submitted: body.clone(),
            status: "pending",
            recipients: recipients.collect(),
        };
        let answer = Answer::json(200, &batch.summary());
        kept.batches.push(batch);
        if !kept.holds {
            kept.dial_all(state);
        }
        answer
    }

    fn list(&self, asked: &Asked) -> Answer {
        let kept = self.lock();
        let agent = asked.parameter("agent_id");
        let is_of = |batch: &&Batch| {
            let agent = agent.as_ref();
            agent.is_none_or(|agent| batch.submitted["agent_id"] == **agent)
        };
        // The newest first.
        let batches: Vec<&Batch> = kept.batches.iter().rev().filter(is_of).collect();
        let last = asked.parameter("last_doc");
        let from = last.and_then(|last| batches.iter().position(|batch| batch.id == last));
        let from = from.map_or(0, |at| at + 1);
        let page = batches.iter().skip(from).take(PAGE);
        let page: Vec<Value> = page.map(|batch| batch.summary()).collect();
        let has_more = batches.len() > from + PAGE;
        let next = page.last().filter(|_| has_more);
        let next = next.map(|batch| batch["id"].clone());
        let body = json!({"batch_calls": page, "next_doc": next, "has_more": has_more});
        Answer::json(200, &body)
    }

    fn get(&self, id: &str) -> Answer {
        let kept = self.lock();
        match kept.batches.iter().find(|batch| batch.id == id) {
            Some(batch) => Answer::json(200, &batch.detail()),
            None => unknown(),
        }
    }

    fn cancel(&self, id: &str) -> Answer {
        let mut kept = self.lock();
        let Some(batch) = kept.batches.iter_mut().find(|batch| batch.id == id) else {
            return unknown();
        };
        batch.status = "cancelled";
        for recipient in &mut batch.recipients {
            "cancelled".clone_into(&mut recipient.status);
        }
        Answer::json(200, &batch.summary())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn dial_all(&mut self, state: &mut State) {
        let waiting = self.batches.iter_mut();
        for batch in waiting.filter(|batch| batch.status == "pending") {
            batch.status = "in_progress";
            for recipient in &mut batch.recipients {
                let number = recipient.submitted["phone_number"].as_str();
                self.dialed.push(number.unwrap_or_default().to_owned());
                let (key, of) = (&batch.key, (&batch.submitted, &recipient.submitted));
                recipient.conversation = Some(dial(state, key, of, self.finishes));
                "in_progress".clone_into(&mut recipient.status);
            }
        }
    }
}

/// Begins a call of a batch; the id of its conversation.
fn dial(
    state: &mut State,
    key: &str,
    (batch, recipient): (&Value, &Value),
    finishes: bool,
) -> String {
    let id = format!("conv_{:04}", state.calls.len() + 1);
    let client_data = &recipient["conversation_initiation_client_data"];
    let (status, transcript, result) = match finishes {
        true => (
            "done",
            json!([{"role": "agent", "message": "Hello.", "time_in_call_secs": 0, "interrupted": false}]),
            json!("answered"),
        ),
        false => ("initiated", json!([]), Value::Null),
    };
    let conversation = json!({
        "agent_id": batch["agent_id"],
        "conversation_id": id,
        "status": status,
        "user_id": client_data["user_id"],
        "transcript": transcript,
        "metadata": {
            "start_time_unix_secs": BEGAN_AT,
            "call_duration_secs": if finishes { FINISHED_AFTER } else { 0 },
            "termination_reason": if finishes { "Client disconnected: 1000" } else { "" },
            "phone_call": {
                "type": "twilio",
                "direction": "outbound",
                "external_number": recipient["phone_number"],
                "phone_number_id": batch["agent_phone_number_id"],
                "call_result": result,
            },
            "batch_call": {"batch_call_id": "btcal", "batch_call_recipient_id": "rcpt"},
        },
        "analysis": {"call_successful": "success", "transcript_summary": "They spoke."},
        "conversation_initiation_client_data": client_data,
        "has_audio": false,
    });
    state.calls.push(Call {
        id: id.clone(),
        key: key.to_owned(),
        kind: "batch".to_owned(),
        request: recipient.clone(),
        hidden: state.hides_calls,
        conversation,
    });
    id
}

fn unknown() -> Answer {
    Answer::json(404, &json!({"detail": {"status": "not_found"}}))
}

impl Batch {
    fn summary(&self) -> Value {
        let called = self.recipients.iter();
        let called = called.filter(|one| one.conversation.is_some()).count();
        json!({
            "id": self.id,
            "name": self.submitted["call_name"],
            "agent_id": self.submitted["agent_id"],
            "agent_name": "An agent",
            "phone_number_id": self.submitted["agent_phone_number_id"],
            "phone_provider": "twilio",
            "created_at_unix": 1_777_000_000,
            "scheduled_time_unix": 1_777_000_000,
            "last_updated_at_unix": 1_777_000_000,
            "total_calls_scheduled": self.recipients.len(),
            "total_calls_dispatched": called,
            "total_calls_finished": 0,
            "retry_count": 0,
            "status": self.status,
            "target_concurrency_limit": self.submitted["target_concurrency_limit"],
            "something_newer": {"a": [1]},
        })
    }

    fn detail(&self) -> Value {
        let recipients = self.recipients.iter().enumerate().map(|(at, one)| {
            json!({
                // Whether an id that was given is kept is not documented.
                "id": format!("rcpt_{at}"),
                "phone_number": one.submitted["phone_number"],
                "status": one.status,
                "created_at_unix": 1_777_000_000,
                "updated_at_unix": 1_777_000_000,
                "conversation_id": one.conversation,
                "conversation_initiation_client_data":
                    one.submitted["conversation_initiation_client_data"],
            })
        });
        let mut detail = self.summary();
        if let Some(members) = detail.as_object_mut() {
            members.insert("recipients".to_owned(), recipients.collect());
        }
        detail
    }
}
