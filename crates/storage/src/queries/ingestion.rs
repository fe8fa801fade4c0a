//! Reading documents: who reads which, and what was read.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AccountId, ClaimId, DocumentId, DocumentStatus, Timestamp};

use super::turns;
use crate::database::Conn;
use crate::dialect::{Lock as _, dialect};
use crate::schema::{
    knowledge_documents as documents, knowledge_gone as gone, knowledge_passages as passages,
    knowledge_postings as postings, knowledge_uploads as uploads,
};
use crate::sql::V;
use crate::{ClaimedDocument, Document, ReadDocument, ReadPart, Result, Store};

/// Claims the oldest waiting document of the account whose last turn was longest ago.
pub(crate) async fn claim(
    conn: &mut Conn,
    claim: ClaimId,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<ClaimedDocument>> {
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

/// The account's document that has waited longest and that nobody reads; the row is this transaction's.
async fn waiting_document(
    conn: &mut Conn,
    account: AccountId,
    judged_at: Timestamp,
) -> Result<Option<DocumentId>> {
    let waiting = documents::table
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
        .select(documents::id);
    Ok(waiting.locked("FOR UPDATE SKIP LOCKED").found(conn).await?)
}

/// A deleted document whose words are still to go, and that no other process is at.
pub(crate) async fn gone_document(conn: &mut Conn) -> Result<Option<(DocumentId, AccountId)>> {
    let gone = gone::table.select((gone::document_id, gone::account_id));
    Ok(gone.locked("FOR UPDATE SKIP LOCKED").found(conn).await?)
}

async fn next(conn: &mut Conn, now: Timestamp) -> Result<Option<DocumentId>> {
    for account in turns::to_read(conn).await? {
        if let Some(id) = waiting_document(conn, account, now).await? {
            turns::take(conn, turns::READ, account).await?;
            return Ok(Some(id));
        }
    }
    Ok(None)
}

impl Store {
    /// Takes every claim back: at the start of the one process that the embedded database has.
    pub fn release_documents(&self) -> Answer<'_, usize> {
        keep!(self, |conn| {
            Ok(diesel::update(documents::table)
                .filter(documents::status.eq(V(DocumentStatus::Processing)))
                .filter(documents::claim_id.is_not_null())
                .set((
                    documents::claim_id.eq(None::<V<ClaimId>>),
                    documents::lease_expires_at.eq(None::<V<Timestamp>>),
                ))
                .execute(conn)
                .await?)
        })
    }

    /// Gives a document back to be claimed again, and with it the try, if `untried`.
    pub fn release_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        untried: bool,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            diesel::update(documents::table)
                .filter(documents::id.eq(V(id)))
                .filter(documents::claim_id.eq(V(claim)))
                .set((
                    documents::claim_id.eq(None::<V<ClaimId>>),
                    documents::lease_expires_at.eq(None::<V<Timestamp>>),
                    documents::tries.eq(documents::tries - i32::from(untried)),
                ))
                .run(conn)
                .await
        })
    }

    /// Of these documents, those that wait to be read or are being read.
    pub fn documents_waiting(&self, ids: Vec<DocumentId>) -> Answer<'_, Vec<DocumentId>> {
        read!(self, |conn| {
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            Ok(documents::table
                .filter(documents::id.eq_any(ids.into_iter().map(V)))
                .filter(documents::status.eq(V(DocumentStatus::Processing)))
                .select(documents::id)
                .load(conn)
                .await?)
        })
    }

    /// What was sent as a document, until it is read, if that was kept as a row: it is an object since.
    pub fn document_upload(&self, id: DocumentId) -> Answer<'_, Option<Vec<u8>>> {
        read!(self, |conn| {
            Ok(uploads::table
                .find(V(id))
                .select(uploads::content)
                .found(conn)
                .await?)
        })
    }
}

/// Renews the lease, by the clock that is `offset` from the database's, and says whose the document is; `None` if the claim
/// is gone. The document is this transaction's until its end.
pub(crate) async fn renew(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    offset: i64,
) -> Result<Option<AccountId>> {
    let until = dialect!(conn, lease_clock(offset))?.plus(crate::lease());
    Ok(diesel::update(documents::table)
        .filter(documents::id.eq(V(id)))
        .filter(documents::claim_id.eq(V(claim)))
        .set(documents::lease_expires_at.eq(V(until)))
        .returning(documents::account_id)
        .get_result(conn)
        .await
        .optional()?)
}

pub(crate) async fn insert_part(
    conn: &mut Conn,
    (account, id): (AccountId, DocumentId),
    part: ReadPart,
) -> Result<()> {
    if !part.passages.is_empty() {
        dialect!(conn, insert_passages(id, part.passages))?;
    }
    if !part.words.is_empty() {
        dialect!(conn, insert_postings(account, id, part.words))?;
    }
    Ok(())
}

/// Removes up to `limit` words of a document; returns how many there were.
pub(crate) async fn remove_words(conn: &mut Conn, id: DocumentId, limit: i64) -> Result<usize> {
    let found: Vec<(AccountId, String)> = postings::table
        .filter(postings::document_id.eq(V(id)))
        .limit(limit)
        .select((postings::account_id, postings::term))
        .load(conn)
        .await?;
    let [(account, _), ..] = *found.as_slice() else {
        return Ok(0);
    };
    let words: Vec<String> = found.into_iter().map(|(_, word)| word).collect();
    Ok(diesel::delete(postings::table)
        .filter(postings::account_id.eq(V(account)))
        .filter(postings::term.eq_any(words))
        .filter(postings::document_id.eq(V(id)))
        .execute(conn)
        .await?)
}

/// Removes a document's passages.
pub(crate) async fn remove_passages(conn: &mut Conn, id: DocumentId) -> Result<()> {
    diesel::delete(passages::table.filter(passages::document_id.eq(V(id))))
        .run(conn)
        .await
}

/// Ends the reading of a document, and forgets what was sent.
pub(crate) async fn finish(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    ended: Result<ReadDocument, String>,
    at: Timestamp,
) -> Result<bool> {
    let status = if ended.is_ok() {
        DocumentStatus::Ready
    } else {
        DocumentStatus::Failed
    };
    let (mut read, error) = match ended {
        Ok(read) => (Some(read), None),
        Err(error) => (None, Some(error)),
    };
    let rest = read.as_mut().map(|read| std::mem::take(&mut read.rest));
    let read = read.as_ref();
    let finished: Option<AccountId> = diesel::update(documents::table)
        .filter(documents::id.eq(V(id)))
        .filter(documents::claim_id.eq(V(claim)))
        .set((
            documents::status.eq(V(status)),
            documents::error.eq(error),
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
    if let Some(rest) = rest {
        insert_part(conn, (account, id), rest).await?;
    }
    if let Some(model) = read.and_then(|read| read.embed_by.as_deref()) {
        super::embeddings::order(conn, (id, account), model).await?;
    }
    diesel::delete(uploads::table.find(V(id)))
        .execute(conn)
        .await?;
    Ok(true)
}

/// Forgets a deleted document, all of whose words are gone.
pub(crate) async fn forget_gone(conn: &mut Conn, id: DocumentId) -> Result<()> {
    diesel::delete(gone::table.find(V(id))).run(conn).await
}
