//! Reading documents: claims with a lease, and what was read, fenced by the claim.

use offhook_domain::{AccountId, ClaimId, DocumentId, Timestamp};

use super::{Answer, keep, lease, mint, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{ClaimedDocument, Fenced, ReadDocument, ReadPart, Result, Store, Verdict};

/// Part of a deleted document that was cleared away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearedDocument {
    /// The document, if that was the last of it.
    pub whole: Option<(AccountId, DocumentId)>,
}

impl Store {
    /// Claims the document that has waited longest, if one waits or has lost its reader.
    pub fn claim_document(&self, now: Timestamp) -> Answer<'_, Option<ClaimedDocument>> {
        let (offset, claim) = (self.offset(), mint::<ClaimId>(now));
        write!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let until = now.plus(lease());
            let claimed = queries::ingestion::claim(conn, claim, now, until).await?;
            Ok(match claimed {
                Some(claimed) => Verdict::Commit(Some(claimed)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Renews a document's lease.
    pub fn renew_document(&self, id: DocumentId, claim: ClaimId) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let kept = queries::ingestion::renew(conn, id, claim, offset).await?;
            Ok(if kept.is_some() {
                Fenced::Done
            } else {
                Fenced::Lost
            })
        })
    }

    /// Stores some of what was read of a document, and renews its lease.
    pub fn store_part(&self, id: DocumentId, claim: ClaimId, part: ReadPart) -> Answer<'_, Fenced> {
        let offset = self.offset();
        write!(self, |conn| {
            let Some(account) = queries::ingestion::renew(conn, id, claim, offset).await? else {
                return Ok(Verdict::Rollback(Fenced::Lost));
            };
            queries::ingestion::insert_part(conn, (account, id), part).await?;
            Ok(Verdict::Commit(Fenced::Done))
        })
    }

    /// Removes up to `limit` words that an earlier reader of this document left, or else its passages; returns how
    /// many words there were, and `None` if the claim is gone.
    pub fn clear_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        limit: i64,
    ) -> Answer<'_, Option<usize>> {
        let offset = self.offset();
        write!(self, |conn| {
            let renewed = queries::ingestion::renew(conn, id, claim, offset).await?;
            if renewed.is_none() {
                return Ok(Verdict::Rollback(None));
            }
            let removed = queries::ingestion::remove_words(conn, id, limit).await?;
            if removed == 0 {
                queries::ingestion::remove_passages(conn, id).await?;
            }
            Ok(Verdict::Commit(Some(removed)))
        })
    }

    /// Ends the reading of a document: it is ready, found by its words from now on, or failed with this sentence. What was
    /// sent is forgotten.
    pub fn finish_document(
        &self,
        id: DocumentId,
        claim: ClaimId,
        ended: Result<ReadDocument, String>,
        at: Timestamp,
    ) -> Answer<'_, Fenced> {
        write!(self, |conn| {
            let done = queries::ingestion::finish(conn, id, claim, ended, at).await?;
            Ok(if done {
                Verdict::Commit(Fenced::Done)
            } else {
                Verdict::Rollback(Fenced::Lost)
            })
        })
    }

    /// Removes up to `limit` words of a deleted document; `None` if there is no deleted document left.
    pub fn clear_gone_documents(&self, limit: i64) -> Answer<'_, Option<ClearedDocument>> {
        write!(self, |conn| {
            let Some((id, account)) = queries::ingestion::gone_document(conn).await? else {
                return Ok(Verdict::Rollback(None));
            };
            let removed = queries::ingestion::remove_words(conn, id, limit).await?;
            if removed > 0 {
                return Ok(Verdict::Commit(Some(ClearedDocument { whole: None })));
            }
            queries::ingestion::forget_gone(conn, id).await?;
            Ok(Verdict::Commit(Some(ClearedDocument {
                whole: Some((account, id)),
            })))
        })
    }
}
