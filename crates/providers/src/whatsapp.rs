//! WhatsApp's Cloud API (Graph API, `POST {base}/{version}/{phone number id}/messages`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::json::read_foreign;
use offhook_domain::ports::whatsapp::{
    Doubt, OutgoingText, Refusal, SendError, WhatsAppApi, is_busy_code,
};
use offhook_egress::{SetupError, http_url, trusted_client};
use reqwest::header::AUTHORIZATION;
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::http;
use crate::settings::SettingsError;

/// The settings section that errors name.
const SECTION: &str = "whatsapp";

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Limit for a request: well within a lease.
const LIMIT: Duration = Duration::from_secs(20);

const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The longest wait that WhatsApp can request.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The URL of the Cloud API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatsAppSettings {
    /// The URL before the version.
    pub base_url: String,
    /// The Graph API's version, such as `v24.0`.
    pub version: String,
}

impl Default for WhatsAppSettings {
    fn default() -> Self {
        Self {
            base_url: "https://graph.facebook.com".to_owned(),
            version: "v24.0".to_owned(),
        }
    }
}

/// Creates the Cloud API client of these settings. The error names the settings section.
pub fn whatsapp(settings: &WhatsAppSettings) -> Result<Arc<dyn WhatsAppApi>, SettingsError> {
    let base = settings.base_url.trim_end_matches('/');
    let url = http_url(&format!("{base}/{}/", settings.version))
        .ok_or_else(|| SettingsError::BaseUrl(SECTION.to_owned()))?;
    let client = trusted_client()?
        .connect_timeout(CONNECT_LIMIT)
        .pool_idle_timeout(crate::IDLE_LIMIT)
        .tcp_nodelay(true)
        .build()
        .map_err(SetupError::from)?;
    Ok(Arc::new(CloudApi { client, url }))
}

struct CloudApi {
    client: reqwest::Client,
    url: Url,
}

#[derive(Serialize)]
struct RequestBody<'a> {
    messaging_product: &'static str,
    recipient_type: &'static str,
    to: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    text: TextBody<'a>,
    biz_opaque_callback_data: &'a str,
}

#[derive(Serialize)]
struct TextBody<'a> {
    preview_url: bool,
    body: &'a str,
}

#[derive(Deserialize)]
struct AnswerBody {
    messages: Vec<AnswerMessage>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    id: String,
}

#[derive(Deserialize)]
struct FaultBody {
    error: Fault,
}

#[derive(Deserialize)]
struct Fault {
    code: i64,
}

#[async_trait]
impl WhatsAppApi for CloudApi {
    async fn send(&self, access_token: &str, text: &OutgoingText) -> Result<String, SendError> {
        let no_number = SendError::Refused(Refusal::Status(StatusCode::NOT_FOUND.as_u16()));
        let is_plain = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        if !is_plain(&text.phone_number_id) {
            return Err(no_number);
        }
        let url = self
            .url
            .join(&format!("{}/messages", text.phone_number_id))
            .map_err(|_| no_number)?;
        let authorization =
            http::credential("Bearer ", access_token).ok_or(SendError::Refused(Refusal::Token))?;
        let request = self.client.post(url).header(AUTHORIZATION, authorization);
        let request = request.json(&RequestBody {
            messaging_product: "whatsapp",
            recipient_type: "individual",
            to: text.to.as_str(),
            kind: "text",
            text: TextBody {
                preview_url: false,
                body: &text.text,
            },
            biz_opaque_callback_data: &text.reference,
        });
        let asked = async {
            let answer = request.send().await.map_err(|error| failure(&error))?;
            read(answer).await
        };
        let late = Err(SendError::Unknown(Doubt::NoAnswer));
        timeout(LIMIT, asked).await.unwrap_or(late)
    }
}

/// Only a connection that never opened surely had no effect.
fn failure(error: &reqwest::Error) -> SendError {
    if error.is_connect() {
        SendError::NotConnected
    } else {
        SendError::Unknown(Doubt::NoAnswer)
    }
}

async fn read(answer: Response) -> Result<String, SendError> {
    let status = answer.status();
    let wait = http::retry_after(&answer).map(|wait| wait.min(LONGEST_WAIT));
    if status.is_success() {
        let body = body(answer).await.map_err(SendError::Unknown)?;
        let read: Result<AnswerBody, _> = serde_json::from_slice(&body);
        let first = read.ok().and_then(|read| read.messages.into_iter().next());
        return first
            .map(|message| message.id)
            // With U+0000 removed it would be another message's id, and not every database can store U+0000.
            .filter(|id| !id.is_empty() && id.len() <= 512 && !id.contains('\0'))
            .ok_or(SendError::Unknown(Doubt::Form));
    }
    if !status.is_client_error() || status == StatusCode::REQUEST_TIMEOUT {
        return Err(SendError::Unknown(Doubt::Status(status.as_u16())));
    }
    // A 4xx answer is a refusal, whatever else it says.
    let body = body(answer).await.unwrap_or_default();
    let code = read_foreign::<FaultBody>(&body)
        .ok()
        .map(|body| body.error.code);
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || code.is_some_and(is_busy_code);
    if is_busy {
        return Err(SendError::Busy(wait));
    }
    Err(SendError::Refused(match (code, status) {
        (Some(code), _) => Refusal::of_code(code),
        (None, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Refusal::Token,
        (None, status) => Refusal::Status(status.as_u16()),
    }))
}

async fn body(answer: Response) -> Result<Vec<u8>, Doubt> {
    let body = http::whole(answer, MAX_ANSWER_BYTES).await;
    body.map_err(|_| Doubt::NoAnswer)?.ok_or(Doubt::Form)
}
