//! Changes to an endpoint.

use offhook_services::store::{Endpoint, EndpointStatus};

use super::endpoint::{Form, again, fields_of, refused};
use super::{address_of, labels, to_secret};
use crate::parts::version;
use crate::prelude::*;

fn page_of(id: EndpointId) -> String {
    format!("/webhooks/{id}")
}

pub(super) async fn change(post: Post<Developer>) -> Answer {
    let id = post.id("id")?;
    let webhooks = post.services().webhooks();
    let view = webhooks.get(post.account(), id).await?;
    let (stored, labels) = (fields_of(&view.endpoint), labels(post.lang()));
    let body = address_of(&post.fields);
    let work = webhooks.update(post.account(), id, &body);
    match version::save(&post, &stored, &labels, work).await? {
        Ok(saved) => {
            let message = post.t("Saved.", "Guardado.");
            let changes = Changes::between(&told(&view.endpoint), &told(&saved.endpoint));
            post.done_change(("webhook.update", id), changes, &page_of(id), message)
                .await
        }
        Err(refused) => again(&post, Form::Address, &refused.fields, &refused.message).await,
    }
}

/// An endpoint as the audit log tells of it.
fn told(endpoint: &Endpoint) -> Json {
    let events = endpoint.events.unwrap_or_else(EventTypes::by_default);
    let events: Json = events.iter().map(|kind| kind.as_str().into()).collect();
    Json::object([
        ("url", Json::from(endpoint.url.as_str())),
        ("description", Json::from(endpoint.description.as_deref())),
        ("events", events),
        ("status", Json::from(endpoint.status.as_str())),
    ])
}

pub(super) async fn set_status(post: Post<Developer>) -> Answer {
    let id = post.id("id")?;
    let t = post.lang();
    let status = post.fields.text("status");
    let body = Json::object([("status", Json::from(status))]);
    let webhooks = post.services().webhooks();
    let before = webhooks.get(post.account(), id).await?.endpoint;
    let view = webhooks.update(post.account(), id, &body).await?;
    let changes = Changes::between(&told(&before), &told(&view.endpoint));
    let (action, message) = match view.endpoint.status {
        EndpointStatus::Enabled => ("webhook.enable", t.t("Enabled.", "Habilitado.")),
        EndpointStatus::Disabled => ("webhook.disable", t.t("Disabled.", "Deshabilitado.")),
    };
    post.done_change((action, id), changes, &page_of(id), message)
        .await
}

pub(super) async fn rotate(post: Post<Developer>) -> Answer {
    let id: EndpointId = post.id("id")?;
    let hours = post.fields.text("overlap_hours");
    // Input that is not a number is refused by the service.
    let hours = hours
        .parse::<i64>()
        .map_or_else(|_| hours.into(), Json::from);
    let body = Json::object([("overlap_hours", hours)]);
    let webhooks = post.services().webhooks();
    match webhooks.rotate(post.account(), id, &body).await {
        Ok(registered) => {
            post.note_change("webhook.rotate_secret", id, Changes::secret("secret"))
                .await;
            to_secret(&post, &registered).await
        }
        Err(error) => refused(&post, Form::Rotate, error).await,
    }
}

pub(super) async fn test(post: Post<Developer>) -> Answer {
    let id = post.id("id")?;
    let body = Json::object([("type", Json::from(post.fields.get("type")))]);
    let webhooks = post.services().webhooks();
    match webhooks.test(post.account(), id, &body).await {
        Ok(delivery) => {
            let message = post.t("Test event queued.", "Evento de prueba en cola.");
            let path = format!("/webhooks/deliveries/{}", delivery.id);
            post.done("webhook.test", id, &path, message).await
        }
        Err(error) => refused(&post, Form::Test, error).await,
    }
}

pub(super) async fn recover(post: Post<Developer>) -> Answer {
    let id = post.id("id")?;
    let since = post.fields.text("since");
    let instant = post.zone().instant(since);
    let since = instant.map_or_else(|| since.to_owned(), |at| at.to_string());
    let body = Json::object([("since", Json::String(since))]);
    let webhooks = post.services().webhooks();
    match webhooks.recover(post.account(), id, &body).await {
        Ok(count) => {
            let message = text!(
                post.lang(),
                "Deliveries to resend: {count}.",
                "Entregas por reenviar: {count}."
            );
            post.done("webhook.recover", id, &page_of(id), &message)
                .await
        }
        Err(error) => refused(&post, Form::Recover, error).await,
    }
}

pub(super) async fn delete(post: Post<Developer>) -> Answer {
    let id = post.id("id")?;
    let webhooks = post.services().webhooks();
    webhooks.delete(post.account(), id).await?;
    let message = post.t("Endpoint deleted.", "Punto de conexión eliminado.");
    post.done("webhook.delete", id, "/webhooks", message).await
}
