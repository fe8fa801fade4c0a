//! Incoming calls: whose number is called, whether an agent may answer, and the conversation.

use futures_util::FutureExt as _;
use std::fmt;
use std::sync::OnceLock;

use offhook_engine::ports::callbacks::{Callback, CarrierCallbacks};
use offhook_engine::ports::waiting::{NotAnswered, WaitingLine};
use offhook_metrics::metrics;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::calls::{Hours, opening};
use crate::conversations::{Lines, Slot, serving};
use crate::network::Login;
use crate::prelude::*;

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
        match self.begin(call).await {
            Ok((slot, call)) => {
                metrics().calls.came_in("taken");
                let id = call.id;
                slot.run(call, line, || {});
                Ok(id)
            }
            Err(why) => {
                metrics().calls.came_in(why.as_str());
                line.refuse(why);
                Err(why)
            }
        }
    }

    /// Writes the call, with its slot here, if the number's agent takes calls now.
    async fn begin(&self, call: InboundCall) -> Result<(Slot<'_>, Conversation), NotAnswered> {
        let shared = &self.shared;
        let slot = shared.slot().map_err(not_answered)?;
        let carrier = shared.providers.network.number_provider();
        let carrier = carrier.unwrap_or(NumberProvider::Sip);
        let found = shared.store.called_number(call.to.clone(), carrier).await;
        let found = found.map_err(|error| not_answered(error.into()))?;
        let found = found.ok_or(NotAnswered::UnknownNumber)?;
        let agent = found.agent.filter(|agent| agent.runtime == Runtime::Engine);
        let agent = agent.ok_or(NotAnswered::Unavailable)?;
        let config = serving(&agent, found.config.as_deref()).map_err(|error| {
            if let UseCaseError::Store(_) = error {
                tracing::error!(agent = %agent.id, "a stored agent configuration cannot be read");
            }
            NotAnswered::Unavailable
        })?;
        let plan = found.account.plan;
        let providers = shared.providers.of(shared, found.account.id).await;
        let providers = providers.map_err(|error| not_answered(error.into()))?;
        let new = NewConversation {
            id: call.id,
            // A caller id equal to the called number is forged.
            from: call.from.filter(|from| *from != call.to),
            to: Some(call.to),
            dialog: call.dialog,
            ..shared.new_conversation(&agent, Channel::Phone, providers.terms_of(plan, &config))
        };
        if let Some(hours) = &config.conversation.calling_hours
            && opening(hours, new.at) != Hours::Open
        {
            return Err(NotAnswered::Unavailable);
        }
        let lines = Lines {
            live_calls: shared.plans.terms(plan).live_calls,
            page: None,
        };
        let begun = slot.begin(new, lines).await;
        Ok((slot, begun.map_err(not_answered)?))
    }
}

fn not_answered(error: UseCaseError) -> NotAnswered {
    match error {
        UseCaseError::Conflict(_) | UseCaseError::PaymentRequired(_) => NotAnswered::Busy,
        UseCaseError::AgentDisabled(_) => NotAnswered::Unavailable,
        UseCaseError::Full | UseCaseError::Stopping(_) => NotAnswered::Later,
        error => {
            tracing::warn!(%error, "a call that came in cannot be taken");
            NotAnswered::Later
        }
    }
}
