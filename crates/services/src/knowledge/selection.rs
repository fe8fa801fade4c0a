//! The documents and folders that an agent's configuration names.

use offhook_domain::config::KnowledgeBase;
use offhook_domain::{AccountId, AgentConfig, DocumentId, FolderId};
use offhook_storage::StoreError;

use super::KnowledgeError;
use crate::Shared;
use crate::error::ResourceError;

/// What a configuration names.
pub(crate) fn named(knowledge: &KnowledgeBase) -> (Vec<DocumentId>, Vec<FolderId>) {
    let documents = knowledge.doc_ids.iter().copied();
    let folders = knowledge.folder_ids.iter().copied();
    (
        documents.map(DocumentId::from_uuid).collect(),
        folders.map(FolderId::from_uuid).collect(),
    )
}

impl Shared {
    /// That the account has every document and folder of a configuration that its predecessor did not name.
    pub(crate) async fn check_knowledge(
        &self,
        account: AccountId,
        config: &AgentConfig,
        before: Option<&AgentConfig>,
    ) -> Result<(), ResourceError> {
        let kept = before.map(|config| named(&config.knowledge_base));
        let named = named(&config.knowledge_base);
        let path = "config.knowledge_base";
        let checked = self.check_selection(account, path, named, kept.unwrap_or_default());
        checked.await.map_err(|error| match error {
            KnowledgeError::Invalid(fault) => fault.into(),
            KnowledgeError::Store(error) => error.into(),
            KnowledgeError::Objects(error) => StoreError::Unavailable(error.to_string()).into(),
            KnowledgeError::NotFound => ResourceError::NotFound,
            KnowledgeError::Conflict(message) => ResourceError::Conflict(message),
        })
    }
}
