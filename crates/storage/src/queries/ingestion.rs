//! Reading documents: claims with a lease, and results fenced by the claim.

use super::{embeddings, turns};
use crate::prelude::*;

/// The result of clearing a part of a deleted document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearedDocument {
    /// The document, if this was its last part.
    pub whole: Option<(AccountId, DocumentId)>,
}

/// Renews the lease, by the clock that is `offset` from the database's, and returns the document's account. `None` if
/// the claim is lost. Locks the document until the transaction ends.
async fn renew(
    conn: &mut Conn,
    id: DocumentId,
    claim: ClaimId,
    offset: i64,
) -> Result<Option<AccountId>> {
    let until = dialect!(conn, lease_clock(offset))?.plus(lease());
    diesel::update(documents::table)
        .filter(documents::id.eq(V(id)))
        .filter(documents::claim_id.eq(Some(claim)))
        .set(documents::lease_expires_at.eq(Some(until)))
        .returning(documents::account_id)
        .returned(conn)
        .await
}

async fn insert_part(
    conn: &mut Conn,
    (account, id): (AccountId, DocumentId),
    part: ReadPart,
) -> Result<()> {
    if !part.passages.is_empty() {
        bulk! {
            conn, "knowledge_passages", passages of one in &part.passages; document_id = id,
            ordinal, repeats, content
        }?;
    }
    if !part.words.is_empty() {
        dialect!(conn, insert_postings(account, id, part.words))?;
    }
    Ok(())
}

/// Removes up to `limit` words of a document. Returns how many it removed.
async fn remove_words(conn: &mut Conn, id: DocumentId, limit: i64) -> Result<usize> {
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

impl Store {
    /// Claims the oldest document that waits or has lost its worker, of the account whose last turn was longest ago.
    pub fn claim_document(&self, now: Timestamp) -> Answer<'_, Option<ClaimedDocument>> {
        let (offset, claim) = (self.offset(), mint::<ClaimId>(now));
        transact!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            for account in turns::to_read(conn).await? {
                let waiting = documents::table
                    .filter(documents::account_id.eq(V(account)))
                    // Written out, so that the databases see that the partial index applies.
                    .filter(sql::<Bool>("knowledge_documents.status = 'processing'"))
                    .filter(is_unclaimed!(documents, now))
                    .order((documents::created_at, documents::id))
                    .select(documents::id)
                    .locked("FOR UPDATE SKIP LOCKED");
                let Some(id) = waiting.found::<DocumentId, _>(conn).await? else {
                    continue;
                };
                turns::take(conn, turns::READ, account).await?;
                let tries = diesel::update(documents::table.find(V(id)))
                    .set(row! {
                        documents: tries += 1, claim_id = claim,
                        lease_expires_at = now.plus(lease())
                    })
                    .returning(documents::tries)
                    .get_result(conn)
                    .await?;
                let document = documents::table
                    .find(V(id))
                    .select(Document::as_select())
                    .first(conn)
                    .await?;
                return Ok(Commit(Some(ClaimedDocument {
                    document,
                    claim,
                    tries,
                })));
            }
            Ok(Rollback(None))
        })
    }

    /// Releases all claims, at the start of the one process that uses the embedded database.
    pub fn release_documents(&self) -> Answer<'_, usize> {
        diesel::update(documents::table)
            .filter(documents::status.eq(V(DocumentStatus::Processing)))
            .filter(documents::claim_id.is_not_null())
            .set(row! { documents: claim_id = NULL, lease_expires_at = NULL })
            .commit_counted(self)
    }

    /// Releases a document, which may then be claimed again. With `untried` the attempt does not count.
    pub fn release_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        untried: bool,
    ) -> Answer<'_, ()> {
        diesel::update(documents::table)
            .filter(documents::id.eq(V(id)))
            .filter(documents::claim_id.eq(Some(claim)))
            .set(row! {
                documents: claim_id = NULL, lease_expires_at = NULL, tries -= i32::from(untried)
            })
            .commit(self)
    }

    /// Of these documents, those that wait to be read or are being read.
    pub fn documents_waiting(&self, ids: Vec<DocumentId>) -> Answer<'_, Vec<DocumentId>> {
        read!(self, |conn| {
            ensure!(!ids.is_empty(), Vec::new());
            Ok(documents::table
                .filter(documents::id.eq_any(ids.into_iter().map(V)))
                .filter(documents::status.eq(V(DocumentStatus::Processing)))
                .select(documents::id)
                .load(conn)
                .await?)
        })
    }

    /// The uploaded content of an unread document, if it was stored as a row. Newer uploads are in the object store.
    pub fn document_upload(&self, id: DocumentId) -> Answer<'_, Option<Vec<u8>>> {
        uploads::table
            .find(V(id))
            .select(uploads::content)
            .read_first(self)
    }

    pub fn renew_document(&self, id: DocumentId, claim: ClaimId) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let kept = renew(conn, id, claim, offset).await?;
            Ok(Fenced::of(kept.is_some()))
        })
    }

    /// Stores a part of what was read of a document, and renews its lease.
    pub fn store_part(&self, id: DocumentId, claim: ClaimId, part: ReadPart) -> Answer<'_, Fenced> {
        let offset = self.offset();
        transact!(self, |conn| {
            let Some(account) = renew(conn, id, claim, offset).await? else {
                return Ok(Rollback(Fenced::Lost));
            };
            insert_part(conn, (account, id), part).await?;
            Ok(Commit(Fenced::Done))
        })
    }

    /// Removes up to `limit` words that an earlier worker on this document left or, if there are none, its passages.
    /// Returns how many words it removed, and `None` if the claim is lost.
    pub fn clear_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        limit: i64,
    ) -> Answer<'_, Option<usize>> {
        let offset = self.offset();
        transact!(self, |conn| {
            if renew(conn, id, claim, offset).await?.is_none() {
                return Ok(Rollback(None));
            }
            let removed = remove_words(conn, id, limit).await?;
            if removed == 0 {
                diesel::delete(passages::table.filter(passages::document_id.eq(V(id))))
                    .execute(conn)
                    .await?;
            }
            Ok(Commit(Some(removed)))
        })
    }

    /// Ends the reading of a document: it is ready, and found by its words from now on, or it failed with this
    /// sentence. Deletes the uploaded content.
    pub fn finish_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        ended: Result<ReadDocument, String>,
        at: Timestamp,
    ) -> Answer<'_, Fenced> {
        transact!(self, |conn| {
            let (status, read, error) = match ended {
                Ok(read) => (DocumentStatus::Ready, Some(read), None),
                Err(error) => (DocumentStatus::Failed, None, Some(error)),
            };
            let finished: Option<AccountId> = diesel::update(documents::table)
                .filter(documents::id.eq(V(id)))
                .filter(documents::claim_id.eq(Some(claim)))
                .set((
                    row! { documents: status, error },
                    read.as_ref().map(|read| {
                        row! { documents of read: chunks_count, mime_type, size_bytes, content_hash }
                    }),
                    row! { documents: claim_id = NULL, lease_expires_at = NULL, updated_at = at },
                ))
                .returning(documents::account_id)
                .returned(conn)
                .await?;
            let account = some_or!(finished, Rollback(Fenced::Lost));
            if let Some(read) = read {
                insert_part(conn, (account, id), read.rest).await?;
                if let Some(model) = read.embed_by {
                    embeddings::order(conn, (id, account), &model).await?;
                }
            }
            delete(conn, uploads::table.find(V(id))).await?;
            Ok(Commit(Fenced::Done))
        })
    }

    /// Removes up to `limit` words of a deleted document that no other process is clearing. `None` if no deleted
    /// document is left.
    pub fn clear_gone_documents(&self, limit: i64) -> Answer<'_, Option<ClearedDocument>> {
        transact!(self, |conn| {
            let gone_document: Option<(DocumentId, AccountId)> = gone::table
                .select((gone::document_id, gone::account_id))
                .locked("FOR UPDATE SKIP LOCKED")
                .found(conn)
                .await?;
            let (id, account) = some_or!(gone_document, Rollback(None));
            if remove_words(conn, id, limit).await? > 0 {
                return Ok(Commit(Some(ClearedDocument { whole: None })));
            }
            delete(conn, gone::table.find(V(id))).await?;
            Ok(Commit(Some(ClearedDocument {
                whole: Some((account, id)),
            })))
        })
    }
}
