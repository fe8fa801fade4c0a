//! `/v1/webhooks`.

use offhook_services::store::{DeliveryFilter, DeliveryState};

use crate::prelude::*;
use crate::request::ask::{WebhooksRead, WebhooksWrite};
use crate::request::body::{Nothing, Optional};
use crate::streams::{self, Resume};
use crate::wire::Deleted;
use crate::wire::webhook::{
    DeliveryBody, DeliveryStoryBody, EndpointBody, EndpointWithSecret, EventTypeBody, Recovered,
};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/webhooks").get(list).post(create),
        at("/v1/webhooks/events").get(events),
        at("/v1/webhooks/stream").get(follow),
        at("/v1/webhooks/deliveries").get(deliveries),
        at("/v1/webhooks/deliveries/{id}").get(delivery),
        at("/v1/webhooks/deliveries/{id}/redeliver").post(redeliver),
        at("/v1/webhooks/{id}")
            .get(get)
            .patch(update)
            .delete(delete),
        at("/v1/webhooks/{id}/rotate-secret").post(rotate),
        at("/v1/webhooks/{id}/test").post(test),
        at("/v1/webhooks/{id}/recover").post(recover),
    ]
}

impl FromQuery for DeliveryFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let state = query.one_of("status", DeliveryState::ALL)?;
        let kind = query.choice("type", EventType::choices)?;
        let endpoint = query.id("webhook_id")?;
        let (since, until) = query.period()?;
        Ok(Self {
            state,
            kind,
            endpoint,
            since,
            until,
        })
    }
}

/// `GET /v1/webhooks`
async fn list(ask: Ask<WebhooksRead, (), Listing<()>>) -> Reply {
    let page = ask.query.page_request(EndpointId::from_uuid);
    let webhooks = ask.services().webhooks();
    let endpoints = webhooks.list(ask.account(), page).await?;
    ask.query.answer(
        &endpoints,
        |view| (view.endpoint.created_at, view.endpoint.id.uuid()),
        EndpointBody::of,
    )
}

/// `GET /v1/webhooks/stream`
async fn follow(ask: Ask<WebhooksRead, (), (), Resume>) -> Reply {
    let webhooks = ask.services().webhooks();
    let events = webhooks.follow(ask.account(), ask.body.after()?);
    streams::of_account(&ask.state, &ask.caller, &ask.body, events, |event| {
        let body = std::str::from_utf8(&event.body).ok()?;
        let (id, kind) = (event.id, event.kind);
        Some(format!("id: {id}\nevent: {kind}\ndata: {body}\n\n").into())
    })
    .await
}

/// `POST /v1/webhooks`
async fn create(ask: Ask<WebhooksWrite, (), (), Json>) -> Reply {
    let webhooks = ask.services().webhooks();
    let registered = webhooks.create(ask.account(), &ask.body).await?;
    ask.made(ResourceKind::Webhook, registered.view.endpoint.id.uuid());
    reply::created(&EndpointWithSecret::from(&registered))
}

/// `GET /v1/webhooks/{id}`
async fn get(ask: Ask<WebhooksRead, EndpointId>) -> Reply {
    let view = ask.services().webhooks().get(ask.account(), ask.id).await?;
    reply::ok(&EndpointBody::of(&view))
}

/// `PATCH /v1/webhooks/{id}`
async fn update(ask: Ask<WebhooksWrite, EndpointId, (), Optional>) -> Reply {
    let webhooks = ask.services().webhooks();
    let view = webhooks.update(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&EndpointBody::of(&view))
}

/// `DELETE /v1/webhooks/{id}`
async fn delete(ask: Ask<WebhooksWrite, EndpointId>) -> Reply {
    let webhooks = ask.services().webhooks();
    webhooks.delete(ask.account(), ask.id).await?;
    reply::ok(&Deleted::new(ask.id))
}

/// `POST /v1/webhooks/{id}/rotate-secret`
async fn rotate(ask: Ask<WebhooksWrite, EndpointId, (), Optional>) -> Reply {
    let webhooks = ask.services().webhooks();
    let registered = webhooks.rotate(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&EndpointWithSecret::from(&registered))
}

/// `POST /v1/webhooks/{id}/test`
async fn test(ask: Ask<WebhooksWrite, EndpointId, (), Optional>) -> Reply {
    let webhooks = ask.services().webhooks();
    let delivery = webhooks.test(ask.account(), ask.id, &ask.body.0).await?;
    ask.made(ResourceKind::Delivery, delivery.id.uuid());
    reply::accepted(&DeliveryBody(&delivery))
}

/// `POST /v1/webhooks/{id}/recover`
async fn recover(ask: Ask<WebhooksWrite, EndpointId, (), Json>) -> Reply {
    let webhooks = ask.services().webhooks();
    let count = webhooks.recover(ask.account(), ask.id, &ask.body).await?;
    reply::accepted(&Recovered { count })
}

/// `GET /v1/webhooks/events`
async fn events(ask: Ask<WebhooksRead, (), Listing<()>>) -> Reply {
    ask.query.answer_from(&EventTypeBody::all()?)
}

/// `GET /v1/webhooks/deliveries`
async fn deliveries(ask: Ask<WebhooksRead, (), Listing<DeliveryFilter>>) -> Reply {
    let page = ask.query.page_request(DeliveryId::from_uuid);
    let filter = ask.query.filters.clone();
    let webhooks = ask.services().webhooks();
    let deliveries = webhooks.deliveries(ask.account(), filter, page).await?;
    ask.query.answer(
        &deliveries,
        |delivery| (delivery.created_at, delivery.id.uuid()),
        DeliveryBody,
    )
}

/// `GET /v1/webhooks/deliveries/{id}`
async fn delivery(ask: Ask<WebhooksRead, DeliveryId>) -> Reply {
    let webhooks = ask.services().webhooks();
    let story = webhooks.delivery(ask.account(), ask.id).await?;
    reply::ok(&DeliveryStoryBody::try_from(&story)?)
}

/// `POST /v1/webhooks/deliveries/{id}/redeliver`
async fn redeliver(ask: Ask<WebhooksWrite, DeliveryId, (), Nothing>) -> Reply {
    let webhooks = ask.services().webhooks();
    let delivery = webhooks.redeliver(ask.account(), ask.id).await?;
    ask.made(ResourceKind::Delivery, delivery.id.uuid());
    reply::accepted(&DeliveryBody(&delivery))
}
