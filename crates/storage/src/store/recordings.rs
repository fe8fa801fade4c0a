//! Recordings that were kept once their calls had been let go.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, ConversationId};

use super::write;
use crate::queries;
use crate::{Result, Store, Verdict};

impl Store {
    /// Says of a spoken conversation that its recording is kept; `false` if it has been deleted, and the recording must
    /// go too. No claim is asked for: a recording is of the process that made it, whoever ended the call.
    #[boxed]
    pub async fn recording_kept(&self, account: AccountId, id: ConversationId) -> Result<bool> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::recordings::kept(conn, account, id).await?
        )))
    }
}
