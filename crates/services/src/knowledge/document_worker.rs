//! Reads documents. One worker of one process claims each with a lease, reads and splits it, and stores it in short
//! steps that the claim fences. Beside it, another worker embeds the passages if there is an endpoint for that.

use futures_util::FutureExt as _;

use offhook_documents::{ExtractError, Extractor, Format};
use offhook_egress::GuardedClient;
use offhook_metrics::metrics;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{content, fetch, index};
use crate::Knowledge;
use crate::prelude::*;
use crate::retry::retried;

/// Documents that a process reads at once.
const WORKERS: usize = 2;

/// Backstop for a lost wake-up, and how soon another node's lost lease is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a document is tried; this limits how often one can crash its reader.
const TRIES: i32 = 3;

/// Rows stored in one transaction, so that calls never wait for a long document. Most documents are shorter.
const PASSAGES_AT_ONCE: usize = 256;
const WORDS_AT_ONCE: usize = 16_000;

/// Words deleted in one transaction.
const CLEARED_AT_ONCE: i64 = 500;

/// The worker that reads documents. One runs in each process.
pub struct DocumentWorker {
    knowledge: Knowledge,
    extractor: Arc<dyn Extractor>,
    client: GuardedClient,
    fetch_limit: Duration,
}

/// How a try ended.
enum Ended {
    /// The document is ready, or failed.
    Read(Result<ReadDocument, String>),
    /// Try again.
    Again,
    /// It could not be tried: the machine lacks something.
    Untried,
    /// Another worker has it, or it was deleted.
    Lost,
}

#[boxed]
impl DocumentWorker {
    pub(crate) fn new(
        knowledge: Knowledge,
        extractor: Arc<dyn Extractor>,
        client: GuardedClient,
    ) -> Self {
        Self {
            knowledge,
            extractor,
            client,
            fetch_limit: fetch::LIMIT,
        }
    }

    /// Replaces the limit of 15 seconds on fetching a URL; for tests.
    #[must_use]
    pub const fn fetch_within(mut self, limit: Duration) -> Self {
        self.fetch_limit = limit;
        self
    }

    /// Works until `stop`, or until one of its workers dies. Then releases the documents being read.
    pub async fn run(self, stop: CancellationToken) {
        if self.knowledge.ctx.store.is_embedded() {
            // The process that held these is gone.
            let released = retried(|| self.knowledge.ctx.store.release_documents()).await;
            if let Err(error) = released {
                tracing::error!(%error, "documents of an earlier process could not be released");
            }
        }
        let document_worker = Arc::new(self);
        let mut readers = JoinSet::new();
        for _ in 0..WORKERS {
            readers.spawn(document_worker.clone().work(stop.clone()).boxed());
        }
        // One that panics ends this job.
        while let Some(Ok(())) = readers.join_next().await {}
    }

    async fn work(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let busy = match self.step(&stop).await {
                Ok(busy) => busy,
                Err(error) => {
                    tracing::warn!(%error, "documents could not be read");
                    false
                }
            };
            if busy {
                // There may be more for the other workers.
                self.knowledge.ctx.wakes.document_worker.notify_one();
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                _ = timeout(LOOK_EVERY, self.knowledge.ctx.wakes.document_worker.notified()) => {}
            }
        }
    }

    /// Reads a document, or else clears a deleted one; `false` if there was nothing to do.
    async fn step(&self, stop: &CancellationToken) -> Result<bool, StoreError> {
        let store = &self.knowledge.ctx.store;
        let Some(claimed) = store.claim_document(self.knowledge.ctx.clock.now()).await? else {
            return self.clear_gone().await;
        };
        let (id, claim) = (claimed.document.id, claimed.claim);
        let ended = tokio::select! {
            ended = self.read(&claimed) => ended,
            () = stop.cancelled() => {
                store.release_document(id, claim, true).await?;
                return Ok(true);
            }
        };
        match ended {
            Ok(Ended::Read(ended)) => {
                self.log(id, &ended);
                let at = self.knowledge.ctx.clock.now();
                let finished =
                    retried(|| store.finish_document(id, claim, ended.clone(), at)).await?;
                self.knowledge.ctx.wakes.embedder.notify_one();
                if finished == Fenced::Done && claimed.document.url.is_none() {
                    let account = claimed.document.account_id;
                    self.knowledge.uploads.remove(account, id).await;
                }
            }
            Ok(Ended::Untried) => {
                store.release_document(id, claim, true).await?;
                return Ok(false);
            }
            Ok(Ended::Again) => {
                metrics().knowledge.read("again");
                store.release_document(id, claim, false).await?;
            }
            Ok(Ended::Lost) => {}
            Err(error) => {
                store.release_document(id, claim, false).await?;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Clears a part of a deleted document; `false` if there is none.
    async fn clear_gone(&self) -> Result<bool, StoreError> {
        let store = &self.knowledge.ctx.store;
        let cleared = store.clear_gone_documents(CLEARED_AT_ONCE).await?;
        if let Some((account, id)) = cleared.and_then(|cleared| cleared.whole) {
            // It may have been deleted before it was read.
            self.knowledge.uploads.remove(account, id).await;
        }
        Ok(cleared.is_some())
    }

    fn log(&self, document: DocumentId, ended: &Result<ReadDocument, String>) {
        metrics()
            .knowledge
            .read(if ended.is_ok() { "ready" } else { "failed" });
        match ended {
            Ok(read) => {
                tracing::info!(%document, passages = read.chunks_count, "a document was read");
            }
            Err(reason) => tracing::info!(%document, reason, "a document could not be read"),
        }
    }

    async fn read(&self, claimed: &ClaimedDocument) -> Result<Ended, StoreError> {
        if claimed.tries > 1 && !self.clear(claimed).await? {
            return Ok(Ended::Lost);
        }
        if claimed.tries > TRIES {
            return Ok(failed(DocumentFault::GivenUp));
        }
        let store = &self.knowledge.ctx.store;
        let document = &claimed.document;
        let (format, content, charset) = match &document.url {
            Some(url) => match fetch::fetch(&self.client, url, self.fetch_limit).await {
                Ok(fetched) => (fetched.format, fetched.content, fetched.charset),
                Err(fault) => return Ok(failed(fault)),
            },
            None => {
                let format = document.mime_type.as_deref().and_then(Format::of_mime_type);
                let content = match self.upload(document).await {
                    Ok(content) => content,
                    Err(ended) => return ended,
                };
                match content.zip(format) {
                    Some((content, format)) => (format, content, None),
                    None => return self.missing(claimed).await,
                }
            }
        };
        // Reading has its own limit. Together with that of fetching, it exceeds what is left of the lease.
        let kept = retried(|| store.renew_document(document.id, claimed.claim)).await?;
        if kept == Fenced::Lost {
            return Ok(Ended::Lost);
        }
        let read = ReadDocument {
            chunks_count: 0,
            mime_type: format.mime_type().to_owned(),
            size_bytes: i64::try_from(content.len()).unwrap_or(i64::MAX),
            content_hash: content::hash(&content),
            embed_by: self.knowledge.meaning.get().map(|m| m.model().to_owned()),
            rest: ReadPart::default(),
        };
        let content = match charset {
            Some(charset) => format.in_utf8(content, &charset),
            None => content,
        };
        let text = match self.extractor.extract(format, content).await {
            Ok(text) => text,
            Err(ExtractError::Unreadable(fault)) => return Ok(failed(fault)),
            Err(ExtractError::Died(fault)) if claimed.tries >= TRIES => return Ok(failed(fault)),
            Err(ExtractError::Died(fault)) => {
                tracing::warn!(document = %document.id, sentence = %fault, "a reader of documents died");
                return Ok(Ended::Again);
            }
            Err(ExtractError::Unavailable(error)) => {
                tracing::error!(%error, "no reader of documents could be started");
                return Ok(Ended::Untried);
            }
        };
        self.store(claimed, text, read).await
    }

    /// The uploaded content if it exists; an error says how the try ends without it.
    async fn upload(
        &self,
        document: &Document,
    ) -> Result<Option<Vec<u8>>, Result<Ended, StoreError>> {
        let (account, id) = (document.account_id, document.id);
        match self.knowledge.uploads.read(account, id).await {
            Ok(Some(content)) => Ok(Some(content)),
            // Documents from before uploads were stored as objects.
            Ok(None) => retried(|| self.knowledge.ctx.store.document_upload(id))
                .await
                .map_err(Err),
            Err(error) => {
                tracing::warn!(%error, document = %id, "a document waits for the object store");
                Err(Ok(Ended::Untried))
            }
        }
    }

    /// The upload is missing: the document was deleted, or the object store has lost it.
    async fn missing(&self, claimed: &ClaimedDocument) -> Result<Ended, StoreError> {
        let id = claimed.document.id;
        let store = &self.knowledge.ctx.store;
        if retried(|| store.renew_document(id, claimed.claim)).await? == Fenced::Lost {
            return Ok(Ended::Lost);
        }
        tracing::error!(document = %id, "an upload is missing from the object store");
        Ok(failed(DocumentFault::Missing))
    }

    /// Removes what an earlier try has stored; `false` if the claim is lost.
    async fn clear(&self, claimed: &ClaimedDocument) -> Result<bool, StoreError> {
        let store = &self.knowledge.ctx.store;
        let (id, claim) = (claimed.document.id, claimed.claim);
        loop {
            match retried(|| store.clear_document(id, claim, CLEARED_AT_ONCE)).await? {
                None => return Ok(false),
                Some(0) => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// Stores passages and words in short transactions that renew the lease; the last ones are stored with the end.
    async fn store(
        &self,
        claimed: &ClaimedDocument,
        text: String,
        read: ReadDocument,
    ) -> Result<Ended, StoreError> {
        let store = &self.knowledge.ctx.store;
        let (id, claim) = (claimed.document.id, claimed.claim);
        let indexed = tokio::task::spawn_blocking(move || index::index(&text)).await;
        let Ok(mut rest) = indexed else {
            return Ok(Ended::Again);
        };
        let chunks_count = i32::try_from(rest.passages.len()).unwrap_or(i32::MAX);
        while rest.passages.len() > PASSAGES_AT_ONCE || rest.words.len() > WORDS_AT_ONCE {
            let part = ReadPart {
                passages: first(&mut rest.passages, PASSAGES_AT_ONCE),
                words: first(&mut rest.words, WORDS_AT_ONCE),
            };
            if retried(|| store.store_part(id, claim, part.clone())).await? == Fenced::Lost {
                return Ok(Ended::Lost);
            }
        }
        Ok(Ended::Read(Ok(ReadDocument {
            chunks_count,
            rest,
            ..read
        })))
    }
}

/// Removes and returns the first `most` rows.
fn first<T>(rows: &mut Vec<T>, most: usize) -> Vec<T> {
    let rest = rows.split_off(most.min(rows.len()));
    std::mem::replace(rows, rest)
}

fn failed(fault: DocumentFault) -> Ended {
    Ended::Read(Err(fault.to_string()))
}
