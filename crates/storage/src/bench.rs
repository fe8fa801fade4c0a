//! What the benchmark measures the store against: the same pool, tables and durability with no rules around them.

use std::time::{Duration, Instant};

use offhook_domain::{AccountId, ConversationId};

use crate::store::{Inner, read, write};
use crate::{ConversationFilter, NewCall, PageKey, Store, StoreError, Verdict};

impl Store {
    /// A transaction of two inserts: the conversation and its event.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[doc(hidden)]
    pub async fn bench_two_inserts(&self, call: NewCall) -> Result<(), StoreError> {
        write!(self, |conn| {
            queries::calls::insert(conn, &call).await?;
            let (id, at) = (Some(call.id), call.at);
            if let Some(event) = call.event {
                queries::events::insert_event(conn, call.account_id, id, event, at).await?;
            }
            Ok(Verdict::Commit(()))
        })
    }

    /// A page of conversations, read `times` times on one connection without leaving it: how long all of that took, and how
    /// many rows a page has.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[doc(hidden)]
    pub async fn bench_page(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        after: Option<PageKey<ConversationId>>,
        limit: i64,
        times: u32,
    ) -> Result<(Duration, usize), StoreError> {
        read!(self, |conn| {
            let mut rows = 0;
            let began = Instant::now();
            for _ in 0..times {
                let page = queries::conversations::page(conn, account, &filter, after, limit);
                rows = page.await?.len();
            }
            Ok((began.elapsed(), rows))
        })
    }

    /// Runs statements as they are, in one transaction: how the benchmark fills an SQLite file.
    ///
    /// # Errors
    /// [`StoreError::Internal`] if one fails, or if this is no SQLite file.
    #[doc(hidden)]
    pub async fn bench_execute(&self, sql: String) -> Result<(), StoreError> {
        let Inner::Sqlite(db) = &self.inner else {
            return Err(StoreError::Internal("this is no SQLite file".to_owned()));
        };
        db.write(move |conn| {
            Box::pin(async move {
                diesel_async::SimpleAsyncConnection::batch_execute(conn, &sql).await?;
                Ok(Verdict::Commit(()))
            })
        })
        .await
    }
}
