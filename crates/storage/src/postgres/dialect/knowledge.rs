//! The statements on knowledge that differ, for PostgreSQL.

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Text};
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, DocumentId, Timestamp};

use super::super::Conn;
use super::column;
use crate::schema::{
    knowledge_documents as documents, knowledge_embedding_jobs as jobs, knowledge_gone as gone,
};
use crate::sql;
use crate::sql::V;
use crate::{NewPassage, NewPosting, StoreError};

/// The account's document that has waited longest and that nobody reads; the row is this transaction's.
pub(crate) async fn waiting_document(
    conn: &mut Conn,
    account: AccountId,
    judged_at: Timestamp,
) -> Result<Option<DocumentId>, StoreError> {
    Ok(documents::table
        .filter(documents::account_id.eq(V(account)))
        // Written out, so that the partial index is seen to apply.
        .filter(diesel::dsl::sql::<Bool>(
            "knowledge_documents.status = 'processing'",
        ))
        .filter(
            documents::claim_id
                .is_null()
                .or(documents::lease_expires_at.lt(V(judged_at))),
        )
        .order((documents::created_at, documents::id))
        .select(documents::id)
        .for_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?)
}

/// The account's oldest document that is to be embedded by the model and that nobody embeds; the row is this transaction's.
pub(crate) async fn waiting_embedding(
    conn: &mut Conn,
    (account, model): (AccountId, &str),
    judged_at: Timestamp,
) -> Result<Option<DocumentId>, StoreError> {
    Ok(jobs::table
        .filter(jobs::model.eq(model.to_owned()))
        .filter(jobs::account_id.eq(V(account)))
        // Written out, so that the partial index is seen to apply.
        .filter(diesel::dsl::sql::<Bool>(
            "knowledge_embedding_jobs.tries < 3",
        ))
        .filter(
            jobs::claim_id
                .is_null()
                .or(jobs::lease_expires_at.lt(V(judged_at))),
        )
        .order(jobs::document_id)
        .select(jobs::document_id)
        .for_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?)
}

/// A deleted document whose postings are still to go, and that no other process is at.
pub(crate) async fn gone_document(
    conn: &mut Conn,
) -> Result<Option<(DocumentId, AccountId)>, StoreError> {
    Ok(gone::table
        .select((gone::document_id, gone::account_id))
        .for_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?)
}

/// Keeps documents from being deleted until the transaction's end.
pub(crate) async fn hold_documents(conn: &mut Conn, ids: &[DocumentId]) -> Result<(), StoreError> {
    let _: Vec<DocumentId> = documents::table
        .filter(documents::id.eq_any(ids.iter().copied().map(V)))
        .order(documents::id)
        .select(documents::id)
        .for_share()
        .load(conn)
        .await?;
    Ok(())
}

pub(crate) async fn insert_passages(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<NewPassage>,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO knowledge_passages (document_id, ordinal, repeats, content) \
         SELECT $1, r.ordinal, r.repeats, r.content FROM UNNEST($2, $3, $4) AS r(ordinal, repeats, content)",
    )
    .bind::<sql::Uuid, _>(V(document))
    .bind::<Array<Integer>, _>(column(&rows, |r| r.ordinal))
    .bind::<Array<Integer>, _>(column(&rows, |r| r.repeats))
    .bind::<Array<Text>, _>(column(&rows, |r| r.content.clone()))
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO knowledge_postings (document_id, term, account_id, impact, places) \
         SELECT $1, r.term, $2, r.impact, r.places FROM UNNEST($3, $4, $5) AS r(term, impact, places)",
    )
    .bind::<sql::Uuid, _>(V(document))
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Array<Text>, _>(column(&rows, |r| r.term.clone()))
    .bind::<Array<Integer>, _>(column(&rows, |r| r.impact))
    .bind::<Array<Text>, _>(column(&rows, |r| r.places.clone()))
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds to the counts of an account's words, in their order, so that two transactions never wait for each other.
pub(crate) async fn add_terms(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO knowledge_terms (account_id, term, passages) \
         SELECT $1, r.term, r.passages FROM UNNEST($2, $3) AS r(term, passages) \
         ORDER BY r.term COLLATE \"C\" \
         ON CONFLICT (account_id, term) DO UPDATE SET passages = knowledge_terms.passages + EXCLUDED.passages",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Array<Text>, _>(column(counts, |(term, _)| term.clone()))
    .bind::<Array<BigInt>, _>(column(counts, |(_, passages)| *passages))
    .execute(conn)
    .await?;
    Ok(())
}
