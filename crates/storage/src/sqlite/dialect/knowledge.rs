//! The statements on knowledge that differ, for SQLite.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, DocumentId, Timestamp};

use super::super::Conn;
use crate::schema::{
    knowledge_documents as documents, knowledge_gone as gone, knowledge_passages as passages,
    knowledge_postings as postings, knowledge_terms as terms,
};
use crate::sql::V;
use crate::{NewPassage, NewPosting, StoreError};

/// The document that has waited longest and that nobody reads.
pub(crate) async fn waiting_document(
    conn: &mut Conn,
    judged_at: Timestamp,
) -> Result<Option<DocumentId>, StoreError> {
    Ok(documents::table
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

pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<(), StoreError> {
    for row in rows {
        diesel::insert_into(postings::table)
            .values((
                postings::document_id.eq(V(document)),
                postings::term.eq(row.term),
                postings::account_id.eq(V(account)),
                postings::impact.eq(row.impact),
                postings::places.eq(row.places),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Adds to the counts of an account's words.
pub(crate) async fn add_terms(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
) -> Result<(), StoreError> {
    for (term, passages) in counts {
        diesel::insert_into(terms::table)
            .values((
                terms::account_id.eq(V(account)),
                terms::term.eq(term),
                terms::passages.eq(passages),
            ))
            .on_conflict((terms::account_id, terms::term))
            .do_update()
            .set(terms::passages.eq(terms::passages + *passages))
            .execute(conn)
            .await?;
    }
    Ok(())
}
