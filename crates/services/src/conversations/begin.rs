//! How a conversation begins that is answered here at once: an inbound call, a web page's talk or chat, a member's
//! chat, a thread on WhatsApp. Its agent answers, no limit is reached, and the wallet covers its first credits.

use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use offhook_engine::{CallControl, EndRequest, Moment};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument as _;

use super::credits::reserve;
use crate::agents::corrupt;
use crate::dialer::{CameIn, Places, hold};
use crate::error::Result;
use crate::prelude::*;
use crate::widgets::count_session;
use crate::{Network, WaitingLine};

pub(crate) const STOPPING: &str = "This process is being stopped and begins nothing more. Nothing was changed; try again shortly.";

/// The limits of the account's plan and of the page that a spoken conversation must stay within.
pub(crate) struct Lines {
    /// How many concurrent calls the account's plan allows.
    pub(crate) live_calls: u32,
    /// The page's origin, and how many of these calls web pages may use: strangers begin them.
    pub(crate) page: Option<(String, u32)>,
}

/// A slot of this process for a spoken conversation.
pub(crate) struct Slot<'a> {
    shared: &'a Arc<Runner>,
    claim: ClaimId,
    place: Places<'a>,
    /// The lease counts from before the conversation was accepted.
    claimed_at: Moment,
    /// The shutdown waits for conversations that were let in.
    _token: TaskTrackerToken,
}

impl Context {
    /// A conversation with a published agent that begins now, with credits to reserve.
    pub(crate) fn new_conversation(
        &self,
        agent: &Agent,
        channel: Channel,
        (price, reserve): (Price, Credits),
    ) -> NewConversation {
        let at = self.clock.now();
        NewConversation {
            id: mint(at),
            account_id: agent.account_id,
            agent_id: agent.id,
            agent_version: agent.published_version,
            channel,
            from: None,
            to: None,
            metadata: "{}".to_owned(),
            price,
            reserve,
            dialog: None,
            at,
            steady: self.clock.steady(),
        }
    }

    /// Refuses what would begin while this process is being stopped.
    pub(crate) fn check_running(&self) -> Result<()> {
        match self.stopping.load(Ordering::SeqCst) {
            true => Err(UseCaseError::Stopping(STOPPING)),
            false => Ok(()),
        }
    }
}

impl Runner {
    /// A text conversation with a published agent that begins now, with the credits of an answer.
    pub(crate) async fn new_text(
        &self,
        agent: &Agent,
        channel: Channel,
        plan: Plan,
        config: &AgentConfig,
    ) -> Result<NewConversation, StoreError> {
        let providers = self.providers.of(self, agent.account_id).await?;
        let price = providers.catalog.dearest(plan, config);
        Ok(self.new_conversation(agent, channel, (price, price.of_answers(1))))
    }

    /// Reserves a slot of this process.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<Slot<'_>> {
        // Before the check whether this process is stopping.
        let token = self.live.held.token();
        let claimed_at = Moment::now();
        self.check_running()?;
        let place = self.live.registry.keep(1, self.calls.sessions_at_most);
        Ok(Slot {
            shared: self,
            claim: mint(self.clock.now()),
            place: place.ok_or(UseCaseError::Full)?,
            claimed_at,
            _token: token,
        })
    }
}

impl Slot<'_> {
    /// Writes a spoken conversation, already claimed, in one transaction. If this process dies after that, it leaves an
    /// orphan, which others report.
    pub(crate) async fn begin(&self, new: NewConversation, lines: Lines) -> Result<Conversation> {
        let (store, id) = (&self.shared.store, new.id);
        let (claim, node) = (self.claim, self.shared.node);
        let begun = store.transaction::<_, UseCaseError, _>(move |mut tx| {
            Box::pin(async move {
                let now = tx.lease_clock().await?;
                if let Some((origin, _)) = &lines.page {
                    count_session(&mut tx, new.agent_id, origin, (new.reserve, new.at)).await?;
                }
                check_lines(&mut tx, new.account_id, &lines).await?;
                check_serves(&mut tx, &new).await?;
                reserve(&mut tx, &new).await?;
                Ok(tx.claim_begun((id, claim), (new.at, now), node).await?)
            })
        });
        let begun = match begun.await {
            Err(UseCaseError::Store(StoreError::UnknownCommit(why))) => {
                let found = store.find_begun(id, node).await;
                found.ok_or(StoreError::UnknownCommit(why))?
            }
            begun => begun?,
        };
        failpoints::hit(failpoints::ANSWER_AFTER_COMMIT);
        Ok(begun)
    }

    /// Runs a conversation that has begun in this slot, and whose other side is on the line: it hears ringing. Later,
    /// the conversation runs by itself; `after` follows its end.
    pub(crate) fn run(
        mut self,
        call: Conversation,
        line: Box<dyn WaitingLine>,
        after: impl FnOnce() + Send + 'static,
    ) {
        let (shared, id) = (self.shared, call.id);
        let control = CallControl::new();
        self.place.give(id, self.claim, control.clone());
        // The other side is connected, which is all that a carrier could report.
        shared.live.registry.mark_alive(id);
        shared.live.touch(id);
        if shared.stopping.load(Ordering::SeqCst) {
            // The shutdown began while the conversation was written, and may not see it any more.
            control.end(EndRequest::Drain);
        }
        line.ring();
        let span = tracing::info_span!("call", call = %id);
        tracing::info!(parent: &span, "call taken");
        let network = Network::Spoken(Arc::new(CameIn::new(line)));
        let session = hold(
            shared.clone(),
            call,
            self.claim,
            self.claimed_at,
            control,
            Some(network),
        );
        let session = session.map(|()| after());
        shared.live.held.spawn(session.instrument(span).boxed());
    }
}

/// Writes a text conversation with its session.
pub(crate) async fn begin_text(
    tx: &mut Tx<'_>,
    new: &NewConversation,
    session: NewChatSession,
) -> Result<()> {
    reserve(tx, new).await?;
    Ok(tx.open_session(new, session).await?)
}

async fn check_lines(tx: &mut Tx<'_>, account: AccountId, lines: &Lines) -> Result<()> {
    let busy = || UseCaseError::Conflict(Refusal::LinesBusy);
    if tx.lock_live_calls(account).await? >= i64::from(lines.live_calls) {
        return Err(busy());
    }
    if let Some((_, of_pages)) = lines.page
        && tx.page_calls(account).await? >= i64::from(of_pages)
    {
        return Err(busy());
    }
    Ok(())
}

/// Refuses a conversation whose agent was paused or archived meanwhile.
pub(crate) async fn check_serves(tx: &mut Tx<'_>, new: &NewConversation) -> Result<()> {
    match tx.lock_agent(new.account_id, new.agent_id).await? {
        Some(AgentStatus::Active) => Ok(()),
        _ => Err(UseCaseError::AgentDisabled(Refusal::AgentServesNoMore)),
    }
}

/// The published configuration of an agent that takes conversations.
pub(crate) fn serving(agent: &Agent, published: Option<&str>) -> Result<AgentConfig> {
    check_status(agent.status)?;
    let stored = published.ok_or(UseCaseError::AgentDisabled(Refusal::NeverPublished))?;
    Ok(AgentConfig::from_stored(stored).map_err(corrupt)?)
}

pub(crate) fn check_status(status: AgentStatus) -> Result<()> {
    if status == AgentStatus::Active {
        return Ok(());
    }
    Err(UseCaseError::AgentDisabled(Refusal::AgentAnswersNot(
        status,
    )))
}
