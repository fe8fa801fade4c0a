//! The request log.

use offhook_domain::{AccountId, Timestamp};

use super::{Answer, keep, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{LogEntry, Store, Verdict};

impl Store {
    /// Writes log entries; those that are there already are left as they are.
    pub fn add_log_entries(&self, entries: Vec<LogEntry>) -> Answer<'_, ()> {
        keep!(self, |conn| dialect!(conn, insert_log_entries(&entries)))
    }

    /// Deletes up to `most` of the account's log entries from before `before`; returns how many.
    pub fn purge_log_entries(
        &self,
        account: AccountId,
        before: Timestamp,
        most: i64,
    ) -> Answer<'_, usize> {
        write!(self, |conn| {
            Ok(
                match queries::logs::purge(conn, account, before, most).await? {
                    0 => Verdict::Rollback(0),
                    deleted => Verdict::Commit(deleted),
                },
            )
        })
    }
}
