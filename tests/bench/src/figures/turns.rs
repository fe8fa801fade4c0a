//! Fifty spoken calls of the release binary over SIP and RTP on the loopback: the latency of a turn, and the cost of
//! a call. The built-in providers take no time; every call is recorded.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

use super::Bench;
use crate::binary::{self, Offhook, post};
use crate::load::{self, Client};
use crate::pairs::percentile;
use crate::phone::{Callee, Came, Line, phrase};
use crate::process::cpu_seconds;
use crate::report::{Report, Target, number};

const CALLS: usize = 50;

/// The time between two calls: 20 per second.
const APART: Duration = Duration::from_millis(50);

/// The pause that ends a turn, in milliseconds: the default of `turns.endpointing_ms`.
const ENDPOINTING_MS: u32 = 700;

/// Turns of each kind in a call.
const PLAIN: usize = 4;
const INTERRUPTED: usize = 3;

/// A reply to interrupt: 6 s.
const LONG: &str = "aria aria aria aria aria aria aria aria aria aria aria aria aria aria";

/// How long the agent has been heard before the caller speaks: past its first 300 ms, which count as its echo.
const INTO_IT: Duration = Duration::from_secs(1);

/// How long processor time is measured while all calls are live.
const WINDOW: Duration = Duration::from_secs(20);

/// How long a call may take to begin, and to end after the other side has hung up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The measured turns, in milliseconds.
#[derive(Default)]
struct Measured {
    answered: Vec<f64>,
    silenced: Vec<f64>,
    came: Vec<Came>,
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let calls = bench.size.unwrap_or(CALLS);
    let mut callee = Callee::start().await?;
    let offhook = Offhook::new(&bench.binary, &config(&callee))?;
    let token = offhook.token(Some("+15005550100")).await?;
    let (serving, _) = offhook.serve().await?;
    let headers = binary::headers(&token);
    let mut client = Client::connect(serving.address).await?;
    let agent = binary::agent(&mut client, &headers, agent()).await?;
    let idle = serving.kib()?;

    let (mut talks, mut waited) = (JoinSet::new(), Vec::new());
    let mut tick = interval(APART);
    for call in 0..calls {
        tick.tick().await;
        let to = format!("+1415{call:07}");
        let body = json!({ "agent_id": agent, "to": to }).to_string();
        post(&mut client, "/v1/calls", &headers, &body).await?;
        let answered_at = Instant::now();
        let taken = timeout(PATIENCE, callee.taken()).await;
        let taken = taken.context("a call did not begin")??;
        ensure!(taken.number == to, "another number than {to} was called");
        waited.push(ms(taken.invited_at.saturating_duration_since(answered_at)));
        // The answer starts the other side's clock, so lines begin at different points of its 20 ms.
        let apart = Duration::from_micros(20_000 * call as u64 / calls as u64);
        let begins = Instant::now() + Duration::from_millis(20) + apart;
        let (line, bye) = (Line::new(taken.sound, taken.to, begins), taken.bye);
        talks.spawn(async move {
            let talked = talk(line).await;
            bye.send().await?;
            talked
        });
    }
    sleep(Duration::from_secs(1)).await;
    let (before, since) = (cpu_seconds(serving.id()?)?, Instant::now());
    sleep(WINDOW).await;
    let used = cpu_seconds(serving.id()?)? - before;
    let load = used / since.elapsed().as_secs_f64() / calls as f64;
    let kib = (serving.kib()? - idle) / calls as f64;
    let mut all = Measured::default();
    while let Some(talked) = talks.join_next().await {
        let one = talked??;
        all.answered.extend(one.answered);
        all.silenced.extend(one.silenced);
        all.came.extend(one.came);
    }
    completed(&mut client, &headers, calls.min(100)).await?;
    serving.stop().await?;

    let detail = format!(
        "{ENDPOINTING_MS} of which the agent waits; {}",
        spread(&mut all.answered)
    );
    report.add(
        "end of the caller's speech to the first audible frame, p95",
        Target::AtMost(f64::from(ENDPOINTING_MS + 60)),
        percentile(&all.answered, 0.95),
        " ms",
        &detail,
    );
    let detail = spread(&mut all.silenced);
    report.add(
        "barge-in: first packet of speech to the last audible frame, p95",
        Target::AtMost(250.0),
        percentile(&all.silenced, 0.95),
        " ms",
        &detail,
    );
    let detail = format!("{calls} calls, 20 a second: {}", spread(&mut waited));
    for (name, share, most) in [("p50", 0.5, 10.0), ("p99", 0.99, 50.0)] {
        let name = format!("INVITE behind the answer to POST /v1/calls, {name}");
        report.add(
            &name,
            Target::AtMost(most),
            percentile(&waited, share),
            " ms",
            &detail,
        );
    }
    let lost: u64 = all.came.iter().map(Came::lost).sum();
    let late: u64 = all.came.iter().map(|came| came.sent_late).sum();
    let mut gaps: Vec<f64> = all.came.into_iter().flat_map(|came| came.gaps).collect();
    let detail = format!(
        "of {}; the other side sent {late} more than 20 ms late",
        gaps.len()
    );
    let name = format!("frames of ours that were lost, {calls} calls");
    report.add(&name, Target::AtMost(0.0), lost as f64, "", &detail);
    let detail = spread(&mut gaps);
    let name = format!("between two frames of ours, p99, {calls} calls");
    report.add(
        &name,
        Target::AtMost(30.0),
        percentile(&gaps, 0.99),
        " ms",
        &detail,
    );
    let detail = format!(
        "{} % of a core each, recorded, the other side's work apart",
        number(load * 100.0)
    );
    report.add(
        "calls per core",
        Target::AtLeast(100.0),
        1.0 / load,
        "",
        &detail,
    );
    let name = format!("memory of each of {calls} calls");
    let detail = "resident, beyond the process before them";
    report.add(&name, Target::AtMost(1_024.0), kib, " KiB", detail);
    Ok(())
}

/// Sorts the times and describes them.
fn spread(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share| number(percentile(times, share));
    format!("p50 {} ms, most {} ms of {}", at(0.5), at(1.0), times.len())
}

fn config(callee: &Callee) -> String {
    format!(
        "[limits]\nenabled = false\n[plans.enterprise]\nlive_calls = 2000\n\
         [calls]\ncarrier = \"sip\"\nallowed_prefixes = [\"+1\"]\ndrain_seconds = 0\n\
         [sip]\nudp = \"127.0.0.1:0\"\nrtp_ports = \"30000-39999\"\n\
         [sip.trunks.bench]\nserver = \"{}\"\nkeep_alive_seconds = 0\n",
        callee.address
    )
}

/// The calling agent: short replies, and long ones to interrupt.
fn agent() -> Value {
    let mut script = "say: Yes.\n".repeat(PLAIN);
    script += &format!("say: {LONG}.\nsay: Yes.\n").repeat(INTERRUPTED);
    let lines = vec!["Where is my order now?"; 50];
    json!({
        "system_prompt": script,
        "first_message": "Hello.",
        "llm": { "provider": "scripted", "model": "scripted" },
        "stt": { "provider": "scripted", "model": "scripted", "settings": { "lines": lines } },
        "voice": { "provider": "scripted", "model": "scripted", "voice_id": "scripted" },
        "conversation": {
            "recording": { "enabled": true, "consent_text": "Recorded." },
            "turns": { "voicemail": "ignore", "silence_timeout_s": 60 },
        },
    })
}

/// Waits until all calls are stored as ended by the customer.
async fn completed(client: &mut Client, headers: &str, calls: usize) -> anyhow::Result<()> {
    let list = load::request("GET", "/v1/calls?limit=100&status=completed", headers, "");
    let last = Instant::now() + PATIENCE;
    loop {
        ensure!(client.exchange(&list).await? == 200, "{}", client.text());
        let ended = client
            .text()
            .matches(r#""termination_reason":"customer_hangup""#)
            .count();
        if ended == calls {
            return Ok(());
        }
        ensure!(
            Instant::now() < last,
            "{ended} of {calls} calls were completed"
        );
        sleep(Duration::from_millis(100)).await;
    }
}

async fn talk(mut line: Line) -> anyhow::Result<Measured> {
    let mut measured = Measured::default();
    line.answered(Instant::now()).await?;
    line.heard_out().await?;
    for _ in 0..PLAIN {
        measured.answered.push(ask(&mut line).await?);
        line.heard_out().await?;
    }
    for _ in 0..INTERRUPTED {
        measured.answered.push(ask(&mut line).await?);
        line.silent(INTO_IT).await?;
        let (first, last) = line.say(phrase()).await?;
        // The reply comes after the turn's end; all audio before it belongs to the interrupted reply.
        let silent_since = line.last_sound().context("the agent was not heard")?;
        measured.silenced.push(ms(silent_since - first));
        let answered = line.answered(last).await?;
        measured.answered.push(ms(answered - last));
        line.heard_out().await?;
    }
    measured.came.push(line.came);
    Ok(measured)
}

/// Says a phrase; returns the time until the answer.
async fn ask(line: &mut Line) -> anyhow::Result<f64> {
    let (_, last) = line.say(phrase()).await?;
    Ok(ms(line.answered(last).await? - last))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
