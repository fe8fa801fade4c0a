//! The port to the batch operations of the provider that runs the legacy agents: many calls handed over in one request,
//! and asked after in one (voice design 2.2).

use async_trait::async_trait;
use offhook_domain::CallHandle;
use tokio::time::Instant;

use crate::legacy::{LegacyCall, LegacyError};

/// The batch operations of a provider, asked with an account's own credential. A name is good for one batch: nothing
/// keeps the provider from taking two of the same name, so whoever submits looks for it first.
#[async_trait]
pub trait LegacyBatches: Send + Sync {
    /// Has the provider call everybody in `batch`, as many at once as there are calls in it. `Ok` is the batch's id there.
    /// The request leaves before `place_by` or not at all.
    ///
    /// # Errors
    /// [`LegacyError`] says whether the request can have had an effect; after [`LegacyError::Unknown`] the batch is
    /// looked for by its name.
    async fn submit_batch(
        &self,
        credential: &str,
        batch: LegacyBatch,
        place_by: Instant,
    ) -> Result<String, LegacyError>;

    /// The id of the agent's batch with this name; `None` if the provider, asked for all of them, lists none.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say; it may be asked again.
    async fn find_batch(
        &self,
        credential: &str,
        agent: &str,
        name: &str,
    ) -> Result<Option<String>, LegacyError>;

    /// Where each recipient of a batch stands; `None` if the provider knows of no such batch.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say; it may be asked again.
    async fn batch_status(
        &self,
        credential: &str,
        id: &str,
    ) -> Result<Option<Vec<LegacyRecipient>>, LegacyError>;

    /// Keeps the provider from calling whoever of a batch it has not called yet. What becomes of calls under way is not
    /// documented by any provider, so nobody asks for this while there are some.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not confirm; it may be asked again.
    async fn cancel_batch(&self, credential: &str, id: &str) -> Result<(), LegacyError>;
}

/// Calls for the provider to place together.
#[derive(Clone)]
pub struct LegacyBatch {
    /// Our name for it, by which it is looked for.
    pub name: String,
    /// The calls: all of one agent, all from one number, each to another one.
    pub calls: Vec<LegacyCall>,
}

/// Somebody of a batch, as the provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyRecipient {
    /// Our reference of the call.
    pub reference: CallHandle,
    /// How far it is.
    pub stage: RecipientStage,
    /// The id of its conversation there, once it has one.
    pub conversation: Option<String>,
}

/// How far the provider is with a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecipientStage {
    /// Not dialed yet.
    Pending,
    /// Being dialed, or in conversation.
    UnderWay,
    /// The call is over.
    Ended,
    /// It could not be called.
    Failed,
    /// It will not be called.
    Cancelled,
}
