//! Search returns what BM25 over the account's passages returns, however its index was built.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use offhook_services::documents::{IMPACT_ONE, impact, split, words};
use serde_json::{Value, json};

use crate::it::app::{TestApp, text};
use crate::it::knowledge::{DOCUMENTS, SEARCH, reading};

/// The most passages of a response.
const TOP: usize = 20;

/// Random numbers that are the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Some words are in every text, and most are in few.
    fn word(&mut self) -> String {
        let most = 1 + self.below(400);
        format!("wörd{}", self.below(most))
    }

    fn words(&mut self, most: u64) -> String {
        let count = 1 + self.below(most);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn content(&mut self) -> String {
        let count = 1 + self.below(30);
        let sentences: Vec<String> = (0..count).map(|_| self.words(20)).collect();
        sentences.join(". ") + "."
    }
}

/// Passages with their BM25 scores, best first, computed from the texts alone.
fn bm25(texts: &BTreeMap<String, String>, query: &str) -> Vec<(f64, String, String)> {
    let mut passages = Vec::new();
    for (document, content) in texts {
        for passage in split(content) {
            let mut occurrences: HashMap<String, u32> = HashMap::new();
            let mut length = 0;
            for word in words(passage.text) {
                *occurrences.entry(word).or_default() += 1;
                length += 1;
            }
            passages.push((document, passage.text.to_owned(), occurrences, length));
        }
    }
    let asked: BTreeSet<String> = words(query).collect();
    let mut found: Vec<_> = passages
        .iter()
        .filter_map(|(document, text, occurrences, length)| {
            let of_word = |word: &String| {
                let count = passages
                    .iter()
                    .filter(|(_, _, other, _)| other.contains_key(word));
                let (all, count) = (passages.len() as f64, count.count() as f64);
                let rarity = (1.0 + (all - count + 0.5) / (count + 0.5)).ln();
                let here = *occurrences.get(word)?;
                Some(rarity * f64::from(impact(here, *length)) / IMPACT_ONE)
            };
            let score: f64 = asked.iter().filter_map(of_word).sum();
            (score > 0.0).then(|| (score, (*document).clone(), text.clone()))
        })
        .collect();
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    found
}

async fn found(app: &TestApp, query: &str) -> Vec<(f64, String, String)> {
    app.clock.advance(Duration::from_secs(1));
    let body = json!({"query": query, "top_k": TOP});
    let found = app.post(SEARCH, body).await.assert(200);
    let hits = found["data"].as_array().cloned().unwrap_or_default();
    let hit = |hit: &Value| {
        let score = hit["score"].as_f64().unwrap_or(-1.0);
        (score, text(&hit["document_id"]), text(&hit["chunk"]))
    };
    hits.iter().map(hit).collect()
}

/// The difference between found and expected passages, if any.
fn compared(
    found: &[(f64, String, String)],
    expected: &[(f64, String, String)],
) -> Result<(), String> {
    if found.len() != expected.len().min(TOP) {
        return Err(format!("{} passages", found.len()));
    }
    for (hit, best) in found.iter().zip(expected) {
        // Equal passages may come in any order.
        let is_hit = |one: &&(f64, String, String)| {
            (&one.1, &one.2) == (&hit.1, &hit.2) && (one.0 - hit.0).abs() < 1e-5
        };
        if (hit.0 - best.0).abs() > 1e-5 || !expected.iter().any(|one| is_hit(&one)) {
            return Err(format!("{hit:?} for {best:?}"));
        }
    }
    Ok(())
}

/// Checks the search results, once the words of deleted documents are removed from the index.
async fn check(app: &TestApp, dice: &mut Dice, texts: &BTreeMap<String, String>) {
    for _ in 0..30 {
        let query = dice.words(6);
        let expected = bm25(texts, &query);
        let mut last = Ok(());
        for _ in 0..1_000 {
            last = compared(&found(app, &query).await, &expected);
            if last.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(last, Ok(()), "{query}");
    }
}

/// Waits until no document is left to read.
async fn all_read(app: &TestApp) {
    let target = format!("{DOCUMENTS}?status=processing");
    app.in_time(&target, |page| page["data"] == json!([])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_scores_as_bm25_over_the_accounts_passages_does() {
    let app = reading().await;
    let mut dice = Dice(3);
    let mut texts = BTreeMap::new();
    for count in [20, 30, 40] {
        for _ in 0..count {
            app.clock.advance(Duration::from_secs(1));
            let content = dice.content();
            let body = json!({"name": "Text", "text": content});
            let made = app.post(DOCUMENTS, body).await.assert(202);
            texts.insert(text(&made["id"]), content);
        }
        all_read(&app).await;
        check(&app, &mut dice, &texts).await;
        let gone: Vec<String> = texts.keys().step_by(7).cloned().collect();
        for id in gone {
            let target = format!("{DOCUMENTS}/{id}");
            app.delete(&target).await.assert(200);
            texts.remove(&id);
        }
        check(&app, &mut dice, &texts).await;
    }
}
