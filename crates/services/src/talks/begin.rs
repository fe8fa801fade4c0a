//! Starts a spoken conversation.

use std::net::IpAddr;

use async_trait::async_trait;
use offhook_browser::PageLine;
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioLeg;

use super::{FromAddress, HELD_SECONDS, Talk, Talks};
use crate::chats::{IN_DOUBT, admit};
use crate::conversations::{Lines, Slot};
use crate::error::Result;
use crate::prelude::*;
use crate::{NotAnswered, WaitingLine};

#[boxed]
impl Talks {
    /// Starts a conversation with an agent for a page of this origin; `metadata` sets the agent's variables. One IP
    /// address may use half of the pages' share.
    pub async fn begin(
        &self,
        origin: &str,
        agent: AgentId,
        metadata: Option<&Json>,
        address: Option<IpAddr>,
    ) -> Result<Talk> {
        let metadata = match metadata {
            Some(json) => Metadata::from_json(json, "metadata")?,
            None => Metadata::empty(),
        };
        let (talks, origin) = (self.clone(), origin.to_owned());
        // Runs to its end even if the caller is gone: a conversation that is written must have an owner.
        let begun = self
            .0
            .live
            .chats
            .run(async move { talks.start(origin, agent, metadata, address).await });
        begun.await.unwrap_or_else(|error| {
            Err(StoreError::Internal(format!("a beginning did not end: {error}")).into())
        })
    }

    async fn start(
        &self,
        origin: String,
        agent: AgentId,
        metadata: Metadata,
        address: Option<IpAddr>,
    ) -> Result<Talk> {
        let shared = &self.0;
        let (slot, call, from) = self.write(origin, agent, metadata, address).await?;
        let unresampled = || StoreError::Internal("sound cannot be resampled".to_owned());
        let (page, line) = offhook_browser::page().ok_or_else(unresampled)?;
        let id = call.id;
        let events = shared.live.listeners.listen(id);
        let owner = shared.clone();
        slot.run(call, Box::new(Waiting(line)), move || {
            drop(from);
            owner.live.listeners.forget(id);
        });
        Ok(Talk::new(id, page, events))
    }

    /// Writes the conversation, with its slot here.
    async fn write(
        &self,
        origin: String,
        agent: AgentId,
        metadata: Metadata,
        address: Option<IpAddr>,
    ) -> Result<(Slot<'_>, Conversation, Option<FromAddress>)> {
        let shared = &self.0;
        let slot = shared.slot()?;
        let found = shared.store.widget_agent(agent).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        let config = admit(shared, &found, &origin)?;
        let providers = shared.providers.of(shared, found.account.id).await?;
        shared.may_talk(&providers, &config)?;
        let plan = found.account.plan;
        let price = providers.price_of_a_spoken_minute(plan, &config);
        let live_calls = shared.plans.terms(plan).live_calls;
        let of_pages = (live_calls * shared.calls.page_share / 100).max(1);
        let from = match address {
            Some(address) => Some(
                FromAddress::count(&self.1, (found.account.id, address), of_pages.div_ceil(2))
                    .ok_or(UseCaseError::Conflict(Refusal::LinesBusy))?,
            ),
            None => None,
        };
        let credits = (price, price.of_seconds(HELD_SECONDS));
        let new = NewConversation {
            metadata: metadata.as_json_text().to_owned(),
            ..shared.new_conversation(&found.agent, Channel::WidgetVoice, credits)
        };
        let lines = Lines {
            live_calls,
            page: Some((origin, of_pages)),
        };
        let begun = slot.begin(new, lines).await;
        Ok((slot, begun.map_err(UseCaseError::of_write(IN_DOUBT))?, from))
    }
}

/// A page's line until its agent is ready.
pub(crate) struct Waiting(pub(crate) PageLine);

#[async_trait]
impl WaitingLine for Waiting {
    /// The page itself shows that it waits.
    fn ring(&self) {}

    async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError> {
        Ok(self.0.answer())
    }

    /// It was admitted before it got a line.
    fn refuse(self: Box<Self>, _why: NotAnswered) {}
}
