//! Passages, the words that they are found by, and the documents that agents answer from.

use offhook_domain::{AccountId, DocumentId};

use super::{Answer, read};
use crate::queries;
use crate::{AccountWords, FoundPassage, Store};

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

    /// What the account's documents have of these words, the rarest first, in no more than `most` rows.
    pub fn account_words(
        &self,
        account: AccountId,
        words: Vec<String>,
        most: i64,
    ) -> Answer<'_, AccountWords> {
        read!(self, |conn| queries::passages::words(
            conn, account, words, most
        )
        .await)
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
