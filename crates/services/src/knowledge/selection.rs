//! The documents and folders that an agent's configuration names.

use offhook_domain::config::KnowledgeBase;

use crate::error::Result;
use crate::prelude::*;

pub(crate) fn named(knowledge: &KnowledgeBase) -> (Vec<DocumentId>, Vec<FolderId>) {
    let documents = knowledge.doc_ids.iter().copied();
    let folders = knowledge.folder_ids.iter().copied();
    (
        documents.map(DocumentId::from_uuid).collect(),
        folders.map(FolderId::from_uuid).collect(),
    )
}

impl Context {
    /// Checks that the account has every document and folder that is new in a configuration.
    pub(crate) async fn check_knowledge(
        &self,
        account: AccountId,
        config: &AgentConfig,
        before: Option<&AgentConfig>,
    ) -> Result<()> {
        let kept = before.map(|config| named(&config.knowledge_base));
        let named = named(&config.knowledge_base);
        let path = "config.knowledge_base";
        self.check_selection(account, path, named, kept.unwrap_or_default())
            .await
    }
}
