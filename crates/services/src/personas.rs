//! The personas of agents in their conversations.

use offhook_engine::ports::Endpoint;
use offhook_engine::{ModelChoice, Persona};

use crate::Result;
use crate::prelude::*;
use crate::retry::retried;
use crate::variables::{Known, Scene};

/// The agent's persona, with the conversation's variables filled in, and without a guard; `None`
/// without a model.
pub(crate) fn persona(config: &AgentConfig, known: &Known) -> Option<Persona> {
    let rendered = config.rendered(&known.variables);
    let (llm, turns) = (&config.llm, &config.conversation.turns);
    let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(Persona {
        system_prompt: rendered.system_prompt,
        context: known.context.clone(),
        notice: String::new(),
        first_message: rendered.first_message,
        greets_only: false,
        guard: false,
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
pub(crate) async fn persona_in(ctx: &Context, call: &Conversation) -> Result<Option<Persona>> {
    let version = Some(call.agent_version);
    let found = retried(|| {
        let store = &ctx.store;
        store.agent_with_config(call.account_id, call.agent_id, version)
    });
    let Some((agent, Some(stored))) = found.await? else {
        return Ok(None);
    };
    let config = AgentConfig::from_stored(&stored).ok();
    let metadata = Metadata::from_stored(&call.metadata).ok();
    let Some((config, metadata)) = config.zip(metadata) else {
        return Ok(None);
    };
    let scene = Scene::of(call);
    let known = retried(|| {
        ctx.known(
            (&agent, call.agent_version),
            &config,
            &scene,
            metadata.clone(),
        )
    })
    .await?;
    let persona = some_or!(persona(&config, &known), None);
    retried(|| ctx.with_key(call.account_id, persona.clone()))
        .await
        .map(Some)
}
