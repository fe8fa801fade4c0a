//! Batch calls of legacy agents.

mod csv_rows;
mod read;
mod recipients;
mod scheduler;

use std::sync::Arc;

use offhook_domain::json::{FieldError, Json, Rule};
use offhook_domain::{AccountId, AgentStatus, BatchId, BatchStatus, Runtime};
use offhook_storage::{
    Batch, BatchFilter, BatchStep, BatchWrite, IdempotencyClaim, NewBatch, NewRecipient, Recipient,
    StoreError, StoredAnswer, mint,
};

use crate::calls::no_number;
use crate::keys::sha256;
use crate::{Caller, Page, PageRequest, PlacedReply, Refusal, Result, Shared};

pub use csv_rows::CsvRows;
pub use read::BatchBody;
use read::Request;
pub use recipients::RECIPIENTS_AT_MOST;
use recipients::Row;
pub(crate) use scheduler::keep_calling;

/// The operations that Idempotency-Keys belong to.
const CREATE: &str = "POST /v1/batch-calls";
const RETRY: &str = "POST /v1/batch-calls/{id}/retry";

/// Why a batch operation was refused. Nothing was written, save perhaps in [`BatchError::UnknownCommit`].
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// No such batch of the account.
    #[error("no such batch")]
    NotFound,
    /// A body field is wrong, or rows of it are.
    #[error("{0}")]
    Invalid(#[from] FieldError),
    /// The account's plan holds no calls at all.
    #[error("the account's plan holds no calls")]
    PlanLimit,
    /// The state of the batch or its agent forbids it.
    #[error("{0}")]
    Conflict(Refusal),
    /// The agent is no legacy agent.
    #[error("{0}")]
    UnsupportedRuntime(Refusal),
    /// The Idempotency-Key was used with another body.
    #[error("the Idempotency-Key was used with another body")]
    IdempotencyConflict,
    /// The Idempotency-Key's first request is still being written.
    #[error("the first request with this Idempotency-Key is still being written")]
    InFlight,
    /// The connection broke during COMMIT.
    #[error("the batch may have been written")]
    UnknownCommit,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for BatchError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownCommit(_) => Self::UnknownCommit,
            other => Self::Store(other),
        }
    }
}

/// How a batch is printed for an answer that an Idempotency-Key replays.
pub type PrintBatch = fn(&Batch) -> Vec<u8>;

/// Batch calls.
#[derive(Clone)]
pub struct Batches(pub(crate) Arc<Shared>);

impl Batches {
    /// A page of batches, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
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

    /// A batch.
    ///
    /// # Errors
    /// [`BatchError::NotFound`] if the account has no such batch.
    pub async fn get(&self, account: AccountId, id: BatchId) -> Result<Batch, BatchError> {
        let batch = self.0.store.batch(account, id).await?;
        batch.ok_or(BatchError::NotFound)
    }

    /// A page of a batch's recipients behind place `after`, in the order that they were given in.
    ///
    /// # Errors
    /// [`BatchError::NotFound`] if the account has no such batch.
    pub async fn recipients(
        &self,
        account: AccountId,
        id: BatchId,
        status: Option<offhook_domain::RecipientStatus>,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<Recipient>, BatchError> {
        let rows = self
            .0
            .store
            .batch_recipients(account, id, status, after, i64::from(limit))
            .await?;
        Ok(Page::of(rows.ok_or(BatchError::NotFound)?, limit))
    }

    /// Takes a batch: `{name, agent_id, phone_number_id?, scheduled_at?, recipients}`, or answers a retry as the first
    /// time.
    ///
    /// # Errors
    /// [`BatchError`] says which rule refused.
    pub async fn create(
        &self,
        caller: &Caller,
        key: Option<String>,
        body: &BatchBody,
        print: PrintBatch,
    ) -> Result<PlacedReply, BatchError> {
        let account = caller.account.id;
        let fingerprint = sha256(&body.fingerprint()).to_vec();
        if let Some(answer) = self.stored(account, CREATE, key.as_ref()).await? {
            return replay(answer, &fingerprint);
        }
        if caller.terms.live_calls == 0 {
            return Err(BatchError::PlanLimit);
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
    ) -> Result<PlacedReply, BatchError> {
        match self.0.store.create_batch(new).await? {
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
            BatchWrite::KeyInFlight => Err(BatchError::InFlight),
            BatchWrite::Absent | BatchWrite::Refused(_) => Err(BatchError::NotFound),
        }
    }

    async fn batch(&self, caller: &Caller, request: &Request) -> Result<Batch, BatchError> {
        let account = caller.account.id;
        let store = &self.0.store;
        let found = store
            .agent_to_call(account, request.agent.clone(), self.0.lines())
            .await?;
        let (agent, _, usual_number) =
            found.ok_or_else(|| FieldError::new("agent_id", Rule::NoAgent))?;
        if agent.runtime != Runtime::Legacy {
            return Err(BatchError::UnsupportedRuntime(Refusal::BatchOfEngineAgent));
        }
        if agent.status != AgentStatus::Active {
            return Err(BatchError::Conflict(Refusal::BatchOfIdleAgent(
                agent.status,
            )));
        }
        if let Some(number) = request.phone_number_id {
            let found = store.number(account, number).await?;
            found.ok_or_else(|| FieldError::new("phone_number_id", Rule::NoNumber))?;
        } else if usual_number.is_none() && self.0.shared_number(agent.runtime).is_none() {
            return Err(BatchError::Conflict(no_number(agent.runtime)));
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

    /// Pauses, resumes or cancels a batch. Calls under way go on to their end.
    ///
    /// # Errors
    /// [`BatchError::Conflict`] if its state forbids it, [`BatchError::NotFound`] if the account has no such batch.
    pub async fn step(
        &self,
        account: AccountId,
        id: BatchId,
        step: BatchStep,
    ) -> Result<Batch, BatchError> {
        let at = self.0.clock.now();
        match self.0.store.step_batch(account, id, step, at).await? {
            BatchWrite::Done(batch) => {
                self.0.wakes.batches.notify_one();
                Ok(batch)
            }
            BatchWrite::Refused(batch) => Err(BatchError::Conflict(Refusal::BatchStep {
                now: batch.status,
                step,
            })),
            BatchWrite::Absent | BatchWrite::KeyUsed(_) | BatchWrite::KeyInFlight => {
                Err(BatchError::NotFound)
            }
        }
    }

    /// Calls those of an ended batch again that were not called well, or answers a retry as the first time.
    ///
    /// # Errors
    /// [`BatchError::Conflict`] if the batch has not ended or nobody is left, [`BatchError::NotFound`] if the account
    /// has no such batch.
    pub async fn retry(
        &self,
        caller: &Caller,
        key: Option<String>,
        (id, body): (BatchId, &Json),
        print: PrintBatch,
    ) -> Result<PlacedReply, BatchError> {
        let account = caller.account.id;
        let text = format!("{id} {}", body.canonical());
        let fingerprint = sha256(text.as_bytes()).to_vec();
        if let Some(answer) = self.stored(account, RETRY, key.as_ref()).await? {
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
        match store.retry_batch(account, id, claim, print, at).await? {
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
            BatchWrite::KeyInFlight => Err(BatchError::InFlight),
            BatchWrite::Absent => Err(BatchError::NotFound),
            BatchWrite::Refused(batch) if batch.status.is_over() => {
                Err(BatchError::Conflict(Refusal::NobodyLeft))
            }
            BatchWrite::Refused(batch) => {
                Err(BatchError::Conflict(Refusal::BatchUnderWay(batch.status)))
            }
        }
    }

    async fn stored(
        &self,
        account: AccountId,
        operation: &'static str,
        key: Option<&String>,
    ) -> Result<Option<StoredAnswer>> {
        let Some(key) = key else { return Ok(None) };
        let steady = self.0.clock.steady();
        let store = &self.0.store;
        store
            .stored_answer(account, operation, key.clone(), steady)
            .await
    }
}

fn replay(answer: StoredAnswer, fingerprint: &[u8]) -> Result<PlacedReply, BatchError> {
    if answer.fingerprint != fingerprint {
        return Err(BatchError::IdempotencyConflict);
    }
    Ok(PlacedReply {
        status: u16::try_from(answer.status).unwrap_or(202),
        location: answer.location,
        body: answer.body,
        replayed: true,
    })
}
