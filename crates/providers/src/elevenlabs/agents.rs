//! The account's agents at the provider: lists them page by page with their definitions, and renames them.

use std::collections::HashSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offhook_engine::legacy::{LegacyAgent, LegacyError, LegacyRefusal};
use serde::{Deserialize, Serialize};

use super::client::{Client, Failed};
use super::numbers::Numbers;
use crate::lenient::{Lenient, Text};

const PAGE_SIZE: &str = "100";

/// Pages at most; a list with more counts as endless.
const PAGES: usize = 100;

/// Definitions that are requested concurrently.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
struct Page {
    agents: Vec<Summary>,
    has_more: bool,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    agent_id: String,
}

#[derive(Deserialize)]
struct Definition {
    agent_id: String,
    #[serde(default)]
    name: Text,
    #[serde(default)]
    conversation_config: Lenient<Config>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    agent: Lenient<Speaker>,
    tts: Lenient<Tts>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Speaker {
    first_message: Text,
    language: Text,
    prompt: Lenient<Prompt>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Prompt {
    prompt: Text,
    llm: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tts {
    voice_id: Text,
}

/// Every agent of the account, or an error: a partial list would archive the missing agents.
pub(super) async fn list(
    client: &Client,
    numbers: &Numbers,
    key: &str,
) -> Result<Vec<LegacyAgent>, LegacyError> {
    let ids = ids(client, key).await.map_err(Failed::of_reading)?;
    let numbers = numbers.of(client, key).await.map_err(Failed::of_reading)?;
    let definitions = stream::iter(ids)
        .map(|id| async move { definition(client, key, &id).await })
        .buffered(AT_ONCE);
    let definitions: Vec<Option<Definition>> = definitions
        .try_collect()
        .await
        .map_err(Failed::of_reading)?;
    let agents = definitions.into_iter().flatten().map(|definition| {
        let own = numbers
            .iter()
            .filter(|number| number.agent.as_deref() == Some(&definition.agent_id));
        LegacyAgent {
            phone_numbers: own.map(super::numbers::Number::to_legacy).collect(),
            ..agent(definition)
        }
    });
    Ok(agents.collect())
}

/// The agents' ids. The list may change while it is read, so a page may repeat ids of an earlier one.
async fn ids(client: &Client, key: &str) -> Result<Vec<String>, Failed> {
    let (mut ids, mut known, mut cursor) = (Vec::new(), HashSet::new(), None::<String>);
    for _ in 0..PAGES {
        let mut query = vec![("page_size", PAGE_SIZE)];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let path = ["v1", "convai", "agents"];
        let page: Page = client.get(key, &path, &query).await?;
        let listed = page.agents.into_iter().map(|agent| agent.agent_id);
        // Not every database can store U+0000.
        let listed = listed.filter(|id| id.starts_with("agent_") && !id.contains('\0'));
        ids.extend(listed.filter(|id| known.insert(id.clone())));
        if !page.has_more {
            return Ok(ids);
        }
        cursor = Some(page.next_cursor.ok_or(Failed::Malformed)?);
    }
    Err(Failed::Malformed)
}

/// One agent; `None` if it was deleted after it was listed.
async fn definition(client: &Client, key: &str, id: &str) -> Result<Option<Definition>, Failed> {
    match client.get(key, &["v1", "convai", "agents", id], &[]).await {
        Ok(definition) => Ok(Some(definition)),
        Err(Failed::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn agent(definition: Definition) -> LegacyAgent {
    let Config { agent, tts } = definition.conversation_config.0;
    let (Lenient(agent), Lenient(tts)) = (agent, tts);
    let Lenient(prompt) = agent.prompt;
    let id = definition.agent_id;
    LegacyAgent {
        name: definition.name.0.unwrap_or_else(|| id.clone()),
        id,
        system_prompt: prompt.prompt.0,
        first_message: agent.first_message.0,
        language: agent.language.0,
        model: prompt.llm.0,
        voice_id: tts.voice_id.0,
        phone_numbers: Vec::new(),
    }
}

#[derive(Serialize)]
struct Renaming<'a> {
    name: &'a str,
}

/// Renames an agent. The request is idempotent, so a lost answer does no harm beyond the missing confirmation.
pub(super) async fn rename(
    client: &Client,
    key: &str,
    agent: &str,
    name: &str,
) -> Result<(), LegacyError> {
    let path = ["v1", "convai", "agents", agent];
    let renamed = client.patch(key, &path, &Renaming { name }).await;
    renamed.map_err(|failed| match failed {
        Failed::NotFound => LegacyError::Refused(LegacyRefusal::AgentGone),
        failed => failed.of_writing(),
    })
}
