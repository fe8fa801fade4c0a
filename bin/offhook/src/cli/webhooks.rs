//! `offhook webhooks …`

use std::io::Read as _;

use offhook_services::SystemClock;
use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SigningSecret, verify};

use crate::client::ForwardArgs;
use crate::prelude::*;
use crate::receiver::{Delivered, Receiver};
use crate::signals::Signals;

#[derive(Debug, Subcommand)]
pub(super) enum WebhooksCommand {
    /// Receive events on this machine and check their signatures, or forward an account's events to a receiver here.
    Listen {
        /// The address to listen on; port 0 picks one.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
        listen: SocketAddr,
        /// The endpoint's secret, whsec_…; with --forward-to what events are signed with [default: a new one].
        #[arg(long, required_unless_present = "forward_to")]
        secret: Option<SigningSecret>,
        #[command(flatten)]
        forward: ForwardArgs,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Verify one signature: exit code 0 if it is valid, 1 if not.
    Verify {
        /// The endpoint's secret, whsec_….
        #[arg(long)]
        secret: SigningSecret,
        /// The value of X-Service-Signature.
        #[arg(long)]
        signature: String,
        /// The file with the raw body, byte for byte; `-` reads standard input.
        #[arg(long, value_name = "FILE", default_value = "-")]
        body: PathBuf,
        /// Verify as of this Unix time, in seconds.
        #[arg(long, value_name = "SECONDS")]
        now: Option<i64>,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl WebhooksCommand {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Listen { forward, .. } if forward.is_idle() => {
                bail!("--url and --key go with --forward-to alone")
            }
            Self::Listen {
                listen,
                secret,
                mut forward,
                json,
            } => match (forward.forward_to.take(), secret) {
                (Some(to), secret) => forward.run(to, secret, json).await,
                (None, Some(secret)) => self::listen(listen, secret, json).await,
                (None, None) => bail!("--secret is missing"),
            },
            Self::Verify {
                secret,
                signature,
                body,
                now,
                json,
            } => {
                let body = if body.as_os_str() == "-" {
                    let mut bytes = Vec::new();
                    std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
                } else {
                    std::fs::read(&body)
                }
                .with_context(|| format!("the body {} cannot be read", body.display()))?;
                let now = now.unwrap_or_else(|| SystemClock.now().unix_seconds());
                if let Err(error) =
                    verify(&signature, &body, &secret, now, DEFAULT_TOLERANCE_SECONDS)
                {
                    if json {
                        output::print(true, &json!({ "valid": false }), "")?;
                    }
                    bail!("{error}");
                }
                output::print(json, &json!({ "valid": true }), "the signature is good")
            }
        }
    }
}

async fn listen(address: SocketAddr, secret: SigningSecret, json: bool) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let mut receiver = Receiver::start(address).await?;
    receiver.trust(secret);
    let url = receiver.url();
    output::print(json, &json!({ "url": url }), &format!("listening at {url}"))?;
    loop {
        tokio::select! {
            Some(delivered) = receiver.next() => show(&delivered, json)?,
            () = signals.next() => return Ok(()),
        }
    }
}

fn show(delivered: &Delivered, json: bool) -> anyhow::Result<()> {
    let Delivered {
        event,
        event_id,
        delivery_id,
        verdict,
        body,
    } = delivered;
    let body = String::from_utf8_lossy(body);
    let value = json!({
        "event": event,
        "event_id": event_id,
        "delivery_id": delivery_id,
        "valid": verdict.is_ok(),
        "body": body,
    });
    let verdict = match verdict {
        Ok(()) => "signature good".to_owned(),
        Err(why) => format!("REFUSED: {why}"),
    };
    output::print(
        json,
        &value,
        &format!("{event}  {event_id}  {verdict}\n{body}\n"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::cli::Cli;

    const VECTORS: &str = include_str!("../../../../crates/signing/vectors.json");

    async fn verify(secret: &str, signature: &str, body: &str, now: i64) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("body");
        std::fs::write(&file, body).unwrap();
        let given = format!("--secret {secret} --signature {signature} --now {now}");
        let line = format!("offhook webhooks verify {given} --body {}", file.display());
        let cli = Cli::of(line.split(' ')).unwrap();
        cli.run().await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn every_published_vector_is_good_for_each_of_its_secrets_and_only_with_its_body() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        for vector in &vectors {
            let text = |name: &str| vector[name].as_str().unwrap();
            let (body, header, at) = (text("body"), text("header"), vector["t"].as_i64().unwrap());
            for secret in vector["secrets"].as_array().unwrap() {
                let secret = secret.as_str().unwrap();
                verify(secret, header, body, at).await.unwrap();
                let late = verify(secret, header, body, at + 301).await.unwrap_err();
                assert_eq!(late, "the signature's time is too far from the present");
                let other = verify(secret, header, &format!("{body} "), at)
                    .await
                    .unwrap_err();
                assert_eq!(
                    other,
                    "no signature in the header matches the body and the secret"
                );
            }
        }
    }
}
