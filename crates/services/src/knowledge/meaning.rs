//! Search by meaning: compares the question's vector with those of passages, if an embeddings endpoint is configured.
//!
//! It never fails a search: without a vector for the question, the words alone decide.

use std::sync::atomic::{AtomicU64, Ordering};

use offhook_domain::ports::Embeddings;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::search::{Place, Scope};
use super::vectors::{best_first, cosine, unit};
use crate::prelude::*;

/// Passages compared with a question; the document in which the limit is reached is compared to its end.
const MOST_PASSAGES: usize = 10_000;

/// Documents whose vectors are read in one statement.
const AT_ONCE: usize = 100;

/// Documents looked up in one statement.
const NAMED_AT_ONCE: usize = 500;
const NEWEST_AT_ONCE: i64 = 1_000;

/// When a search continues without vectors that are not compared by then: a conversation waits a second for it.
const LIMIT: Duration = Duration::from_millis(850);

/// How long searches skip a service that has failed, so that not each of them waits in vain.
const REST: Duration = Duration::from_secs(5);

/// The embeddings of this deployment.
pub(crate) struct Meaning {
    pub(super) service: Arc<dyn Embeddings>,
    rests_until: Mutex<Option<Instant>>,
    /// Searches that ran without embeddings.
    missed: AtomicU64,
}

impl Meaning {
    pub(crate) fn new(service: Arc<dyn Embeddings>) -> Self {
        Self {
            service,
            rests_until: Mutex::new(None),
            missed: AtomicU64::new(0),
        }
    }

    /// The model, under whose name its vectors are stored.
    pub(super) fn model(&self) -> &str {
        self.service.model()
    }

    /// The question's unit vector; `None` if it is not available in time.
    pub(super) async fn of_question(&self, question: &str) -> Option<Vec<f32>> {
        let rests_until = *self.rests_until.lock();
        if rests_until.is_some_and(|until| Instant::now() < until) {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        match self.service.embed_question(question).await {
            Ok(vector) => {
                *self.rests_until.lock() = None;
                Some(unit(vector))
            }
            Err(error) => {
                let missed = self.missed.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::warn!(%error, missed, "a question could not be embedded: its words alone are searched for");
                if !error.is_about_texts() {
                    *self.rests_until.lock() = Some(Instant::now() + REST);
                }
                None
            }
        }
    }

    /// As [`nearest`](Self::nearest), but limited to [`LIMIT`] from `began` on.
    pub(super) async fn nearest_in_time(
        &self,
        began: Instant,
        within: (&Store, AccountId),
        question: Vec<f32>,
        scope: (&Scope, Vec<DocumentId>),
        limit: usize,
    ) -> Result<Option<Vec<(Place, f64)>>, StoreError> {
        let nearest = self.nearest(within, question, scope, limit);
        match timeout_at(began + LIMIT, nearest).await {
            Ok(nearest) => nearest.map(Some),
            Err(_) => {
                let missed = self.missed.fetch_add(1, Ordering::Relaxed) + 1;
                tracing::warn!(
                    missed,
                    "vectors took too long: words alone are searched for"
                );
                Ok(None)
            }
        }
    }

    /// The `limit` passages in scope whose vectors are most similar to the question's, best first. Of more than
    /// [`MOST_PASSAGES`], documents in `likely` count first, then the newest.
    async fn nearest(
        &self,
        (store, account): (&Store, AccountId),
        question: Vec<f32>,
        (scope, likely): (&Scope, Vec<DocumentId>),
        limit: usize,
    ) -> Result<Vec<(Place, f64)>, StoreError> {
        let documents = self.documents(store, account, scope, likely).await?;
        let question: Arc<[f32]> = question.into();
        let mut best: Vec<(Place, f64)> = Vec::new();
        for some in documents.chunks(AT_ONCE) {
            let vectors = store.vectors_of(some.to_vec(), self.model()).await?;
            let question = question.clone();
            // Millions of multiplications would block an async thread.
            let compared = tokio::task::spawn_blocking(move || compare(&question, &vectors));
            let found = compared
                .await
                .map_err(|error| StoreError::Internal(error.to_string()))?;
            best.extend(found);
            best = best_first(best);
            best.truncate(limit);
        }
        Ok(best)
    }

    /// The documents to compare.
    async fn documents(
        &self,
        store: &Store,
        account: AccountId,
        scope: &Scope,
        likely: Vec<DocumentId>,
    ) -> Result<Vec<DocumentId>, StoreError> {
        let rank: HashMap<DocumentId, usize> = (likely.iter().copied()).zip(0..).collect();
        let mut all = match scope {
            Scope::All => {
                let mut all = self.among(store, account, &likely).await?;
                all.extend(self.newest(store, account).await?);
                all
            }
            Scope::Documents(ids) => self.among(store, account, ids).await?,
        };
        // Ids grow with the time of creation.
        all.sort_by_key(|found| {
            let rank = rank.get(&found.document).copied().unwrap_or(usize::MAX);
            (rank, std::cmp::Reverse(found.document))
        });
        all.dedup();
        let mut passages = 0;
        let within = all.into_iter().take_while(|found| {
            let is_within = passages < MOST_PASSAGES;
            passages += usize::try_from(found.passages).unwrap_or(0);
            is_within
        });
        Ok(within.map(|found| found.document).collect())
    }

    async fn among(
        &self,
        store: &Store,
        account: AccountId,
        ids: &[DocumentId],
    ) -> Result<Vec<EmbeddedDocument>, StoreError> {
        let mut found = Vec::new();
        for some in ids.chunks(NAMED_AT_ONCE) {
            let some = store.embedded_among(account, self.model(), some.to_vec());
            found.extend(some.await?);
        }
        Ok(found)
    }

    /// The newest documents, until they have [`MOST_PASSAGES`] passages.
    async fn newest(
        &self,
        store: &Store,
        account: AccountId,
    ) -> Result<Vec<EmbeddedDocument>, StoreError> {
        let (mut newest, mut passages) = (Vec::<EmbeddedDocument>::new(), 0);
        while passages < MOST_PASSAGES {
            let before = newest.last().map(|found| found.document);
            let page = store.newest_embedded(account, self.model(), before, NEWEST_AT_ONCE);
            let page = page.await?;
            if page.is_empty() {
                break;
            }
            let of_page = page.iter().map(|found| found.passages);
            passages += of_page
                .filter_map(|count| usize::try_from(count).ok())
                .sum::<usize>();
            newest.extend(page);
        }
        Ok(newest)
    }
}

/// The similarity of each passage to the question, without those that have none. Vectors of another length than the
/// question's come from another model, and are not compared.
fn compare(question: &[f32], parts: &[PassageVectors]) -> Vec<(Place, f64)> {
    let dimension = question.len();
    let parts = parts
        .iter()
        .filter(|part| usize::try_from(part.dimension).is_ok_and(|length| length == dimension));
    let alike = parts.flat_map(|part| {
        let vectors = part.vectors.chunks_exact(dimension);
        (part.ordinal..).zip(vectors).map(|(ordinal, vector)| {
            let place = (part.document, ordinal);
            (place, f64::from(cosine(question, vector)))
        })
    });
    alike.filter(|(_, alike)| *alike > 0.0).collect()
}
