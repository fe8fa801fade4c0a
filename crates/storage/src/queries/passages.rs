//! Passages and the words that they are found by.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, DocumentId, DocumentStatus};

use super::super::Conn;
use crate::schema::{
    knowledge_documents as documents, knowledge_passages as passages,
    knowledge_postings as postings, knowledge_terms as terms,
};
use crate::sql::V;
use crate::{FoundPassage, Posting, StoreError};

/// A document's passages from `first` on: what of each is new, and its text.
pub(crate) async fn text(
    conn: &mut Conn,
    document: DocumentId,
    first: i32,
    limit: i64,
) -> Result<Vec<(i32, String)>, StoreError> {
    Ok(passages::table
        .filter(
            passages::document_id
                .eq(V(document))
                .and(passages::ordinal.ge(first)),
        )
        .order(passages::ordinal)
        .limit(limit)
        .select((passages::repeats, passages::content))
        .load(conn)
        .await?)
}

/// In how many of the account's passages these words are.
pub(crate) async fn counts(
    conn: &mut Conn,
    account: AccountId,
    words: Vec<String>,
) -> Result<Vec<(String, i64)>, StoreError> {
    Ok(terms::table
        .filter(
            terms::account_id
                .eq(V(account))
                .and(terms::term.eq_any(words)),
        )
        .select((terms::term, terms::passages))
        .load(conn)
        .await?)
}

/// Where a word counts most in the account's documents.
pub(crate) async fn strongest(
    conn: &mut Conn,
    account: AccountId,
    word: String,
    limit: i64,
) -> Result<Vec<Posting>, StoreError> {
    Ok(postings::table
        .filter(
            postings::account_id
                .eq(V(account))
                .and(postings::term.eq(word)),
        )
        .order((postings::impact.desc(), postings::document_id.desc()))
        .limit(limit)
        .select((postings::document_id, postings::term, postings::places))
        .load(conn)
        .await?)
}

/// Where these words are in these documents.
pub(crate) async fn within(
    conn: &mut Conn,
    ids: Vec<DocumentId>,
    words: Vec<String>,
) -> Result<Vec<Posting>, StoreError> {
    Ok(postings::table
        .filter(postings::document_id.eq_any(ids.into_iter().map(V)))
        .filter(postings::term.eq_any(words))
        .select((postings::document_id, postings::term, postings::places))
        .load(conn)
        .await?)
}

/// A passage of one of the account's documents that is ready.
pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    ordinal: i32,
) -> Result<Option<FoundPassage>, StoreError> {
    Ok(passages::table
        .inner_join(documents::table.on(documents::id.eq(passages::document_id)))
        .filter(
            passages::document_id
                .eq(V(document))
                .and(passages::ordinal.eq(ordinal)),
        )
        .filter(
            documents::account_id
                .eq(V(account))
                .and(documents::status.eq(V(DocumentStatus::Ready))),
        )
        .select((
            documents::id,
            documents::name,
            passages::ordinal,
            passages::content,
        ))
        .first(conn)
        .await
        .optional()?)
}
