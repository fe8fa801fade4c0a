//! Search: BM25 over an account's own passages, from an inverted index that is the same on both databases.
//!
//! A word's weight in a passage is stored with it. A search therefore reads the postings of the query's words in the
//! account's documents, and adds numbers.
//!
//! If an embeddings endpoint is configured, passages are also found by meaning, and the two rankings are merged.

use std::collections::{BTreeSet, HashSet};

use offhook_documents::words;
use offhook_domain::body::{Form, Integer, Like, Optional, Required, Text, Uuids};
use offhook_domain::json::item_path;
use tokio::time::Instant;

use super::Knowledge;
use super::index;
use super::meaning::Meaning;
use super::scores::Scores;
use super::vectors::fused;
use crate::error::Result;
use crate::prelude::*;

/// Documents whose vectors are compared because their words match.
const COMPLETED: usize = 200;

/// Different words of a query that count.
const MAX_WORDS: usize = 32;

/// Rows, one per word and document, that a search reads at most: some 20 MiB.
const MAX_ROWS: i64 = 100_000;

/// Passages may vanish while they are looked up: read twice as many as requested, and this many more.
const SPARE: usize = 50;

/// Passages of each ranking that are merged.
const FUSED: usize = 100;

/// Passages whose documents are compared with the question by meaning first.
const LIKELY: usize = 1_000;

/// Documents or folders that a search may name.
const MAX_NAMED: usize = 1_000;

/// A passage that was found.
#[derive(Debug, Clone)]
pub struct SearchHit {
    pub document_id: DocumentId,
    /// The document's name.
    pub document_name: String,
    pub text: String,
    /// How well it matches; comparable only within one account.
    pub score: f64,
}

/// Where to search.
pub(super) enum Scope {
    /// In every document of the account.
    All,
    /// In these documents of the account.
    Documents(Vec<DocumentId>),
}

body! {
    /// `POST /v1/knowledge/search`.
    #[derive(Debug)]
    pub SearchKnowledge {
        query: String, Required(Text(1..=1_000)), "The search query, 1 to 1,000 characters.";
        top_k: Option<i64>, Optional(Integer(1..=20)), "Maximum number of passages, 1 to 20 (default 4).";
        doc_ids: Option<Vec<DocumentId>>, Optional(ids(DocumentId::from_uuid)), "Search only these documents.";
        folder_ids: Option<Vec<FolderId>>, Optional(ids(FolderId::from_uuid)), "Search only these folders.";
    }
}

#[boxed]
impl Knowledge {
    /// Searches: `{query, top_k?, doc_ids?, folder_ids?}`. Searches the union of what is named.
    pub async fn search(&self, account: AccountId, body: &Json) -> Result<Vec<SearchHit>> {
        let sent = SearchKnowledge::of(body, &())?;
        let top_k = usize::try_from(sent.top_k.unwrap_or(4)).unwrap_or(1);
        let scope = match (sent.doc_ids, sent.folder_ids) {
            (None, None) => Scope::All,
            (documents, folders) => {
                let (documents, folders) =
                    (documents.unwrap_or_default(), folders.unwrap_or_default());
                let named = (documents.clone(), folders.clone());
                self.ctx
                    .check_selection(account, "", named, Default::default())
                    .await?;
                let store = &self.ctx.store;
                let mut all: BTreeSet<DocumentId> = documents.into_iter().collect();
                if !folders.is_empty() {
                    all.extend(store.documents_within(account, folders).await?);
                }
                Scope::Documents(all.into_iter().collect())
            }
        };
        Ok(search(self, account, &sent.query, top_k, scope).await?)
    }
}

/// Ids of documents or folders; the same one may be there twice.
fn ids<T>(of: fn(uuid::Uuid) -> T) -> impl Form<Value = Vec<T>> {
    Like(
        Uuids(MAX_NAMED),
        move |fields: &mut Fields<'_>, name: &str| {
            let path = fields.path_of(name);
            let items = fields.optional_array(name, 0..=MAX_NAMED)?;
            let read = |(at, item): (usize, &Json)| {
                let uuid = item.as_str().filter(|text| text.len() == 36);
                let uuid = uuid.and_then(|text| uuid::Uuid::try_parse(text).ok());
                let fault = || FieldError::new(item_path(&path, at), Fault::Uuid);
                uuid.map(of).ok_or_else(fault)
            };
            let items = items.unwrap_or_default().iter().enumerate();
            items.map(read).collect()
        },
    )
}

/// The `top_k` best matches of the query, best first: by words, and by meaning if available.
pub(super) async fn search(
    knowledge: &Knowledge,
    account: AccountId,
    query: &str,
    top_k: usize,
    scope: Scope,
) -> Result<Vec<SearchHit>, StoreError> {
    let store = &knowledge.ctx.store;
    let ranked = match knowledge.meaning.get() {
        None => by_words(store, account, query, (&scope, 2 * top_k + SPARE)).await?,
        Some(meaning) => by_both(store, meaning, (account, query), &scope).await?,
    };
    let places = ranked.iter().map(|(place, _)| *place);
    let places = places.take(2 * top_k + SPARE).collect();
    let found = store.found_passages(account, places, top_k).await?;
    let scores: HashMap<_, _> = ranked.into_iter().collect();
    let hits = found.into_iter().map(|passage| SearchHit {
        score: scores
            .get(&(passage.document_id, passage.ordinal))
            .map_or(0.0, |score| (score * 1_000_000.0).round() / 1_000_000.0),
        document_id: passage.document_id,
        document_name: passage.document_name,
        text: passage.content,
    });
    Ok(hits.collect())
}

/// Merges the passages with the query's words and those with a similar meaning.
async fn by_both(
    store: &Store,
    meaning: &Meaning,
    (account, query): (AccountId, &str),
    scope: &Scope,
) -> Result<Vec<(Place, f64)>, StoreError> {
    let began = Instant::now();
    let (ranked, question) = tokio::join!(
        by_words(store, account, query, (scope, LIKELY)),
        meaning.of_question(query)
    );
    let mut ranked = ranked?;
    let question = some_or!(question, ranked);
    let (within, scope) = ((store, account), (scope, documents_of(&ranked, COMPLETED)));
    let nearest = meaning.nearest_in_time(began, within, question, scope, FUSED);
    Ok(match nearest.await? {
        None => ranked,
        Some(nearest) => {
            ranked.truncate(FUSED);
            fused([&ranked, &nearest])
        }
    })
}

/// The best `most` passages that have the query's words, best first.
async fn by_words(
    store: &Store,
    account: AccountId,
    query: &str,
    (scope, most): (&Scope, usize),
) -> Result<Vec<(Place, f64)>, StoreError> {
    let mut asked: Vec<String> = Vec::new();
    for word in words(query) {
        if asked.len() < MAX_WORDS && !asked.contains(&word) {
            asked.push(word);
        }
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let AccountWords { passages, postings } = store.account_words(account, asked, MAX_ROWS).await?;
    let mut scores = Scores::new(rarities(passages, &postings));
    let named: Option<HashSet<&DocumentId>> = match scope {
        Scope::All => None,
        Scope::Documents(documents) => Some(documents.iter().collect()),
    };
    for posting in &postings {
        if named
            .as_ref()
            .is_none_or(|named| named.contains(&posting.document_id))
        {
            scores.add(posting);
        }
    }
    Ok(scores.best(most))
}

/// The rarity of words in the account's passages: BM25's inverse frequency.
fn rarities(passages: i64, postings: &[Posting]) -> HashMap<String, f64> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for posting in postings {
        *counts.entry(&posting.term).or_default() += index::places(&posting.places).count();
    }
    let rarity = |count: usize| {
        let count = count as f64;
        // Words of deleted documents count until they are cleared.
        let all = (passages as f64).max(count);
        (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
    };
    let counted = counts.into_iter();
    counted
        .map(|(word, count)| (word.to_owned(), rarity(count)))
        .collect()
}

/// A passage: its document, and its position in it.
pub(super) type Place = (DocumentId, i32);

/// The first `most` documents of the best passages.
fn documents_of(ranked: &[(Place, f64)], most: usize) -> Vec<DocumentId> {
    let mut seen = HashSet::new();
    let documents = ranked.iter().map(|((document, _), _)| *document);
    documents
        .filter(|document| seen.insert(*document))
        .take(most)
        .collect()
}
