//! One call, from the claim to its settlement.

use offhook_domain::config::Variables;
use offhook_engine::ports::{Carrier, DialRequest, Knowledge, NoTools, Tools};
use offhook_engine::voice::SpokenCarrier;
use offhook_engine::{CallControl, Deadline, Moment, Persona, Session, SessionEnd, Voicemail, run};
use tokio::time::Instant;

use super::closing::{Lasted, MediaEnd, close, refuse, settle, summary};
use super::context::{self, Begun};
use super::covering::top_up;
use super::legacy;
use super::meter::Meter;
use super::numbers::numbers;
use super::record::Record;
use super::watched::Watched;
use crate::calls::{Hours, opening};
use crate::campaigns::with_call_back;
use crate::clock::CallClock;
use crate::gate::{Transfers, with_opt_out};
use crate::integrations::Functions;
use crate::knowledge::with_knowledge;
use crate::personas::persona;
use crate::prelude::*;
use crate::recordings::recorder_for;
use crate::retry::retried;
use crate::spoken::{Direction, on_a_spoken_line};
use crate::tools::Toolbox;
use crate::variables::{Background, Filled, Scene};
use crate::{Network, Result};

/// The carrier's first byte leaves within this time of the claim, or not at all.
pub(super) const DIAL_WITHIN: Duration = Duration::from_secs(10);

/// Runs a claimed call on its network to its end and reports it.
pub(crate) async fn hold(
    runner: Arc<Runner>,
    call: Conversation,
    claim: ClaimId,
    claimed_at: Moment,
    control: CallControl,
    network: Option<Network>,
) {
    let held = hold_fallibly(&runner, &call, (claim, claimed_at), &control, network);
    if let Err(error) = held.await {
        tracing::error!(%error, call = %call.id, "a call could not be reported; its lease will end it");
    }
    runner.live.registry.remove(call.id, claim);
}

async fn hold_fallibly(
    runner: &Arc<Runner>,
    call: &Conversation,
    (claim, claimed_at): (ClaimId, Moment),
    control: &CallControl,
    network: Option<Network>,
) -> Result<()> {
    if call.runtime == Runtime::Legacy {
        return legacy::hold(
            runner,
            call,
            claim,
            Deadline::after(claimed_at, DIAL_WITHIN),
            control,
        )
        .await;
    }
    let prepared = prepare(runner, call, claim).await?;
    let Prepared {
        call,
        config,
        mut persona,
        tools,
        knowledge,
    } = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => return refuse(runner, call, claim, reason).await,
    };
    let call = &call;
    failpoints::hit(failpoints::DIAL_AFTER_CLAIM);
    let Some((from, to)) = numbers(call) else {
        return refuse(runner, call, claim, FailureReason::InvalidNumber).await;
    };
    let network = match network {
        Some(network) => network,
        None => retried(|| runner.providers.network_of(&runner.store, call)).await?,
    };
    let providers = retried(|| runner.providers.of(runner, call.account_id)).await?;
    let models = providers.models_within(call.price());
    let meter = meter(runner, &providers, call, &config).await?;
    let carrier: Arc<dyn Carrier> = match network {
        Network::Text(carrier) => carrier,
        Network::Spoken(network) => match providers
            .spoken(
                &runner.store,
                call.account_id,
                &config,
                Direction::of(call),
                meter.as_ref(),
            )
            .await
        {
            Ok(mut settings) => {
                settings.recorder = recorder_for(&runner.recordings, call, &config);
                persona = on_a_spoken_line(persona);
                Arc::new(SpokenCarrier::new(network, settings))
            }
            Err(error) => {
                tracing::error!(%error, "the call is not dialed");
                return refuse(runner, call, claim, FailureReason::AgentError).await;
            }
        },
    };
    let persona = Arc::new(persona);
    let tools = with_opt_out(runner, call, &config, tools);
    let session = Session {
        carrier: if call.is_inbound() {
            carrier
        } else {
            watched(runner, call, carrier)
        },
        dial: DialRequest {
            handle: CallHandle(call.id),
            from,
            to,
            node: runner.node,
            screens: persona.voicemail != Voicemail::Ignore,
            longest: Some(persona.max_duration),
        },
        dial_by: Deadline::after(claimed_at, DIAL_WITHIN),
        persona: persona.clone(),
        models: match &meter {
            Some(meter) => {
                let llm = &persona.llm;
                meter.models(models, (&llm.provider, &llm.model))
            }
            None => models,
        },
        latencies: providers.latencies.clone(),
        tools,
        knowledge,
        clock: Arc::new(CallClock::of(runner.clock.clone())),
    };
    let record = Record::new(runner.clone(), call, claim);
    let end = {
        let longest = config.conversation.max_duration_s;
        let top_up = top_up(runner, call, longest, control);
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
        signaled: record.signaled(),
    };
    let duration = some_or!(close(runner, call, claim, &media).await?, ());
    let summary = if media.answered_at.is_some() {
        summary(&providers, &persona, &transcript).await
    } else {
        String::new()
    };
    let spent = meter.map(|meter| meter.credits(metered_at, duration));
    let lasted = Lasted::at_most(call, ended_at, duration).metered(spent);
    settle(runner, call, claim, outcome, lasted, summary).await
}

/// Meters a call's cost, if that may change while it lasts.
async fn meter(
    runner: &Arc<Runner>,
    providers: &Arc<Providers>,
    call: &Conversation,
    config: &AgentConfig,
) -> Result<Option<Meter>> {
    if config.llm.fallback.is_empty() && config.voice.fallback_voices.is_empty() {
        return Ok(None);
    }
    let account = retried(|| runner.store.account(call.account_id)).await?;
    Ok(account.map(|account| Meter::new(providers, account.plan)))
}

/// Wraps the carrier so that a failed dial starts the renewal of the claim.
fn watched(
    runner: &Arc<Runner>,
    call: &Conversation,
    carrier: Arc<dyn Carrier>,
) -> Arc<dyn Carrier> {
    let (live, id) = (runner.live.clone(), call.id);
    Arc::new(Watched {
        carrier,
        on_failure: move || live.registry.mark_alive(id),
    })
}

/// What a call needs to run.
struct Prepared {
    /// The call, which another agent may have been given.
    call: Conversation,
    config: AgentConfig,
    persona: Persona,
    tools: Arc<dyn Tools>,
    knowledge: Option<Arc<dyn Knowledge>>,
}

/// The agent of a call, checked once more.
pub(super) struct Serving {
    pub(super) agent: Agent,
    pub(super) config: AgentConfig,
    pub(super) background: Background,
}

/// The agent and its hours, checked once more.
pub(super) async fn serving(
    runner: &Arc<Runner>,
    call: &Conversation,
) -> Result<Result<Serving, FailureReason>> {
    let version = call.agent_version;
    let found = retried(|| {
        runner
            .store
            .agent_with_config(call.account_id, call.agent_id, Some(version))
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
        && opening(hours, runner.clock.now()) != Hours::Open
    {
        return Ok(Err(FailureReason::Expired));
    }
    let background = retried(|| runner.background(&agent, version)).await?;
    Ok(Ok(Serving {
        agent,
        config,
        background,
    }))
}

/// Asks the agent's context URL, and fills in the call's variables.
async fn prepare(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
) -> Result<Result<Prepared, FailureReason>> {
    let own = match serving(runner, call).await? {
        Ok(serving) => serving,
        Err(reason) => return Ok(Err(reason)),
    };
    let Ok(metadata) = Metadata::from_stored(&call.metadata) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let begun = context::ask(runner, call, claim, own, metadata).await?;
    let Begun {
        call,
        serving,
        metadata,
        farewell,
    } = match begun {
        Ok(begun) => begun,
        Err(reason) => return Ok(Err(reason)),
    };
    let Serving {
        agent,
        config,
        background,
    } = serving;
    let scene = Scene::of(&call);
    let of = (&agent, &background);
    let known = retried(|| runner.known_with(of, &config, &scene, metadata.clone())).await?;
    let persona = some_or!(persona(&config, &known), Err(FailureReason::AgentError));
    let persona = retried(|| runner.with_key(call.account_id, persona.clone())).await?;
    let persona = match farewell {
        Some(first_message) => Persona {
            first_message,
            greets_only: true,
            ..persona
        },
        None => Persona {
            notice: config.rendered_consent(&known.variables),
            ..persona
        },
    };
    let tools = tools(runner, &call, &config, &known.variables).await?;
    let guard = known.guards(&*tools);
    let persona = Persona { guard, ..persona };
    let (tools, knowledge) = with_knowledge(&runner.knowledge, &call, &config, tools).await?;
    let (variables, zone) = (known.variables, known.zone);
    let tools: Arc<dyn Tools> = Arc::new(Filled { tools, variables });
    let recipient = recipient(runner, &call).await?;
    let (persona, tools) = match recipient {
        Some(recipient) => (
            Persona {
                voicemail: once(persona.voicemail, recipient.has_message),
                ..persona
            },
            with_call_back(tools, &config, runner, (call.id, recipient.id), zone),
        ),
        None => (persona, tools),
    };
    Ok(Ok(Prepared {
        call,
        config,
        persona,
        tools,
        knowledge,
    }))
}

/// The recipient of a campaign whom the call reaches.
async fn recipient(runner: &Arc<Runner>, call: &Conversation) -> Result<Option<CampaignRecipient>> {
    let Some((campaign, to)) = call.line.allowed.campaign_id.zip(call.to_number.as_ref()) else {
        return Ok(None);
    };
    let found = retried(|| {
        runner
            .store
            .recipient_of_call(campaign, call.id, to.clone())
    });
    found.await
}

/// A machine is left one message, however often it answers.
fn once(voicemail: Voicemail, has_message: bool) -> Voicemail {
    match voicemail {
        Voicemail::LeaveMessage if has_message => Voicemail::HangUp,
        other => other,
    }
}

/// The tools of this call: those that the version published at placing has pinned.
async fn tools(
    runner: &Arc<Runner>,
    call: &Conversation,
    config: &AgentConfig,
    variables: &Variables,
) -> Result<Arc<dyn Tools>> {
    if config.tool_ids.is_empty() {
        return Ok(Arc::new(NoTools));
    }
    let (account, agent, version) = (call.account_id, call.agent_id, call.agent_version);
    let pinned = retried(|| runner.store.pinned_tools(account, agent, version)).await?;
    let (client, prefixes) = (
        runner.tool_client.clone(),
        runner.calls.allowed_prefixes.clone(),
    );
    let functions = Functions::new(runner.integrations.clone(), account, call.id);
    let transfers = Transfers {
        ctx: runner.ctx.clone(),
        account,
    };
    let toolbox = Toolbox::new(client, prefixes, pinned, variables)?;
    let toolbox = toolbox.with_functions(functions);
    Ok(Arc::new(toolbox.with_transfers(transfers)))
}
