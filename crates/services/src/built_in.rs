//! Tools that are built in, beside those of the account.

use async_trait::async_trait;
use offhook_engine::ports::{ToolCall, ToolDefinition, ToolOutcome, Tools};

use crate::prelude::*;

/// The providers of models that an installation or an account runs itself.
const OWN_SERVERS: [&str; 2] = ["local", "custom"];

/// A built-in tool of one conversation.
#[async_trait]
pub(crate) trait BuiltIn: Send + Sync {
    fn definition(&self) -> ToolDefinition;

    /// Runs it with the model's arguments, and returns the answer for the model: an error if it was not done.
    async fn run(&self, arguments: &str) -> Result<String, String>;

    /// As [`Tools::opt_out`].
    async fn opt_out(&self) -> bool {
        false
    }
}

/// The tools of a conversation and a built-in one. A tool of the account's with its name takes its place.
struct WithBuiltIn {
    tools: Arc<dyn Tools>,
    built_in: Box<dyn BuiltIn>,
    /// Whether the model is told of it.
    is_offered: bool,
}

/// Adds a built-in tool to a conversation's tools.
pub(crate) fn with(
    tools: Arc<dyn Tools>,
    config: &AgentConfig,
    built_in: impl BuiltIn + 'static,
) -> Arc<dyn Tools> {
    // Somebody's own model server may refuse requests with tools, and this agent has sent it none.
    let fallback = config.llm.fallback.iter().map(|model| &model.provider);
    let mut providers = fallback.chain(&config.llm.provider);
    let knows_tools = providers.all(|provider| !OWN_SERVERS.contains(&provider.as_str()));
    Arc::new(WithBuiltIn {
        is_offered: knows_tools || !tools.definitions().is_empty(),
        tools,
        built_in: Box::new(built_in),
    })
}

#[async_trait]
impl Tools for WithBuiltIn {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        let (own, built_in) = (self.tools.definitions(), self.built_in.definition());
        if !self.is_offered || own.iter().any(|tool| tool.name == built_in.name) {
            return own;
        }
        own.iter().cloned().chain([built_in]).collect()
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let is_own = |tool: &ToolDefinition| *tool.name == *call.name;
        if *self.built_in.definition().name != *call.name
            || self.tools.definitions().iter().any(is_own)
        {
            return self.tools.call(call).await;
        }
        self.built_in.run(&call.arguments).await.into()
    }

    async fn opt_out(&self) -> bool {
        self.built_in.opt_out().await || self.tools.opt_out().await
    }
}
