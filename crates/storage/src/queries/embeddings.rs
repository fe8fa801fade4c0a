//! Vectors of passages: what is still to be embedded, and what is.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AccountId, ClaimId, DocumentId, DocumentStatus, Timestamp};

use super::turns;
use crate::database::{Conn, Db};
use crate::dialect::{Lock as _, dialect};
use crate::schema::{
    knowledge_documents as documents, knowledge_embedded as embedded,
    knowledge_embedding_jobs as jobs, knowledge_embeddings as embeddings,
};
use crate::sql::V;
use crate::{EmbeddedDocument, EmbeddingJob, EmbeddingState, PassageVectors, Result, Store};

/// A document that may need vectors of a model.
type Candidate = (DocumentId, AccountId, DocumentStatus, Option<String>);

/// Documents behind `after` in the order of their ids, whatever their state, with the model that they are embedded by.
pub(crate) async fn candidates(
    conn: &mut Conn,
    after: Option<DocumentId>,
    limit: i64,
) -> Result<Vec<Candidate>> {
    Ok(documents::table
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
        .load(conn)
        .await?)
}

/// Orders vectors of a document by a model. An order that is there already is made this one, and may be tried anew; the
/// work of another process on it goes on if it is by the same model.
pub(crate) async fn order(
    conn: &mut Conn,
    (document, account): (DocumentId, AccountId),
    model: &str,
) -> Result<()> {
    let changed = diesel::update(jobs::table.find(V(document)))
        .filter(jobs::model.ne(model.to_owned()))
        .set((
            jobs::model.eq(model.to_owned()),
            jobs::claim_id.eq(None::<V<ClaimId>>),
            jobs::lease_expires_at.eq(None::<V<Timestamp>>),
            jobs::tries.eq(0),
            jobs::error.eq(None::<String>),
        ))
        .execute(conn)
        .await?;
    if changed > 0 {
        return Ok(());
    }
    diesel::insert_into(jobs::table)
        .values((
            jobs::document_id.eq(V(document)),
            jobs::account_id.eq(V(account)),
            jobs::model.eq(model.to_owned()),
            jobs::tries.eq(0),
        ))
        .on_conflict(jobs::document_id)
        .do_update()
        .set((jobs::tries.eq(0), jobs::error.eq(None::<String>)))
        .run(conn)
        .await
}

/// The account's oldest document that is to be embedded by the model and that nobody embeds; the row is this
/// transaction's.
async fn waiting_embedding(
    conn: &mut Conn,
    (account, model): (AccountId, &str),
    judged_at: Timestamp,
) -> Result<Option<DocumentId>> {
    let waiting = jobs::table
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
        .select(jobs::document_id);
    Ok(waiting.locked("FOR UPDATE SKIP LOCKED").found(conn).await?)
}

/// Claims the oldest order of the account whose last turn was longest ago.
pub(crate) async fn claim(
    conn: &mut Conn,
    model: &str,
    claim: ClaimId,
    (now, until): (Timestamp, Timestamp),
) -> Result<Option<EmbeddingJob>> {
    for account in turns::to_embed(conn, model).await? {
        let key = (account, model);
        let Some(document) = waiting_embedding(conn, key, now).await? else {
            continue;
        };
        turns::take(conn, turns::EMBED, account).await?;
        let tries = diesel::update(jobs::table.find(V(document)))
            .set((
                jobs::claim_id.eq(V(claim)),
                jobs::lease_expires_at.eq(V(until)),
            ))
            .returning(jobs::tries)
            .get_result(conn)
            .await?;
        return Ok(Some(EmbeddingJob {
            document,
            account,
            claim,
            tries,
        }));
    }
    Ok(None)
}

impl Store {
    /// Takes every claim back: at the start of the one process that the embedded database has.
    pub fn release_embeddings(&self) -> Answer<'_, usize> {
        keep!(self, |conn| {
            Ok(diesel::update(jobs::table)
                .filter(jobs::claim_id.is_not_null())
                .set((
                    jobs::claim_id.eq(None::<V<ClaimId>>),
                    jobs::lease_expires_at.eq(None::<V<Timestamp>>),
                ))
                .execute(conn)
                .await?)
        })
    }

    /// Gives an order back to be claimed again: untried, or with the reason why this try failed. After the third it is
    /// not claimed any more.
    pub fn release_embedding(&self, job: EmbeddingJob, failed: Option<String>) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let document = job.document;
            let claim = job.claim;
            diesel::update(jobs::table.find(V(document)))
                .filter(jobs::claim_id.eq(V(claim)))
                .set((
                    jobs::claim_id.eq(None::<V<ClaimId>>),
                    jobs::lease_expires_at.eq(None::<V<Timestamp>>),
                    jobs::tries.eq(jobs::tries + i32::from(failed.is_some())),
                    failed.map(|reason| jobs::error.eq(reason)),
                ))
                .run(conn)
                .await
        })
    }
}

/// Renews the lease, by the clock that is `offset` from the database's; `false` if the claim is gone. The order is this transaction's until its end.
pub(crate) async fn renew(
    conn: &mut Conn,
    document: DocumentId,
    claim: ClaimId,
    offset: i64,
) -> Result<bool> {
    let until = dialect!(conn, lease_clock(offset))?.plus(crate::lease());
    diesel::update(jobs::table.find(V(document)))
        .filter(jobs::claim_id.eq(V(claim)))
        .set(jobs::lease_expires_at.eq(V(until)))
        .changes(conn)
        .await
}

/// Stores vectors in place of those that an earlier try has left there.
pub(crate) async fn insert(conn: &mut Conn, model: &str, vectors: PassageVectors) -> Result<()> {
    let values = (
        embeddings::dimension.eq(vectors.dimension),
        embeddings::vectors.eq(vectors.vectors),
    );
    diesel::insert_into(embeddings::table)
        .values((
            embeddings::document_id.eq(V(vectors.document)),
            embeddings::model.eq(model.to_owned()),
            embeddings::ordinal.eq(vectors.ordinal),
            values.clone(),
        ))
        .on_conflict((
            embeddings::document_id,
            embeddings::model,
            embeddings::ordinal,
        ))
        .do_update()
        .set(values)
        .run(conn)
        .await
}

/// The last vectors that are stored of a document by a model.
pub(crate) async fn last(
    conn: &mut Conn,
    document: DocumentId,
    model: &str,
) -> Result<Option<PassageVectors>> {
    Ok(embeddings::table
        .filter(embeddings::document_id.eq(V(document)))
        .filter(embeddings::model.eq(model.to_owned()))
        .order(embeddings::ordinal.desc())
        .select((
            embeddings::document_id,
            embeddings::ordinal,
            embeddings::dimension,
            embeddings::vectors,
        ))
        .found(conn)
        .await?)
}

/// Ends an order: all of the document's passages have vectors of the model, and those of others go.
pub(crate) async fn finish(
    conn: &mut Conn,
    job: &EmbeddingJob,
    model: &str,
    passages: i32,
) -> Result<()> {
    diesel::delete(embeddings::table)
        .filter(embeddings::document_id.eq(V(job.document)))
        .filter(embeddings::model.ne(model.to_owned()))
        .execute(conn)
        .await?;
    let values = (
        embedded::model.eq(model.to_owned()),
        embedded::passages.eq(passages),
    );
    diesel::insert_into(embedded::table)
        .values((
            embedded::document_id.eq(V(job.document)),
            embedded::account_id.eq(V(job.account)),
            values.clone(),
        ))
        .on_conflict(embedded::document_id)
        .do_update()
        .set(values)
        .execute(conn)
        .await?;
    diesel::delete(jobs::table.find(V(job.document)))
        .run(conn)
        .await
}

/// Forgets everything about a document. The order goes first: who works on it holds that row.
pub(crate) async fn forget(conn: &mut Conn, document: DocumentId) -> Result<()> {
    diesel::delete(jobs::table.find(V(document)))
        .execute(conn)
        .await?;
    diesel::delete(embeddings::table.filter(embeddings::document_id.eq(V(document))))
        .execute(conn)
        .await?;
    diesel::delete(embedded::table.find(V(document)))
        .run(conn)
        .await
}

/// The account's documents before `before` that are embedded by the model, the newest first.
pub(crate) async fn newest(
    conn: &mut Conn,
    (account, model): (AccountId, &str),
    before: Option<DocumentId>,
    limit: i64,
) -> Result<Vec<EmbeddedDocument>> {
    let mut query = embedded::table
        .filter(embedded::account_id.eq(V(account)))
        .filter(embedded::model.eq(model.to_owned()))
        .into_boxed::<Db>();
    if let Some(before) = before {
        query = query.filter(embedded::document_id.lt(V(before)));
    }
    Ok(query
        .order(embedded::document_id.desc())
        .limit(limit)
        .select((embedded::document_id, embedded::passages))
        .load(conn)
        .await?)
}

/// Of these documents those of the account that are embedded by the model, in no order.
pub(crate) async fn among(
    conn: &mut Conn,
    (account, model): (AccountId, &str),
    ids: Vec<DocumentId>,
) -> Result<Vec<EmbeddedDocument>> {
    Ok(embedded::table
        .filter(embedded::document_id.eq_any(ids.into_iter().map(V)))
        .filter(embedded::account_id.eq(V(account)))
        .filter(embedded::model.eq(model.to_owned()))
        .select((embedded::document_id, embedded::passages))
        .load(conn)
        .await?)
}

/// The vectors of these documents by a model.
pub(crate) async fn of(
    conn: &mut Conn,
    ids: Vec<DocumentId>,
    model: &str,
) -> Result<Vec<PassageVectors>> {
    Ok(embeddings::table
        .filter(embeddings::document_id.eq_any(ids.into_iter().map(V)))
        .filter(embeddings::model.eq(model.to_owned()))
        .select((
            embeddings::document_id,
            embeddings::ordinal,
            embeddings::dimension,
            embeddings::vectors,
        ))
        .load(conn)
        .await?)
}

/// How far the work is.
pub(crate) async fn state(conn: &mut Conn, model: &str) -> Result<EmbeddingState> {
    let of_model = || jobs::table.filter(jobs::model.eq(model.to_owned()));
    Ok(EmbeddingState {
        embedded: embedded::table
            .filter(embedded::model.eq(model.to_owned()))
            .count()
            .get_result(conn)
            .await?,
        waiting: of_model()
            .filter(jobs::tries.lt(3))
            .count()
            .get_result(conn)
            .await?,
        given_up: of_model()
            .filter(jobs::tries.ge(3))
            .order(jobs::document_id)
            .limit(100)
            .select((jobs::document_id, jobs::error))
            .load(conn)
            .await?,
    })
}
