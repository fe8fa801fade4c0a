//! Starts a spoken conversation.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use offhook_browser::PageLine;
use offhook_domain::{AgentId, Json, Metadata};
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioLeg;
use offhook_engine::{CallControl, EndRequest, Moment};
use offhook_storage::{Conversation, NewTalk, StoreError, TalkTaken, mint};
use std::sync::Arc;
use tracing::Instrument as _;

use super::{FromAddress, HELD_SECONDS, Talk, Talks};
use crate::chats::{AN_ANSWER, IN_DOUBT, STOPPING, admit, cap_reached, too_many};
use crate::dialer::{CameIn, Places, hold};
use crate::error::{Result, UseCaseError};
use crate::{Network, NotAnswered, Refusal, WaitingLine};

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
            .run(async move { talks.take(origin, agent, metadata, address).await });
        begun.await.unwrap_or_else(|error| {
            Err(StoreError::Internal(format!("a beginning did not end: {error}")).into())
        })
    }

    async fn take(
        &self,
        origin: String,
        agent: AgentId,
        metadata: Metadata,
        address: Option<IpAddr>,
    ) -> Result<Talk> {
        let shared = &self.0;
        // Taken before the check whether this process is stopping: the shutdown waits for conversations that were let
        // in.
        let held = shared.live.held.token();
        let claimed_at = Moment::now();
        let (call, mut place, from) = self.claim(origin, agent, metadata, address).await?;
        let unresampled = || StoreError::Internal("sound cannot be resampled".to_owned());
        let (page, line) = offhook_browser::page().ok_or_else(unresampled)?;
        let unclaimed = || StoreError::Corrupt("a claimed conversation has no claim".to_owned());
        let claim = call.claim_id.ok_or_else(unclaimed)?;
        let id = call.id;
        let control = CallControl::new();
        place.give(id, claim, control.clone());
        // The page is connected, which is all that a carrier could report.
        shared.live.registry.mark_alive(id);
        shared.live.touch(id);
        if shared.stopping.load(Ordering::SeqCst) {
            // The shutdown began while the conversation was written, and may not see it any more.
            control.end(EndRequest::Drain);
        }
        let news = shared.live.listeners.listen(id);
        let span = tracing::info_span!("call", call = %id);
        tracing::info!(parent: &span, "talk began");
        let network = Network::Spoken(Arc::new(CameIn::new(Box::new(Waiting(line)))));
        let session = hold(
            shared.clone(),
            call,
            claim,
            claimed_at,
            control,
            Some(network),
        );
        let owner = shared.clone();
        let session = async move {
            session.await;
            drop(from);
            owner.live.listeners.forget(id);
        };
        shared.live.held.spawn(session.instrument(span).boxed());
        drop(held);
        Ok(Talk::new(id, page, news))
    }

    /// Writes the conversation, already claimed, after reserving its slot here.
    async fn claim(
        &self,
        origin: String,
        agent: AgentId,
        metadata: Metadata,
        address: Option<IpAddr>,
    ) -> Result<(Conversation, Places<'_>, Option<FromAddress>)> {
        let shared = &self.0;
        if shared.stopping.load(Ordering::SeqCst) {
            return Err(UseCaseError::Stopping(STOPPING));
        }
        let place = shared.live.registry.keep(1, shared.calls.sessions_at_most);
        let place = place.ok_or(UseCaseError::Full)?;
        let found = shared.store.widget_agent(agent).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        let config = admit(shared, &found, &origin)?;
        shared.may_talk(&config)?;
        let at = shared.clock.now();
        let plan = found.account.plan;
        let price = shared.providers.price_of_a_spoken_minute(plan, &config);
        let live_calls = shared.plans.terms(plan).live_calls;
        let of_pages = (live_calls * shared.calls.page_share / 100).max(1);
        let from = match address {
            Some(address) => Some(
                FromAddress::take(&self.1, (found.account.id, address), of_pages.div_ceil(2))
                    .ok_or(UseCaseError::Conflict(Refusal::LinesBusy))?,
            ),
            None => None,
        };
        let talk = NewTalk {
            id: mint(at),
            account_id: found.account.id,
            agent_id: agent,
            agent_version: found.agent.published_version,
            origin,
            metadata: metadata.as_json_text().to_owned(),
            price,
            reserve: price.of_seconds(HELD_SECONDS),
            at,
            steady: shared.clock.steady(),
            node: shared.node,
            live_calls,
            of_pages,
        };
        let taken = shared.store.take_talk(talk).await;
        match taken.map_err(UseCaseError::of_write(IN_DOUBT))? {
            TalkTaken::Claimed(call) => Ok((*call, place, from)),
            TalkTaken::Refused => Err(UseCaseError::Origin),
            TalkTaken::TooMany => Err(too_many(at)),
            TalkTaken::CapReached => Err(cap_reached(at)),
            TalkTaken::LinesBusy => Err(UseCaseError::Conflict(Refusal::LinesBusy)),
            TalkTaken::AgentUnavailable => {
                Err(UseCaseError::AgentDisabled(Refusal::AgentServesNoMore))
            }
            TalkTaken::WalletTooLow => Err(UseCaseError::PaymentRequired(AN_ANSWER)),
        }
    }
}

/// A page's line until its agent is ready.
struct Waiting(PageLine);

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
