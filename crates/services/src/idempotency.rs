//! Idempotency-Keys: a retry with the same body within 24 hours gets the first response, one with another body is refused.
//! The request's transaction claims the key (`storage/src/queries/idempotency.rs`).

use crate::error::Result;
use crate::prelude::*;

/// The response to an accepted call: the same bytes for each retry.
#[derive(Debug, Clone)]
pub struct PlacedReply {
    pub status: u16,
    /// The `Location` header.
    pub location: String,
    /// The exact body.
    pub body: Vec<u8>,
    /// Whether this replays an earlier request's response.
    pub replayed: bool,
}

impl Context {
    /// The response stored under this Idempotency-Key.
    pub(crate) async fn stored_answer(
        &self,
        account: AccountId,
        operation: &'static str,
        key: Option<&String>,
    ) -> Result<Option<StoredAnswer>> {
        let key = some_or!(key.cloned(), None);
        let steady = self.clock.steady();
        let store = &self.store;
        let stored = store.stored_answer(account, operation, key, steady);
        Ok(stored.await?)
    }
}

/// Replays the response if a retry has the body of the first request.
pub(crate) fn replay(answer: StoredAnswer, fingerprint: &[u8]) -> Result<PlacedReply> {
    if answer.fingerprint != fingerprint {
        return Err(UseCaseError::IdempotencyConflict);
    }
    Ok(PlacedReply {
        status: u16::try_from(answer.status).unwrap_or(201),
        location: answer.location,
        body: answer.body,
        replayed: true,
    })
}
