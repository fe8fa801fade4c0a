//! The account's agents at the provider: lists them page by page with their definitions, and renames them.

use std::collections::HashSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offhook_engine::legacy::{LegacyAgent, LegacyAgents, LegacyError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::{Client, Failed};
use super::numbers::Numbers;
use crate::lenient::{self, Lenient, Text};

const PAGE_SIZE: &str = "100";

/// Pages at most; a list with more counts as endless.
const PAGES: usize = 100;

/// Definitions that are requested concurrently.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
struct Page {
    agents: Vec<Summary>,
    /// `null` on the last page.
    #[serde(default, deserialize_with = "lenient::there")]
    next_cursor: Option<Value>,
    /// Without this and a cursor it is unknown whether there are more pages.
    #[serde(default, deserialize_with = "lenient::more")]
    has_more: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary {
    agent_id: Lenient<Option<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Definition {
    agent_id: String,
    name: Text,
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
) -> Result<LegacyAgents, LegacyError> {
    let (ids, is_whole) = ids(client, key).await.map_err(Failed::of_reading)?;
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
    Ok(LegacyAgents {
        agents: agents.collect(),
        is_whole,
    })
}

/// The agents' ids, and whether the provider says that the list is complete.
async fn ids(client: &Client, key: &str) -> Result<(Vec<String>, bool), Failed> {
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let mut query = vec![("page_size", PAGE_SIZE)];
        if let Some(cursor) = &cursor {
            query.push(("cursor", cursor));
        }
        let path = ["v1", "convai", "agents"];
        let page: Page = client.get(key, &path, &query).await?;
        for agent in page.agents {
            // U+FFFD replaces unreadable characters, so the id would be another agent's.
            let is_read = |id: &String| !id.is_empty() && !id.contains(char::REPLACEMENT_CHARACTER);
            let id = agent.agent_id.0.filter(is_read);
            ids.push(id.ok_or(Failed::Malformed)?);
        }
        match (page.has_more, page.next_cursor) {
            (Some(false), _) | (None, Some(Value::Null)) => return Ok((agents_of(ids), true)),
            (None, None) => return Ok((agents_of(ids), false)),
            (Some(true), Some(Value::String(next)))
                if !next.is_empty() && cursor.as_ref() != Some(&next) =>
            {
                cursor = Some(next);
            }
            // More pages may follow, but the cursor is missing: the list is incomplete.
            _ => return Err(Failed::Malformed),
        }
    }
    Err(Failed::Malformed)
}

/// Deduplicates the agents' ids and drops those of another form. The list may change while it is read, so a page may
/// repeat an earlier one.
fn agents_of(mut ids: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    ids.retain(|id| {
        let is_one = id.starts_with("agent_") && !id.contains('\0');
        is_one && known.insert(id.clone())
    });
    ids
}

/// One agent; `None` if it was deleted after it was listed.
async fn definition(client: &Client, key: &str, id: &str) -> Result<Option<Definition>, Failed> {
    let path = ["v1", "convai", "agents", id];
    match client.get::<Definition>(key, &path, &[]).await {
        Ok(definition) if definition.agent_id == id => Ok(Some(definition)),
        // The answer is about another agent.
        Ok(_) => Err(Failed::Malformed),
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
        Failed::NotFound => LegacyError::Refused("it has no such agent any more"),
        failed => failed.of_writing(),
    })
}
