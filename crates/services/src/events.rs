//! The bodies of events, fixed when they are written.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::prelude::*;

#[derive(Serialize)]
struct Envelope<'a, D> {
    id: EventId,
    r#type: &'a str,
    created_at: Timestamp,
    data: D,
}

#[derive(Serialize)]
struct Initiated<'a> {
    id: &'a str,
    agent_id: &'a str,
    to: &'a str,
    metadata: &'a RawValue,
}

#[derive(Serialize)]
struct Completed<'a> {
    id: &'a str,
    agent_id: &'a str,
    status: &'a str,
    duration_seconds: i64,
    transcript_summary: &'a str,
    termination_reason: &'a str,
    started_at: Timestamp,
    ended_at: Timestamp,
}

#[derive(Serialize)]
struct Failed<'a> {
    id: &'a str,
    agent_id: &'a str,
    status: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Threshold<'a> {
    kind: ThresholdKind,
    threshold_credits: Credits,
    /// `2026-11`
    month: &'a str,
    spent_credits: Credits,
    balance_credits: Credits,
}

#[derive(Serialize)]
struct OptedOut<'a> {
    number: &'a str,
    conversation_id: ConversationId,
}

#[derive(Serialize)]
struct OfCampaign<'a> {
    campaign_id: CampaignId,
    name: &'a str,
    status: CampaignStatus,
    paused_reason: Option<CampaignPause>,
    total: i32,
    pending: i32,
    dialing: i32,
    reached: i32,
    unreached: i32,
    blocked: i32,
    credits: Credits,
}

fn event<D: Serialize>(kind: EventType, at: Timestamp, data: D) -> NewEvent {
    event_with(mint(at), kind, at, data)
}

fn event_with<D: Serialize>(id: EventId, kind: EventType, at: Timestamp, data: D) -> NewEvent {
    let envelope = Envelope {
        id,
        r#type: kind.as_str(),
        created_at: at,
        data,
    };
    // Serializing plain structs of strings and numbers does not fail.
    let body = serde_json::to_vec(&envelope).unwrap_or_default();
    NewEvent { id, kind, body }
}

/// `call.initiated`, with the metadata as the client wrote it.
pub(crate) fn initiated(
    handle: CallHandle,
    agent_ref: &str,
    to: &E164,
    metadata: &str,
    at: Timestamp,
) -> NewEvent {
    let raw: Box<RawValue> = RawValue::from_string(metadata.to_owned()).unwrap_or_default();
    let data = Initiated {
        id: &handle.to_string(),
        agent_id: agent_ref,
        to: to.as_str(),
        metadata: &raw,
    };
    event(EventType::CallInitiated, at, data)
}

/// `call.completed` or `call.failed`. `agent_id` is what the client sent, or the UUID if it sent none.
pub(crate) fn ended(
    call: &Conversation,
    outcome: CallOutcome,
    (ended_at, duration_seconds): (Timestamp, i64),
    summary: &str,
    at: Timestamp,
) -> NewEvent {
    let handle = CallHandle(call.id).to_string();
    match outcome {
        CallOutcome::Completed(reason) => {
            let data = Completed {
                id: &handle,
                agent_id: &call.agent_ref,
                status: "completed",
                duration_seconds,
                transcript_summary: summary,
                termination_reason: reason.as_str(),
                started_at: call.started_at,
                ended_at,
            };
            event(EventType::CallCompleted, at, data)
        }
        CallOutcome::Failed(reason) => {
            let data = Failed {
                id: &handle,
                agent_id: &call.agent_ref,
                status: "failed",
                reason: reason.as_str(),
            };
            event(EventType::CallFailed, at, data)
        }
    }
}

/// `billing.threshold`.
pub(crate) fn threshold(passed: &PassedThreshold, at: Timestamp) -> NewEvent {
    threshold_with(mint(at), passed, at)
}

/// `contact.opted_out`.
pub(crate) fn opted_out(conversation: ConversationId, number: &E164, at: Timestamp) -> NewEvent {
    opted_out_with(mint(at), conversation, number.as_str(), at)
}

/// `campaign.completed` or `campaign.paused`.
pub(crate) fn of_campaign(campaign: &Campaign, at: Timestamp) -> NewEvent {
    of_campaign_with(mint(at), campaign, at)
}

fn of_campaign_with(id: EventId, campaign: &Campaign, at: Timestamp) -> NewEvent {
    let kind = match campaign.status {
        CampaignStatus::Completed => EventType::CampaignCompleted,
        _ => EventType::CampaignPaused,
    };
    let data = OfCampaign {
        campaign_id: campaign.id,
        name: &campaign.name,
        status: campaign.status,
        paused_reason: campaign.paused_reason,
        total: campaign.total,
        pending: campaign.pending,
        dialing: campaign.dialing,
        reached: campaign.reached,
        unreached: campaign.unreached,
        blocked: campaign.blocked,
        credits: campaign.credits,
    };
    event_with(id, kind, at, data)
}

fn opted_out_with(
    id: EventId,
    conversation_id: ConversationId,
    number: &str,
    at: Timestamp,
) -> NewEvent {
    let data = OptedOut {
        number,
        conversation_id,
    };
    event_with(id, EventType::ContactOptedOut, at, data)
}

fn threshold_with(id: EventId, passed: &PassedThreshold, at: Timestamp) -> NewEvent {
    let date = at.utc_date();
    let data = Threshold {
        kind: passed.kind,
        threshold_credits: passed.credits,
        month: date.get(..7).unwrap_or_default(),
        spent_credits: passed.spent,
        balance_credits: passed.balance,
    };
    event_with(id, EventType::BillingThreshold, at, data)
}

/// A test event of this type, with the handle that marks tests.
pub(crate) fn test(kind: EventType, at: Timestamp) -> NewEvent {
    test_with(mint(at), kind, at)
}

/// An example of a test event of this type; always the same.
pub(crate) fn example(kind: EventType, at: Timestamp) -> NewEvent {
    test_with(EventId::mint(at, [kind as u8; 10]), kind, at)
}

fn test_with(id: EventId, kind: EventType, at: Timestamp) -> NewEvent {
    let agent = "00000000-0000-7000-8000-000000000000";
    match kind {
        EventType::CallInitiated => {
            let metadata: Box<RawValue> =
                RawValue::from_string("{}".to_owned()).unwrap_or_default();
            let data = Initiated {
                id: CallHandle::TEST,
                agent_id: agent,
                to: "+15005550100",
                metadata: &metadata,
            };
            event_with(id, kind, at, data)
        }
        EventType::CallCompleted => {
            let data = Completed {
                id: CallHandle::TEST,
                agent_id: agent,
                status: "completed",
                duration_seconds: 42,
                transcript_summary: "A test event.",
                termination_reason: TerminationReason::CustomerHangup.as_str(),
                started_at: at.minus(std::time::Duration::from_secs(45)),
                ended_at: at,
            };
            event_with(id, kind, at, data)
        }
        EventType::CallFailed => {
            let data = Failed {
                id: CallHandle::TEST,
                agent_id: agent,
                status: "failed",
                reason: FailureReason::NoAnswer.as_str(),
            };
            event_with(id, kind, at, data)
        }
        EventType::BillingThreshold => {
            let passed = PassedThreshold {
                account_id: AccountId::mint(at, [0; 10]),
                kind: ThresholdKind::Spent,
                credits: 5_000,
                spent: 5_012,
                balance: 14_988,
            };
            threshold_with(id, &passed, at)
        }
        EventType::ContactOptedOut => {
            opted_out_with(id, ConversationId::mint(at, [0; 10]), "+15005550100", at)
        }
        EventType::CampaignCompleted => {
            let campaign = example_campaign(CampaignStatus::Completed, at);
            of_campaign_with(id, &campaign, at)
        }
        EventType::CampaignPaused => {
            let campaign = Campaign {
                paused_reason: Some(CampaignPause::NoCredits),
                pending: 40,
                reached: 51,
                unreached: 9,
                credits: 7_180,
                ..example_campaign(CampaignStatus::Paused, at)
            };
            of_campaign_with(id, &campaign, at)
        }
    }
}

fn example_campaign(status: CampaignStatus, at: Timestamp) -> Campaign {
    Campaign {
        status,
        total: 100,
        reached: 83,
        unreached: 17,
        credits: 11_640,
        ..Campaign::draft(
            (AccountId::mint(at, [0; 10]), CampaignId::mint(at, [0; 10])),
            "Reminders",
            AgentId::mint(at, [0; 10]),
            at,
        )
    }
}
