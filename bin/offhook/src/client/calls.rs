//! `offhook call`

use offhook_services::{SystemClock, store::mint};

use super::{Remote, conversation_id, reading};
use crate::prelude::*;

/// The waits before a request that was not answered is sent again.
const RETRIES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The agent that calls.
    #[arg(long, value_name = "ID")]
    agent: String,
    /// The number that is called, E.164.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    to: String,
    /// A variable of the conversation; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    /// What makes a retry safe: the same key and the same request place one call [default: a new one].
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print the conversation as it happens.
    #[arg(long)]
    follow: bool,
    /// Print the API's answer, and with --follow its events, one JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl CallArgs {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let api = self.remote.api()?;
        let key = self.idempotency_key;
        let key = key.unwrap_or_else(|| mint::<RequestId>(SystemClock.now()).to_string());
        let mut body = json!({ "agent_id": self.agent, "to": self.to });
        if !self.metadata.is_empty() {
            let metadata = self.metadata.into_iter();
            body["metadata"] = metadata
                .map(|(name, value)| (name, Value::from(value)))
                .collect();
        }
        let mut waits = RETRIES.iter();
        let placed = loop {
            match (api.place_call(&key, &body).await, waits.next()) {
                (Err(error), Some(wait)) if error.may_pass() => {
                    eprintln!("{error}; the same request is sent again in {wait:?}");
                    tokio::time::sleep(*wait).await;
                }
                (placed, _) => break placed?,
            }
        };
        let handle = placed["id"].as_str().unwrap_or_default().to_owned();
        output::print(self.json, &placed, &format!("{handle} was placed"))?;
        if self.follow {
            reading::follow_conversation(&api, conversation_id(&handle), self.json).await?;
        }
        Ok(())
    }
}
