//! The recording flag of conversations.

use crate::prelude::*;

impl Store {
    /// Marks a spoken conversation as having a recording. `false` if it has been deleted; then the recording must be
    /// deleted too. This needs no claim: a recording belongs to the process that made it, even if another ended the
    /// call.
    pub fn recording_kept(&self, account: AccountId, id: ConversationId) -> Answer<'_, bool> {
        diesel::update(calls::table.find(V(id)))
            .filter(calls::account_id.eq(V(account)).and(calls::voice))
            .set(calls::has_audio.eq(true))
            .commit_change(self)
    }
}
