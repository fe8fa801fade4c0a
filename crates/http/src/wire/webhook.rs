//! Webhook endpoints, deliveries and the event catalog.

use offhook_domain::{AttemptId, DeliveryId, EndpointId, EventId, EventType, Timestamp};
use offhook_services::Registered;
use offhook_services::store::{Attempt, Delivery, DeliveryStory, EndpointView};
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw;
use crate::ApiError;

/// An endpoint; `secret` only in the answer that shows it once.
#[derive(Serialize)]
pub(crate) struct EndpointBody<'a> {
    id: EndpointId,
    url: &'a str,
    description: Option<&'a str>,
    status: &'static str,
    disabled_reason: Option<&'a str>,
    secret_prefix: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> From<&'a EndpointView> for EndpointBody<'a> {
    fn from(view: &'a EndpointView) -> Self {
        let endpoint = &view.endpoint;
        Self {
            id: endpoint.id,
            url: &endpoint.url,
            description: endpoint.description.as_deref(),
            status: endpoint.status.as_str(),
            disabled_reason: endpoint.disabled_reason.as_deref(),
            secret_prefix: &view.secret_prefix,
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
            secret: None,
        }
    }
}

impl<'a> From<&'a Registered> for EndpointBody<'a> {
    fn from(registered: &'a Registered) -> Self {
        Self {
            secret: Some(&registered.secret),
            ..Self::from(&registered.view)
        }
    }
}

/// What DELETE answers.
#[derive(Serialize)]
pub(crate) struct Deleted {
    pub(crate) id: EndpointId,
    pub(crate) deleted: bool,
}

/// A delivery, as lists show it.
#[derive(Serialize)]
pub(crate) struct DeliveryBody {
    id: DeliveryId,
    event_id: EventId,
    r#type: EventType,
    status: &'static str,
    attempts_count: i32,
    next_attempt_at: Option<Timestamp>,
    created_at: Timestamp,
}

impl From<&Delivery> for DeliveryBody {
    fn from(delivery: &Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.event_id,
            r#type: delivery.kind,
            status: delivery.state.as_str(),
            attempts_count: delivery.attempts_count,
            next_attempt_at: delivery.next_attempt_at,
            created_at: delivery.created_at,
        }
    }
}

/// A delivery with the exact event that it carries, and every attempt.
#[derive(Serialize)]
pub(crate) struct DeliveryStoryBody<'a> {
    #[serde(flatten)]
    delivery: DeliveryBody,
    payload: Option<&'a RawValue>,
    attempts: Vec<AttemptBody<'a>>,
}

#[derive(Serialize)]
struct AttemptBody<'a> {
    id: AttemptId,
    at: Timestamp,
    status_code: Option<i32>,
    duration_ms: Option<i32>,
    error: Option<&'a str>,
    response_snippet: Option<&'a str>,
}

impl<'a> From<&'a Attempt> for AttemptBody<'a> {
    fn from(attempt: &'a Attempt) -> Self {
        Self {
            id: attempt.id,
            at: attempt.at,
            status_code: attempt.status_code,
            duration_ms: attempt.duration_ms,
            error: attempt.error.as_deref(),
            response_snippet: attempt.response_snippet.as_deref(),
        }
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
            delivery: DeliveryBody::from(&story.delivery),
            payload: text.map(raw).transpose()?,
            attempts: story.attempts.iter().map(AttemptBody::from).collect(),
        })
    }
}

/// How many deliveries will be made again.
#[derive(Serialize)]
pub(crate) struct Recovered {
    pub(crate) count: i64,
}

/// An event type, for the catalog.
#[derive(Serialize)]
pub(crate) struct EventTypeBody {
    r#type: EventType,
    description: &'static str,
    example: Box<RawValue>,
}

impl EventTypeBody {
    /// Every type, in the interface's order.
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
            },
            example: RawValue::from_string(example).map_err(ApiError::internal)?,
        })
    }
}
