//! Conversations and calls.

use offhook_services::store::{Analysis, Conversation, ConversationView, Moment};
use serde_json::value::RawValue;

use super::analysis::AnalysisBody;
use super::{raw, shown};
use crate::prelude::*;

/// The call item; with `messages_count` it is the conversation item.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    id: ConversationId,
    call_id: CallHandle,
    runtime: Runtime,
    channel: Channel,
    agent: AgentRef<'a>,
    status: &'static str,
    from: Option<&'a E164>,
    to: Option<&'a E164>,
    customer_phone: Option<&'a E164>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    duration_seconds: Option<i64>,
    credits: Option<Credits>,
    summary: Option<&'a str>,
    has_audio: bool,
    termination_reason: Option<TerminationReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_count: Option<i32>,
}

shown! {
    AgentRef(view: ConversationView) {
        id = view.conversation.agent_id,
        name = &view.agent_name,
    }
}

impl<'a> Item<'a> {
    /// As GET /v1/calls lists it.
    pub(crate) fn call(view: &'a ConversationView) -> Self {
        let conversation = &view.conversation;
        // Until the conversation ends, fields that its end decides stay null, whatever the row already holds.
        let ended = conversation.state.is_terminal();
        Self {
            id: conversation.id,
            call_id: CallHandle(conversation.id),
            runtime: conversation.runtime,
            channel: conversation.channel.unwrap_or(Channel::Unknown),
            agent: AgentRef(view),
            status: conversation.status.as_str(),
            from: conversation.from_number.as_ref(),
            to: conversation.to_number.as_ref(),
            customer_phone: conversation.customer_phone.as_ref(),
            started_at: conversation.started_at,
            ended_at: conversation.ended_at.filter(|_| ended),
            duration_seconds: conversation.duration_seconds.filter(|_| ended),
            credits: conversation.credits.filter(|_| ended),
            summary: conversation.summary.as_deref(),
            has_audio: conversation.has_audio,
            termination_reason: conversation.termination_reason.filter(|_| ended),
            messages_count: None,
        }
    }

    /// As GET /v1/conversations lists it.
    pub(crate) fn conversation(view: &'a ConversationView) -> Self {
        Self {
            messages_count: Some(view.conversation.messages_count),
            ..Self::call(view)
        }
    }

    fn in_detail(self, conversation: &'a Conversation) -> Result<Detail<'a>, ApiError> {
        let latency = conversation.latency.turns.map(|turns| Latency {
            turns,
            p50_ms: conversation.latency.p50_ms,
            p95_ms: conversation.latency.p95_ms,
        });
        let ended = conversation.state.is_terminal();
        Ok(Detail {
            item: Self {
                status: conversation.state.detail_status(),
                ..self
            },
            metadata: raw(&conversation.metadata)?,
            failure_reason: conversation.failure_reason.filter(|_| ended),
            outcome: conversation.outcome(),
            conversation_id: conversation.id,
            latency,
            simulated: conversation.line.simulated,
            opted_out: conversation.line.allowed.opted_out,
            consent: conversation
                .line
                .allowed
                .consent
                .as_deref()
                .map(raw)
                .transpose()?,
            compliance_rule: conversation.line.allowed.blocked_by,
        })
    }
}

/// The fields that a read by id adds to an item.
#[derive(Serialize)]
pub(crate) struct Detail<'a> {
    #[serde(flatten)]
    item: Item<'a>,
    metadata: &'a RawValue,
    failure_reason: Option<FailureReason>,
    outcome: Option<Outcome>,
    conversation_id: ConversationId,
    latency: Option<Latency>,
    simulated: bool,
    /// Whether the customer asked not to be called again.
    opted_out: bool,
    consent: Option<&'a RawValue>,
    /// The rule that refused the dial.
    compliance_rule: Option<DialRule>,
}

#[derive(Serialize)]
struct Latency {
    turns: i32,
    p50_ms: Option<i32>,
    p95_ms: Option<i32>,
}

impl<'a> Detail<'a> {
    /// As GET /v1/calls/{handle} answers it.
    pub(crate) fn call(view: &'a ConversationView) -> Result<Self, ApiError> {
        Item::call(view).in_detail(&view.conversation)
    }
}

/// As GET /v1/conversations/{id} answers it.
#[derive(Serialize)]
pub(crate) struct ConversationBody<'a> {
    #[serde(flatten)]
    detail: Detail<'a>,
    recording_url: Option<String>,
    analysis: Option<AnalysisBody<'a>>,
    transcript: Vec<TurnBody<'a>>,
}

impl<'a> ConversationBody<'a> {
    /// A conversation with its first turns and its analysis.
    pub(crate) fn new(
        view: &'a ConversationView,
        turns: &'a [Moment],
        analysis: Option<&'a Analysis>,
    ) -> Result<Self, ApiError> {
        Ok(Self {
            detail: Item::conversation(view).in_detail(&view.conversation)?,
            recording_url: view
                .conversation
                .has_audio
                .then(|| format!("/v1/conversations/{}/audio", view.conversation.id)),
            analysis: analysis.map(AnalysisBody::new).transpose()?,
            transcript: turns.iter().map(TurnBody).collect(),
        })
    }
}

shown! {
    TurnBody(turn: Moment) {
        role = turn.role.as_deref(),
        text = turn.content.as_deref(),
        started_at = turn.at,
        duration_ms,
        interrupted = turn.interrupted.unwrap_or(false),
    }
}

/// A turn in event streams: as in the transcript, with the reply latency if it was measured.
#[derive(Serialize)]
pub(crate) struct TurnEvent<'a> {
    #[serde(flatten)]
    turn: TurnBody<'a>,
    /// How long the customer waited for a spoken reply: each step, from the end of their speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'a RawValue>,
}

impl<'a> From<&'a Moment> for TurnEvent<'a> {
    fn from(moment: &'a Moment) -> Self {
        let latency = moment.latency.as_deref();
        Self {
            turn: TurnBody(moment),
            latency: latency.and_then(|text| serde_json::from_str(text).ok()),
        }
    }
}

/// A change of state in event streams.
#[derive(Serialize)]
pub(crate) struct StateBody {
    pub(crate) state: &'static str,
    pub(crate) at: Timestamp,
}

/// The response to a hang-up.
#[derive(Serialize)]
pub(crate) struct HangUpBody {
    pub(crate) id: CallHandle,
    pub(crate) status: &'static str,
}
