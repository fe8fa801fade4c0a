//! `offhook webhooks listen --forward-to`

use std::time::Instant;

use offhook_services::{SystemClock, store::mint};
use offhook_signing::{SIGNATURE_HEADER, SigningSecret, sign};
use ring::rand::SystemRandom;
use url::Url;

use super::Remote;
use crate::parts::http_client;
use crate::prelude::*;

/// How long the receiver may take, as deliveries have it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(crate) struct ForwardArgs {
    /// Send each event of the account there as it happens, signed; needs a key, and no endpoint.
    #[arg(long, value_name = "URL", conflicts_with = "listen")]
    pub(crate) forward_to: Option<Url>,
    #[command(flatten)]
    remote: Remote,
}

impl ForwardArgs {
    /// Whether a service is named, though nothing is to be forwarded.
    pub(crate) const fn is_idle(&self) -> bool {
        self.forward_to.is_none() && self.remote.is_given()
    }

    /// Forwards until the process is ended. An event is sent once, whatever is answered.
    pub(crate) async fn run(
        self,
        to: Url,
        secret: Option<SigningSecret>,
        json: bool,
    ) -> anyhow::Result<()> {
        let api = self.remote.api()?;
        let secret = match secret {
            Some(secret) => secret,
            None => SigningSecret::generate(&SystemRandom::new())?,
        };
        let words = format!("forwarding events to {to}, signed with {}", secret.expose());
        let ready = json!({ "forward_to": to.as_str(), "secret": secret.expose() });
        output::print(json, &ready, &words)?;
        let http = http_client()?;
        let (events, mut waiting) = tokio::sync::mpsc::unbounded_channel();
        // What was read is sent, also when reading ends.
        let reading = async {
            let read = |body: &str| Ok(events.send(body.to_owned()).is_ok());
            let read = api.follow_text("/v1/webhooks/stream", read).await;
            drop(events);
            read
        };
        let sending = async {
            while let Some(body) = waiting.recv().await {
                if !forward(&http, &to, &secret, body, json).await? {
                    break;
                }
            }
            anyhow::Ok(())
        };
        tokio::pin!(sending);
        tokio::select! {
            sent = &mut sending => sent,
            read = reading => {
                sending.await?;
                read
            }
        }
    }
}

/// Sends an event; `false` if nobody reads what is printed any more.
async fn forward(
    http: &reqwest::Client,
    to: &Url,
    secret: &SigningSecret,
    body: String,
    json: bool,
) -> anyhow::Result<bool> {
    let event: serde_json::Value = serde_json::from_str(&body)?;
    let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let (kind, id, now) = (word("type"), word("id"), SystemClock.now());
    let signature = sign(
        std::slice::from_ref(secret),
        now.unix_seconds(),
        body.as_bytes(),
    );
    let began = Instant::now();
    let answer = http
        .post(to.clone())
        .timeout(ANSWERED_WITHIN)
        .header("Content-Type", "application/json")
        .header("User-Agent", "Service-Webhook/1.0")
        .header(SIGNATURE_HEADER, signature)
        .header("X-Service-Event", &kind)
        .header("X-Service-Event-Id", &id)
        .header("X-Service-Delivery", mint::<DeliveryId>(now).to_string())
        .body(body)
        .send();
    let (status, message) = match answer.await {
        Ok(answer) => (Some(answer.status().as_u16()), answer.status().to_string()),
        Err(error) => (None, format!("no answer: {error}")),
    };
    let took = began.elapsed().as_millis();
    let value = json!({ "event": kind, "event_id": id, "status": status, "took_ms": took });
    output::line(
        json,
        &value,
        &format!("{kind}  {id}  {message} in {took} ms"),
    )
}
