//! Embeds passages. Jobs are claimed with a lease, like reading jobs, and done in parts.
//!
//! A document is found by its words once it is ready, and by its meaning once its job is done. While the service fails,
//! jobs wait. Texts that it refuses three times are skipped until the next start.

use offhook_domain::ports::EmbeddingError;
use tokio::time::timeout;

use super::Knowledge;
use super::meaning::Meaning;
use super::vectors::packed;
use crate::prelude::*;
use crate::retry::retried;

/// Passages embedded per request: as many as every common service accepts.
const AT_ONCE: i64 = 32;

/// Documents checked per step for missing vectors.
const LOOKED_THROUGH: i64 = 1_000;

/// Backstop for a lost wake-up, and how soon another node's lost lease is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The pause after the service fails, at first and at most.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How a job ended.
enum Ended {
    /// All vectors are stored, another worker has the job, or the document is gone.
    Done,
    /// The service refuses these texts.
    Refused(EmbeddingError),
    /// The service fails.
    Failed(EmbeddingError),
}

#[boxed]
impl Knowledge {
    /// The progress of embedding, with the model's name; `None` without an embeddings endpoint.
    pub async fn embedding_state(&self) -> Result<Option<(String, EmbeddingState)>, StoreError> {
        let meaning = some_or!(self.meaning.get(), None);
        let model = meaning.model();
        let state = self.ctx.store.embedding_state(model).await?;
        Ok(Some((model.to_owned(), state)))
    }

    /// Embeds passages until `stop`, if there is an embeddings endpoint. Then releases the current job.
    pub async fn keep_embedding(self, stop: CancellationToken) {
        let Some(meaning) = self.meaning.get() else {
            return stop.cancelled().await;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            prepared = self.prepare(meaning) => if let Err(error) = prepared {
                tracing::error!(%error, "documents without vectors could not be looked for");
            },
        }
        let mut rest = REST;
        while !stop.is_cancelled() {
            let wait = match self.step(meaning, &stop).await {
                Ok(None) => LOOK_EVERY,
                Ok(Some(Ended::Done)) => {
                    rest = REST;
                    continue;
                }
                Ok(Some(Ended::Refused(_))) => continue,
                Ok(Some(Ended::Failed(error))) => {
                    let waited = rest;
                    rest = (rest * 2).min(LONGEST_REST);
                    self.tell(meaning, &error).await;
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(waited) => {}
                    }
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "documents could not be embedded");
                    LOOK_EVERY
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                _ = timeout(wait, self.ctx.wakes.embedder.notified()) => {}
            }
        }
    }
}

impl Knowledge {
    /// Queues documents that were read without this model, or before it.
    async fn prepare(&self, meaning: &Meaning) -> Result<(), StoreError> {
        let store = &self.ctx.store;
        if store.is_embedded() {
            // The process that held these is gone.
            retried(|| store.release_embeddings()).await?;
        }
        let mut after = None;
        loop {
            let looked = retried(|| store.order_embeddings(meaning.model(), after, LOOKED_THROUGH));
            after = looked.await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn tell(&self, meaning: &Meaning, error: &EmbeddingError) {
        let state = self.ctx.store.embedding_state(meaning.model()).await;
        let waiting = state.map(|state| state.waiting).unwrap_or_default();
        tracing::warn!(%error, waiting, "documents wait for their embeddings, and are found by words alone");
    }

    /// Embeds a document; `None` if there is nothing to do.
    async fn step(
        &self,
        meaning: &Meaning,
        stop: &CancellationToken,
    ) -> Result<Option<Ended>, StoreError> {
        let store = &self.ctx.store;
        let now = self.ctx.clock.now();
        let job = some_or!(store.claim_embedding(meaning.model(), now).await?, None);
        let ended = tokio::select! {
            ended = self.embed(meaning, job) => ended,
            () = stop.cancelled() => {
                store.release_embedding(job, None).await?;
                return Ok(None);
            }
        };
        match &ended {
            Ok(Ended::Done) => {}
            Ok(Ended::Refused(error)) => {
                let document = job.document;
                tracing::warn!(%document, %error, "a document's passages were refused by the embeddings endpoint");
                store
                    .release_embedding(job, Some(error.to_string()))
                    .await?;
            }
            Ok(Ended::Failed(_)) | Err(_) => store.release_embedding(job, None).await?,
        }
        ended.map(Some)
    }

    async fn embed(&self, meaning: &Meaning, job: EmbeddingJob) -> Result<Ended, StoreError> {
        let (store, model) = (&self.ctx.store, meaning.model());
        let (mut next, mut dimension) = (0, None);
        // Vectors that an earlier try has stored are kept.
        if let Some(last) = retried(|| store.last_vectors(job.document, model)).await? {
            let stored = last.vectors.len();
            let length = usize::try_from(last.dimension).unwrap_or(0).max(1);
            next = last.ordinal + i32::try_from(stored / length).unwrap_or(0);
            dimension = Some(length);
        }
        loop {
            let passages = retried(|| store.document_text(job.document, next, AT_ONCE)).await?;
            if passages.is_empty() {
                retried(|| store.finish_embedding(job, model, next)).await?;
                return Ok(Ended::Done);
            }
            let texts: Vec<String> = passages.into_iter().map(|(_, text)| text).collect();
            let vectors = match meaning.service.embed(&texts).await {
                Ok(vectors) => vectors,
                Err(error) if error.is_about_texts() => return Ok(Ended::Refused(error)),
                Err(error) => return Ok(Ended::Failed(error)),
            };
            let length = vectors.first().map_or(0, Vec::len);
            if dimension
                .replace(length)
                .is_some_and(|before| before != length)
                && next > 0
            {
                // The service has changed under the same model name: the stored vectors are not comparable with the new
                // ones.
                next = 0;
                continue;
            }
            let part = PassageVectors {
                document: job.document,
                ordinal: next,
                dimension: i32::try_from(length).unwrap_or(i32::MAX),
                vectors: vectors.iter().flat_map(|vector| packed(vector)).collect(),
            };
            if retried(|| store.store_vectors(job, model, part.clone())).await? == Fenced::Lost {
                return Ok(Ended::Done);
            }
            next += i32::try_from(texts.len()).unwrap_or(i32::MAX);
        }
    }
}
