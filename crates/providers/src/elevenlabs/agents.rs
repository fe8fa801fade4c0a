//! The account's agents at the provider: listed page by page, each with its definition, and renamed.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offhook_engine::legacy::{LegacyAgent, LegacyError};
use serde::{Deserialize, Serialize};

use super::client::{Client, Failed};
use super::numbers::Numbers;

/// Agents on a page.
const PAGE_SIZE: &str = "100";

/// Pages at most: a list that never ends is none.
const PAGES: usize = 100;

/// Definitions that are asked for at once.
const AT_ONCE: usize = 4;

#[derive(Deserialize)]
struct Page {
    agents: Vec<Summary>,
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(default)]
    has_more: Option<bool>,
}

#[derive(Deserialize)]
struct Summary {
    agent_id: String,
}

#[derive(Deserialize)]
struct Definition {
    agent_id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    conversation_config: Option<Config>,
}

#[derive(Deserialize, Default)]
struct Config {
    #[serde(default)]
    agent: Option<Speaker>,
    #[serde(default)]
    tts: Option<Tts>,
}

#[derive(Deserialize, Default)]
struct Speaker {
    #[serde(default)]
    first_message: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    prompt: Option<Prompt>,
}

#[derive(Deserialize, Default)]
struct Prompt {
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    llm: Option<String>,
}

#[derive(Deserialize, Default)]
struct Tts {
    #[serde(default)]
    voice_id: Option<String>,
}

/// Every agent of the account, or none: a list of which a part is missing would archive the rest.
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
            phone_numbers: own.map(super::numbers::Number::told).collect(),
            ..agent(definition)
        }
    });
    Ok(agents.collect())
}

async fn ids(client: &Client, key: &str) -> Result<Vec<String>, Failed> {
    let (mut ids, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let mut query = vec![("page_size", PAGE_SIZE)];
        if let Some(cursor) = &cursor {
            query.push(("cursor", cursor));
        }
        let path = ["v1", "convai", "agents"];
        let page: Page = client.get(key, &path, &query).await?;
        ids.extend(page.agents.into_iter().map(|agent| agent.agent_id));
        cursor = page.next_cursor.filter(|_| page.has_more == Some(true));
        if cursor.is_none() {
            // An id of another form is no agent that this interface can name.
            ids.retain(|id| id.starts_with("agent_"));
            return Ok(ids);
        }
    }
    Err(Failed::Malformed)
}

/// One agent; `None` if it was deleted since it was listed.
async fn definition(client: &Client, key: &str, id: &str) -> Result<Option<Definition>, Failed> {
    match client.get(key, &["v1", "convai", "agents", id], &[]).await {
        Ok(definition) => Ok(Some(definition)),
        Err(Failed::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn agent(definition: Definition) -> LegacyAgent {
    let config = definition.conversation_config.unwrap_or_default();
    let speaker = config.agent.unwrap_or_default();
    let prompt = speaker.prompt.unwrap_or_default();
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    LegacyAgent {
        name: said(definition.name).unwrap_or_else(|| definition.agent_id.clone()),
        id: definition.agent_id,
        system_prompt: said(prompt.prompt),
        first_message: said(speaker.first_message),
        language: said(speaker.language),
        model: said(prompt.llm),
        voice_id: said(config.tts.unwrap_or_default().voice_id),
        phone_numbers: Vec::new(),
    }
}

#[derive(Serialize)]
struct Renaming<'a> {
    name: &'a str,
}

/// Gives an agent another name. To do so twice comes to the same, so an answer that was lost costs nothing but the word.
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
