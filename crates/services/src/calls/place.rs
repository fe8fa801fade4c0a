//! Placing a call: one transaction, then 201.

use std::sync::atomic::Ordering;

use offhook_domain::body::{Form as _, Like, Nested, Optional, Or, Own, Phone, Required, Text};
use offhook_metrics::metrics;
use serde::Serialize;

use super::{Calls, Hours, opening};
use crate::agents::corrupt;
use crate::digest::sha256;
use crate::error::Result;
use crate::gate::Dial;
use crate::idempotency::replay;
use crate::prelude::*;
use crate::{PlacedReply, events};

/// The operation that Idempotency-Keys of this endpoint belong to.
const OPERATION: &str = "POST /v1/calls";

/// The error for an unknown COMMIT: a retry tells what happened.
const IN_DOUBT: &str =
    "The call may have been placed: a retry with the same Idempotency-Key tells.";

const STOPPING: &str = "This process is being stopped and places no more calls. Nothing was placed; try again shortly.";

pub struct PlaceCall<'a> {
    pub caller: &'a Caller,
    /// The Idempotency-Key, already validated.
    pub idempotency_key: Option<String>,
    pub body: Json,
    /// The request, for the logs of its call.
    pub request_id: RequestId,
}

#[derive(Serialize)]
struct CallPlaced<'a> {
    id: CallHandle,
    agent_id: &'a str,
    to: &'a E164,
    status: &'a str,
    created_at: Timestamp,
}

body! {
    /// The body of `POST /v1/calls`.
    #[derive(Debug)]
    pub CallRequest(prefixes: [String] = &[]) {
        agent_id: String, Required(Text(1..=255)), "The agent's id, or a legacy agent's `provider_agent_id`.";
        to: E164, Required(Like(Phone, allowed(prefixes))), "The number to call, E.164.";
        consent: Option<Consent>, Optional(Nested::of()), "What the customer agreed to before, which the call's detail shows. An account's dialing rules may require it.";
        metadata: Metadata, Or(Own(metadata), Metadata::empty()), "The agent's dynamic variables: at most 5,120 bytes; keys up to 64 characters; values are strings (up to 2,000 characters), numbers, booleans or null.";
    }
}

/// A number that may be called.
pub(crate) fn allowed(
    prefixes: &[String],
) -> impl Fn(&mut Fields<'_>, &str) -> Result<E164, FieldError> {
    move |fields, name| {
        let to = Phone.read(fields, name)?;
        let is_allowed = |prefix: &String| to.as_str().starts_with(prefix.as_str());
        match prefixes.is_empty() || prefixes.iter().any(is_allowed) {
            true => Ok(to),
            false => Err(fields.fault(name, Fault::Prefixes(prefixes.join(", ")))),
        }
    }
}

pub(crate) fn metadata(fields: &mut Fields<'_>, name: &str) -> Result<Metadata, FieldError> {
    Metadata::from_json(fields.required(name)?, name)
}

#[boxed]
impl Calls {
    /// Accepts a call, or replays the first response to a retry. The rules are checked in a fixed order, and the first
    /// that fails is the error.
    pub async fn place(&self, request: PlaceCall<'_>) -> Result<PlacedReply> {
        let PlaceCall {
            caller,
            idempotency_key,
            body,
            request_id,
        } = request;
        let at = self.ctx.clock.now();
        let fingerprint = sha256(body.canonical_without_empty("metadata").as_bytes()).to_vec();
        let (mut call, reply) = match self.prepare(caller, &body, at).await {
            Ok(prepared) => prepared,
            Err(UseCaseError::Store(error)) => return Err(error.into()),
            // Only a refused call looks up its stored response. A call that passes learns of it when it claims the key,
            // and most calls are new.
            Err(refused) => {
                let key = idempotency_key.as_ref();
                let stored = self
                    .ctx
                    .stored_answer(caller.account.id, OPERATION, key)
                    .await?;
                return stored.map_or(Err(refused), |answer| replay(answer, &fingerprint));
            }
        };
        call.idempotency = idempotency_key.map(|key| IdempotencyClaim {
            operation: OPERATION,
            key,
            answer: StoredAnswer {
                fingerprint: fingerprint.clone(),
                status: i32::from(reply.status),
                location: reply.location.clone(),
                body: reply.body.clone(),
            },
            steady: call.steady,
        });
        let id = call.id;
        failpoints::hit(failpoints::PLACE_BEFORE_TRANSACTION);
        // Noted before the commit: after it, the dialer may be quicker than this task.
        self.live.placed_by.note(id, request_id);
        let placed = self.ctx.store.place_call(call).await;
        if !matches!(placed, Ok(Placed::Accepted(_))) {
            self.live.placed_by.take(id);
        }
        match placed.map_err(UseCaseError::of_write(IN_DOUBT))? {
            Placed::Accepted(endpoints) => {
                failpoints::hit(failpoints::PLACE_AFTER_COMMIT);
                tracing::info!(call = %id, "call accepted");
                metrics().calls.accepted();
                self.ctx.wakes.dialer.notify_one();
                if !endpoints.is_empty() {
                    self.ctx.wakes.dispatcher.notify_one();
                }
                Ok(reply)
            }
            Placed::KeyUsed(answer) => replay(answer, &fingerprint),
            Placed::KeyInFlight => Err(UseCaseError::Conflict(Refusal::InFlight)),
            Placed::WalletTooLow => Err(UseCaseError::PaymentRequired("this call")),
            Placed::BudgetTooLow => Err(UseCaseError::KeyBudgetExhausted),
        }
    }

    /// The call to write and its response, if no rule refuses it.
    async fn prepare(
        &self,
        caller: &Caller,
        body: &Json,
        at: Timestamp,
    ) -> Result<(NewCall, PlacedReply)> {
        if self.ctx.stopping.load(Ordering::SeqCst) {
            return Err(UseCaseError::Stopping(STOPPING));
        }
        // It would wait forever for a line.
        if caller.terms.live_calls == 0 {
            return Err(UseCaseError::PlanLimit(Refusal::NoCalls));
        }
        let request = CallRequest::of(body, &self.ctx.calls.allowed_prefixes)?;
        // Neither waits for the other.
        let ((agent, config, number), facts) = tokio::try_join!(
            self.agent(caller, &request.agent_id),
            self.ctx.dial_facts(caller, &request.to),
        )?;
        if agent.runtime == Runtime::Legacy
            && self
                .ctx
                .legacy_credential(agent.account_id)
                .await?
                .is_none()
        {
            return Err(UseCaseError::Conflict(Refusal::NoLegacyCredential));
        }
        let (price, reserve) = match &config {
            Some(config) => {
                let providers = self.providers.of_account(&self.ctx, &caller.account);
                providers.await?.terms_of(caller.account.plan, config)
            }
            None => self.providers.legacy_terms(),
        };
        let line = self.line(
            caller.account.id,
            (agent.runtime, number),
            config.as_ref(),
            at,
        );
        let from = match line {
            Ok(from) => from,
            // The wallet is the rule before these. A call that passes them meets it in its transaction.
            Err(refused) => {
                self.check_wallet(caller, reserve).await?;
                return Err(refused);
            }
        };
        let dial = Dial {
            to: &request.to,
            has_consent: request.consent.is_some(),
            reserve,
            hours: None,
            is_transfer: false,
            window: None,
            zone: None,
        };
        if let Err(refused) = self.ctx.check_dial(caller, &facts, &dial) {
            self.check_wallet(caller, reserve).await?;
            return Err(refused);
        }
        let id: ConversationId = mint(at);
        let reply = accepted(CallHandle(id), &request, at);
        let metadata = request.metadata.as_json_text();
        let key = caller.key.as_ref();
        // `call.initiated` reports POST /v1/calls only, and its callers have a key.
        let event = key.map(|_| {
            events::initiated(CallHandle(id), &request.agent_id, &request.to, metadata, at)
        });
        let call = NewCall {
            id,
            account_id: caller.account.id,
            agent_id: agent.id,
            agent_ref: request.agent_id,
            agent_version: agent.published_version,
            runtime: agent.runtime,
            key_id: key.map(|key| key.id),
            key_budget: key.and_then(|key| key.monthly_credit_budget),
            from,
            metadata: metadata.to_owned(),
            price,
            reserve,
            at,
            steady: self.ctx.clock.steady(),
            event,
            simulated: match agent.runtime {
                Runtime::Engine => !self.providers.network.is_spoken(),
                Runtime::Legacy => self.providers.legacy.is_simulated(),
            },
            consent: request.consent.as_ref().map(Consent::to_stored),
            campaign: None,
            idempotency: None,
            to: request.to,
        };
        Ok((call, reply))
    }

    /// The agent that the client named, and the configuration that serves its calls; a legacy agent's configuration is
    /// at its provider.
    async fn agent(
        &self,
        caller: &Caller,
        agent_ref: &str,
    ) -> Result<(Agent, Option<AgentConfig>, Option<E164>)> {
        let found = self
            .ctx
            .store
            .agent_to_call(
                caller.account.id,
                reference(agent_ref),
                self.providers.lines(),
            )
            .await?;
        let (agent, stored, number) = found.ok_or(UseCaseError::AgentNotFound)?;
        check_takes_calls(&agent)?;
        if agent.runtime == Runtime::Legacy {
            return Ok((agent, None, number));
        }
        let stored = stored.ok_or_else(|| {
            StoreError::Corrupt("a published version without a configuration".to_owned())
        })?;
        let config = AgentConfig::from_stored(&stored).map_err(corrupt)?;
        Ok((agent, Some(config), number))
    }

    /// The number to call from now, if the agent's hours, the phone network and the queue allow it.
    fn line(
        &self,
        account: AccountId,
        (runtime, number): (Runtime, Option<E164>),
        config: Option<&AgentConfig>,
        at: Timestamp,
    ) -> Result<E164> {
        if let Some(config) = config {
            check_hours(config, at)?;
        }
        let from = self.calling_number(runtime, number)?;
        if self.providers.calls_by_network(runtime) && self.providers.network.is_down() {
            return Err(UseCaseError::UpstreamUnreachable);
        }
        if self.live.registry.queue.is_full_for(account) {
            return Err(UseCaseError::QueueFull);
        }
        Ok(from)
    }

    /// The agent's number, else the account's oldest number that the runtime can call from, else the simulated
    /// network's.
    fn calling_number(&self, runtime: Runtime, number: Option<E164>) -> Result<E164> {
        number
            .or_else(|| self.providers.shared_number(runtime))
            .ok_or(UseCaseError::Conflict(no_number(runtime)))
    }
}

/// The agent that a client names by its id or its provider's.
pub(crate) fn reference(agent_ref: &str) -> AgentRef {
    match agent_ref.parse::<AgentId>() {
        Ok(id) => AgentRef::Id(id),
        Err(_) => AgentRef::Provider(agent_ref.to_owned()),
    }
}

/// The refusal for an agent of this runtime that has no number to call from.
pub(crate) const fn no_number(runtime: Runtime) -> Refusal {
    match runtime {
        Runtime::Engine => Refusal::NoNumber,
        Runtime::Legacy => Refusal::NoLegacyNumber,
    }
}

impl Providers {
    /// The numbers that calls can go out from.
    pub(crate) fn lines(&self) -> Lines {
        Lines {
            carrier: self.network.number_provider(),
            legacy_any: self.legacy.is_simulated(),
        }
    }

    /// A number that every account's agents of this runtime may call from.
    pub(crate) fn shared_number(&self, runtime: Runtime) -> Option<E164> {
        self.network
            .shared_number()
            .filter(|_| self.calls_by_network(runtime))
    }

    /// Whether this runtime's calls use the phone network here, and not its provider's lines.
    fn calls_by_network(&self, runtime: Runtime) -> bool {
        runtime == Runtime::Engine || self.legacy.is_simulated()
    }
}

fn accepted(handle: CallHandle, request: &CallRequest, at: Timestamp) -> PlacedReply {
    let body = CallPlaced {
        id: handle,
        agent_id: &request.agent_id,
        to: &request.to,
        status: "initiated",
        created_at: at,
    };
    PlacedReply {
        status: 201,
        location: format!("/v1/calls/{handle}"),
        // Serializing a plain struct of strings does not fail.
        body: serde_json::to_vec(&body).unwrap_or_default(),
        replayed: false,
    }
}

pub(crate) fn check_takes_calls(agent: &Agent) -> Result<()> {
    if agent.status != AgentStatus::Active {
        return Err(UseCaseError::AgentDisabled(Refusal::AgentTakesNoCalls(
            agent.status,
        )));
    }
    if agent.runtime == Runtime::Engine && agent.published_version == 0 {
        return Err(UseCaseError::AgentDisabled(Refusal::NeverPublished));
    }
    Ok(())
}

fn check_hours(config: &AgentConfig, at: Timestamp) -> Result<()> {
    let hours = some_or!(&config.conversation.calling_hours, ());
    Err(UseCaseError::Conflict(match opening(hours, at) {
        Hours::Open => return Ok(()),
        Hours::ClosedFor(seconds) => Refusal::OutsideHours(seconds),
        Hours::Never => Refusal::HoursNeverOpen,
    }))
}
