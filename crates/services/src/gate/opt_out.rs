//! Customers who ask not to be called again, in the conversation itself.

use async_trait::async_trait;
use offhook_engine::ports::{ToolDefinition, Tools};
use tokio::time::timeout;

use super::list::hang_up;
use crate::built_in::{self, BuiltIn};
use crate::events;
use crate::prelude::*;
use crate::retry::retried;

/// How long the agent waits until the opt-out is written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(8);

/// The tool that puts the customer's number on the suppression list.
struct OptOut {
    runner: Arc<Runner>,
    account: AccountId,
    call: ConversationId,
    number: E164,
}

/// Adds the tool to those of a conversation; none if nobody could be called again.
pub(crate) fn with_opt_out(
    runner: &Arc<Runner>,
    call: &Conversation,
    config: &AgentConfig,
    tools: Arc<dyn Tools>,
) -> Arc<dyn Tools> {
    let Some(number) = call.customer_phone.clone().filter(|_| !call.is_of_a_page()) else {
        return tools;
    };
    let opt_out = OptOut {
        runner: runner.clone(),
        account: call.account_id,
        call: call.id,
        number,
    };
    built_in::with(tools, config, opt_out)
}

impl OptOut {
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

/// The tool's name.
pub(crate) const OPT_OUT: &str = "opt_out";

#[async_trait]
impl BuiltIn for OptOut {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: OPT_OUT.into(),
            description: "Records that the customer does not want to be called again. Use it whenever the customer asks \
                for that, in whatever words, and say nothing of it before it has answered."
                .into(),
            parameters: r#"{"type":"object","properties":{}}"#.into(),
            acts: true,
        }
    }

    async fn run(&self, _: &str) -> Result<String, String> {
        match self.opt_out().await {
            true => Ok(
                "Done: the customer will not be called again. Confirm it in one sentence and say goodbye."
                    .to_owned(),
            ),
            false => Err(
                "It could not be recorded. Say so, and that the customer can ask for it once more."
                    .to_owned(),
            ),
        }
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
