//! A transaction of two inserts: a conversation and its event.

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::{HttpResponse, Result, web};
use offhook_domain::{
    AccountId, AgentId, CallHandle, Clock as _, EventType, KeyId, Price, Runtime,
};
use offhook_services::SystemClock;
use offhook_storage::{NewCall, NewEvent, Store, mint};
use serde_json::{Value, json};

pub(crate) async fn place(
    store: web::Data<Store>,
    path: web::Path<(String, String, String)>,
    body: web::Json<Value>,
) -> Result<HttpResponse> {
    let (account, agent, key) = path.into_inner();
    let account: AccountId = account.parse().map_err(ErrorBadRequest)?;
    let agent: AgentId = agent.parse().map_err(ErrorBadRequest)?;
    let key: KeyId = key.parse().map_err(ErrorBadRequest)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let to = text("to").parse().map_err(ErrorBadRequest)?;
    let at = SystemClock.now();
    let id = mint(at);
    let event =
        json!({ "type": "call.initiated", "data": { "id": CallHandle(id), "to": text("to") } });
    let call = NewCall {
        id,
        account_id: account,
        agent_id: agent,
        agent_ref: text("agent_id").to_owned(),
        agent_version: 1,
        runtime: Runtime::Engine,
        key_id: Some(key),
        key_budget: None,
        from: offhook_carriers::OURS.parse().map_err(ErrorBadRequest)?,
        to,
        metadata: body
            .get("metadata")
            .map(Value::to_string)
            .unwrap_or_default(),
        price: Price::default(),
        reserve: 0,
        at,
        steady: at,
        event: Some(NewEvent {
            id: mint(at),
            kind: EventType::CallInitiated,
            body: event.to_string().into_bytes(),
        }),
        idempotency: None,
    };
    store
        .bench_two_inserts(call)
        .await
        .map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Created().json(json!({ "id": CallHandle(id), "created_at": at })))
}
