//! Customers who ask not to be called again, in the conversation itself.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{AccountId, AgentConfig, ConversationId, E164, SuppressionSource};
use offhook_engine::ports::{ToolCall, ToolDefinition, ToolOutcome, Tools};
use offhook_storage::{Conversation, StoreError, Suppression, mint};
use tokio::time::timeout;

use super::list::hang_up;
use crate::retry::retried;
use crate::{Runner, events};

/// The built-in tool. A tool of the account's with this name takes its place.
const NAME: &str = "opt_out";

/// The providers of models that an installation or an account runs itself.
const OWN_SERVERS: [&str; 2] = ["local", "custom"];

/// How long the agent waits until the opt-out is written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(8);

/// A phone call's tools, and one that puts the customer's number on the suppression list.
pub(crate) struct WithOptOut {
    tools: Arc<dyn Tools>,
    runner: Arc<Runner>,
    account: AccountId,
    call: ConversationId,
    number: E164,
    /// Whether the model is told of the tool.
    is_offered: bool,
}

impl WithOptOut {
    /// The tools of a conversation; as they are if nobody could be called again.
    pub(crate) fn of(
        runner: &Arc<Runner>,
        call: &Conversation,
        config: &AgentConfig,
        tools: Arc<dyn Tools>,
    ) -> Arc<dyn Tools> {
        let Some(number) = call.customer_phone.clone().filter(|_| !call.is_of_a_page()) else {
            return tools;
        };
        // Somebody's own model server may refuse requests with tools, and this agent has sent it none.
        let fallback = config.llm.fallback.iter().map(|model| &model.provider);
        let mut providers = fallback.chain(&config.llm.provider);
        let knows_tools = providers.all(|provider| !OWN_SERVERS.contains(&provider.as_str()));
        Arc::new(Self {
            is_offered: knows_tools || !tools.definitions().is_empty(),
            tools,
            runner: runner.clone(),
            account: call.account_id,
            call: call.id,
            number,
        })
    }

    /// Writes the opt-out, once and for all, and hangs up calls to the number that are being dialed.
    async fn write(&self) -> Result<(), StoreError> {
        let at = self.runner.clock.now();
        let id = mint(at);
        let event = events::opted_out(self.call, &self.number, at);
        let suppressed = retried(|| {
            let suppression = Suppression {
                id,
                account_id: self.account,
                number: self.number.clone(),
                reason: "The customer asked for it in a conversation.".to_owned(),
                source: SuppressionSource::Customer,
                until: None,
                conversation_id: Some(self.call),
                created_at: at,
            };
            self.runner.store.opt_out(suppression, Some(event.clone()))
        })
        .await?;
        tracing::info!(call = %self.call, "the customer opted out");
        hang_up(&self.runner.live, &suppressed.dialing);
        if !suppressed.endpoints.is_empty() {
            self.runner.wakes.dispatcher.notify_one();
        }
        Ok(())
    }
}

#[async_trait]
impl Tools for WithOptOut {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        let own = self.tools.definitions();
        if !self.is_offered || own.iter().any(|tool| &*tool.name == NAME) {
            return own;
        }
        let opt_out = ToolDefinition {
            name: NAME.into(),
            description: "Records that the customer does not want to be called again. Use it whenever the customer asks \
                for that, in whatever words, and say nothing of it before it has answered."
                .into(),
            parameters: r#"{"type":"object","properties":{}}"#.into(),
        };
        own.iter().cloned().chain([opt_out]).collect()
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let is_ours = call.name == NAME
            && !self
                .tools
                .definitions()
                .iter()
                .any(|tool| &*tool.name == NAME);
        if !is_ours {
            return self.tools.call(call).await;
        }
        let answer = match self.opt_out().await {
            true => {
                "Done: the customer will not be called again. Confirm it in one sentence and say goodbye."
            }
            false => {
                "It could not be recorded. Say so, and that the customer can ask for it once more."
            }
        };
        ToolOutcome::Answer(answer.to_owned())
    }

    async fn opt_out(&self) -> bool {
        match timeout(WRITTEN_WITHIN, self.write()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::error!(%error, call = %self.call, "an opt-out cannot be written");
                false
            }
            Err(_) => {
                tracing::error!(call = %self.call, "an opt-out was not written in time");
                false
            }
        }
    }
}
