//! Passages, the words that they are found by, and the documents that agents answer from.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, DocumentId};

use super::read;
use crate::queries;
use crate::{AccountWords, FoundPassage, Store, StoreError};

impl Store {
    /// A document's passages from `first` on: how many bytes of each repeat the one before, and its text.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn document_text(
        &self,
        id: DocumentId,
        first: i32,
        limit: i64,
    ) -> Result<Vec<(i32, String)>, StoreError> {
        read!(self, |conn| queries::passages::text(conn, id, first, limit)
            .await)
    }

    /// What the account's documents have of these words, the rarest first, in no more than `most` rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn account_words(
        &self,
        account: AccountId,
        words: Vec<String>,
        most: i64,
    ) -> Result<AccountWords, StoreError> {
        read!(self, |conn| queries::passages::words(
            conn, account, words, most
        )
        .await)
    }

    /// The first `limit` of these passages that are in documents of the account that are ready.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn found_passages(
        &self,
        account: AccountId,
        places: Vec<(DocumentId, i32)>,
        limit: usize,
    ) -> Result<Vec<FoundPassage>, StoreError> {
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

    /// The documents that a version of an agent answers from.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is out of reach.
    #[boxed]
    pub async fn pinned_documents(
        &self,
        account: AccountId,
        agent: AgentId,
        version: i32,
    ) -> Result<Vec<DocumentId>, StoreError> {
        read!(self, |conn| queries::pins::of(
            conn, account, agent, version
        )
        .await)
    }
}
