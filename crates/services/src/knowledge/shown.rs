//! A document as its page shows it: its beginning, and the agents that answer from it.

use super::{Knowledge, joined};
use crate::prelude::*;

/// Passages that a page shows.
const SHOWN: i64 = 12;

#[boxed]
impl Knowledge {
    /// The agents whose published version answers from the document, by name.
    pub async fn used_by(
        &self,
        account: AccountId,
        id: DocumentId,
    ) -> Result<Vec<PinningAgent>, StoreError> {
        self.ctx.store.pinning_agents(account, id).await
    }

    /// The beginning of a document's text, and whether there is more; empty until it has been read.
    pub async fn beginning(&self, document: &Document) -> Result<(String, bool), StoreError> {
        if document.status != DocumentStatus::Ready {
            return Ok((String::new(), false));
        }
        let store = &self.ctx.store;
        let passages = store.document_text(document.id, 0, SHOWN).await?;
        let goes_on = i64::from(document.chunks_count) > SHOWN;
        Ok((joined(passages), goes_on))
    }
}
