//! A report of the legacy provider that is believed: read, and one row written.

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::{HttpResponse, Result, web};
use offhook_domain::{AccountId, Clock as _};
use offhook_services::SystemClock;
use offhook_storage::{LegacyReport, Store};
use serde_json::Value;

pub(crate) async fn take(
    store: web::Data<Store>,
    account: web::Path<String>,
    body: web::Json<Value>,
) -> Result<HttpResponse> {
    let account: AccountId = account.parse().map_err(ErrorBadRequest)?;
    let id = body
        .pointer("/data/conversation_id")
        .and_then(Value::as_str);
    let report = LegacyReport {
        provider_call_id: id.unwrap_or_default().to_owned(),
        conversation: None,
        failure: None,
    };
    let taken = store.take_legacy_report(account, &report, SystemClock.now());
    taken.await.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().finish())
}
