//! What providers were handed of batches.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, BatchId, ClaimId, ConversationId, SliceId};

use super::{read, write};
use crate::{Slice, Store, StoreError, Verdict};

impl Store {
    /// The batches that placed these calls; a call that none placed is left out.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn batches_of_calls(
        &self,
        ids: &[ConversationId],
    ) -> Result<Vec<(ConversationId, BatchId)>, StoreError> {
        let ids = ids.to_vec();
        read!(self, |conn| queries::batch_slices::batches_of(conn, &ids)
            .await)
    }

    /// Writes down that a provider is about to be handed these calls as one slice, in one transaction, and returns those
    /// that are in it: still being dialed under their claims, and in no slice before. If there are fewer than two,
    /// nothing is written.
    ///
    /// # Errors
    /// [`StoreError::UnknownCommit`] if it may have been written, the others if it was not.
    #[boxed]
    pub async fn open_slice(
        &self,
        account: AccountId,
        slice: Slice,
        claims: &[(ConversationId, ClaimId)],
    ) -> Result<Vec<ConversationId>, StoreError> {
        let claims = claims.to_vec();
        write!(self, |conn| {
            let calls = queries::batch_slices::open(conn, &slice, account, &claims).await?;
            Ok(if calls.len() < 2 {
                Verdict::Rollback(Vec::new())
            } else {
                Verdict::Commit(calls)
            })
        })
    }

    /// Notes what a slice is called at the provider. The first answer stays.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn slice_submitted(
        &self,
        id: SliceId,
        provider_batch_id: &str,
    ) -> Result<(), StoreError> {
        let provider_batch_id = provider_batch_id.to_owned();
        write!(self, |conn| {
            queries::batch_slices::submitted(conn, id, &provider_batch_id).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Forgets a slice that the provider has not taken: its calls are then placed one by one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn withdraw_slice(&self, id: SliceId) -> Result<(), StoreError> {
        write!(self, |conn| {
            queries::batch_slices::withdraw(conn, id).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// The slice that a call is in.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn slice_of_call(
        &self,
        conversation: ConversationId,
    ) -> Result<Option<Slice>, StoreError> {
        read!(self, |conn| queries::batch_slices::of_call(
            conn,
            conversation
        )
        .await)
    }
}
