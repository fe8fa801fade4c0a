//! The release binary: start, memory, size.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::Bench;
use crate::load::{self, Client, Until};
use crate::pairs::median;
use crate::process::resident_kib;
use crate::report::{Report, Target};

const STARTS: usize = 7;
const IDLE: Duration = Duration::from_secs(10);
const CALLS: usize = 1_000;

/// A configuration in which one account may have 1,000 calls at once, with no limit in the way.
const CONFIG: &str = "\
[limits]
enabled = false
[plans.enterprise]
live_calls = 2000
[calls]
drain_seconds = 0
";

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("offhook.toml");
    std::fs::write(&config, CONFIG)?;
    let offhook = Offhook {
        binary: &bench.binary,
        directory,
    };
    let size = std::fs::metadata(&bench.binary)
        .context("the release binary")?
        .len();
    let account = offhook
        .administer("account create --name Bench --plan enterprise --credits 1000000000")
        .await?;
    let account = text(&account, "id")?;
    let key = format!("key create --account {account} --name bench --scopes all");
    let key = offhook.administer(&key).await?;
    let token = text(&key, "token").or_else(|_| text(&key, "key"))?;

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

/// Places the calls; how many live at once, and the most memory that is then held.
async fn calls(serving: &Serving, token: &str) -> anyhow::Result<(i64, f64)> {
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let agent = serde_json::json!({
        "name": "Eva", "language": "en-US",
        "config": {
            "system_prompt": "You are Eva.\nsay: Lovely. Shall we expect you at about six in the evening tomorrow, as you said?\n\
                say: Wonderful, I have noted six o'clock. Is there anything else that I can do for you today?\n\
                say: You are welcome. We look forward to seeing you tomorrow.\nsay: Goodbye!",
            "first_message": "Hello, this is Eva from Harbour Hotel. Is this a good moment?",
            "llm": { "provider": "scripted", "model": "scripted" },
        },
    });
    let mut client = Client::connect(serving.address).await?;
    let made = post(&mut client, "/v1/agents", &headers, &agent.to_string()).await?;
    let agent = text(&made, "id")?;
    post(
        &mut client,
        &format!("/v1/agents/{agent}/publish"),
        &headers,
        "{}",
    )
    .await?;
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

async fn post(client: &mut Client, path: &str, headers: &str, body: &str) -> anyhow::Result<Value> {
    let status = client
        .exchange(&load::request("POST", path, headers, body))
        .await?;
    ensure!(status < 300, "{path}: {}", client.text());
    Ok(serde_json::from_slice(client.body())?)
}

/// A member at any depth.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => members
            .get(name)
            .or_else(|| members.values().find_map(|value| find(value, name))),
        _ => None,
    }
}

fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    let text = find(value, name).and_then(Value::as_str);
    Ok(text
        .with_context(|| format!("no `{name}` in {value}"))?
        .to_owned())
}

/// The binary with a data directory.
struct Offhook<'a> {
    binary: &'a Path,
    directory: TempDir,
}

impl Offhook<'_> {
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(self.binary);
        command
            .args(words.split_whitespace())
            .arg("--config")
            .arg(self.directory.path().join("offhook.toml"))
            .arg("--data-dir")
            .arg(self.directory.path().join("data"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("OFFHOOK_") {
                command.env_remove(name);
            }
        }
        command
    }

    async fn administer(&self, words: &str) -> anyhow::Result<Value> {
        let output = self.command(words).arg("--json").output().await?;
        ensure!(output.status.success(), "offhook {words} failed");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Starts the service; how long it took until it was ready.
    async fn serve(&self) -> anyhow::Result<(Serving, Duration)> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let began = Instant::now();
        let process = self
            .command(&format!("serve --listen {port}"))
            .stdout(Stdio::null())
            .spawn()
            .context("the release binary")?;
        let ready = load::request("GET", "/readyz", "", "");
        while began.elapsed() < Duration::from_secs(20) {
            if let Ok(mut client) = Client::connect(port).await
                && client
                    .exchange(&ready)
                    .await
                    .is_ok_and(|status| status == 200)
            {
                return Ok((
                    Serving {
                        process,
                        address: port,
                    },
                    began.elapsed(),
                ));
            }
            sleep(Duration::from_millis(1)).await;
        }
        anyhow::bail!("the service was not ready within 20 s")
    }
}

struct Serving {
    process: Child,
    address: SocketAddr,
}

impl Serving {
    fn kib(&self) -> anyhow::Result<f64> {
        resident_kib(self.process.id().context("the service has ended")?)
    }

    async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }
}
