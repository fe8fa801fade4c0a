//! A call as the provider stores it: a conversation, found by its id or by our handle.

use offhook_domain::{CallHandle, Channel, E164, Timestamp};
use offhook_engine::legacy::{
    LegacyConversation, LegacyEnd, LegacyError, LegacyProgress, LegacyReference,
};
use serde::Deserialize;

use super::client::{Client, Failed};
use super::outcome::{Ending, Line, outcome};
use super::transcript::{Entry, LONGEST, seconds, turns};
use crate::lenient::{Id, Lenient, List, Places, Text, readable};

#[cfg(test)]
mod tests;

/// Conversations that are checked for our handle; the request filters by it.
const SEARCH_LIMIT: &str = "10";

/// The time of a beginning that the provider does not report in seconds. It is far in the future; the caller replaces
/// it by the present.
const UNKNOWN_TIME: Timestamp = Timestamp::from_micros(253_402_128_000_000_000);

/// The page size of the list of all conversations, and the most pages read.
const PAGE_SIZE: &str = "100";
const PAGES: usize = 20;

#[derive(Deserialize)]
struct Page {
    conversations: Places<Summary>,
    #[serde(default)]
    next_cursor: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary {
    conversation_id: Id,
}

/// The fields of a conversation that are read; unknown ones are ignored.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Conversation {
    conversation_id: Id,
    agent_id: Id,
    status: Text,
    user_id: Text,
    transcript: List<Entry>,
    metadata: Lenient<Metadata>,
    analysis: Lenient<Analysis>,
    conversation_initiation_client_data: Lenient<Initiation>,
    has_audio: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    start_time_unix_secs: Lenient<Option<f64>>,
    accepted_time_unix_secs: Lenient<Option<f64>>,
    call_duration_secs: Lenient<Option<f64>>,
    termination_reason: Text,
    error: Lenient<Fault>,
    phone_call: Lenient<Option<PhoneCall>>,
    text_only: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Fault {
    code: Lenient<Option<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PhoneCall {
    call_result: Text,
    direction: Text,
    agent_number: Text,
    external_number: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Analysis {
    transcript_summary: Text,
}

/// The initial data of a call, as the provider returns it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Initiation {
    user_id: Text,
    dynamic_variables: Lenient<Variables>,
}

/// Our handle in a call's variables.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Variables {
    offhook_call_id: Text,
}

impl Initiation {
    /// Our handle, from the variables or from the user id.
    pub(super) fn handles(&self) -> impl Iterator<Item = &str> {
        let variable = self.dynamic_variables.0.offhook_call_id.0.as_deref();
        variable.into_iter().chain(self.user_id.0.as_deref())
    }
}

/// The state of a call; `None` while the provider lists none with our handle.
pub(super) async fn progress(
    client: &Client,
    key: &str,
    reference: &LegacyReference,
) -> Result<Option<LegacyProgress>, LegacyError> {
    let found = find(client, key, reference).await;
    Ok(found.map_err(Failed::of_reading)?.map(progress_of))
}

/// The provider's id of a call; `None` while it lists none with our handle.
pub(super) async fn id(
    client: &Client,
    key: &str,
    reference: &LegacyReference,
) -> Result<Option<String>, LegacyError> {
    if reference.conversation.is_some() {
        return Ok(reference.conversation.clone());
    }
    let found = find(client, key, reference).await;
    let found = found.map_err(Failed::of_reading)?;
    Ok(found.and_then(|conversation| conversation.conversation_id.0))
}

/// The ids of the conversations that began since then.
pub(super) async fn since(
    client: &Client,
    key: &str,
    since: Timestamp,
) -> Result<Vec<String>, LegacyError> {
    let (after, mut cursor, mut ids) = (since.unix_seconds().to_string(), None, Vec::new());
    for _ in 0..PAGES {
        let mut query = vec![
            ("call_start_after_unix", after.as_str()),
            ("page_size", PAGE_SIZE),
        ];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let path = ["v1", "convai", "conversations"];
        let page = client.get::<Page>(key, &path, &query).await;
        let page = page.map_err(Failed::of_reading)?;
        let listed = readable(page.conversations);
        ids.extend(listed.filter_map(|listed| listed.conversation_id.0));
        match page.next_cursor.0.filter(|next| !next.is_empty()) {
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            _ => break,
        }
    }
    Ok(ids)
}

/// A conversation that was not placed through us.
pub(super) async fn of_others(
    client: &Client,
    key: &str,
    id: &str,
) -> Result<Option<LegacyConversation>, LegacyError> {
    let found = one(client, key, id).await.map_err(Failed::of_reading)?;
    let Some(conversation) = found.filter(|found| !is_ours(found)) else {
        return Ok(None);
    };
    let (Some(agent), Lenient(metadata)) = (conversation.agent_id.0, conversation.metadata) else {
        return Ok(None);
    };
    let number = |text: Text| text.0.and_then(|text| text.parse::<E164>().ok());
    let Lenient(phone_call) = metadata.phone_call;
    let channel = match (&phone_call, metadata.text_only.0) {
        (Some(_), _) => Channel::Phone,
        (None, true) => Channel::WidgetChat,
        (None, false) => Channel::WidgetVoice,
    };
    let PhoneCall {
        direction,
        agent_number,
        external_number,
        ..
    } = phone_call.unwrap_or_default();
    let (agents, customer) = (number(agent_number), number(external_number));
    let (from, to) = match direction.0.as_deref() {
        Some("outbound") => (agents, customer.clone()),
        _ => (customer.clone(), agents),
    };
    let began = metadata.start_time_unix_secs.0.unwrap_or(0.0);
    let status = conversation.status.0.unwrap_or_default();
    Ok(Some(LegacyConversation {
        agent,
        channel,
        from,
        to,
        customer,
        began_at: Timestamp::from_micros(0).plus(seconds(began)),
        is_final: matches!(status.as_str(), "done" | "failed"),
    }))
}

async fn find(
    client: &Client,
    key: &str,
    reference: &LegacyReference,
) -> Result<Option<Conversation>, Failed> {
    if let Some(id) = &reference.conversation {
        return one(client, key, id).await;
    }
    let handle = reference.call.to_string();
    let query = [("user_id", handle.as_str()), ("page_size", SEARCH_LIMIT)];
    let path = ["v1", "convai", "conversations"];
    let page: Page = client.get(key, &path, &query).await?;
    let listed = readable(page.conversations).filter_map(|listed| listed.conversation_id.0);
    for id in listed {
        let conversation = one(client, key, &id).await?;
        // A service that does not know the parameter lists all conversations.
        if let Some(conversation) = conversation
            && is_of(&conversation, reference.call)
        {
            return Ok(Some(conversation));
        }
    }
    Ok(None)
}

async fn one(client: &Client, key: &str, id: &str) -> Result<Option<Conversation>, Failed> {
    let path = ["v1", "convai", "conversations", id];
    match client.get::<Conversation>(key, &path, &[]).await {
        // The answer is no conversation, or another one.
        Ok(conversation) if conversation.conversation_id.0.as_deref() != Some(id) => {
            Err(Failed::Malformed)
        }
        Ok(conversation) => Ok(Some(conversation)),
        Err(Failed::NotFound) => Ok(None),
        Err(failed) => Err(failed),
    }
}

fn is_of(conversation: &Conversation, call: CallHandle) -> bool {
    handles(conversation).any(|handle| handle.parse() == Ok(call))
}

/// Whether it has a handle of ours.
fn is_ours(conversation: &Conversation) -> bool {
    handles(conversation).any(|handle| handle.parse::<CallHandle>().is_ok())
}

fn handles(conversation: &Conversation) -> impl Iterator<Item = &str> {
    let user = conversation.user_id.0.as_deref().into_iter();
    user.chain(conversation.conversation_initiation_client_data.0.handles())
}

/// The state of a call from its conversation, with the times in it.
fn progress_of(conversation: Conversation) -> LegacyProgress {
    let Lenient(metadata) = conversation.metadata;
    let List(transcript) = conversation.transcript;
    let Lenient(phone_call) = metadata.phone_call;
    let PhoneCall { call_result, .. } = phone_call.unwrap_or_default();
    let status = conversation.status.0.unwrap_or_default();
    let line = match status.as_str() {
        "in-progress" => Line::Talks,
        "processing" | "done" => Line::Over,
        "failed" => Line::Failed,
        "initiated" => Line::Rings,
        // An unknown status is not the end of a call: every reported end has one of the statuses above.
        _ if !transcript.is_empty() => Line::Talks,
        _ => Line::Rings,
    };
    let lasted = seconds(metadata.call_duration_secs.0.unwrap_or(0.0)).min(LONGEST);
    let ending = Ending {
        line,
        result: call_result.0.as_deref(),
        reason: metadata.termination_reason.0.as_deref().unwrap_or_default(),
        error: metadata.error.0.code.0,
        was_spoken: !lasted.is_zero() || !transcript.is_empty(),
    };
    let times = [
        metadata.accepted_time_unix_secs,
        metadata.start_time_unix_secs,
    ];
    let began = times.into_iter().find_map(|at| at.0.filter(|at| *at > 0.0));
    let began = began.map(|at| Timestamp::from_micros(0).plus(seconds(at)));
    let began = began.map_or(UNKNOWN_TIME, |at| at.min(UNKNOWN_TIME));
    let answered_at = ending.is_answered().then_some(began);
    let outcome = outcome(&ending);
    let turns = match answered_at {
        Some(answered_at) => turns(transcript, answered_at, outcome.map(|_| lasted)),
        None => Vec::new(),
    };
    // A call without a reported duration lasted until the last turn.
    let guessed = turns.last().filter(|_| lasted.is_zero());
    let lasted = guessed.map_or(lasted, |last| last.started_at.since(began));
    let end = outcome.map(|outcome| LegacyEnd {
        outcome,
        ended_at: began.plus(lasted),
        summary: conversation
            .analysis
            .0
            .transcript_summary
            .0
            .unwrap_or_default(),
        recorded: conversation.has_audio.0 && answered_at.is_some(),
        is_final: matches!(status.as_str(), "done" | "failed"),
    });
    LegacyProgress {
        conversation: conversation.conversation_id.0,
        reported: true,
        answered_at,
        turns,
        end,
    }
}
