//! Runs a node at half its capacity for a long time, and checks that nothing grows that should not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use crate::http::{Ask, ask};
use crate::run::say;
use crate::world::{Plan, World};

/// Concurrent clients while the capacity is measured.
const CLIENTS: u64 = 16;

/// How long the capacity is measured.
const MEASURING: Duration = Duration::from_secs(15);

/// The fraction of the time that counts as warm-up.
const WARM_UP: f64 = 0.4;

/// How much the memory may change after the warm-up.
const FLAT_PERCENT: f64 = 5.0;

/// How many more files may be open at the quietest moment of the end than at the quietest moment before. A leaked
/// file stays open, while connections come and go.
const FILES: i64 = 16;

/// The process at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Duration,
    resident_kib: f64,
    files: i64,
    calls: u64,
}

/// Places calls at half of the measured rate for `time`.
pub(crate) async fn run(plan: &Plan, time: Duration) -> anyhow::Result<()> {
    let began = Instant::now();
    let world = Arc::new(World::make(plan).await?);
    world.receiver.behave();
    let pid = world.nodes[0].lock().await.pid().context("the node")?;
    let placed = Arc::new(AtomicU64::new(0));
    let refused = Arc::new(AtomicU64::new(0));
    let until = Instant::now() + MEASURING;
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (world, placed, refused) = (world.clone(), placed.clone(), refused.clone());
        clients.spawn(async move {
            while Instant::now() < until {
                place(&world, &placed, &refused).await;
            }
        });
    }
    while clients.join_next().await.is_some() {}
    let capacity = placed.swap(0, Ordering::SeqCst) as f64 / MEASURING.as_secs_f64();
    let rate = capacity / 2.0;
    say(
        began,
        &format!("{capacity:.0} calls/s at most, {rate:.0} calls/s for {time:?}"),
    );
    // Lets the work of the measurement finish.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let over = Arc::new(AtomicBool::new(false));
    let loading = tokio::spawn(load(
        world.clone(),
        rate,
        over.clone(),
        placed.clone(),
        refused.clone(),
    ));
    let loaded = Instant::now();
    let mut samples = Vec::new();
    while loaded.elapsed() < time {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let sample = sample(pid, loaded.elapsed(), placed.load(Ordering::SeqCst))?;
        if samples.len() % 6 == 0 {
            say(began, &format!("{sample:?}"));
        }
        samples.push(sample);
    }
    over.store(true, Ordering::SeqCst);
    let _ = loading.await;
    let tables = tables(&world).await?;
    report(
        &samples,
        capacity,
        rate,
        refused.load(Ordering::SeqCst),
        &tables,
    )
}

async fn load(
    world: Arc<World>,
    rate: f64,
    over: Arc<AtomicBool>,
    placed: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
) {
    let (began, mut number, mut clients) = (Instant::now(), 0_u64, JoinSet::new());
    while !over.load(Ordering::SeqCst) {
        let at = began + Duration::from_secs_f64(number as f64 / rate.max(0.1));
        tokio::time::sleep_until(at.into()).await;
        number += 1;
        let (world, placed, refused) = (world.clone(), placed.clone(), refused.clone());
        clients.spawn(async move { place(&world, &placed, &refused).await });
        while clients.try_join_next().is_some() {}
    }
    while clients.join_next().await.is_some() {}
}

/// Places a call and reads the list, as a client that displays it does.
async fn place(world: &World, placed: &AtomicU64, refused: &AtomicU64) {
    let account = &world.accounts[0];
    let body = json!({"agent_id": account.agent, "to": "+15005550006"}).to_string();
    let request = Ask::post("/v1/calls", &account.token, &body);
    let limit = Duration::from_secs(10);
    match ask(world.address(0), request, limit).await {
        Ok(reply) if reply.status == 201 => placed.fetch_add(1, Ordering::SeqCst),
        _ => refused.fetch_add(1, Ordering::SeqCst),
    };
    let request = Ask::get("/v1/calls?limit=20", &account.token);
    let _ = ask(world.address(0), request, limit).await;
}

fn sample(pid: u32, at: Duration, calls: u64) -> anyhow::Result<Sample> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|line| line.split_whitespace().next());
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"))?.count();
    Ok(Sample {
        at,
        resident_kib: resident.context("the node has ended")?.parse()?,
        files: i64::try_from(files)?,
        calls,
    })
}

/// Row counts of all tables that are not empty.
async fn tables(world: &World) -> anyhow::Result<Vec<(String, i64)>> {
    let Some(postgres) = &world.postgres else {
        return Ok(Vec::new());
    };
    let client = postgres.lock().await.connect("offhook").await?;
    let names = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let mut tables = Vec::new();
    for row in client.query(names, &[]).await? {
        let name: String = row.get(0);
        let count = client
            .query_one(&format!("SELECT count(*) FROM \"{name}\""), &[])
            .await?;
        let count: i64 = count.get(0);
        if count > 100 {
            tables.push((name, count));
        }
    }
    tables.sort_by_key(|(_, count)| -count);
    Ok(tables)
}

fn report(
    samples: &[Sample],
    capacity: f64,
    rate: f64,
    refused: u64,
    tables: &[(String, i64)],
) -> anyhow::Result<()> {
    let warm = samples
        .iter()
        .skip((samples.len() as f64 * WARM_UP) as usize)
        .copied()
        .collect::<Vec<_>>();
    ensure!(
        warm.len() >= 4,
        "too short to say anything: `--minutes 2` or more"
    );
    let (early, late) = warm.split_at(warm.len() / 2);
    let mean = |part: &[Sample]| {
        part.iter().map(|sample| sample.resident_kib).sum::<f64>() / part.len() as f64
    };
    let least = |part: &[Sample]| part.iter().map(|sample| sample.files).min().unwrap_or(0);
    let change = (mean(late) / mean(early) - 1.0) * 100.0;
    let files = least(late) - least(early);
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    println!("\n| Figure | Value |");
    println!("|---|---|");
    println!("| capacity, and half of it | {capacity:.0} and {rate:.0} calls/s |");
    println!("| calls, not accepted | {}, {refused} |", last.calls);
    println!(
        "| length | {:.0} s, of which {:.0} s warm | ",
        last.at.as_secs_f64(),
        (last.at - warm[0].at).as_secs_f64()
    );
    println!(
        "| memory at first, warm, in the end | {:.1}, {:.1}, {:.1} MiB |",
        first.resident_kib / 1024.0,
        mean(early) / 1024.0,
        mean(late) / 1024.0
    );
    println!("| change of memory after the warm-up | {change:+.1} % |");
    println!(
        "| open files: least when warm, least in the end | {}, {} |",
        least(early),
        least(late)
    );
    for (name, count) in tables {
        println!(
            "| rows of `{name}` for each call | {:.2} |",
            *count as f64 / last.calls as f64
        );
    }
    ensure!(
        change.abs() <= FLAT_PERCENT,
        "the memory changed by {change:+.1} %"
    );
    ensure!(files <= FILES, "{files} files more are open");
    Ok(())
}
