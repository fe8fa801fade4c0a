//! The statements on knowledge that differ, for SQLite.

use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, DocumentId, Timestamp};
use serde::Serialize;

use super::super::Conn;
use crate::schema::{
    knowledge_documents as documents, knowledge_embedding_jobs as jobs, knowledge_gone as gone,
    knowledge_passages as passages,
};
use crate::sql;
use crate::sql::V;
use crate::{NewPassage, NewPosting, StoreError};

/// The account's document that has waited longest and that nobody reads.
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
        .first(conn)
        .await
        .optional()?)
}

/// The account's oldest document that is to be embedded by the model and that nobody embeds.
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
        .first(conn)
        .await
        .optional()?)
}

/// A deleted document whose postings are still to go.
pub(crate) async fn gone_document(
    conn: &mut Conn,
) -> Result<Option<(DocumentId, AccountId)>, StoreError> {
    Ok(gone::table
        .select((gone::document_id, gone::account_id))
        .first(conn)
        .await
        .optional()?)
}

/// Keeps documents from being deleted until the transaction's end; the one writer does.
pub(crate) async fn hold_documents(
    _conn: &mut Conn,
    _ids: &[DocumentId],
) -> Result<(), StoreError> {
    Ok(())
}

pub(crate) async fn insert_passages(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<NewPassage>,
) -> Result<(), StoreError> {
    for row in rows {
        diesel::insert_into(passages::table)
            .values((
                passages::document_id.eq(V(document)),
                passages::ordinal.eq(row.ordinal),
                passages::repeats.eq(row.repeats),
                passages::content.eq(row.content),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// In one statement, whose rows come as JSON: a statement for each of thousands of words took three times as long.
pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<(), StoreError> {
    let rows = rows.iter().map(|row| (&row.term, row.impact, &row.places));
    diesel::sql_query(
        "INSERT INTO knowledge_postings (document_id, term, account_id, impact, places) \
         SELECT ?1, r.value ->> 0, ?2, r.value ->> 1, r.value ->> 2 FROM json_each(?3) AS r",
    )
    .bind::<sql::Uuid, _>(V(document))
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Text, _>(json(rows)?)
    .execute(conn)
    .await?;
    Ok(())
}

/// Rows as a JSON array.
fn json<T: Serialize>(rows: impl Iterator<Item = T>) -> Result<String, StoreError> {
    let rows: Vec<T> = rows.collect();
    serde_json::to_string(&rows).map_err(|error| StoreError::Internal(error.to_string()))
}

/// Adds to the counts of an account's words.
pub(crate) async fn add_terms(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO knowledge_terms (account_id, term, passages) \
         SELECT ?1, r.value ->> 0, r.value ->> 1 FROM json_each(?2) AS r WHERE true \
         ON CONFLICT (account_id, term) DO UPDATE SET passages = knowledge_terms.passages + excluded.passages",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Text, _>(json(counts.iter())?)
    .execute(conn)
    .await?;
    Ok(())
}
