//! A call as the provider remembers it: a conversation, found by its id or by our handle.

use offhook_domain::{CallHandle, Timestamp};
use offhook_engine::legacy::{LegacyEnd, LegacyError, LegacyProgress, LegacyReference};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::client::{Client, Failed};
use super::outcome::{Ending, Line, outcome};
use super::transcript::{LONGEST, Said, seconds, turns};
use crate::lenient;

#[cfg(test)]
mod tests;

/// Conversations that are looked at for one with our handle: the provider is asked for that one alone.
const LOOKED_AT: &str = "10";

/// Where a beginning is put that the provider does not tell, or not in seconds: ahead of everything. Who asked knows the
/// present, and moves it there.
const UNTOLD: Timestamp = Timestamp::from_micros(253_402_128_000_000_000);

#[derive(Deserialize)]
struct Page {
    #[serde(deserialize_with = "lenient::elements")]
    conversations: Vec<Summary>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default, deserialize_with = "lenient::id")]
    conversation_id: Option<String>,
}

/// What is read of a conversation; unknown members are passed over.
#[derive(Deserialize)]
struct Conversation {
    /// Without it nobody can tell whose conversation it is.
    #[serde(deserialize_with = "lenient::id")]
    conversation_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    transcript: Vec<Said>,
    #[serde(default, deserialize_with = "lenient::object")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "lenient::object")]
    analysis: Analysis,
    #[serde(default, deserialize_with = "lenient::object")]
    conversation_initiation_client_data: Initiation,
    #[serde(default, deserialize_with = "lenient::yes")]
    has_audio: bool,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default, deserialize_with = "lenient::value")]
    start_time_unix_secs: Option<f64>,
    #[serde(default, deserialize_with = "lenient::value")]
    accepted_time_unix_secs: Option<f64>,
    #[serde(default, deserialize_with = "lenient::value")]
    call_duration_secs: Option<f64>,
    #[serde(default, deserialize_with = "lenient::text")]
    termination_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    error: Fault,
    #[serde(default, deserialize_with = "lenient::object")]
    phone_call: PhoneCall,
}

#[derive(Deserialize, Default)]
struct Fault {
    #[serde(default, deserialize_with = "code")]
    code: Option<i64>,
}

/// A code of SIP, as a number of any form or as a text; what is none is no code.
fn code<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let code = match Value::deserialize(from)? {
        Value::Number(code) => code.to_string(),
        Value::String(code) => code,
        _ => return Ok(None),
    };
    Ok(code.trim().trim_end_matches(".0").parse().ok())
}

#[derive(Deserialize, Default)]
struct PhoneCall {
    #[serde(default, deserialize_with = "lenient::text")]
    call_result: Option<String>,
}

#[derive(Deserialize, Default)]
struct Analysis {
    #[serde(default, deserialize_with = "lenient::text")]
    transcript_summary: Option<String>,
}

/// What a call began with, as the provider gives it back.
#[derive(Deserialize, Default)]
pub(super) struct Initiation {
    #[serde(default, deserialize_with = "lenient::text")]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "lenient::object")]
    dynamic_variables: Variables,
}

/// Our handle among a call's variables.
#[derive(Deserialize, Default)]
struct Variables {
    #[serde(default, deserialize_with = "lenient::text")]
    offhook_call_id: Option<String>,
}

impl Initiation {
    /// Where our handle may be: among the variables, or as the user's id.
    pub(super) fn handles(&self) -> impl Iterator<Item = &str> {
        let variable = self.dynamic_variables.offhook_call_id.as_deref();
        variable.into_iter().chain(self.user_id.as_deref())
    }
}

/// How a call goes; `None` while the provider lists none with our handle.
pub(super) async fn progress(
    client: &Client,
    key: &str,
    reference: &LegacyReference,
) -> Result<Option<LegacyProgress>, LegacyError> {
    let found = find(client, key, reference).await;
    Ok(found.map_err(Failed::of_reading)?.map(told))
}

/// The call's id at the provider; `None` while it lists none with our handle.
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
    Ok(found.and_then(|conversation| conversation.conversation_id))
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
    let query = [("user_id", handle.as_str()), ("page_size", LOOKED_AT)];
    let path = ["v1", "convai", "conversations"];
    let page: Page = client.get(key, &path, &query).await?;
    let mut is_whole = true;
    for listed in page.conversations {
        let Some(id) = listed.conversation_id else {
            is_whole = false;
            continue;
        };
        let conversation = one(client, key, &id).await?;
        // A service that does not know the parameter lists everybody's.
        if let Some(conversation) = conversation
            && is_of(&conversation, reference.call)
        {
            return Ok(Some(conversation));
        }
    }
    // What has an id that nobody can read may be ours.
    is_whole.then_some(None).ok_or(Failed::Malformed)
}

async fn one(client: &Client, key: &str, id: &str) -> Result<Option<Conversation>, Failed> {
    match client
        .get::<Conversation>(key, &["v1", "convai", "conversations", id], &[])
        .await
    {
        // Another conversation may be anybody's.
        Ok(conversation) if conversation.conversation_id.as_deref() != Some(id) => {
            Err(Failed::Malformed)
        }
        Ok(conversation) => Ok(Some(conversation)),
        Err(Failed::NotFound) => Ok(None),
        Err(failed) => Err(failed),
    }
}

fn is_of(conversation: &Conversation, call: CallHandle) -> bool {
    let user = conversation.user_id.as_deref().into_iter();
    let mut handles = user.chain(conversation.conversation_initiation_client_data.handles());
    handles.any(|handle| handle.parse() == Ok(call))
}

/// How a call goes by its conversation, at the times that it tells.
fn told(conversation: Conversation) -> LegacyProgress {
    let Conversation {
        conversation_id,
        status,
        transcript,
        metadata,
        analysis,
        has_audio,
        ..
    } = conversation;
    let summary = analysis.transcript_summary;
    let result = metadata.phone_call.call_result;
    let error = metadata.error.code;
    let status = status.as_deref().unwrap_or_default();
    // By what is told beside a status that is not known.
    let is_failed = error.is_some() || result.as_deref() == Some("failed");
    let is_end = metadata.termination_reason.is_some()
        || summary.is_some()
        || matches!(result.as_deref(), Some("busy" | "no_answer" | "no-answer"));
    let is_begun =
        !transcript.is_empty() || matches!(result.as_deref(), Some("answered" | "voicemail"));
    let line = match status {
        "initiated" => Line::Rings,
        "in-progress" => Line::Talks,
        "processing" | "done" => Line::Over,
        "failed" => Line::Failed,
        // What the provider may think of later.
        _ if is_failed => Line::Failed,
        _ if is_end => Line::Over,
        _ if is_begun => Line::Talks,
        _ => Line::Rings,
    };
    let lasted = seconds(metadata.call_duration_secs.unwrap_or(0.0)).min(LONGEST);
    let ending = Ending {
        line,
        result: result.as_deref(),
        reason: metadata.termination_reason.as_deref().unwrap_or_default(),
        error,
        was_spoken: !lasted.is_zero() || !transcript.is_empty(),
    };
    let began = metadata.accepted_time_unix_secs.filter(|at| *at > 0.0);
    let began = began
        .or(metadata.start_time_unix_secs)
        .filter(|at| *at > 0.0);
    let began = began.map(|at| Timestamp::from_micros(0).plus(seconds(at)));
    let began = began.map_or(UNTOLD, |at| at.min(UNTOLD));
    let answered_at = ending.is_answered().then_some(began);
    let outcome = outcome(&ending);
    let turns = match answered_at {
        Some(answered_at) => turns(transcript, answered_at, outcome.map(|_| lasted)),
        None => Vec::new(),
    };
    // One that tells no duration lasted up to the last thing that was said.
    let guessed = turns.last().filter(|_| lasted.is_zero());
    let lasted = guessed.map_or(lasted, |last| last.started_at.since(began));
    let end = outcome.map(|outcome| LegacyEnd {
        outcome,
        ended_at: began.plus(lasted),
        summary: summary.unwrap_or_default(),
        recorded: has_audio && answered_at.is_some(),
        is_told: matches!(status, "done" | "failed"),
    });
    LegacyProgress {
        conversation: conversation_id,
        reported: true,
        answered_at,
        turns,
        end,
    }
}
