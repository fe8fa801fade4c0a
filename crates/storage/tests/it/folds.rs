//! What words are found by stays what the documents say, whatever is put together and taken out meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use offhook_domain::{AccountId, DocumentId};
use offhook_storage::{
    AccountWords, NewPassage, NewPosting, Posting, ReadDocument, ReadPart, Store,
};
use offhook_testkit::contract;

use crate::documents::document;
use crate::shop::{Shop, T0, after};

/// Different words.
const VOCABULARY: u64 = 1_200;

/// The words of a document, with their places.
type Words = BTreeMap<String, String>;

/// Numbers that are the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Common words and rare ones, each in some passages with some impact.
    fn words(&mut self) -> Words {
        let mut words = Words::new();
        // Of every other document more than a step reads.
        let common = 10 + 90 * self.below(2);
        for number in 0..VOCABULARY {
            if self.below(1 + number / common) == 0 {
                let mut places = Vec::new();
                for ordinal in 0..3 {
                    if self.below(2) == 0 {
                        places.push(format!("{ordinal}:{}", 1 + self.below(2_200)));
                    }
                }
                if !places.is_empty() {
                    words.insert(format!("w{number}é"), places.join(" "));
                }
            }
        }
        words
    }
}

async fn add(store: &Store, account: AccountId, words: &Words) -> DocumentId {
    let id = document(store, account, T0).await;
    let claimed = store.claim_document(T0).await.unwrap().unwrap();
    assert_eq!(claimed.document.id, id);
    let passages = (0..3).map(|ordinal| NewPassage {
        ordinal,
        repeats: 0,
        content: "text".to_owned(),
    });
    let listed = words.iter().map(|(term, places)| NewPosting {
        term: term.clone(),
        places: places.clone(),
    });
    let read = ReadDocument {
        chunks_count: 3,
        mime_type: "text/plain".to_owned(),
        size_bytes: 3,
        content_hash: vec![1; 32],
        embed_by: None,
        rest: ReadPart {
            passages: passages.collect(),
            words: listed.collect(),
        },
    };
    store
        .finish_document(id, claimed.claim, Ok(read), T0)
        .await
        .unwrap();
    id
}

/// More words than a search has.
async fn words_of(store: &Store, account: AccountId, asked: Vec<String>) -> AccountWords {
    let mut all = AccountWords::default();
    for some in asked.chunks(60) {
        let words = store.account_words(account, some.to_vec()).await.unwrap();
        all.counts.extend(words.counts);
        all.loose.extend(words.loose);
    }
    all
}

/// The statements of the migration to folded words.
/// Each word, followed to so many documents.
fn followed(words: Vec<String>, limit: usize) -> Vec<(String, usize)> {
    words.into_iter().map(|word| (word, limit)).collect()
}

/// An account's documents as they ought to be found.
struct Shelf {
    store: Store,
    account: AccountId,
    documents: BTreeMap<DocumentId, Words>,
}

impl Shelf {
    fn vocabulary(&self) -> Vec<String> {
        (0..VOCABULARY)
            .map(|number| format!("w{number}é"))
            .collect()
    }

    fn expected(&self) -> BTreeSet<(DocumentId, String, String)> {
        let of = |(id, words): (&DocumentId, &Words)| {
            let id = *id;
            let each = words.clone().into_iter();
            each.map(move |(term, places)| (id, term, places))
                .collect::<Vec<_>>()
        };
        self.documents.iter().flat_map(of).collect()
    }

    fn of_documents(&self, found: Vec<Posting>) -> BTreeSet<(DocumentId, String, String)> {
        let kept = found
            .into_iter()
            .filter(|posting| self.documents.contains_key(&posting.document_id));
        kept.map(|posting| (posting.document_id, posting.term, posting.places))
            .collect()
    }

    /// That every document is found by every word of its own, and by no other.
    async fn check(&self) {
        let mut asked = self.vocabulary();
        asked.push(String::new());
        let words = words_of(&self.store, self.account, asked).await;
        let strongest = self
            .store
            .strongest_postings(self.account, followed(self.vocabulary(), 10_000));
        let mut found = words.loose;
        for walked in strongest.await.unwrap() {
            assert_eq!(walked.rest, 0, "all of them were asked for");
            let term = walked.term;
            found.extend(
                walked
                    .documents
                    .into_iter()
                    .map(|(document_id, places)| Posting {
                        document_id,
                        places,
                        term: term.clone(),
                    }),
            );
        }
        assert_eq!(self.of_documents(found), self.expected());
        let mut within = Vec::new();
        for words in self.vocabulary().chunks(60) {
            let ids = self.documents.keys().map(|id| (*id, u64::MAX));
            let some = self.store.postings_within(ids.collect(), words.to_vec());
            within.extend(some.await.unwrap());
        }
        assert_eq!(self.of_documents(within), self.expected());
    }

    /// That words are counted exactly, once nothing is left to do.
    async fn check_counts(&self) {
        let mut expected: BTreeMap<String, i64> = BTreeMap::new();
        for words in self.documents.values() {
            *expected.entry(String::new()).or_default() += 3;
            for (term, places) in words {
                *expected.entry(term.clone()).or_default() += places.split(' ').count() as i64;
            }
        }
        let mut asked = self.vocabulary();
        asked.push(String::new());
        let words = words_of(&self.store, self.account, asked).await;
        let counts: BTreeMap<String, i64> = words.counts.into_iter().collect();
        assert_eq!(counts, expected);
    }
}

contract! {
    async fn every_document_is_found_by_its_words_whatever_is_folded_and_deleted(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let mut dice = Dice(7);
        let theirs = dice.words();
        let mut stranger = Shelf { store: store.clone(), account: other.account, documents: BTreeMap::new() };
        let id = add(&store, other.account, &theirs).await;
        stranger.documents.insert(id, theirs);
        let mut shelf = Shelf { store: store.clone(), account: shop.account, documents: BTreeMap::new() };
        let (mut folds, mut deleted) = (0, 0);
        for round in 0..140 {
            let words = dice.words();
            let id = add(&store, shop.account, &words).await;
            shelf.documents.insert(id, words);
            for _ in 0..dice.below(3) {
                folds += u64::from(store.fold_words(T0).await.unwrap());
            }
            if dice.below(4) == 0 {
                let at = dice.below(shelf.documents.len() as u64) as usize;
                let id = *shelf.documents.keys().nth(at).unwrap();
                shelf.documents.remove(&id);
                store.delete_document(shop.account, id, after(1)).await.unwrap().unwrap();
                deleted += 1;
            }
            if dice.below(2) == 0 {
                store.clear_gone_documents(1).await.unwrap();
            }
            if round % 20 == 15 {
                shelf.check().await;
            }
        }
        assert!(folds > 10 && deleted > 10, "{folds} steps, {deleted} deleted");
        while store.fold_words(T0).await.unwrap() || store.clear_gone_documents(2).await.unwrap().is_some() {}
        shelf.check().await;
        shelf.check_counts().await;
        let words = words_of(&store, shop.account, shelf.vocabulary()).await;
        let loose: BTreeSet<_> = words.loose.iter().map(|posting| posting.document_id).collect();
        assert!(loose.len() < 32, "the others are folded");
        for id in std::mem::take(&mut shelf.documents).into_keys() {
            store.delete_document(shop.account, id, after(2)).await.unwrap().unwrap();
        }
        while store.clear_gone_documents(100).await.unwrap().is_some() {}
        shelf.check_counts().await;
        let walks = followed(shelf.vocabulary(), 10);
        let left = store.strongest_postings(shop.account, walks).await.unwrap();
        let left: usize = left.iter().map(|walked| walked.documents.len()).sum();
        assert_eq!(left, 0, "nothing is left of what is deleted");
        stranger.check().await;
        stranger.check_counts().await;
    }

    async fn an_account_whose_words_wait_to_be_folded_lets_others_read_first(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        for _ in 0..128 {
            add(&store, shop.account, &Words::from([("pool".to_owned(), "0:9".to_owned())])).await;
        }
        document(&store, shop.account, T0).await;
        assert!(store.claim_document(T0).await.unwrap().is_none());
        let theirs = document(&store, other.account, T0).await;
        let claimed = store.claim_document(T0).await.unwrap().unwrap();
        assert_eq!(claimed.document.id, theirs);
        while store.fold_words(T0).await.unwrap() {}
        let claimed = store.claim_document(T0).await.unwrap().unwrap();
        assert_eq!(claimed.document.account_id, shop.account);
    }
}
