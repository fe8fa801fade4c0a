//! What a conversation costs, part by part. Only its price per minute and its charge are stored: the parts follow from the
//! version of the agent and from the catalog.

use super::{Conversations, SoFar};
use crate::Result;
use crate::catalog::PricePart;
use crate::prelude::*;
use crate::price::sum;

/// A conversation's cost.
#[derive(Debug, Clone)]
pub struct Cost {
    /// The parts of its price per minute. Empty for a legacy agent, whose price is one, and where today's prices are not
    /// those that were fixed when it began.
    pub parts: Vec<PricePart>,
    /// The seconds that are charged: its duration, or a quarter of a minute for each answer in writing.
    pub seconds: i64,
    /// Its charge, or what it would be if it ended now.
    pub credits: Credits,
}

#[boxed]
impl Conversations {
    /// The cost of a conversation that the caller may read.
    pub async fn cost(&self, conversation: &Conversation, so_far: &SoFar) -> Result<Cost> {
        let seconds = match conversation.voice {
            true => so_far.seconds,
            false => {
                let (account, id) = (conversation.account_id, conversation.id);
                let answers = self.ctx.store.chat_answers(account, id).await?;
                i64::from(answers.unwrap_or(0)) * ANSWER_SECONDS
            }
        };
        let parts = self.price_parts(conversation).await?;
        let is_as_fixed = sum(&parts) == conversation.price();
        Ok(Cost {
            parts: parts.into_iter().filter(|_| is_as_fixed).collect(),
            seconds,
            credits: so_far.credits,
        })
    }

    /// The parts of the price that the conversation would have today.
    async fn price_parts(&self, conversation: &Conversation) -> Result<Vec<PricePart>> {
        if conversation.runtime == Runtime::Legacy {
            return Ok(Vec::new());
        }
        let (store, account) = (&self.ctx.store, conversation.account_id);
        let providers = self.providers.of(&self.ctx, account).await?;
        let version = Some(conversation.agent_version);
        let found = store.agent_with_config(account, conversation.agent_id, version);
        let config = found.await?.and_then(|(_, config)| config);
        let config = config.and_then(|config| AgentConfig::from_stored(&config).ok());
        let (Some(config), Some(account)) = (config, store.account(account).await?) else {
            return Ok(Vec::new());
        };
        let is_spoken =
            conversation.voice && (conversation.is_of_a_page() || providers.network.is_spoken());
        Ok(providers.parts_of_a_minute(account.plan, &config, is_spoken))
    }
}
