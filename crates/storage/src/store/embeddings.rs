//! Vectors of passages: orders with a lease, what is stored under them, and what searches read.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, DocumentId, DocumentStatus, Timestamp};

use super::{Answer, keep, lease, mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    EmbeddedDocument, EmbeddingJob, EmbeddingState, Fenced, PassageVectors, Result, Store, Verdict,
};

impl Store {
    /// Orders vectors for documents that are ready and have none of the model, looking through up to `limit` documents
    /// behind `after`. Returns the last one looked at; `None` at the end.
    #[boxed]
    pub async fn order_embeddings(
        &self,
        model: &str,
        after: Option<DocumentId>,
        limit: i64,
    ) -> Result<Option<DocumentId>> {
        let candidates = read!(self, |conn| queries::embeddings::candidates(
            conn, after, limit
        )
        .await)
        .await?;
        let last = candidates.last().map(|(id, ..)| *id);
        let wanted: Vec<(DocumentId, AccountId)> = candidates
            .into_iter()
            .filter(|(_, _, status, by)| {
                *status == DocumentStatus::Ready && by.as_deref() != Some(model)
            })
            .map(|(id, account, ..)| (id, account))
            .collect();
        if wanted.is_empty() {
            return Ok(last);
        }
        let model = model.to_owned();
        keep!(self, |conn| {
            // In the order of their ids, so that two processes never wait for each other.
            for document in wanted {
                queries::embeddings::order(conn, document, &model).await?;
            }
            Ok(last)
        })
        .await
    }

    /// Claims a document that is to be embedded by the model.
    pub fn claim_embedding(&self, model: &str, now: Timestamp) -> Answer<'_, Option<EmbeddingJob>> {
        let (offset, claim, model) = (self.offset(), mint(now), model.to_owned());
        write!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let times = (now, now.plus(lease()));
            let claimed = queries::embeddings::claim(conn, &model, claim, times).await?;
            Ok(match claimed {
                Some(job) => Verdict::Commit(Some(job)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Stores vectors of a document that is being embedded, and renews the lease.
    pub fn store_vectors(
        &self,
        job: EmbeddingJob,
        model: &str,
        vectors: PassageVectors,
    ) -> Answer<'_, Fenced> {
        let (offset, model) = (self.offset(), model.to_owned());
        write!(self, |conn| {
            if !queries::embeddings::renew(conn, job.document, job.claim, offset).await? {
                return Ok(Verdict::Rollback(Fenced::Lost));
            }
            queries::embeddings::insert(conn, &model, vectors).await?;
            Ok(Verdict::Commit(Fenced::Done))
        })
    }

    /// The last vectors that are stored of a document by a model: an earlier try may have left some.
    pub fn last_vectors(
        &self,
        document: DocumentId,
        model: &str,
    ) -> Answer<'_, Option<PassageVectors>> {
        let model = model.to_owned();
        read!(self, |conn| queries::embeddings::last(
            conn, document, &model
        )
        .await)
    }

    /// Ends an order: all passages have vectors now, and those of other models go.
    pub fn finish_embedding(
        &self,
        job: EmbeddingJob,
        model: &str,
        passages: i32,
    ) -> Answer<'_, Fenced> {
        let (offset, model) = (self.offset(), model.to_owned());
        write!(self, |conn| {
            if !queries::embeddings::renew(conn, job.document, job.claim, offset).await? {
                return Ok(Verdict::Rollback(Fenced::Lost));
            }
            queries::embeddings::finish(conn, &job, &model, passages).await?;
            Ok(Verdict::Commit(Fenced::Done))
        })
    }

    /// Up to `limit` of the account's documents before `before` that are embedded by the model, the newest first.
    pub fn newest_embedded(
        &self,
        account: AccountId,
        model: &str,
        before: Option<DocumentId>,
        limit: i64,
    ) -> Answer<'_, Vec<EmbeddedDocument>> {
        let model = model.to_owned();
        read!(self, |conn| {
            let key = (account, model.as_str());
            queries::embeddings::newest(conn, key, before, limit).await
        })
    }

    /// Of these documents those of the account that are embedded by the model, in no order.
    pub fn embedded_among(
        &self,
        account: AccountId,
        model: &str,
        documents: Vec<DocumentId>,
    ) -> Answer<'_, Vec<EmbeddedDocument>> {
        let model = model.to_owned();
        read!(self, |conn| {
            let key = (account, model.as_str());
            queries::embeddings::among(conn, key, documents).await
        })
    }

    /// The vectors of these documents, whose account the caller has looked at, by a model.
    pub fn vectors_of(
        &self,
        documents: Vec<DocumentId>,
        model: &str,
    ) -> Answer<'_, Vec<PassageVectors>> {
        let model = model.to_owned();
        read!(self, |conn| queries::embeddings::of(
            conn, documents, &model
        )
        .await)
    }

    /// How far the model's work is.
    pub fn embedding_state(&self, model: &str) -> Answer<'_, EmbeddingState> {
        let model = model.to_owned();
        read!(self, |conn| queries::embeddings::state(conn, &model).await)
    }
}
