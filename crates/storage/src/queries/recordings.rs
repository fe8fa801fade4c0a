//! What conversations' rows say of their recordings.

use crate::Store;
use crate::database::RunQueryDsl;
use crate::store::{Answer, keep};
use diesel::prelude::*;
use offhook_domain::{AccountId, ConversationId};

use crate::schema::conversations as calls;
use crate::sql::V;

impl Store {
    /// Says of a spoken conversation that its recording is kept; `false` if it has been deleted, and the recording must
    /// go too. No claim is asked for: a recording is of the process that made it, whoever ended the call.
    pub fn recording_kept(&self, account: AccountId, id: ConversationId) -> Answer<'_, bool> {
        keep!(self, |conn| {
            diesel::update(calls::table.find(V(id)))
                .filter(calls::account_id.eq(V(account)).and(calls::voice))
                .set(calls::has_audio.eq(true))
                .changes(conn)
                .await
        })
    }
}
