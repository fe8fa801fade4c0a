//! One call, from the claim to its settlement.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::config::KnowledgeMode;
use offhook_domain::{
    AgentConfig, AgentStatus, CallHandle, CallOutcome, ClaimId, E164, FailureReason, Metadata,
    Runtime,
};
use offhook_engine::ports::{Carrier, DialRequest, Endpoint, Knowledge, NoTools, Tools};
use offhook_engine::voice::SpokenCarrier;
use offhook_engine::{
    CallControl, Deadline, ModelChoice, Moment, Persona, Session, SessionEnd, Voicemail, run,
};
use offhook_failpoints as failpoints;
use offhook_storage::Conversation;
use tokio::time::Instant;

use super::closing::{Lasted, MediaEnd, close, end_unsaid, settle, summary};
use super::covering::top_up;
use super::legacy;
use super::meter::Meter;
use super::record::{Record, retry_while_unavailable};
use super::watched::Watched;
use crate::calls::{Hours, opening};
use crate::clock::CallClock;
use crate::integrations::Functions;
use crate::knowledge::{AgentKnowledge, WithSearch};
use crate::recordings::recorder_for;
use crate::spoken::{Direction, on_a_spoken_line};
use crate::tools::Toolbox;
use crate::{Network, Result, Shared};

/// The carrier's first byte leaves within this time of the claim, or not at all.
pub(super) const DIAL_WITHIN: Duration = Duration::from_secs(10);

/// Runs a claimed call on its network to its end and reports it.
pub(crate) async fn hold(
    shared: Arc<Shared>,
    call: Conversation,
    claim: ClaimId,
    claimed_at: Moment,
    control: CallControl,
    network: Option<Network>,
) {
    let held = hold_fallibly(&shared, &call, (claim, claimed_at), &control, network);
    if let Err(error) = held.await {
        tracing::error!(%error, call = %call.id, "a call could not be reported; its lease will end it");
    }
    shared.registry.remove(call.id, claim);
}

async fn hold_fallibly(
    shared: &Arc<Shared>,
    call: &Conversation,
    (claim, claimed_at): (ClaimId, Moment),
    control: &CallControl,
    network: Option<Network>,
) -> Result<()> {
    if call.runtime == Runtime::Legacy {
        return legacy::hold(
            shared,
            call,
            claim,
            Deadline::after(claimed_at, DIAL_WITHIN),
            control,
        )
        .await;
    }
    let prepared = prepare(shared, call).await?;
    let (config, mut persona, tools) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => return refuse(shared, call, claim, reason).await,
    };
    failpoints::hit(failpoints::DIAL_AFTER_CLAIM);
    let Some((from, to)) = numbers(call) else {
        return refuse(shared, call, claim, FailureReason::InvalidNumber).await;
    };
    let network = match network {
        Some(network) => network,
        None => retry_while_unavailable(|| shared.network_of(call)).await?,
    };
    let meter = meter(shared, call, &config).await?;
    let carrier: Arc<dyn Carrier> = match network {
        Network::Text(carrier) => carrier,
        Network::Spoken(network) => match shared
            .spoken(
                call.account_id,
                &config,
                Direction::of(call),
                meter.as_ref(),
            )
            .await
        {
            Ok(mut settings) => {
                settings.recorder = recorder_for(shared, call, &config);
                persona = on_a_spoken_line(persona);
                Arc::new(SpokenCarrier::new(network, settings))
            }
            Err(error) => {
                tracing::error!(%error, "the call is not dialed");
                return refuse(shared, call, claim, FailureReason::AgentError).await;
            }
        },
    };
    let persona = Arc::new(persona);
    let (tools, knowledge) = with_knowledge(shared, call, &config, tools).await?;
    let session = Session {
        carrier: if call.is_inbound() {
            carrier
        } else {
            watched(shared, call, carrier)
        },
        dial: DialRequest {
            handle: CallHandle(call.id),
            from,
            to,
            node: shared.node,
            screens: persona.voicemail != Voicemail::Ignore,
            longest: Some(persona.max_duration),
        },
        dial_by: Deadline::after(claimed_at, DIAL_WITHIN),
        persona: persona.clone(),
        models: match &meter {
            Some(meter) => {
                let llm = &persona.llm;
                meter.models(shared.models.clone(), (&llm.provider, &llm.model))
            }
            None => shared.models.clone(),
        },
        latencies: shared.latencies.clone(),
        tools,
        knowledge,
        clock: Arc::new(CallClock::of(shared.clock.clone())),
    };
    let record = Record::new(shared.clone(), call, claim);
    let end = {
        let longest = config.conversation.max_duration_s;
        let top_up = top_up(shared, call, longest, control);
        tokio::pin!(top_up);
        let session = Box::pin(run(session, &record, control));
        tokio::pin!(session);
        tokio::select! {
            end = &mut session => end,
            // Never ends before the session does.
            () = &mut top_up => session.await,
        }
    };
    let metered_at = Instant::now();
    let SessionEnd::Ended {
        outcome,
        answered_at,
        ended_at,
        latencies_ms,
        transcript,
    } = end
    else {
        return Ok(());
    };
    if record.finish().await.is_err() {
        return Ok(());
    }
    let media = MediaEnd {
        outcome,
        answered_at,
        ended_at,
        latencies_ms,
    };
    let Some(duration) = close(shared, call, claim, &media).await? else {
        return Ok(());
    };
    let summary = if media.answered_at.is_some() {
        summary(shared, &persona, &transcript).await
    } else {
        String::new()
    };
    let spent = meter.map(|meter| meter.credits(metered_at, duration));
    let lasted = Lasted::at_most(call, ended_at, duration).metered(spent);
    settle(shared, call, claim, outcome, lasted, summary).await
}

/// Meters a call's cost, if that may change while it lasts.
async fn meter(
    shared: &Arc<Shared>,
    call: &Conversation,
    config: &AgentConfig,
) -> Result<Option<Meter>> {
    if config.llm.fallback.is_empty() && config.voice.fallback_voices.is_empty() {
        return Ok(None);
    }
    let account = retry_while_unavailable(|| shared.store.account(call.account_id)).await?;
    Ok(account.map(|account| Meter::new(shared, account.plan)))
}

/// Wraps the carrier so that a failed dial starts the renewal of the claim.
fn watched(
    shared: &Arc<Shared>,
    call: &Conversation,
    carrier: Arc<dyn Carrier>,
) -> Arc<dyn Carrier> {
    let (registry, id) = (shared.clone(), call.id);
    Arc::new(Watched {
        carrier,
        on_failure: move || registry.registry.mark_alive(id),
    })
}

/// The agent's documents: searched before each answer, or by the model through an additional tool.
pub(crate) async fn with_knowledge(
    shared: &Arc<Shared>,
    call: &Conversation,
    config: &AgentConfig,
    tools: Arc<dyn Tools>,
) -> Result<(Arc<dyn Tools>, Option<Arc<dyn Knowledge>>)> {
    Ok(match AgentKnowledge::of(shared, call, config).await? {
        None => (tools, None),
        Some(knowledge) if config.knowledge_base.mode == KnowledgeMode::Tool => {
            (Arc::new(WithSearch { knowledge, tools }), None)
        }
        Some(knowledge) => (tools, Some(Arc::new(knowledge))),
    })
}

/// Ends a claimed call that must not be dialed.
pub(super) async fn refuse(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
    reason: FailureReason,
) -> Result<()> {
    let media = MediaEnd {
        outcome: CallOutcome::Failed(reason),
        answered_at: None,
        ended_at: shared.clock.now(),
        latencies_ms: Vec::new(),
    };
    end_unsaid(shared, call, claim, media).await
}

/// Stands for the numbers of a web page's call, which has none. Its line is open already, and uses neither.
const NO_NUMBER: &str = "+10000000";

/// The caller's and the called number. A withheld caller number is replaced by the called one: the line is open
/// already, so it is not dialed.
pub(super) fn numbers(call: &Conversation) -> Option<(E164, E164)> {
    if call.is_of_a_page() {
        let nobody: E164 = NO_NUMBER.parse().ok()?;
        return Some((nobody.clone(), nobody));
    }
    let to = call.to_number.clone()?;
    let from = call.from_number.clone();
    let from = from.or_else(|| call.is_inbound().then(|| to.clone()))?;
    Some((from, to))
}

/// What a call needs to run.
type Prepared = (AgentConfig, Persona, Arc<dyn Tools>);

/// Checks the agent and its hours once more, and fills in the call's variables.
async fn prepare(
    shared: &Arc<Shared>,
    call: &Conversation,
) -> Result<Result<Prepared, FailureReason>> {
    let version = Some(call.agent_version);
    let found = retry_while_unavailable(|| {
        shared
            .store
            .agent_with_config(call.account_id, call.agent_id, version)
    })
    .await?;
    let Some((agent, Some(stored))) = found else {
        return Ok(Err(FailureReason::AgentError));
    };
    if agent.status != AgentStatus::Active {
        return Ok(Err(FailureReason::AgentError));
    }
    let Ok(config) = AgentConfig::from_stored(&stored) else {
        return Ok(Err(FailureReason::AgentError));
    };
    if let Some(hours) = &config.conversation.calling_hours
        && opening(hours, shared.clock.now()) != Hours::Open
    {
        return Ok(Err(FailureReason::Expired));
    }
    let Ok(metadata) = Metadata::from_stored(&call.metadata) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let Some(persona) = persona(&config, &metadata) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let persona =
        retry_while_unavailable(|| shared.with_key(call.account_id, persona.clone())).await?;
    let persona = Persona {
        notice: config.rendered_consent(&metadata),
        ..persona
    };
    let tools = tools(shared, call, &config).await?;
    Ok(Ok((config, persona, tools)))
}

/// The tools of this call: those that the version published at placing has pinned.
async fn tools(
    shared: &Arc<Shared>,
    call: &Conversation,
    config: &AgentConfig,
) -> Result<Arc<dyn Tools>> {
    if config.tool_ids.is_empty() {
        return Ok(Arc::new(NoTools));
    }
    let (account, agent, version) = (call.account_id, call.agent_id, call.agent_version);
    let pinned =
        retry_while_unavailable(|| shared.store.pinned_tools(account, agent, version)).await?;
    let (client, prefixes) = (
        shared.tool_client.clone(),
        shared.calls.allowed_prefixes.clone(),
    );
    let functions = Functions::new(shared.clone(), account, call.id);
    let toolbox = Toolbox::new(client, prefixes, pinned)?;
    Ok(Arc::new(toolbox.with_functions(functions)))
}

/// The agent's persona, with the conversation's variables filled in; `None` without a model.
pub(crate) fn persona(config: &AgentConfig, metadata: &Metadata) -> Option<Persona> {
    let rendered = config.rendered(metadata);
    let (llm, turns) = (&config.llm, &config.conversation.turns);
    let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(Persona {
        system_prompt: rendered.system_prompt,
        notice: String::new(),
        first_message: rendered.first_message,
        language: config.language.clone(),
        llm: ModelChoice {
            provider: llm.provider.clone()?,
            model: llm.model.clone()?,
            temperature: llm.temperature,
            routing: llm.routing,
            fallback: llm
                .fallback
                .iter()
                .map(|model| (model.provider.clone(), model.model.clone()))
                .collect(),
            endpoint: llm.endpoint.clone().map(|url| Endpoint { url, key: None }),
        },
        max_duration: seconds(config.conversation.max_duration_s),
        silence_timeout: seconds(turns.silence_timeout_s),
        endpointing: Duration::from_millis(u64::try_from(turns.endpointing_ms).unwrap_or(0)),
        interruptions: turns.interruptions,
        voicemail: turns.voicemail,
    })
}

/// The agent's persona in a conversation; `None` without a model.
pub(crate) async fn persona_in(shared: &Shared, call: &Conversation) -> Result<Option<Persona>> {
    let version = Some(call.agent_version);
    let found = retry_while_unavailable(|| {
        let store = &shared.store;
        store.agent_with_config(call.account_id, call.agent_id, version)
    });
    let stored = found.await?.and_then(|(_, stored)| stored);
    let config = stored.and_then(|stored| AgentConfig::from_stored(&stored).ok());
    let metadata = Metadata::from_stored(&call.metadata).ok();
    let Some(persona) = config.zip(metadata).and_then(|(c, m)| persona(&c, &m)) else {
        return Ok(None);
    };
    retry_while_unavailable(|| shared.with_key(call.account_id, persona.clone()))
        .await
        .map(Some)
}
