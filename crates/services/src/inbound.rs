//! Incoming calls: whose number is called, whether an agent may answer, and the conversation.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use offhook_domain::{
    AgentConfig, AgentStatus, CallHandle, ConversationId, E164, NumberProvider, Runtime,
};
use offhook_engine::ports::callbacks::{Callback, CarrierCallbacks};
use offhook_engine::ports::waiting::{NotAnswered, WaitingLine};
use offhook_engine::{CallControl, EndRequest, Moment};
use offhook_metrics::metrics;
use offhook_storage::{CalledNumber, Conversation, NewInboundCall, StoreError, Taken, mint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument as _;

use crate::calls::{Hours, opening};
use crate::dialer::{CameIn, Places, hold};
use crate::network::Login;
use crate::{Network, Runner};

/// What is known of an incoming call.
pub struct InboundCall {
    /// The conversation that it becomes if an agent answers.
    pub id: ConversationId,
    /// The caller's number; `None` if it is withheld or invalid.
    pub from: Option<E164>,
    /// The number called.
    pub to: E164,
    /// What another process needs to end the call if this one dies.
    pub dialog: Option<String>,
}

/// Prints no phone numbers.
impl fmt::Debug for InboundCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InboundCall")
    }
}

/// Calls that are looked up and written at once; the others wait. A flood of calls thus uses few database connections
/// and leaves the rest to the API.
const AT_ONCE: usize = 8;

#[derive(Clone)]
pub struct Inbound {
    shared: Arc<Runner>,
    /// The webhook endpoint of a carrier that speaks HTTP.
    pub(crate) door: Arc<OnceLock<Arc<dyn CarrierCallbacks>>>,
    places: Arc<Semaphore>,
}

#[boxed]
impl Inbound {
    pub(crate) fn new(shared: Arc<Runner>) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self {
            shared,
            door: Arc::default(),
            places,
        }
    }

    /// Waits for a slot among the calls answered at once. Acquire it before [`answer`](Self::answer) and release it
    /// after.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().acquire_owned().await.ok()
    }

    /// Mints the conversation id of a call that comes in now.
    pub fn mint(&self) -> ConversationId {
        mint(self.shared.clock.now())
    }

    /// Handles a carrier's request that announces an incoming call, and returns the response. `None` if the request is
    /// not the carrier's.
    pub async fn come_in(&self, callback: &Callback<'_>) -> Option<String> {
        let shared = &self.shared;
        let door = self.door.get()?;
        let to = door.called(callback)?;
        let credential = match shared.providers.own_login(&shared.store, &to, None).await {
            Ok(Login::Ours) => None,
            Ok(Login::Own(credential)) => Some(credential?),
            Err(error) => {
                tracing::warn!(%error, "a call that may come in is not looked at");
                return None;
            }
        };
        let id = self.mint();
        let came_in = door.accept(CallHandle(id), callback, credential.as_deref())?;
        let call = InboundCall {
            id,
            from: came_in.from,
            to: came_in.to,
            dialog: Some(came_in.dialog),
        };
        // Spawned, so that a carrier that hangs up meanwhile does not leave a half-accepted call.
        let inbound = self.clone();
        tokio::spawn(
            async move {
                let place = inbound.place().await;
                if let Err(why) = inbound.answer(call, came_in.line).await {
                    tracing::info!(?why, "a call is not answered");
                }
                drop(place);
            }
            .boxed(),
        );
        came_in.answer.await.ok()
    }

    /// Lets the number's agent answer, or refuses. When this returns, the caller hears ringing or has been refused. An
    /// accepted call then runs by itself, like one placed here. The error says why no agent answers.
    pub async fn answer(
        &self,
        call: InboundCall,
        line: Box<dyn WaitingLine>,
    ) -> Result<ConversationId, NotAnswered> {
        let shared = &self.shared;
        // Taken before the check whether this process is stopping: the shutdown waits for calls that were let in.
        let held = shared.live.held.token();
        // The lease counts from before the call was accepted.
        let claimed_at = Moment::now();
        let (call, mut place) = match self.take(call).await {
            Ok(taken) => taken,
            Err(why) => {
                metrics().calls.came_in(why.as_str());
                line.refuse(why);
                return Err(why);
            }
        };
        metrics().calls.came_in("taken");
        let Some(claim) = call.claim_id else {
            line.refuse(NotAnswered::Later);
            return Err(NotAnswered::Later);
        };
        let id = call.id;
        let control = CallControl::new();
        place.give(id, claim, control.clone());
        // The caller is on the line, which is all that a carrier could report.
        shared.live.registry.mark_alive(id);
        shared.live.touch(id);
        if shared.stopping.load(Ordering::SeqCst) {
            // The shutdown began while the call was written, and may not see this call any more.
            control.end(EndRequest::Drain);
        }
        line.ring();
        let span = tracing::info_span!("call", call = %id);
        tracing::info!(parent: &span, "call taken");
        let network = Network::Spoken(Arc::new(CameIn::new(line)));
        let session = hold(
            shared.clone(),
            call,
            claim,
            claimed_at,
            control,
            Some(network),
        );
        shared.live.held.spawn(session.instrument(span).boxed());
        drop(held);
        Ok(id)
    }

    /// Accepts the call, with its slot here.
    async fn take(&self, call: InboundCall) -> Result<(Conversation, Places<'_>), NotAnswered> {
        let shared = &self.shared;
        let place = shared.live.registry.keep(1, shared.calls.sessions_at_most);
        let place = place.ok_or(NotAnswered::Later)?;
        if shared.stopping.load(Ordering::SeqCst) {
            return Err(NotAnswered::Later);
        }
        let carrier = shared.providers.network.number_provider();
        let carrier = carrier.unwrap_or(NumberProvider::Sip);
        let found = shared.store.called_number(call.to.clone(), carrier).await;
        let found = found.map_err(|error| out_of_reach(&error))?;
        let found = found.ok_or(NotAnswered::UnknownNumber)?;
        let call = self.admit(&found, call)?;
        let taken = shared.store.take_call(call).await;
        match taken.map_err(|error| out_of_reach(&error))? {
            Taken::Claimed(call) => Ok((*call, place)),
            Taken::LinesBusy | Taken::WalletTooLow => Err(NotAnswered::Busy),
            Taken::AgentUnavailable => Err(NotAnswered::Unavailable),
        }
    }

    /// The call to write, if the number's agent takes calls now.
    fn admit(
        &self,
        found: &CalledNumber,
        call: InboundCall,
    ) -> Result<NewInboundCall, NotAnswered> {
        let shared = &self.shared;
        let agent = found.agent.as_ref().filter(|agent| {
            agent.status == AgentStatus::Active && agent.runtime == Runtime::Engine
        });
        let (Some(agent), Some(config)) = (agent, &found.config) else {
            return Err(NotAnswered::Unavailable);
        };
        let Ok(config) = AgentConfig::from_stored(config) else {
            tracing::error!(agent = %agent.id, "a stored agent configuration cannot be read");
            return Err(NotAnswered::Unavailable);
        };
        let at = shared.clock.now();
        if let Some(hours) = &config.conversation.calling_hours
            && opening(hours, at) != Hours::Open
        {
            return Err(NotAnswered::Unavailable);
        }
        let plan = found.account.plan;
        let (price, reserve) = shared.providers.terms_of(plan, &config);
        Ok(NewInboundCall {
            id: call.id,
            account_id: found.account.id,
            agent_id: agent.id,
            agent_version: agent.published_version,
            // A caller id equal to the called number is forged.
            from: call.from.filter(|from| *from != call.to),
            to: call.to,
            price,
            reserve,
            dialog: call.dialog,
            at,
            steady: shared.clock.steady(),
            node: shared.node,
            live_calls: shared.plans.terms(plan).live_calls,
        })
    }
}

fn out_of_reach(error: &StoreError) -> NotAnswered {
    tracing::warn!(%error, "a call that came in cannot be taken");
    NotAnswered::Later
}
