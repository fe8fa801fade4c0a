//! One run of the kill ledger.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::evidence::{Dial, Evidence, Words};
use crate::faults::Faults;
use crate::ledger::{Verdict, judge};
use crate::load::Load;
use crate::look::Look;
use crate::report::Report;
use crate::world::{Plan, World};

/// How long the remaining work may take: the leases of dead nodes, and the work that waited for them.
const QUIET_WITHIN: Duration = Duration::from_secs(180);

/// How many keys are repeated at the end.
const REPEATED: usize = 200;

/// The amount of everything in a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) kills: u64,
    pub(crate) calls: u64,
    pub(crate) batches: u64,
    pub(crate) seconds: u64,
    /// How long a node is stopped at the end: longer than its lease.
    pub(crate) freeze: Option<Duration>,
}

/// Loads a world, breaks it, lets it heal and judges it.
pub(crate) async fn run(plan: &Plan, size: Size) -> anyhow::Result<Report> {
    let began = Instant::now();
    let world = Arc::new(World::make(plan).await?);
    let look = Look::open(&world).await;
    say(began, &format!("{} is set up", plan.database.name()));
    let load = Load::new(&world);
    let faults = Faults::new(world.clone());
    world.start_campaigns().await?;
    let time = Duration::from_secs(size.seconds);
    let placing = {
        let (load, seed) = (load.clone(), plan.seed);
        tokio::spawn(async move { load.run(size.calls, size.batches, time, seed).await })
    };
    faults.run(size.kills, time, plan.seed).await;
    let kills = faults.done().kills();
    say(began, &format!("{kills} kills; now all is calm"));
    let calming = {
        let faults = faults.clone();
        let freeze = size.freeze.filter(|_| plan.nodes > 1);
        tokio::spawn(async move { faults.calm(freeze).await })
    };
    let _ = placing.await;
    say(
        began,
        &format!("every client is served ({} wait)", load.waiting()),
    );
    let _ = calming.await;
    world.receiver.behave();
    // The earlier connection may have been cut.
    let look = match (look, &world.postgres) {
        (Ok(look), None) => look,
        _ => Look::open(&world).await?,
    };
    let left = quiet(&look).await?;
    say(began, &format!("quiet ({} left)", left.len()));
    load.repeat_at_the_end(REPEATED, plan.seed).await;
    faults.all_run().await;
    let evidence = gather(&world, &look, &load, &faults, left).await?;
    let verdict: Verdict = judge(&evidence);
    say(began, "judged");
    let done = std::mem::take(&mut *faults.done());
    Ok(Report {
        database: plan.database.name(),
        nodes: plan.nodes,
        verdict,
        done,
        outcomes: outcomes(&evidence),
        slowest: load.slowest(),
        took: began.elapsed(),
        logs: logs(&world).await,
    })
}

/// A time of the dial log, such as `2026-11-28T18:04:39.123456Z`, in Unix microseconds.
fn micros(time: &str) -> anyhow::Result<i64> {
    let time: jiff::Timestamp = time.parse()?;
    Ok(time.as_microsecond())
}

/// Prints the progress.
pub(crate) fn say(began: Instant, what: &str) {
    eprintln!("{:6.1} s  {what}", began.elapsed().as_secs_f64());
}

/// Waits until no work is left; returns what is.
async fn quiet(look: &Look) -> anyhow::Result<Vec<String>> {
    let began = Instant::now();
    loop {
        let left = look.left().await?;
        if left.is_empty() || began.elapsed() > QUIET_WITHIN {
            return Ok(left);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

async fn gather(
    world: &World,
    look: &Look,
    load: &Load,
    faults: &Faults,
    left: Vec<String>,
) -> anyhow::Result<Evidence> {
    let mut evidence = Evidence {
        left,
        ..Evidence::default()
    };
    load.tell(&mut evidence);
    look.read(&mut evidence).await?;
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    for line in world.network.heard()? {
        evidence.heard.push(Words {
            handle: word(&line, "handle"),
            role: word(&line, "role"),
            text: word(&line, "text"),
        });
    }
    for dial in world.network.dials()? {
        let word = |name: &str| word(&dial, name);
        evidence.dials.push(Dial {
            handle: word("handle"),
            to: word("to"),
            node: word("node"),
            at: micros(&word("at"))?,
            line: dial.to_string(),
        });
    }
    evidence.live = world.network.live().await?;
    evidence.receipts = world.receiver.receipts();
    for account in &world.accounts {
        for endpoint in &account.endpoints {
            let known = (endpoint.clone(), account.id.clone());
            evidence.endpoints.push(known);
        }
    }
    evidence.doctor = doctor(world).await;
    let done = faults.done();
    evidence.oddities.extend(done.oddities.iter().cloned());
    evidence.disturbances = done.disturbances();
    evidence.in_flight = done.in_flight;
    evidence.clocks_off = done.clocks_off;
    evidence.deaths.clone_from(&done.deaths);
    Ok(evidence)
}

async fn doctor(world: &World) -> Vec<String> {
    match world.admin.cli("doctor --books").await {
        Ok(told) => {
            let faults = told["faults"].as_array().cloned().unwrap_or_default();
            faults.iter().map(Value::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// How many calls ended in each state.
fn outcomes(evidence: &Evidence) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for call in &evidence.conversations {
        let name = match call.failure.as_str() {
            "" => call.state.clone(),
            failure => failure.to_owned(),
        };
        *counts.entry(name).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The nodes' logs, kept if a promise was broken.
async fn logs(world: &World) -> Vec<(String, String)> {
    let mut logs = Vec::new();
    for node in &world.nodes {
        let node = node.lock().await;
        logs.push((node.name.clone(), node.log()));
    }
    logs
}
