//! The release binary, as a user runs it: a configuration file, an account with a key, the service.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::load::{self, Client};
use crate::process::resident_kib;

/// Posts a valid body; returns the response.
pub(crate) async fn post(
    client: &mut Client,
    path: &str,
    headers: &str,
    body: &str,
) -> anyhow::Result<Value> {
    let status = client
        .exchange(&load::request("POST", path, headers, body))
        .await?;
    ensure!(status < 300, "{path}: {}", client.text());
    Ok(serde_json::from_slice(client.body())?)
}

/// The headers of requests with a key.
pub(crate) fn headers(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n")
}

/// Creates a published agent; returns its id.
pub(crate) async fn agent(
    client: &mut Client,
    headers: &str,
    config: Value,
) -> anyhow::Result<String> {
    let agent = json!({ "name": "Eva", "language": "en-US", "config": config });
    let made = post(client, "/v1/agents", headers, &agent.to_string()).await?;
    let agent = text(&made, "id")?;
    let publish = format!("/v1/agents/{agent}/publish");
    post(client, &publish, headers, "{}").await?;
    Ok(agent)
}

/// A member at any depth.
pub(crate) fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => members
            .get(name)
            .or_else(|| members.values().find_map(|value| find(value, name))),
        _ => None,
    }
}

/// A text at any depth.
fn text(value: &Value, name: &str) -> anyhow::Result<String> {
    let text = find(value, name).and_then(Value::as_str);
    Ok(text
        .with_context(|| format!("no `{name}` in {value}"))?
        .to_owned())
}

/// The binary with a data directory.
pub(crate) struct Offhook<'a> {
    binary: &'a Path,
    directory: TempDir,
}

impl<'a> Offhook<'a> {
    /// The binary with its own configuration and data directory.
    pub(crate) fn new(binary: &'a Path, config: &str) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("offhook.toml"), config)?;
        Ok(Self { binary, directory })
    }

    /// Creates an account without limits, optionally with a number of the SIP trunk; returns its key.
    pub(crate) async fn token(&self, number: Option<&str>) -> anyhow::Result<String> {
        let account = "account create --name Bench --plan enterprise --credits 1000000000";
        let account = text(&self.administer(account).await?, "id")?;
        if let Some(number) = number {
            let add = format!("number add --account {account} --phone-number {number}");
            self.administer(&format!("{add} --provider sip")).await?;
        }
        let key = format!("key create --account {account} --name bench --scopes all");
        let key = self.administer(&key).await?;
        text(&key, "token").or_else(|_| text(&key, "key"))
    }

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

    /// Runs a command that prints JSON.
    pub(crate) async fn administer(&self, words: &str) -> anyhow::Result<Value> {
        let output = self.command(words).arg("--json").output().await?;
        ensure!(output.status.success(), "offhook {words} failed");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Starts the service; also returns the time until it was ready.
    pub(crate) async fn serve(&self) -> anyhow::Result<(Serving, Duration)> {
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

/// A running service; dropping it kills the process.
pub(crate) struct Serving {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Serving {
    pub(crate) fn id(&self) -> anyhow::Result<u32> {
        self.process.id().context("the service has ended")
    }

    /// Its resident memory in KiB.
    pub(crate) fn kib(&self) -> anyhow::Result<f64> {
        resident_kib(self.id()?)
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }
}
