//! Webhook endpoints and deliveries.

use offhook_services::store::DeliveryState;

use super::*;
use crate::wire::webhook::{AttemptBody, DeliveryBody, EndpointBody};

fn delivery_filters() -> Vec<Value> {
    let mut filters = vec![
        query("status", "Only in this status.", words(DeliveryState::ALL)),
        query("type", "Only of this event type.", words(EventType::ALL)),
        query("webhook_id", "Only to this endpoint.", uuid()),
    ];
    filters.extend(period());
    filters
}

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::WebhooksRead);
    let write = Access::Scope(Scope::WebhooksWrite);
    let (all, one) = ("/v1/webhooks", "/v1/webhooks/{id}");
    let with_secret = One("WebhookWithSecret");
    operations! {
        GET all, listWebhooks, read => List("Webhook"), "List endpoints";
        POST all, createWebhook, write => with_secret, "Register an endpoint; its secret is shown once"
            .body("CreateWebhook").status(201).errors_too(&[Code::Conflict]);
        GET one, getWebhook, read => One("Webhook"), "Read an endpoint";
        PATCH one, updateWebhook, write => One("Webhook"), "Update an endpoint" .optional_body("UpdateWebhook");
        DELETE one, deleteWebhook, write => One("Deleted"), "Delete an endpoint";
        POST "/v1/webhooks/{id}/rotate-secret", rotateWebhookSecret, write
            => with_secret, "Rotate the signing secret; the new one is shown once"
            .optional_body("RotateSecret");
        POST "/v1/webhooks/{id}/test", testWebhook, write => One("DeliveryItem"), "Send a test event"
            .optional_body("TestWebhook").status(202).errors_too(&[Code::Conflict]);
        POST "/v1/webhooks/{id}/recover", recoverWebhook, write
            => One("Recovered"), "Resend an endpoint's missed deliveries, at most 14 days back"
            .body("Recover").status(202).errors_too(&[Code::Conflict]);
        GET "/v1/webhooks/events", listEventTypes, read => List("EventType"), "List the event types";
        GET "/v1/webhooks/stream", followEvents, read
            => Answer::Events, "Follow the account's events, with or without endpoints"
            .filters(vec![last_event_id()])
            .errors_too(&[Code::Conflict]);
        GET "/v1/webhooks/deliveries", listDeliveries, read => List("DeliveryItem"), "List deliveries"
            .filters(delivery_filters());
        GET "/v1/webhooks/deliveries/{id}", getDelivery, read
            => One("Delivery"), "Read a delivery with its payload and attempts";
        POST "/v1/webhooks/deliveries/{id}/redeliver", redeliver, write
            => One("DeliveryItem"), "Redeliver once more"
            .optional_body("Nothing").status(202).errors_too(&[Code::Conflict]);
    }
}

/// The data of a call's event.
fn of_call<'a>(data: &[(&'a str, Value)]) -> Vec<(&'a str, Value)> {
    let common = [("id", string()), ("agent_id", string())];
    [&common[..], data].concat()
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let secret = [("secret", string())];
    let story = [
        ("payload", nullable(reference("Event"))),
        ("attempts", array(AttemptBody::shape())),
    ];
    let initiated = of_call(&[("to", e164()), ("metadata", map(variable()))]);
    let completed = of_call(&[
        ("status", words(&["completed"])),
        ("duration_seconds", integer()),
        ("transcript_summary", string()),
        ("termination_reason", words(TerminationReason::ALL)),
        ("started_at", instant()),
        ("ended_at", instant()),
    ]);
    let failed = of_call(&[
        ("status", words(&["failed"])),
        ("reason", words(FailureReason::ALL)),
    ]);
    let threshold = [
        ("kind", words(ThresholdKind::ALL)),
        ("threshold_credits", integer()),
        ("month", string()),
        ("spent_credits", integer()),
        ("balance_credits", integer()),
    ];
    let opted_out = [("number", e164()), ("conversation_id", uuid())];
    let of_campaign = |status| {
        [
            ("campaign_id", uuid()),
            ("name", string()),
            ("status", words(&[status])),
            ("paused_reason", nullable(words(CampaignPause::ALL))),
            ("total", integer()),
            ("pending", integer()),
            ("dialing", integer()),
            ("reached", integer()),
            ("unreached", integer()),
            ("blocked", integer()),
            ("credits", integer()),
        ]
    };
    let event = |kind: EventType, data: Members<'_>| {
        let schema = object(&[
            ("id", uuid()),
            ("type", words(&[kind])),
            ("created_at", instant()),
            ("data", object(data)),
        ]);
        (event_name(kind), schema)
    };
    let events = [
        event(EventType::CallInitiated, &initiated),
        event(EventType::CallCompleted, &completed),
        event(EventType::CallFailed, &failed),
        event(EventType::BillingThreshold, &threshold),
        event(EventType::ContactOptedOut, &opted_out),
        event(
            EventType::CampaignCompleted,
            &of_campaign(CampaignStatus::Completed),
        ),
        event(
            EventType::CampaignPaused,
            &of_campaign(CampaignStatus::Paused),
        ),
    ];
    let any = events.each_ref().map(|(name, _)| reference(name));
    let event_type = [
        ("type", words(EventType::ALL)),
        ("description", string()),
        ("example", reference("Event")),
    ];
    let mut schemas = schemas! {
        Webhook => EndpointBody::shape();
        WebhookWithSecret => with(EndpointBody::shape(), &secret);
        CreateWebhook => body::request::<bodies::CreateWebhook>();
        UpdateWebhook => body::request::<bodies::UpdateWebhook>();
        Deleted => object(&[("id", uuid()), ("deleted", boolean())]);
        RotateSecret => body::request::<bodies::RotateSecret>();
        TestWebhook => body::request::<bodies::TestWebhook>();
        Recover => body::request::<bodies::Recover>();
        Recovered => object(&[("count", integer())]);
        DeliveryItem => DeliveryBody::shape();
        Delivery => with(DeliveryBody::shape(), &story);
        Event => json!({ "oneOf": any });
        EventType => object(&event_type);
    };
    schemas.extend(events);
    schemas
}
