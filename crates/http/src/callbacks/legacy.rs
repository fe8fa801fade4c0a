//! The post-call webhooks of the provider of an account's legacy agents, signed with the account's `legacy_webhook`
//! secret.

use actix_web::web;
use offhook_services::ReportError;

use super::one_header;
use crate::prelude::*;
use crate::request::body::bytes_up_to;

const SIGNATURE: &str = "elevenlabs-signature";

/// The largest report in bytes: a transcript and the tool results. A report with audio is larger.
const MAX_BYTES: usize = 4 << 20;

/// The route; the account enters it in the provider's settings.
pub(super) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::at("/callbacks/legacy/{account_id}").post(take)]
}

/// `POST /callbacks/legacy/{account_id}`: 200 once the report is stored, and for the same report again.
async fn take(
    request: HttpRequest,
    account: web::Path<String>,
    payload: web::Payload,
    state: web::Data<HttpState>,
) -> Result<HttpResponse, ApiError> {
    let headers = request.headers();
    let account = account.parse::<AccountId>().ok();
    let Some((account, signature)) = account.zip(one_header(headers, SIGNATURE)) else {
        return Ok(HttpResponse::Forbidden().finish());
    };
    let body = bytes_up_to(&request, payload.into_inner(), MAX_BYTES).await?;
    let legacy = state.services.legacy();
    match legacy.take_report(account, signature, &body).await {
        Ok(()) => Ok(HttpResponse::Ok().finish()),
        Err(ReportError::NotGenuine) => Ok(HttpResponse::Forbidden().finish()),
        Err(ReportError::Store(error)) => Err(error.into()),
    }
}
