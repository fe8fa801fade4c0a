//! The request log.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, ConversationId, LogEntryId, Timestamp};

use super::{read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{LogEntry, LogFilter, PageKey, Result, Store, Verdict};

impl Store {
    /// Writes log entries; those that are there already are left as they are.
    #[boxed]
    pub async fn add_log_entries(&self, entries: Vec<LogEntry>) -> Result<()> {
        write!(self, |conn| {
            dialect!(conn, insert_log_entries(&entries))?;
            Ok(Verdict::Commit(()))
        })
    }

    /// A page of the account's log, newest first, with one more than `limit` if there is a next page.
    #[boxed]
    pub async fn log_entries(
        &self,
        account: AccountId,
        filter: LogFilter,
        after: Option<PageKey<LogEntryId>>,
        limit: i64,
    ) -> Result<Vec<LogEntry>> {
        read!(self, |conn| queries::logs::page(
            conn, account, &filter, after, limit
        )
        .await)
    }

    /// The request that placed the account's call, if it is in the log.
    #[boxed]
    pub async fn placing_request(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Result<Option<LogEntry>> {
        read!(self, |conn| queries::logs::placing(
            conn,
            account,
            conversation
        )
        .await)
    }

    /// Deletes up to `most` of the account's log entries from before `before`; returns how many.
    #[boxed]
    pub async fn purge_log_entries(
        &self,
        account: AccountId,
        before: Timestamp,
        most: i64,
    ) -> Result<usize> {
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
