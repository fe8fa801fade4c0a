//! Vectors of passages: leased jobs, the vectors that they store, and reads for searches.

use super::turns;
use crate::prelude::*;
use crate::schema::{
    knowledge_embedded as embedded, knowledge_embedding_jobs as jobs,
    knowledge_embeddings as embeddings,
};

/// A document that may need vectors of a model, with the model that it is embedded by.
type Candidate = (DocumentId, AccountId, DocumentStatus, Option<String>);

/// Creates the job that embeds a document by a model. An existing job is changed to the model, and its attempts start
/// again. If it is by the same model already, another process's work on it continues.
pub(crate) async fn order(
    conn: &mut Conn,
    (document, account): (DocumentId, AccountId),
    model: &str,
) -> Result<()> {
    let changed = diesel::update(jobs::table.find(V(document)))
        .filter(jobs::model.ne(model))
        .set(row! {
            jobs: model, claim_id = NULL, lease_expires_at = NULL, tries = 0, error = NULL
        })
        .changes(conn)
        .await?;
    ensure!(!changed, ());
    diesel::insert_into(jobs::table)
        .values(row! { jobs: document_id = document, account_id = account, model, tries = 0 })
        .on_conflict(jobs::document_id)
        .do_update()
        .set((jobs::tries.eq(0), jobs::error.eq(None::<String>)))
        .run(conn)
        .await
}

/// Renews the lease, by the clock that is `offset` from the database's; `false` if the claim is lost. Locks the job
/// until the transaction ends.
async fn renew(conn: &mut Conn, job: EmbeddingJob, offset: i64) -> Result<bool> {
    let until = dialect!(conn, lease_clock(offset))?.plus(lease());
    diesel::update(jobs::table.find(V(job.document)))
        .filter(jobs::claim_id.eq(Some(job.claim)))
        .set(jobs::lease_expires_at.eq(Some(until)))
        .changes(conn)
        .await
}

/// Deletes all vectors and jobs of a document. The job goes first, because a worker on it locks that row.
pub(crate) async fn forget(conn: &mut Conn, document: DocumentId) -> Result<()> {
    delete(conn, jobs::table.find(V(document))).await?;
    diesel::delete(embeddings::table.filter(embeddings::document_id.eq(V(document))))
        .execute(conn)
        .await?;
    diesel::delete(embedded::table.find(V(document)))
        .run(conn)
        .await
}

#[boxed]
impl Store {
    /// Creates jobs for ready documents that have no vectors of the model. Looks through up to `limit` documents after
    /// `after`. Returns the last one that it looked at; `None` at the end.
    pub async fn order_embeddings(
        &self,
        model: &str,
        after: Option<DocumentId>,
        limit: i64,
    ) -> Result<Option<DocumentId>> {
        let candidates: Vec<Candidate> = documents::table
            .left_join(embedded::table.on(embedded::document_id.eq(documents::id)))
            .filter(documents::id.gt(V(after.unwrap_or_else(DocumentId::nil))))
            .order(documents::id)
            .limit(limit)
            .select((
                documents::id,
                documents::account_id,
                documents::status,
                embedded::model.nullable(),
            ))
            .read_all(self)
            .await?;
        let last = candidates.last().map(|(id, ..)| *id);
        let wanted: Vec<(DocumentId, AccountId)> = candidates
            .into_iter()
            .filter(|(_, _, status, by)| {
                *status == DocumentStatus::Ready && by.as_deref() != Some(model)
            })
            .map(|(id, account, ..)| (id, account))
            .collect();
        ensure!(!wanted.is_empty(), last);
        let model = model.to_owned();
        keep!(self, |conn| {
            // In id order, so that two processes never deadlock.
            for document in wanted {
                order(conn, document, &model).await?;
            }
            Ok(last)
        })
        .await
    }

    /// Claims a document that the model is to embed: the oldest of the account whose last turn was longest ago.
    pub fn claim_embedding(&self, model: &str, now: Timestamp) -> Answer<'_, Option<EmbeddingJob>> {
        let (offset, claim, model) = (self.offset(), mint(now), model.to_owned());
        transact!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            for account in turns::to_embed(conn, &model).await? {
                let waiting = jobs::table
                    .filter(jobs::model.eq(&model))
                    .filter(jobs::account_id.eq(V(account)))
                    // Written out, so that the databases see that the partial index applies.
                    .filter(sql::<Bool>("knowledge_embedding_jobs.tries < 3"))
                    .filter(is_unclaimed!(jobs, now))
                    .order(jobs::document_id)
                    .select(jobs::document_id)
                    .locked("FOR UPDATE SKIP LOCKED");
                let Some(document) = waiting.found(conn).await? else {
                    continue;
                };
                turns::take(conn, turns::EMBED, account).await?;
                let tries = diesel::update(jobs::table.find(V(document)))
                    .set(row! {
                        jobs: claim_id = claim, lease_expires_at = now.plus(lease())
                    })
                    .returning(jobs::tries)
                    .get_result(conn)
                    .await?;
                return Ok(Commit(Some(EmbeddingJob {
                    document,
                    account,
                    claim,
                    tries,
                })));
            }
            Ok(Rollback(None))
        })
    }

    /// Releases all claims, at the start of the one process that uses the embedded database.
    pub fn release_embeddings(&self) -> Answer<'_, usize> {
        diesel::update(jobs::table)
            .filter(jobs::claim_id.is_not_null())
            .set(row! { jobs: claim_id = NULL, lease_expires_at = NULL })
            .commit_counted(self)
    }

    /// Releases a job, which may then be claimed again: without counting the attempt, or with the reason why it failed.
    /// After the third failure it is not claimed any more.
    pub fn release_embedding(&self, job: EmbeddingJob, failed: Option<String>) -> Answer<'_, ()> {
        diesel::update(jobs::table.find(V(job.document)))
            .filter(jobs::claim_id.eq(Some(job.claim)))
            .set((
                row! { jobs: claim_id = NULL, lease_expires_at = NULL },
                jobs::tries.eq(jobs::tries + i32::from(failed.is_some())),
                failed.map(|reason| jobs::error.eq(reason)),
            ))
            .commit(self)
    }

    /// Stores vectors of a document that is being embedded, replaces those that an earlier attempt left, and renews the
    /// lease.
    pub fn store_vectors(
        &self,
        job: EmbeddingJob,
        model: &str,
        vectors: PassageVectors,
    ) -> Answer<'_, Fenced> {
        let (offset, model) = (self.offset(), model.to_owned());
        transact!(self, |conn| {
            ensure!(renew(conn, job, offset).await?, Rollback(Fenced::Lost));
            let values = row! { embeddings of vectors: dimension, vectors };
            diesel::insert_into(embeddings::table)
                .values((
                    row! { embeddings of vectors: document_id = vectors.document, model = model, ordinal },
                    values,
                ))
                .on_conflict((
                    embeddings::document_id,
                    embeddings::model,
                    embeddings::ordinal,
                ))
                .do_update()
                .set(values)
                .execute(conn)
                .await?;
            Ok(Commit(Fenced::Done))
        })
    }

    /// The last stored vectors of a document by a model; an earlier attempt may have left some.
    pub fn last_vectors(
        &self,
        document: DocumentId,
        model: &str,
    ) -> Answer<'_, Option<PassageVectors>> {
        embeddings::table
            .filter(embeddings::document_id.eq(V(document)))
            .filter(embeddings::model.eq(model))
            .order(embeddings::ordinal.desc())
            .select(PassageVectors::as_select())
            .read_first(self)
    }

    /// Ends a job: all passages now have vectors. Deletes those of other models.
    pub fn finish_embedding(
        &self,
        job: EmbeddingJob,
        model: &str,
        passages: i32,
    ) -> Answer<'_, Fenced> {
        let (offset, model) = (self.offset(), model.to_owned());
        transact!(self, |conn| {
            ensure!(renew(conn, job, offset).await?, Rollback(Fenced::Lost));
            diesel::delete(embeddings::table)
                .filter(embeddings::document_id.eq(V(job.document)))
                .filter(embeddings::model.ne(&model))
                .execute(conn)
                .await?;
            let values = (embedded::model.eq(model), embedded::passages.eq(passages));
            diesel::insert_into(embedded::table)
                .values((
                    row! { embedded: document_id = job.document, account_id = job.account },
                    values.clone(),
                ))
                .on_conflict(embedded::document_id)
                .do_update()
                .set(values)
                .execute(conn)
                .await?;
            delete(conn, jobs::table.find(V(job.document))).await?;
            Ok(Commit(Fenced::Done))
        })
    }

    /// Up to `limit` of the account's documents before `before` that the model has embedded, newest first.
    pub fn newest_embedded(
        &self,
        account: AccountId,
        model: &str,
        before: Option<DocumentId>,
        limit: i64,
    ) -> Answer<'_, Vec<EmbeddedDocument>> {
        let query = embedded::table
            .filter(embedded::account_id.eq(V(account)))
            .filter(embedded::model.eq(model))
            .into_boxed::<Db>()
            .when(before, |before| embedded::document_id.lt(V(before)));
        query
            .order(embedded::document_id.desc())
            .limit(limit)
            .select((embedded::document_id, embedded::passages))
            .read_all(self)
    }

    /// Of these documents, those of the account that the model has embedded, unordered.
    pub fn embedded_among(
        &self,
        account: AccountId,
        model: &str,
        documents: Vec<DocumentId>,
    ) -> Answer<'_, Vec<EmbeddedDocument>> {
        embedded::table
            .filter(embedded::document_id.eq_any(documents.into_iter().map(V)))
            .filter(embedded::account_id.eq(V(account)))
            .filter(embedded::model.eq(model))
            .select((embedded::document_id, embedded::passages))
            .read_all(self)
    }

    /// The vectors of these documents by a model. The caller has checked their account.
    pub fn vectors_of(
        &self,
        documents: Vec<DocumentId>,
        model: &str,
    ) -> Answer<'_, Vec<PassageVectors>> {
        embeddings::table
            .filter(embeddings::document_id.eq_any(documents.into_iter().map(V)))
            .filter(embeddings::model.eq(model))
            .select(PassageVectors::as_select())
            .read_all(self)
    }

    /// The progress of the model.
    pub fn embedding_state(&self, model: &str) -> Answer<'_, EmbeddingState> {
        let model = model.to_owned();
        read!(self, |conn| {
            let of_model = || jobs::table.filter(jobs::model.eq(&model));
            Ok(EmbeddingState {
                embedded: embedded::table
                    .filter(embedded::model.eq(&model))
                    .counted(conn)
                    .await?,
                waiting: of_model().filter(jobs::tries.lt(3)).counted(conn).await?,
                given_up: of_model()
                    .filter(jobs::tries.ge(3))
                    .order(jobs::document_id)
                    .limit(100)
                    .select((jobs::document_id, jobs::error))
                    .load(conn)
                    .await?,
            })
        })
    }
}
