//! Batch calls of legacy agents.

mod csv_rows;
mod read;
mod recipients;
mod scheduler;

use offhook_boxed::boxed;
use std::sync::Arc;

use offhook_domain::json::{Fault, FieldError, Json};
use offhook_domain::{AccountId, AgentStatus, BatchId, BatchStatus, Runtime};
use offhook_storage::{
    Batch, BatchFilter, BatchStep, BatchWrite, IdempotencyClaim, NewBatch, NewRecipient, Recipient,
    StoredAnswer, mint,
};

use crate::calls::{no_number, replay};
use crate::digest::sha256;
use crate::error::{Result, UseCaseError};
use crate::{Caller, Context, Page, PageRequest, PlacedReply, Providers, Refusal};

pub use csv_rows::CsvRows;
pub use read::BatchBody;
use read::Request;
pub use recipients::RECIPIENTS_AT_MOST;
use recipients::Row;
pub(crate) use scheduler::keep_calling;

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
        let limit = i64::from(page.limit);
        let store = &self.0.store;
        let rows = store.batches(account, filter, page.after, limit).await?;
        Ok(Page::of(rows, page.limit))
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
        let location = format!("/v1/batch-calls/{}", batch.id);
        let printed = print(&batch);
        let at = batch.created_at;
        let new = NewBatch {
            batch,
            recipients: request
                .rows
                .into_iter()
                .map(|Row { to, metadata }| NewRecipient {
                    id: mint(at),
                    to,
                    metadata: metadata.as_json_text().to_owned(),
                })
                .collect(),
            idempotency: key.map(|key| IdempotencyClaim {
                operation: CREATE,
                key,
                answer: StoredAnswer {
                    fingerprint: fingerprint.clone(),
                    status: 202,
                    location: location.clone(),
                    body: printed.clone(),
                },
                steady: self.0.clock.steady(),
            }),
        };
        self.written(new, (location, printed), &fingerprint).await
    }

    async fn written(
        &self,
        new: NewBatch,
        (location, body): (String, Vec<u8>),
        fingerprint: &[u8],
    ) -> Result<PlacedReply> {
        let created = self.0.store.create_batch(new).await;
        match created.map_err(UseCaseError::of_write(IN_DOUBT))? {
            BatchWrite::Done(batch) => {
                tracing::info!(batch = %batch.id, recipients = batch.total, "batch accepted");
                self.0.wakes.batches.notify_one();
                Ok(PlacedReply {
                    status: 202,
                    location,
                    body,
                    replayed: false,
                })
            }
            BatchWrite::KeyUsed(answer) => replay(answer, fingerprint),
            BatchWrite::KeyInFlight => Err(UseCaseError::Conflict(Refusal::InFlight)),
            BatchWrite::Absent | BatchWrite::Refused(_) => Err(UseCaseError::NotFound),
        }
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
        let step_by = (step, caller.key.as_ref().map(|key| key.id));
        let stepped = self
            .0
            .store
            .step_batch(caller.account.id, id, step_by, at)
            .await;
        match stepped.map_err(UseCaseError::of_write(IN_DOUBT))? {
            BatchWrite::Done(batch) => {
                self.0.wakes.batches.notify_one();
                Ok(batch)
            }
            BatchWrite::Refused(batch) => {
                let refusal = match step {
                    BatchStep::Pause => Refusal::BatchNotPausable,
                    BatchStep::Resume => Refusal::BatchNotResumable,
                    BatchStep::Cancel => Refusal::BatchNotCancellable,
                };
                Err(UseCaseError::Conflict(refusal(batch.status)))
            }
            BatchWrite::Absent | BatchWrite::KeyUsed(_) | BatchWrite::KeyInFlight => {
                Err(UseCaseError::NotFound)
            }
        }
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
        let location = format!("/v1/batch-calls/{id}");
        let claim = key.map(|key| IdempotencyClaim {
            operation: RETRY,
            key,
            answer: StoredAnswer {
                fingerprint: fingerprint.clone(),
                status: 202,
                location: location.clone(),
                body: Vec::new(),
            },
            steady: self.0.clock.steady(),
        });
        let at = self.0.clock.now();
        let store = &self.0.store;
        let retried = store.retry_batch(account, id, claim, print, at).await;
        match retried.map_err(UseCaseError::of_write(IN_DOUBT))? {
            BatchWrite::Done(batch) => {
                self.0.wakes.batches.notify_one();
                Ok(PlacedReply {
                    status: 202,
                    location,
                    body: print(&batch),
                    replayed: false,
                })
            }
            BatchWrite::KeyUsed(answer) => replay(answer, &fingerprint),
            BatchWrite::KeyInFlight => Err(UseCaseError::Conflict(Refusal::InFlight)),
            BatchWrite::Absent => Err(UseCaseError::NotFound),
            BatchWrite::Refused(batch) if batch.status.is_over() => {
                Err(UseCaseError::Conflict(Refusal::NobodyLeft))
            }
            BatchWrite::Refused(batch) => {
                Err(UseCaseError::Conflict(Refusal::BatchUnderWay(batch.status)))
            }
        }
    }
}
