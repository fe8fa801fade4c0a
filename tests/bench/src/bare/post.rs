//! A transaction of two inserts: a conversation and its event.

mod postgres;
mod sqlite;

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, Result};
use offhook_domain::{CallHandle, Clock as _, ConversationId, EventId};
use offhook_services::SystemClock;
use offhook_storage::mint;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::database::Place;

/// The written row: ids, texts, microseconds, and the event's body.
struct Row {
    /// Conversation, account, agent, key.
    ids: [Uuid; 4],
    /// The requested agent, the number, the metadata.
    texts: [String; 3],
    at: i64,
    event: Uuid,
    body: Vec<u8>,
}

/// Writes as durably as the service.
pub(crate) enum Writer {
    Sqlite(sqlite::Writer),
    Postgres(postgres::Writer),
}

impl Writer {
    pub(crate) async fn open(place: &Place) -> anyhow::Result<Self> {
        Ok(match place {
            Place::Sqlite(file) => Self::Sqlite(sqlite::Writer::open(file)?),
            Place::Postgres(url) => Self::Postgres(postgres::Writer::open(url).await?),
        })
    }
}

pub(crate) async fn place(
    writer: Data<Writer>,
    path: Path<(Uuid, Uuid, Uuid)>,
    body: Json<Value>,
) -> Result<HttpResponse> {
    let (account, agent, key) = path.into_inner();
    let text = |name| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let (agent_ref, to) = text("agent_id")
        .zip(text("to"))
        .ok_or_else(|| ErrorBadRequest("no number"))?;
    let metadata = body
        .get("metadata")
        .map(Value::to_string)
        .unwrap_or_default();
    let at = SystemClock.now();
    let id: ConversationId = mint(at);
    let event = json!({ "type": "call.initiated", "data": { "id": CallHandle(id), "to": to } });
    let row = Row {
        ids: [id.uuid(), account, agent, key],
        texts: [agent_ref, to, metadata],
        at: at.micros(),
        event: mint::<EventId>(at).uuid(),
        body: event.to_string().into_bytes(),
    };
    let written = match writer.as_ref() {
        Writer::Sqlite(writer) => writer.write(row).await,
        Writer::Postgres(writer) => writer.write(row).await,
    };
    written.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Created().json(json!({ "id": CallHandle(id), "created_at": at })))
}
