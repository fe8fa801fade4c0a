//! Webhook endpoints, deliveries and the event catalog.

use offhook_services::Registered;
use offhook_services::store::{Attempt, Delivery, DeliveryStory, EndpointView};
use serde_json::value::RawValue;

use super::{raw, shown};
use crate::prelude::*;

shown! {
    EndpointMembers(view: EndpointView) {
        id = view.endpoint.id,
        url = &view.endpoint.url,
        description = &view.endpoint.description,
        status = view.endpoint.status,
        disabled_reason = &view.endpoint.disabled_reason,
        secret_prefix,
        created_at = view.endpoint.created_at,
        updated_at = view.endpoint.updated_at,
    }
}

/// An endpoint. Its event types are there only if it has chosen them.
#[derive(Serialize)]
pub(crate) struct EndpointBody<'a> {
    #[serde(flatten)]
    members: EndpointMembers<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<EventTypes>,
}

impl<'a> EndpointBody<'a> {
    pub(crate) const fn of(view: &'a EndpointView) -> Self {
        Self {
            members: EndpointMembers(view),
            events: view.endpoint.events,
        }
    }
}

impl Shape for EndpointBody<'_> {
    fn shape() -> Value {
        let mut shape = EndpointMembers::shape();
        shape["properties"]["events"] = EventTypes::shape();
        shape
    }
}

/// An endpoint in the one response that shows its secret.
#[derive(Serialize)]
pub(crate) struct EndpointWithSecret<'a> {
    #[serde(flatten)]
    endpoint: EndpointBody<'a>,
    secret: &'a str,
}

impl<'a> From<&'a Registered> for EndpointWithSecret<'a> {
    fn from(registered: &'a Registered) -> Self {
        Self {
            endpoint: EndpointBody::of(&registered.view),
            secret: &registered.secret,
        }
    }
}

shown! {
    /// A delivery, as lists show it.
    DeliveryBody(delivery: Delivery) {
        id,
        webhook_id = delivery.endpoint_id,
        event_id,
        type = delivery.kind,
        status = delivery.state,
        attempts_count,
        next_attempt_at,
        created_at,
    }
}

/// A delivery with its exact event and every attempt.
#[derive(Serialize)]
pub(crate) struct DeliveryStoryBody<'a> {
    #[serde(flatten)]
    delivery: DeliveryBody<'a>,
    payload: Option<&'a RawValue>,
    attempts: Vec<AttemptBody<'a>>,
}

shown! {
    AttemptBody(attempt: Attempt) {
        id,
        at,
        status_code,
        duration_ms,
        error,
        response_snippet,
    }
}

impl<'a> TryFrom<&'a DeliveryStory> for DeliveryStoryBody<'a> {
    type Error = ApiError;

    fn try_from(story: &'a DeliveryStory) -> Result<Self, ApiError> {
        let text = story
            .payload
            .as_deref()
            .map(std::str::from_utf8)
            .transpose();
        let text = text.map_err(|_| ApiError::internal("a stored event is not UTF-8"))?;
        Ok(Self {
            delivery: DeliveryBody(&story.delivery),
            payload: text.map(raw).transpose()?,
            attempts: story.attempts.iter().map(AttemptBody).collect(),
        })
    }
}

/// How many deliveries will be sent again.
#[derive(Serialize)]
pub(crate) struct Recovered {
    pub(crate) count: i64,
}

/// An event type in the catalog.
#[derive(Serialize)]
pub(crate) struct EventTypeBody {
    r#type: EventType,
    description: &'static str,
    example: Box<RawValue>,
}

impl EventTypeBody {
    /// Every type, in the documented order.
    pub(crate) fn all() -> Result<Vec<Self>, ApiError> {
        EventType::ALL.iter().copied().map(Self::of).collect()
    }

    fn of(kind: EventType) -> Result<Self, ApiError> {
        let example =
            String::from_utf8(offhook_services::event_example(kind)).map_err(ApiError::internal)?;
        Ok(Self {
            r#type: kind,
            description: match kind {
                EventType::CallInitiated => "A call was triggered through POST /v1/calls.",
                EventType::CallCompleted => "A call ended successfully.",
                EventType::CallFailed => "A call ended with an error or was not answered.",
                EventType::BillingThreshold => {
                    "The month's cost or the balance passed a threshold that the account has set; once per threshold and month."
                }
                EventType::ContactOptedOut => {
                    "A customer asked in a conversation not to be called again; once per conversation."
                }
                EventType::CampaignCompleted => {
                    "Every recipient of a campaign has been called, or is never called by a rule."
                }
                EventType::CampaignPaused => {
                    "A campaign starts no more calls: a customer paused it, it lacks something, or its calls fail."
                }
            },
            example: RawValue::from_string(example).map_err(ApiError::internal)?,
        })
    }
}
