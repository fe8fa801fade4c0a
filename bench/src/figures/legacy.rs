//! Calls of legacy agents that are under way at their provider: what it takes to ask after them.

use std::time::{Duration, Instant};

use anyhow::ensure;
use offhook_testkit::fakes::elevenlabs::{AGENT, ElevenLabs, KEY};
use serde_json::json;
use tokio::time::sleep;

use super::Bench;
use crate::binary::{Offhook, Serving};
use crate::load::{self, Client, Until};
use crate::process::cpu_seconds;
use crate::report::{Report, Target, number};

const CALLS: usize = 1_000;

/// How long the processor is watched: a call is asked after some four times.
const WATCHED: Duration = Duration::from_secs(60);

/// How long the service may take to discover the agent, and to place the calls.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let calls = bench.calls.unwrap_or(CALLS);
    let provider = ElevenLabs::start().await;
    let config = format!(
        "[limits]\nenabled = false\n[plans.enterprise]\nlive_calls = {}\n[calls]\ndrain_seconds = 0\n\
         [legacy]\nbase_url = \"{}\"\n",
        calls * 2,
        provider.base_url()
    );
    let offhook = Offhook::new(&bench.binary, &config)?;
    let token = offhook.token_with_legacy(KEY).await?;
    let (serving, _) = offhook.serve().await?;
    place(&serving, &token, &provider, calls).await?;
    let asked =
        |provider: &ElevenLabs| provider.upstream().asked_of("GET", "/v1/convai/conv").len();
    for call in provider.calls() {
        provider.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 2)]);
    }
    let (before, questions) = (cpu_seconds(serving.id()?)?, asked(&provider));
    let began = Instant::now();
    sleep(WATCHED).await;
    let used = cpu_seconds(serving.id()?)? - before;
    let share = used / began.elapsed().as_secs_f64() * 100.0;
    let questions = asked(&provider) - questions;
    ensure!(questions > 0, "the provider was not asked after any call");
    let detail = format!(
        "{} questions/s, {} s of processor time; leases are renewed, SQLite",
        number(questions as f64 / began.elapsed().as_secs_f64()),
        number(used)
    );
    let name = format!("processor for {calls} legacy calls under way");
    report.add(&name, Target::AtMost(5.0), share, " % of a core", &detail);
    serving.stop().await
}

/// Places the calls, and waits until the provider has them all.
async fn place(
    serving: &Serving,
    token: &str,
    provider: &ElevenLabs,
    calls: usize,
) -> anyhow::Result<()> {
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let began = Instant::now();
    let list = load::request("GET", "/v1/agents?runtime=legacy", &headers, "");
    let mut client = Client::connect(serving.address).await?;
    loop {
        client.exchange(&list).await?;
        if client.text().contains(AGENT) {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "the agent was not discovered");
        sleep(Duration::from_millis(100)).await;
    }
    let body = json!({"agent_id": AGENT, "to": "+14155550123"}).to_string();
    let place = load::request("POST", "/v1/calls", &headers, &body);
    let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&place);
    load::run(serving.address, 8, Until::Count(calls), 201, send).await?;
    while provider.state().calls.len() < calls {
        ensure!(began.elapsed() < PATIENCE, "not every call was placed");
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
