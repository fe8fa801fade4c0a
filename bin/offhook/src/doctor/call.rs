//! A call from the request to the signed event, by a service of its own: on SQLite in a temporary directory, with the
//! simulated network in the process. It is what this binary does on this machine, and neither the database nor the carrier
//! nor anybody's wallet is touched.

use tokio::time::sleep;

use super::finding::{Finding, Hop};
use crate::client::Api;
use crate::demo::text;
use crate::prelude::*;
use crate::receiver::Receiver;
use crate::serve::{self, Running};
use crate::settings::Flags;
use crate::signals::Signals;

const HOP: Hop = Hop("call");

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A number of the range that is kept for fiction.
const CUSTOMER: &str = "+14155550123";

pub(super) async fn look() -> Finding {
    match place().await {
        Ok(turns) => HOP.good(format!(
            "one through a service of its own was placed, held for {turns} turns and reported, signed"
        )),
        Err(error) => HOP.failed(format!(
            "one through a service of its own did not succeed ({error:#}): see that the temporary directory can be \
             written (TMPDIR) and that loopback connections are allowed"
        )),
    }
}

async fn place() -> anyhow::Result<usize> {
    let directory = tempfile::tempdir().context("no temporary directory")?;
    let mut settings = Settings::from_parts(Flags::default(), [])?;
    settings.data_dir = directory.path().to_owned();
    settings.listen = "127.0.0.1:0".parse()?;
    settings.webhooks.allow_private_targets = true;
    settings.calls.drain = Duration::ZERO;
    settings.simulator.speed = Some(200.0);
    let mut signals = Signals::listen()?;
    let running = serve::start(settings).await?;
    let placed = tokio::select! {
        placed = timeout(LIMIT, hold(&running)) => {
            placed.unwrap_or_else(|_| bail!("it did not end within {} s", LIMIT.as_secs()))
        }
        () = signals.next() => bail!("interrupted"),
    };
    running.stop(&mut signals).await?;
    placed
}

async fn hold(running: &Running) -> anyhow::Result<usize> {
    let services = running.services();
    let made = services
        .accounts()
        .create("doctor", Plan::Pro, None, None, None);
    let account = made.await.context("making an account")?;
    let keys = services.keys();
    let made = keys.create(account.id, "doctor", Scopes::all(), false, None, None);
    let (_, token) = made.await.context("making a key")?;
    let api = Api::new(format!("http://{}", running.address()), token)?;
    let mut receiver = Receiver::start("127.0.0.1:0".parse()?).await?;
    let body = json!({ "url": receiver.url() });
    let endpoint = api.post("/v1/webhooks", body, "making an endpoint").await?;
    receiver.trust(text(&endpoint, "secret")?.parse()?);
    let config = json!({
        "system_prompt": "say: Goodbye!",
        "first_message": "Hello, this is a test.",
        "llm": { "provider": "scripted", "model": "scripted" },
    });
    let body = json!({ "name": "Doctor", "language": "en-US", "config": config });
    let agent = api.post("/v1/agents", body, "making an agent").await?;
    let agent = text(&agent, "id")?;
    let publish = format!("/v1/agents/{agent}/publish");
    let published = api.post(&publish, json!({}), "publishing the agent");
    published.await?;
    let body = json!({ "agent_id": agent, "to": CUSTOMER });
    let call = api.post("/v1/calls", body, "placing the call").await?;
    let turns = ended(&api, &text(&call, "id")?).await?;
    receiver.both(|_| {}).await?;
    Ok(turns)
}

/// Waits for the end of the call, and counts what was said.
async fn ended(api: &Api, handle: &str) -> anyhow::Result<usize> {
    loop {
        let call = api.get(&format!("/v1/calls/{handle}")).await?;
        match call["status"].as_str() {
            Some("initiated") => sleep(Duration::from_millis(20)).await,
            Some("completed") => break,
            _ => bail!("the call failed: {}", call["failure_reason"]),
        }
    }
    let id = handle.strip_prefix("call_").unwrap_or(handle);
    let conversation = api.get(&format!("/v1/conversations/{id}")).await?;
    let turns = conversation["transcript"].as_array().map_or(0, Vec::len);
    ensure!(turns > 0, "the transcript is empty");
    Ok(turns)
}
