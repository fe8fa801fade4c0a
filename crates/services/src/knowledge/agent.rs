//! The documents that an agent can search in a conversation: those that its published version pins, or that its draft names.

use async_trait::async_trait;
use offhook_domain::config::KnowledgeMode;
use offhook_engine::ports::{Knowledge, Passage, ToolCall, ToolDefinition, ToolOutcome, Tools};

use super::search::{Scope, search};
use crate::prelude::*;
use crate::retry::retried;

/// The name of the model's search function; no tool of an account may have it.
pub(crate) const SEARCH: &str = "search_knowledge";

const DESCRIPTION: &str =
    "Finds passages of the agent's documents. Use it before you answer a question of fact.";

const PARAMETERS: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"What to look for, in the words of the question."}},"required":["query"],"additionalProperties":false}"#;

/// Which documents an agent searches.
pub(crate) enum Documents {
    /// Those that a version of it pins.
    Pinned(AgentId, i32),
    /// Those that a draft names, and all in these folders.
    Named(Vec<DocumentId>, Vec<FolderId>),
}

/// The documents of one conversation's agent.
pub(crate) struct AgentKnowledge {
    knowledge: super::Knowledge,
    account: AccountId,
    documents: Documents,
    top_k: usize,
}

impl AgentKnowledge {
    /// What the agent can search, and how. `None` if its configuration disables search, or the account's plan no longer has
    /// the Engine module.
    async fn of(
        knowledge: &super::Knowledge,
        account_id: AccountId,
        documents: Documents,
        config: &AgentConfig,
    ) -> Result<Option<Self>, StoreError> {
        if config.knowledge_base.mode == KnowledgeMode::Off {
            return Ok(None);
        }
        let account = retried(|| knowledge.ctx.store.account(account_id)).await?;
        let has_module = account.is_some_and(|account| {
            let terms = knowledge.ctx.plans.terms(account.plan);
            account.engine_module.unwrap_or(terms.engine_module)
        });
        Ok(has_module.then(|| Self {
            knowledge: knowledge.clone(),
            account: account_id,
            documents,
            top_k: usize::try_from(config.knowledge_base.top_k).unwrap_or(1),
        }))
    }

    async fn passages(&self, question: &str) -> Result<Vec<Passage>, StoreError> {
        let store = &self.knowledge.ctx.store;
        let documents = match &self.documents {
            Documents::Pinned(agent, version) => {
                let pinned = store.pinned_documents(self.account, *agent, *version);
                pinned.await?
            }
            Documents::Named(documents, folders) => {
                let within = store.documents_within(self.account, folders.clone());
                let within = within.await?;
                let others = within.into_iter().filter(|id| !documents.contains(id));
                documents.iter().copied().chain(others).collect()
            }
        };
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let scope = Scope::Documents(documents);
        let hits = search(&self.knowledge, self.account, question, self.top_k, scope).await?;
        let passages = hits.into_iter().map(|hit| Passage {
            document: hit.document_name,
            text: hit.text,
        });
        Ok(passages.collect())
    }
}

#[async_trait]
impl Knowledge for AgentKnowledge {
    async fn search(&self, question: &str) -> Vec<Passage> {
        self.passages(question).await.unwrap_or_else(|error| {
            tracing::warn!(%error, account = %self.account, "an agent's documents could not be searched");
            Vec::new()
        })
    }
}

/// Tools plus the search of the agent's documents (`knowledge_base.mode` `tool`).
pub(crate) struct WithSearch {
    pub(crate) knowledge: AgentKnowledge,
    pub(crate) tools: Arc<dyn Tools>,
}

#[async_trait]
impl Tools for WithSearch {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        let search = ToolDefinition {
            name: SEARCH.into(),
            description: DESCRIPTION.into(),
            parameters: PARAMETERS.into(),
            acts: false,
        };
        let others = self.tools.definitions();
        // Tools created before the name was reserved.
        let others = others.iter().filter(|tool| &*tool.name != SEARCH).cloned();
        std::iter::once(search).chain(others).collect()
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        if call.name != SEARCH {
            return self.tools.call(call).await;
        }
        let arguments = Json::parse(call.arguments.as_bytes()).ok();
        let query = arguments
            .as_ref()
            .and_then(|json| json.get("query")?.as_str());
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
            let fault = "`query` must be a string that says what to look for.";
            return ToolOutcome::Answer(fault.to_owned());
        };
        ToolOutcome::Answer(match self.knowledge.passages(query).await {
            Ok(passages) if passages.is_empty() => "The documents say nothing about it.".to_owned(),
            Ok(passages) => offhook_engine::quote(&passages),
            Err(error) => {
                tracing::warn!(%error, account = %self.knowledge.account, "an agent's documents could not be searched");
                "The documents cannot be searched now.".to_owned()
            }
        })
    }

    fn is_foreign(&self, name: &str) -> bool {
        self.tools.is_foreign(name)
    }
}

/// The documents of a conversation's agent: searched before each answer, or by the model through an additional tool.
pub(crate) async fn with_knowledge(
    base: &super::Knowledge,
    call: &Conversation,
    config: &AgentConfig,
    tools: Arc<dyn Tools>,
) -> Result<(Arc<dyn Tools>, Option<Arc<dyn Knowledge>>), StoreError> {
    let pinned = Documents::Pinned(call.agent_id, call.agent_version);
    with_documents(base, (call.account_id, pinned), config, tools).await
}

/// As [`with_knowledge`], with these documents of the account.
pub(crate) async fn with_documents(
    base: &super::Knowledge,
    (account, documents): (AccountId, Documents),
    config: &AgentConfig,
    tools: Arc<dyn Tools>,
) -> Result<(Arc<dyn Tools>, Option<Arc<dyn Knowledge>>), StoreError> {
    let knowledge = AgentKnowledge::of(base, account, documents, config).await?;
    Ok(match knowledge {
        None => (tools, None),
        Some(knowledge) if config.knowledge_base.mode == KnowledgeMode::Tool => {
            (Arc::new(WithSearch { knowledge, tools }), None)
        }
        Some(knowledge) => (tools, Some(Arc::new(knowledge))),
    })
}
