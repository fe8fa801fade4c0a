//! WhatsApp's Cloud API, where its address or version is set: it is asked without a token, and an answer is enough.

use std::time::Duration;

use offhook_providers::WhatsAppSettings;
use tokio::time::timeout;

use super::Finding;
use crate::parts;

const HOP: &str = "whatsapp";

const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn look(settings: &WhatsAppSettings) -> Finding {
    let asked = timeout(LIMIT, ask(settings)).await;
    match asked.unwrap_or_else(|_| Err("no answer came within 10 s".to_owned())) {
        Ok(status) if status < 500 => Finding::good(
            HOP,
            format!(
                "the Cloud API ({}) answers; accounts' tokens are looked at when they send",
                settings.version
            ),
        ),
        Ok(status) => failed(&format!("it answers with {status}")),
        Err(why) => failed(&why),
    }
}

fn failed(why: &str) -> Finding {
    Finding::failed(
        HOP,
        format!(
            "customers on WhatsApp are not answered: {why}; see `whatsapp.base_url`, and that the way to it is open"
        ),
    )
}

async fn ask(settings: &WhatsAppSettings) -> Result<u16, String> {
    let client = parts::http_client().map_err(|_| "TLS cannot be set up".to_owned())?;
    let base = settings.base_url.trim_end_matches('/');
    let asked = client.get(format!("{base}/{}/", settings.version));
    let answer = asked.send().await;
    let answer = answer.map_err(|error| match error.is_connect() {
        true => "no connection can be opened".to_owned(),
        false => "the connection was closed before an answer".to_owned(),
    })?;
    Ok(answer.status().as_u16())
}
