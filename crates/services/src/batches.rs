//! Batch calls of legacy agents.

mod read;
mod recipients;
pub(crate) mod round;
mod scheduler;
pub(crate) mod steps;

use crate::PlacedReply;
use crate::calls::no_number;
use crate::csv_file;
use crate::digest::sha256;
use crate::error::Result;
use crate::idempotency::replay;
use crate::prelude::*;
use crate::transact::transact;

pub use read::BatchBody;
use read::Request;
pub use recipients::RECIPIENTS_AT_MOST;
use recipients::Row;
pub(crate) use scheduler::{keep_calling, share};

/// The operations that Idempotency-Keys belong to.
const CREATE: &str = "POST /v1/batch-calls";
const RETRY: &str = "POST /v1/batch-calls/{id}/retry";

/// The error for an unknown COMMIT: a retry tells what happened.
const IN_DOUBT: &str =
    "The batch may have been written: a retry with the same Idempotency-Key tells.";

/// Prints a batch for the response that an Idempotency-Key replays.
pub type PrintBatch = fn(&Batch) -> Vec<u8>;

#[derive(Clone)]
pub struct Batches(pub(crate) Arc<Context>, pub(crate) Arc<Providers>);

#[boxed]
impl Batches {
    /// Lists batches, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<Batch>> {
        let store = &self.0.store;
        let page = page.read(|after, limit| store.batches(account, filter, after, limit));
        Ok(page.await?)
    }

    pub async fn get(&self, account: AccountId, id: BatchId) -> Result<Batch> {
        let batch = self.0.store.batch(account, id).await?;
        batch.ok_or(UseCaseError::NotFound)
    }

    /// Lists a batch's recipients after place `after`, in the order they were given.
    pub async fn recipients(
        &self,
        account: AccountId,
        id: BatchId,
        status: Option<offhook_domain::RecipientStatus>,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<Recipient>> {
        let rows = self
            .0
            .store
            .batch_recipients(account, id, status, after, i64::from(limit))
            .await?;
        Ok(Page::of(rows.ok_or(UseCaseError::NotFound)?, limit))
    }

    /// Accepts a batch: `{name, agent_id, phone_number_id?, scheduled_at?, recipients}`. Replays the first response to
    /// a retry.
    pub async fn create(
        &self,
        caller: &Caller,
        key: Option<String>,
        body: &BatchBody,
        print: PrintBatch,
    ) -> Result<PlacedReply> {
        let account = caller.account.id;
        let fingerprint = sha256(&body.fingerprint()).to_vec();
        if let Some(answer) = self.0.stored_answer(account, CREATE, key.as_ref()).await? {
            return replay(answer, &fingerprint);
        }
        if caller.terms.live_calls == 0 {
            return Err(UseCaseError::PlanLimit(Refusal::NoCalls));
        }
        let request = body.read(&self.0.calls.allowed_prefixes)?;
        let batch = self.batch(caller, &request).await?;
        let (id, total, at) = (batch.id, batch.total, batch.created_at);
        let rows = request.rows.into_iter();
        let recipients = rows
            .map(|Row { to, metadata }| NewRecipient {
                id: mint(at),
                to,
                metadata: metadata.as_json_text().to_owned(),
            })
            .collect();
        let key = self.key(CREATE, key, fingerprint);
        let written = transact!(self.0.store, |tx| {
            let reply = key.reply(&mut tx, &batch, print).await?;
            if !reply.replayed {
                tx.insert_batch(&batch, recipients).await?;
            }
            Ok(reply)
        });
        let reply = self.replied(written)?;
        if !reply.replayed {
            tracing::info!(batch = %id, recipients = total, "batch accepted");
        }
        Ok(reply)
    }

    async fn batch(&self, caller: &Caller, request: &Request) -> Result<Batch> {
        let account = caller.account.id;
        let store = &self.0.store;
        let found = store
            .agent_to_call(account, request.agent.clone(), self.1.lines())
            .await?;
        let (agent, _, usual_number) =
            found.ok_or_else(|| FieldError::new("agent_id", Fault::NoAgent))?;
        if agent.runtime != Runtime::Legacy {
            return Err(UseCaseError::UnsupportedRuntime(
                Refusal::BatchOfEngineAgent,
            ));
        }
        if agent.status != AgentStatus::Active {
            return Err(UseCaseError::Conflict(Refusal::BatchOfIdleAgent(
                agent.status,
            )));
        }
        if let Some(number) = request.phone_number_id {
            let found = store.number(account, number).await?;
            let found = found.ok_or_else(|| FieldError::new("phone_number_id", Fault::NoNumber))?;
            if !found.at_legacy && !self.1.legacy.is_simulated() {
                return Err(FieldError::new("phone_number_id", Fault::NumberElsewhere).into());
            }
        } else if usual_number.is_none() && self.1.shared_number(agent.runtime).is_none() {
            return Err(UseCaseError::Conflict(no_number(agent.runtime)));
        }
        let at = self.0.clock.now();
        let later = request.scheduled_at.is_some_and(|begins| begins > at);
        let total = i32::try_from(request.rows.len()).unwrap_or(i32::MAX);
        Ok(Batch {
            id: mint(at),
            account_id: account,
            name: request.name.clone(),
            agent_id: agent.id,
            phone_number_id: request.phone_number_id,
            key_id: caller.key.as_ref().map(|key| key.id),
            status: if later {
                BatchStatus::Scheduled
            } else {
                BatchStatus::Running
            },
            paused_reason: None,
            scheduled_at: request.scheduled_at,
            total,
            pending: total,
            dialing: 0,
            completed: 0,
            failed: 0,
            cancelled: 0,
            created_at: at,
            started_at: (!later).then_some(at),
            ended_at: None,
        })
    }

    /// Pauses, resumes or cancels a batch. Calls under way continue to their end.
    pub async fn step(&self, caller: &Caller, id: BatchId, step: BatchStep) -> Result<Batch> {
        let at = self.0.clock.now();
        let (account, key) = (caller.account.id, caller.key.as_ref().map(|key| key.id));
        let stepped = steps::step_batch(&self.0.store, (account, id), (step, key), at);
        let batch = stepped.await.map_err(UseCaseError::of_write(IN_DOUBT))?;
        self.0.wakes.batches.notify_one();
        Ok(batch)
    }

    /// Calls the failed recipients of an ended batch again. Replays the first response to a retry.
    pub async fn retry(
        &self,
        caller: &Caller,
        key: Option<String>,
        (id, body): (BatchId, &Json),
        print: PrintBatch,
    ) -> Result<PlacedReply> {
        let account = caller.account.id;
        let text = format!("{id} {}", body.canonical());
        let fingerprint = sha256(text.as_bytes()).to_vec();
        if let Some(answer) = self.0.stored_answer(account, RETRY, key.as_ref()).await? {
            return replay(answer, &fingerprint);
        }
        offhook_domain::json::Fields::of(body, "")?.finish()?;
        let at = self.0.clock.now();
        let key = self.key(RETRY, key, fingerprint);
        self.replied(steps::retry_batch(&self.0.store, (account, id), key, print, at).await)
    }

    fn key(&self, operation: &'static str, key: Option<String>, fingerprint: Vec<u8>) -> Key {
        Key {
            operation,
            key,
            fingerprint,
            steady: self.0.clock.steady(),
        }
    }

    fn replied(&self, written: Result<PlacedReply>) -> Result<PlacedReply> {
        let reply = written.map_err(UseCaseError::of_write(IN_DOUBT))?;
        if !reply.replayed {
            self.0.wakes.batches.notify_one();
        }
        Ok(reply)
    }
}

/// The Idempotency-Key of a request, if it has one.
pub(crate) struct Key {
    pub(crate) operation: &'static str,
    pub(crate) key: Option<String>,
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) steady: Timestamp,
}

impl Key {
    /// The response that shows the batch, or that of an earlier request with the key. Claims the key for the
    /// transaction.
    async fn reply(self, tx: &mut Tx<'_>, batch: &Batch, print: PrintBatch) -> Result<PlacedReply> {
        let reply = PlacedReply {
            status: 202,
            location: format!("/v1/batch-calls/{}", batch.id),
            body: print(batch),
            replayed: false,
        };
        let key = some_or!(self.key, reply);
        let claim = IdempotencyClaim {
            operation: self.operation,
            key,
            answer: StoredAnswer {
                fingerprint: self.fingerprint,
                status: 202,
                location: reply.location.clone(),
                body: reply.body.clone(),
            },
            steady: self.steady,
        };
        match tx.claim_key(batch.account_id, &claim).await? {
            KeyOwner::Ours => Ok(reply),
            KeyOwner::Used(answer) => replay(answer, &claim.answer.fingerprint),
            KeyOwner::InFlight => Err(UseCaseError::Conflict(Refusal::InFlight)),
        }
    }
}
