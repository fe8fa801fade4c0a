//! The credits that a conversation reserves, if the wallet covers them.

use crate::error::Result;
use crate::prelude::*;

/// What the wallet pays for.
const AN_ANSWER: &str = "an answer";

/// Reserves more credits for a conversation.
pub(crate) async fn reserve_more(
    tx: &mut Tx<'_>,
    id: ConversationId,
    credits: Credits,
    at: Timestamp,
) -> Result<()> {
    match tx.reserve_more(id, credits, at).await? {
        true => Ok(()),
        false => Err(UseCaseError::PaymentRequired(AN_ANSWER)),
    }
}

/// Writes a conversation whose credits the wallet covers.
pub(super) async fn reserve(tx: &mut Tx<'_>, new: &NewConversation) -> Result<()> {
    match tx.begin(new).await? {
        true => Ok(()),
        false => Err(UseCaseError::PaymentRequired(AN_ANSWER)),
    }
}
