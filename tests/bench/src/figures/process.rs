//! The release binary: start, memory, size.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::time::sleep;

use super::Bench;
use crate::binary::{self, Offhook, Serving, find};
use crate::load::{self, Client, Until};
use crate::pairs::median;
use crate::report::{Report, Target};

const STARTS: usize = 7;
const IDLE: Duration = Duration::from_secs(10);
const CALLS: usize = 1_000;

/// A configuration in which one account may have 1,000 concurrent calls, without other limits.
const CONFIG: &str = "\
[limits]
enabled = false
[plans.enterprise]
live_calls = 2000
[calls]
drain_seconds = 0
";

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let offhook = Offhook::new(&bench.binary, CONFIG)?;
    let size = std::fs::metadata(&bench.binary)
        .context("the release binary")?
        .len();
    let token = offhook.token(None).await?;

    let mut times = Vec::new();
    for _ in 0..STARTS {
        let (serving, time) = offhook.serve().await?;
        times.push(time.as_secs_f64());
        serving.stop().await?;
    }
    report.add(
        "cold start to ready",
        Target::AtMost(0.5),
        median(times),
        " s",
        "existing SQLite database",
    );

    let (serving, _) = offhook.serve().await?;
    sleep(IDLE).await;
    let idle = serving.kib()?;
    report.add(
        "idle memory",
        Target::AtMost(40.0),
        idle / 1024.0,
        " MiB",
        "resident, 10 s after the start",
    );
    let (live, held) = calls(&serving, &token).await?;
    let each = (held - idle) / CALLS as f64;
    let detail = format!("{live} live, {:.1} MiB in all", held / 1024.0);
    report.add(
        "memory of each of 1,000 live simulated calls",
        Target::AtMost(64.0),
        each,
        " KiB",
        &detail,
    );
    serving.stop().await?;
    report.add(
        "release binary",
        Target::Reported,
        size as f64 / 1_048_576.0,
        " MiB",
        "",
    );
    Ok(())
}

/// Places the calls; returns how many are live at once, and the peak memory.
async fn calls(serving: &Serving, token: &str) -> anyhow::Result<(i64, f64)> {
    let headers = binary::headers(token);
    let config = serde_json::json!({
        "system_prompt": "You are Eva.\nsay: Lovely. Shall we expect you at about six in the evening tomorrow, as you said?\n\
            say: Wonderful, I have noted six o'clock. Is there anything else that I can do for you today?\n\
            say: You are welcome. We look forward to seeing you tomorrow.\nsay: Goodbye!",
        "first_message": "Hello, this is Eva from Harbour Hotel. Is this a good moment?",
        "llm": { "provider": "scripted", "model": "scripted" },
    });
    let mut client = Client::connect(serving.address).await?;
    let agent = binary::agent(&mut client, &headers, config).await?;
    let body = serde_json::json!({ "agent_id": agent, "to": "+14155550123" }).to_string();
    let place = load::request("POST", "/v1/calls", &headers, &body);
    let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&place);
    load::run(serving.address, 16, Until::Count(CALLS), 201, send).await?;
    let me = load::request("GET", "/v1/me", &headers, "");
    let (mut most, mut held) = (0, 0.0_f64);
    for _ in 0..80 {
        client.exchange(&me).await?;
        let me: Value = serde_json::from_slice(client.body())?;
        let live = find(&me, "live_calls")
            .and_then(Value::as_i64)
            .context("live_calls")?;
        most = most.max(live);
        if live as usize >= CALLS * 9 / 10 {
            held = held.max(serving.kib()?);
        } else if held > 0.0 {
            break;
        }
        sleep(Duration::from_millis(250)).await;
    }
    ensure!(held > 0.0, "only {most} calls were live at once");
    Ok((most, held))
}
