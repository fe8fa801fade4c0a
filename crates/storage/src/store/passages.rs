//! Passages, the words that they are found by, and the documents that agents answer from.

use offhook_domain::{AccountId, DocumentId};

use super::{Answer, read};
use crate::dialect::dialect;
use crate::queries;
use crate::{AccountWords, FoundPassage, Posting, Store, Walked};

impl Store {
    /// A document's passages from `first` on: how many bytes of each repeat the one before, and its text.
    pub fn document_text(
        &self,
        id: DocumentId,
        first: i32,
        limit: i64,
    ) -> Answer<'_, Vec<(i32, String)>> {
        read!(self, |conn| queries::passages::text(conn, id, first, limit)
            .await)
    }

    /// What the account's documents have of these words; the empty word is in every passage.
    pub fn account_words(
        &self,
        account: AccountId,
        words: Vec<String>,
    ) -> Answer<'_, AccountWords> {
        read!(self, |conn| queries::passages::words(conn, account, words)
            .await)
    }

    /// Of each word, some so many of the account's folded documents in which it counts most, or all if they are fewer.
    pub fn strongest_postings(
        &self,
        account: AccountId,
        words: Vec<(String, usize)>,
    ) -> Answer<'_, Vec<Walked>> {
        read!(self, |conn| {
            let mut found = Vec::new();
            for (word, limit) in words {
                found.push(queries::passages::strongest(conn, account, word, limit).await?);
            }
            Ok(found)
        })
    }

    /// Where these words are in these documents, whose account the caller has looked at: of each document the words whose
    /// bit is set, the lowest for the first word. There are at most 63 words.
    pub fn postings_within(
        &self,
        documents: Vec<(DocumentId, u64)>,
        words: Vec<String>,
    ) -> Answer<'_, Vec<Posting>> {
        read!(self, |conn| dialect!(
            conn,
            places_within(documents, &words)
        ))
    }

    /// The first `limit` of these passages that are in documents of the account that are ready.
    pub fn found_passages(
        &self,
        account: AccountId,
        places: Vec<(DocumentId, i32)>,
        limit: usize,
    ) -> Answer<'_, Vec<FoundPassage>> {
        read!(self, |conn| {
            let mut found = Vec::new();
            for (document, ordinal) in places {
                if found.len() == limit {
                    break;
                }
                let passage = queries::passages::find(conn, account, document, ordinal);
                found.extend(passage.await?);
            }
            Ok(found)
        })
    }
}
