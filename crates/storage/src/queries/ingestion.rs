//! Reading documents: who reads which, and what was read.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, ClaimId, DocumentId, DocumentStatus, Timestamp};

use super::super::{Conn, dialect};
use super::turns;
use crate::schema::{
    knowledge_documents as documents, knowledge_gone as gone, knowledge_passages as passages,
    knowledge_postings as postings, knowledge_terms as terms, knowledge_uploads as uploads,
};
use crate::sql::V;
use crate::{ClaimedDocument, Document, NewPassage, NewPosting, ReadDocument, StoreError};

/// The word that counts passages.
const EVERY: &str = "";

/// Claims the oldest waiting document of the account whose last turn was longest ago.
pub(crate) async fn claim(
    conn: &mut Conn,
    claim: ClaimId,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<ClaimedDocument>, StoreError> {
    let Some(id) = next(conn, now).await? else {
        return Ok(None);
    };
    let tries: i32 = diesel::update(documents::table.find(V(id)))
        .set((
            documents::tries.eq(documents::tries + 1),
            documents::claim_id.eq(V(claim)),
            documents::lease_expires_at.eq(V(until)),
        ))
        .returning(documents::tries)
        .get_result(conn)
        .await?;
    let document = documents::table
        .find(V(id))
        .select(Document::as_select())
        .first(conn)
        .await?;
    Ok(Some(ClaimedDocument {
        document,
        claim,
        tries,
    }))
}

async fn next(conn: &mut Conn, now: Timestamp) -> Result<Option<DocumentId>, StoreError> {
    for account in turns::to_read(conn).await? {
        if let Some(id) = dialect::waiting_document(conn, account, now).await? {
            turns::take(conn, turns::READ, account).await?;
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Takes every claim back: on the embedded database, at the start of its one process.
pub(crate) async fn release_all(conn: &mut Conn) -> Result<usize, StoreError> {
    Ok(diesel::update(documents::table)
        .filter(documents::status.eq(V(DocumentStatus::Processing)))
        .filter(documents::claim_id.is_not_null())
        .set((
            documents::claim_id.eq(None::<V<ClaimId>>),
            documents::lease_expires_at.eq(None::<V<Timestamp>>),
        ))
        .execute(conn)
        .await?)
}

/// Gives a claim back, and with it the try, if `untried`.
pub(crate) async fn release(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    untried: bool,
) -> Result<(), StoreError> {
    diesel::update(documents::table)
        .filter(
            documents::id
                .eq(V(id))
                .and(documents::claim_id.eq(V(claim))),
        )
        .set((
            documents::claim_id.eq(None::<V<ClaimId>>),
            documents::lease_expires_at.eq(None::<V<Timestamp>>),
            documents::tries.eq(documents::tries - i32::from(untried)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// Renews the lease; `false` if the claim is gone. The document is this transaction's until its end.
pub(crate) async fn renew(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let renewed = diesel::update(documents::table)
        .filter(
            documents::id
                .eq(V(id))
                .and(documents::claim_id.eq(V(claim))),
        )
        .set(documents::lease_expires_at.eq(V(until)))
        .execute(conn)
        .await?;
    Ok(renewed > 0)
}

pub(crate) async fn upload(conn: &mut Conn, id: DocumentId) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(uploads::table
        .find(V(id))
        .select(uploads::content)
        .first(conn)
        .await
        .optional()?)
}

pub(crate) async fn insert_passages(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
    rows: Vec<NewPassage>,
) -> Result<(), StoreError> {
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    dialect::insert_passages(conn, id, rows).await?;
    dialect::add_terms(conn, account, &[(EVERY.to_owned(), count)]).await
}

pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<(), StoreError> {
    let counts: Vec<(String, i64)> = rows
        .iter()
        .map(|row| (row.term.clone(), row.passages))
        .collect();
    dialect::insert_postings(conn, account, id, rows).await?;
    dialect::add_terms(conn, account, &counts).await
}

/// Removes up to `limit` of a document's words; returns how many there were.
pub(crate) async fn remove_postings(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
    limit: i64,
) -> Result<usize, StoreError> {
    let found: Vec<(String, String)> = postings::table
        .filter(postings::document_id.eq(V(id)))
        .order(postings::term)
        .limit(limit)
        .select((postings::term, postings::places))
        .load(conn)
        .await?;
    if found.is_empty() {
        return Ok(0);
    }
    let count = found.len();
    let words: Vec<String> = found.iter().map(|(term, _)| term.clone()).collect();
    diesel::delete(postings::table)
        .filter(postings::document_id.eq(V(id)))
        .filter(postings::term.eq_any(words.clone()))
        .execute(conn)
        .await?;
    let counts: Vec<(String, i64)> = found
        .into_iter()
        .map(|(term, places)| {
            let passages = places.split(' ').count();
            (term, -i64::try_from(passages).unwrap_or(i64::MAX))
        })
        .collect();
    uncount(conn, account, &counts, words).await?;
    Ok(count)
}

/// Of these, the documents that have not been read.
pub(crate) async fn waiting(
    conn: &mut Conn,
    ids: Vec<DocumentId>,
) -> Result<Vec<DocumentId>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(documents::table
        .filter(documents::id.eq_any(ids.into_iter().map(V)))
        .filter(documents::status.eq(V(DocumentStatus::Processing)))
        .select(documents::id)
        .load(conn)
        .await?)
}

/// Removes a document's passages.
pub(crate) async fn remove_passages(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<(), StoreError> {
    let removed = diesel::delete(passages::table.filter(passages::document_id.eq(V(id))))
        .execute(conn)
        .await?;
    uncount_passages(conn, account, removed).await
}

/// Counts an account's passages down.
pub(crate) async fn uncount_passages(
    conn: &mut Conn,
    account: AccountId,
    removed: usize,
) -> Result<(), StoreError> {
    if removed == 0 {
        return Ok(());
    }
    let count = -i64::try_from(removed).unwrap_or(i64::MAX);
    let every = vec![EVERY.to_owned()];
    uncount(conn, account, &[(EVERY.to_owned(), count)], every).await
}

async fn uncount(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
    words: Vec<String>,
) -> Result<(), StoreError> {
    dialect::add_terms(conn, account, counts).await?;
    diesel::delete(terms::table)
        .filter(terms::account_id.eq(V(account)))
        .filter(terms::term.eq_any(words).and(terms::passages.le(0)))
        .execute(conn)
        .await?;
    Ok(())
}

/// Ends the reading of a document, and forgets what was sent.
pub(crate) async fn finish(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    ended: Result<ReadDocument, String>,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let status = if ended.is_ok() {
        DocumentStatus::Ready
    } else {
        DocumentStatus::Failed
    };
    let (read, error) = (ended.as_ref().ok(), ended.as_ref().err());
    let finished: Option<AccountId> = diesel::update(documents::table)
        .filter(
            documents::id
                .eq(V(id))
                .and(documents::claim_id.eq(V(claim))),
        )
        .set((
            documents::status.eq(V(status)),
            documents::error.eq(error.cloned()),
            read.map(|read| documents::chunks_count.eq(read.chunks_count)),
            read.map(|read| documents::mime_type.eq(read.mime_type.clone())),
            read.map(|read| documents::size_bytes.eq(read.size_bytes)),
            read.map(|read| documents::content_hash.eq(read.content_hash.clone())),
            documents::claim_id.eq(None::<V<ClaimId>>),
            documents::lease_expires_at.eq(None::<V<Timestamp>>),
            documents::updated_at.eq(V(at)),
        ))
        .returning(documents::account_id)
        .get_result(conn)
        .await
        .optional()?;
    let Some(account) = finished else {
        return Ok(false);
    };
    if let Some(model) = read.and_then(|read| read.embed_by.as_deref()) {
        super::embeddings::order(conn, (id, account), model).await?;
    }
    diesel::delete(uploads::table.find(V(id)))
        .execute(conn)
        .await?;
    Ok(true)
}

/// Forgets a deleted document, all of whose words are gone.
pub(crate) async fn forget_gone(conn: &mut Conn, id: DocumentId) -> Result<(), StoreError> {
    diesel::delete(gone::table.find(V(id)))
        .execute(conn)
        .await?;
    Ok(())
}
