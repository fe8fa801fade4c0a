//! What the benchmark measures the store against: the same pool, tables and durability with no rules around them.

use std::time::{Duration, Instant};

use offhook_domain::{
    AccountId, AgentId, BatchId, ConversationId, DeliveryId, DocumentId, EndpointId, FolderId,
    LogEntryId, MemberId, PhoneNumberId, RecipientStatus, ToolId,
};

use crate::store::{Inner, read, write};
use crate::{
    AgentFilter, BatchFilter, ConversationFilter, DeliveryFilter, Document, DocumentFilter,
    LedgerFilter, LogFilter, NewCall, NewDocument, PageKey, ReadPart, Store, StoreError, Verdict,
};

/// A list, its filters, and where its page goes on.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum BenchList {
    Conversations(ConversationFilter, Option<PageKey<ConversationId>>),
    Turns(ConversationId, i32),
    Agents(AgentFilter, Option<PageKey<AgentId>>),
    Versions(AgentId, Option<i32>),
    Tools(Option<PageKey<ToolId>>),
    Documents(DocumentFilter, Option<PageKey<DocumentId>>),
    Folders(Option<PageKey<FolderId>>),
    Numbers(Option<AgentId>, Option<PageKey<PhoneNumberId>>),
    Batches(BatchFilter, Option<PageKey<BatchId>>),
    Recipients(BatchId, Option<RecipientStatus>, Option<i32>),
    Members(Option<PageKey<MemberId>>),
    Endpoints(Option<PageKey<EndpointId>>),
    Deliveries(DeliveryFilter, Option<PageKey<DeliveryId>>),
    Transactions(LedgerFilter, Option<i64>),
    Invoices(Option<i32>),
    Logs(LogFilter, Option<PageKey<LogEntryId>>),
}

/// A document with what its reader made of it.
#[doc(hidden)]
#[derive(Debug)]
pub struct BenchDocument {
    pub document: Document,
    pub part: ReadPart,
}

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

    /// A page of a list, read `times` times on one connection without leaving it: how long all of that took, and how many
    /// rows a page has.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[doc(hidden)]
    pub async fn bench_page(
        &self,
        account: AccountId,
        list: BenchList,
        limit: i64,
        times: u32,
    ) -> Result<(Duration, usize), StoreError> {
        use BenchList as L;
        read!(self, |conn| {
            let mut rows = 0;
            let mut began = Instant::now();
            for time in 0..=times {
                if time == 1 {
                    began = Instant::now();
                }
                rows = match &list {
                    L::Conversations(filter, after) => {
                        let page =
                            queries::conversations::page(conn, account, filter, *after, limit);
                        page.await?.len()
                    }
                    L::Turns(id, after) => {
                        let page =
                            queries::conversations::moments(conn, *id, *after, limit + 1, true);
                        page.await?.len()
                    }
                    L::Agents(filter, after) => {
                        let page = queries::agent_pages::page(conn, account, filter, *after, limit);
                        page.await?.len()
                    }
                    L::Versions(id, before) => {
                        let page = queries::agents::versions_page(conn, *id, *before, limit);
                        page.await?.len()
                    }
                    L::Tools(after) => {
                        let page = queries::tools::page(conn, account, *after, limit);
                        page.await?.len()
                    }
                    L::Documents(filter, after) => {
                        let page = queries::documents::page(conn, account, filter, *after, limit);
                        page.await?.len()
                    }
                    L::Folders(after) => {
                        let page = queries::folders::page(conn, account, *after, limit);
                        page.await?.len()
                    }
                    L::Numbers(agent, after) => {
                        let page = queries::numbers::page(conn, account, *agent, *after, limit);
                        page.await?.len()
                    }
                    L::Batches(filter, after) => {
                        let page = queries::batches::page(conn, account, *filter, *after, limit);
                        page.await?.len()
                    }
                    L::Recipients(id, status, after) => {
                        let page =
                            queries::batches::recipients(conn, *id, *status, *after, limit + 1);
                        page.await?.len()
                    }
                    L::Members(after) => {
                        let page = queries::team::page(conn, account, *after, limit);
                        page.await?.len()
                    }
                    L::Endpoints(after) => {
                        let page = queries::endpoints::page(conn, account, *after, limit);
                        page.await?.len()
                    }
                    L::Deliveries(filter, after) => {
                        let page = queries::deliveries::page(conn, account, filter, *after, limit);
                        page.await?.len()
                    }
                    L::Transactions(filter, after) => {
                        let page = queries::ledger::page(conn, account, *filter, *after, limit);
                        page.await?.len()
                    }
                    L::Invoices(after) => {
                        let page = queries::invoices::page(conn, account, *after, limit);
                        page.await?.len()
                    }
                    L::Logs(filter, after) => {
                        let page = queries::logs::page(conn, account, filter, *after, limit);
                        page.await?.len()
                    }
                };
            }
            Ok((began.elapsed(), rows))
        })
    }

    /// Stores documents that are read already, in one transaction, by the statements that readers use.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[doc(hidden)]
    pub async fn bench_documents(&self, read: Vec<BenchDocument>) -> Result<(), StoreError> {
        write!(self, |conn| {
            for BenchDocument { document, part } in read {
                let key = (document.account_id, document.id);
                let (passages, at) = (document.chunks_count, document.created_at);
                let new = NewDocument {
                    name_folded: document.name.clone(),
                    document,
                };
                queries::documents::insert(conn, new).await?;
                queries::ingestion::insert_part(conn, key.1, part).await?;
                queries::folds::enter(conn, key, passages, at).await?;
            }
            Ok(Verdict::Commit(()))
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

    /// The rows of a query of one text column: how the harness of the crash tests looks into an SQLite file.
    ///
    /// # Errors
    /// [`StoreError::Internal`] if it fails, or if this is no SQLite file.
    #[doc(hidden)]
    pub async fn bench_rows(&self, sql: String) -> Result<Vec<String>, StoreError> {
        let Inner::Sqlite(db) = &self.inner else {
            return Err(StoreError::Internal("this is no SQLite file".to_owned()));
        };
        db.read(move |conn| {
            Box::pin(async move {
                let rows = diesel::sql_query(sql);
                let rows: Vec<BenchRow> = diesel_async::RunQueryDsl::load(rows, conn).await?;
                Ok(rows.into_iter().map(|row| row.line).collect())
            })
        })
        .await
    }
}

#[derive(diesel::QueryableByName)]
struct BenchRow {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}
