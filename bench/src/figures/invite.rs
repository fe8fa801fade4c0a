//! From `POST /v1/calls` to the INVITE, with the release binary; and what a call's setup costs beside SIPp's own caller.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout};

use super::Bench;
use crate::binary::{Offhook, Serving, post, text};
use crate::load::{self, Client};
use crate::pairs::percentile;
use crate::phone::{Callee, Event, Taken};
use crate::process::cpu_seconds;
use crate::report::{Report, Target, number};

const CALLS: usize = 500;

/// The time between two calls: 20 a second.
const APART: Duration = Duration::from_millis(50);

/// Longer than a call takes here.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was seen of some calls.
#[derive(Default)]
struct Seen {
    /// By the number that was called.
    invited_at: HashMap<String, Instant>,
    /// Those that are not acknowledged yet, by their Call-ID.
    open: HashMap<String, Taken>,
    /// From the INVITE to its ACK, in milliseconds; the callee answers at once.
    setup_ms: Vec<f64>,
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let calls = bench.calls.unwrap_or(CALLS);
    let (mut waited, mut ours, our_load) = service(bench, calls).await?;
    waited.sort_by(f64::total_cmp);
    let at = |share| percentile(&waited, share);
    let detail = format!(
        "of {} calls, {} a second; most {} ms",
        waited.len(),
        1_000 / APART.as_millis(),
        number(at(1.0))
    );
    let name = "INVITE behind the answer to POST /v1/calls";
    report.add(
        &format!("{name}, p50"),
        Target::AtMost(10.0),
        at(0.5),
        " ms",
        &detail,
    );
    report.add(
        &format!("{name}, p99"),
        Target::AtMost(50.0),
        at(0.99),
        " ms",
        "",
    );
    let Some((mut theirs, their_load)) = sipp(calls).await? else {
        report.skip(
            "setup of a call / SIPp's own caller",
            Target::Reported,
            "no sipp",
        );
        return Ok(());
    };
    for times in [&mut ours.setup_ms, &mut theirs.setup_ms] {
        times.sort_by(f64::total_cmp);
    }
    let p50 = |seen: &Seen| percentile(&seen.setup_ms, 0.5);
    let (a, b) = (p50(&ours), p50(&theirs));
    report.add(
        "INVITE to ACK, p50, the service / SIPp's own caller to the same callee",
        Target::Reported,
        a / b,
        "",
        &format!("{} and {} ms", number(a), number(b)),
    );
    report.add(
        "processor time of a call from POST to its end, the service / SIPp's own caller",
        Target::Reported,
        our_load / their_load,
        "",
        &format!(
            "{} and {} ms",
            number(our_load * 1e3),
            number(their_load * 1e3)
        ),
    );
    Ok(())
}

/// Calls by the service. Of each call: milliseconds from the answer to POST until its INVITE came; what the callee saw;
/// and a call's processor seconds.
async fn service(bench: &Bench, calls: usize) -> anyhow::Result<(Vec<f64>, Seen, f64)> {
    let mut callee = Callee::start().await?;
    let config = format!(
        "[limits]\nenabled = false\n[plans.enterprise]\nlive_calls = 2000\n\
         [calls]\ncarrier = \"sip\"\nallowed_prefixes = [\"+1\"]\ndrain_seconds = 0\n\
         [sip]\nudp = \"127.0.0.1:0\"\nrtp_ports = \"30000-39999\"\n\
         [sip.trunks.bench]\nserver = \"{}\"\nkeep_alive_seconds = 0\n",
        callee.address
    );
    let offhook = Offhook::new(&bench.binary, &config)?;
    let token = offhook.token_calling_from("+15005550100").await?;
    let (serving, _) = offhook.serve().await?;
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let mut client = Client::connect(serving.address).await?;
    let agent = agent(&mut client, &headers).await?;
    let before = cpu_seconds(serving.id()?)?;
    let mut answered_at = HashMap::new();
    let mut seen = Seen::default();
    let mut due = Instant::now();
    for call in 0..calls {
        while let Ok(event) = tokio::time::timeout_at(due, callee.next()).await {
            seen.take(event?).await?;
        }
        let to = format!("+1415{call:07}");
        let body = json!({ "agent_id": agent, "to": to }).to_string();
        post(&mut client, "/v1/calls", &headers, &body).await?;
        answered_at.insert(to, Instant::now());
        due += APART;
    }
    let last = Instant::now() + PATIENCE;
    while seen.setup_ms.len() < calls {
        let event = tokio::time::timeout_at(last, callee.next()).await;
        seen.take(event.context("a call did not come")??).await?;
    }
    // Their ends are written down.
    sleep_until(Instant::now() + Duration::from_secs(2)).await;
    let used = cpu_seconds(serving.id()?)? - before;
    ended(serving, &mut client, &headers).await?;
    let waited = answered_at.iter().map(|(to, answered_at)| {
        let invited_at = seen
            .invited_at
            .get(to)
            .context("a call to another number")?;
        let waited = invited_at.saturating_duration_since(*answered_at);
        anyhow::Ok(waited.as_secs_f64() * 1e3)
    });
    let waited = waited.collect::<anyhow::Result<Vec<f64>>>()?;
    Ok((waited, seen, used / calls as f64))
}

async fn ended(serving: Serving, client: &mut Client, headers: &str) -> anyhow::Result<()> {
    let list = load::request("GET", "/v1/calls?limit=1", headers, "");
    ensure!(client.exchange(&list).await? == 200, "{}", client.text());
    serving.stop().await
}

async fn agent(client: &mut Client, headers: &str) -> anyhow::Result<String> {
    let agent = json!({
        "name": "Eva", "language": "en-US",
        "config": {
            "system_prompt": "You are Eva.",
            "first_message": "Hello, this is Eva from Harbour Hotel. Is this a good moment?",
            "llm": { "provider": "scripted", "model": "scripted" },
            "stt": { "provider": "scripted", "model": "scripted" },
            "voice": { "provider": "scripted", "model": "scripted", "voice_id": "scripted" },
        },
    });
    let made = post(client, "/v1/agents", headers, &agent.to_string()).await?;
    let agent = text(&made, "id")?;
    post(
        client,
        &format!("/v1/agents/{agent}/publish"),
        headers,
        "{}",
    )
    .await?;
    Ok(agent)
}

impl Seen {
    /// Each call is ended as soon as its caller knows that it was answered.
    async fn take(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Invited(taken) => {
                self.invited_at
                    .insert(taken.number.clone(), taken.invited_at);
                self.open.insert(taken.call.clone(), *taken);
            }
            Event::Acknowledged { call, at } => {
                if let Some(taken) = self.open.remove(&call) {
                    let took = at.saturating_duration_since(taken.invited_at);
                    self.setup_ms.push(took.as_secs_f64() * 1e3);
                    taken.hang_up().await?;
                }
            }
        }
        Ok(())
    }
}

/// As many calls at the same pace by SIPp's own caller, if it is installed; it ends its calls itself.
async fn sipp(calls: usize) -> anyhow::Result<Option<(Seen, f64)>> {
    let mut callee = Callee::start().await?;
    let directory = tempfile::tempdir()?;
    let rate = 1_000 / APART.as_millis();
    let sipp = Command::new("sipp")
        .args(["-sn", "uac", "-i", "127.0.0.1", "-nostdin", "-d", "20"])
        .args(["-m", &calls.to_string(), "-r", &rate.to_string()])
        .arg(callee.address.to_string())
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let mut sipp = match sipp {
        Ok(sipp) => sipp,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let pid = sipp.id().context("sipp has ended")?;
    let (mut seen, mut used) = (Seen::default(), 0.0);
    while seen.setup_ms.len() < calls {
        let event = timeout(PATIENCE, callee.next()).await;
        match event.context("sipp did not call")?? {
            Event::Invited(taken) => {
                seen.open.insert(taken.call.clone(), *taken);
            }
            Event::Acknowledged { call, at } => {
                if let Some(taken) = seen.open.remove(&call) {
                    let took = at.saturating_duration_since(taken.invited_at);
                    seen.setup_ms.push(took.as_secs_f64() * 1e3);
                    used = cpu_seconds(pid).unwrap_or(used);
                }
            }
        }
    }
    timeout(PATIENCE, sipp.wait()).await??;
    Ok(Some((seen, used / calls as f64)))
}
