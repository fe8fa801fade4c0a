//! WhatsApp's Cloud API, where its address or version is set: it is asked without a token, and has to refuse that as the
//! Graph API does.

use offhook_providers::WhatsAppSettings;

use super::finding::{Finding, Hop};
use super::upstream::body_of;
use crate::prelude::*;

const HOP: Hop = Hop("whatsapp");

const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn look(settings: &WhatsAppSettings) -> Finding {
    let asked = timeout(LIMIT, ask(settings)).await;
    match asked.unwrap_or_else(|_| Err("no answer came within 10 s".to_owned())) {
        Ok((_, true)) => HOP.good(format!(
            "the Cloud API ({}) answers; accounts' tokens are looked at when they send",
            settings.version
        )),
        Ok((status, false)) => failed(&format!(
            "what answers there, with status {status}, is not the Cloud API"
        )),
        Err(why) => failed(&why),
    }
}

fn failed(why: &str) -> Finding {
    HOP.failed(format!(
        "customers on WhatsApp are not answered: {why}; see `whatsapp.base_url`, and that the way to it is open"
    ))
}

/// The status of the answer, and whether it is a refusal of the Graph API: an object with an `error` that has a code.
async fn ask(settings: &WhatsAppSettings) -> Result<(u16, bool), String> {
    let client = parts::http_client().map_err(|_| "TLS cannot be set up".to_owned())?;
    let base = settings.base_url.trim_end_matches('/');
    let asked = client.get(format!("{base}/{}/", settings.version));
    let answer = asked.send().await;
    let answer = answer.map_err(|error| match error.is_connect() {
        true => "no connection can be opened".to_owned(),
        false => "the connection was closed before an answer".to_owned(),
    })?;
    let status = answer.status();
    let body = body_of(answer).await.unwrap_or_default();
    let is_refusal = status.is_client_error() && body["error"]["code"].is_i64();
    Ok((status.as_u16(), is_refusal))
}
