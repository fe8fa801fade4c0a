//! The deliveries of a conversation's events.

use super::Webhooks;
use crate::prelude::*;

/// Deliveries shown for one conversation at most: two events, to each of an account's endpoints.
const SHOWN: i64 = 100;

#[boxed]
impl Webhooks {
    /// The deliveries of a conversation's events, oldest first; empty for another account's conversation.
    pub async fn of_conversation(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Result<Vec<Delivery>, StoreError> {
        let store = &self.ctx.store;
        store.deliveries_of(account, conversation, SHOWN).await
    }
}
