//! A node: `offhook serve`, killed and restarted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::servers::signal;

const SIGABRT: i32 = 6;

/// How long a start may take.
const START: Duration = Duration::from_secs(60);

/// How a node is started.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) binary: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) database_url: Option<String>,
    pub(crate) settings: BTreeMap<String, String>,
    /// Words before the program, such as `ip netns exec …`.
    pub(crate) before: Vec<String>,
    pub(crate) listen: String,
}

impl Options {
    /// A command with these settings and no others.
    pub(crate) fn command(&self) -> Command {
        let mut words = self.before.iter().map(String::as_str);
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        without_settings(&mut command);
        command.arg("--data-dir").arg(self.directory.join("data"));
        command.env("OFFHOOK_MASTER_KEY_FILE", self.directory.join("key"));
        if let Some(url) = &self.database_url {
            command.args(["--database-url", url]);
        }
        for (key, value) in &self.settings {
            let name = format!("OFFHOOK_{}", key.replace('.', "__").to_uppercase());
            command.env(name, value);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// The output of a command of the binary with `--json`; `line` has single spaces.
    pub(crate) async fn cli(&self, line: &str) -> anyhow::Result<Value> {
        let arguments = line.split(' ').chain(["--json"]);
        let output = self.command().args(arguments).output().await?;
        ensure!(
            output.status.success(),
            "offhook {line}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// Creates the directory of a node, with the master key that all nodes share.
pub(crate) fn home(scratch: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let directory = scratch.join(name);
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("key"), "07".repeat(32))?;
    Ok(directory)
}

/// A node that may be killed at any moment.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) options: Options,
    address: Arc<Mutex<SocketAddr>>,
    child: Option<Child>,
    /// The failpoint at which this start should end.
    pub(crate) armed: Option<String>,
}

/// Removes the settings of this process from the command's environment.
pub(crate) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OFFHOOK_") || name == "RUST_LOG" {
            command.env_remove(&name);
        }
    }
}

impl Node {
    /// A node that is not started yet.
    pub(crate) fn new(name: &str, options: Options) -> Self {
        Self {
            name: name.to_owned(),
            options,
            address: Arc::new(Mutex::new(SocketAddr::from(([127, 0, 0, 1], 9)))),
            child: None,
            armed: None,
        }
    }

    /// Its address, updated by later starts.
    pub(crate) fn address(&self) -> Arc<Mutex<SocketAddr>> {
        self.address.clone()
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Starts it on its data, optionally with a failpoint. It listens when this returns; an armed node may already
    /// have died. While its database is unreachable, the start is retried.
    pub(crate) async fn start(&mut self, failpoint: Option<String>) -> anyhow::Result<()> {
        let began = Instant::now();
        let listen = self.options.directory.join("data").join("listen");
        loop {
            // After a kill, the file still names the old address.
            let _ = std::fs::remove_file(&listen);
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(self.options.log())?;
            let mut command = self.options.command();
            command.args(["serve", "--listen", &self.options.listen]);
            if let Some(point) = &failpoint {
                command.env("OFFHOOK_FAILPOINT", point);
            }
            let child = command.stdout(Stdio::null()).stderr(log).spawn()?;
            self.armed.clone_from(&failpoint);
            let child = self.child.insert(child);
            loop {
                if let Some(address) = std::fs::read_to_string(&listen)
                    .ok()
                    .and_then(|text| text.trim().parse().ok())
                {
                    *self.address.lock() = address;
                    return Ok(());
                }
                if let Some(status) = child.try_wait()? {
                    if status.signal() == Some(SIGABRT) && failpoint.is_some() {
                        return Ok(());
                    }
                    break;
                }
                if began.elapsed() > START {
                    bail!("{} did not start: {}", self.name, self.last_words());
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if began.elapsed() > START {
                bail!("{} does not start: {}", self.name, self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// The exit status, if it ended by itself.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// Whether its failpoint caused this end.
    pub(crate) fn is_abort(&self, status: ExitStatus) -> bool {
        self.armed.is_some() && status.signal() == Some(SIGABRT)
    }

    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.as_mut().context("it never ran")?.kill().await?;
        Ok(())
    }

    pub(crate) async fn signal(&self, name: &str) {
        if let Some(pid) = self.pid() {
            signal(pid, name).await;
        }
    }

    /// Asks it to stop, and waits for its end.
    pub(crate) async fn stop(&mut self, limit: Duration) -> anyhow::Result<()> {
        self.signal("TERM").await;
        let child = self.child.as_mut().context("it never ran")?;
        match tokio::time::timeout(limit, child.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => bail!("{} did not stop within {limit:?}", self.name),
        }
    }

    /// The id of its process, once logged; its dials carry this id.
    pub(crate) fn id(&self) -> String {
        let log = self.log();
        let said = log
            .lines()
            .rev()
            .find_map(|line| line.split_once("ready address="));
        let id = said.and_then(|(_, rest)| rest.split_once("node="));
        id.map(|(_, id)| id.trim().to_owned()).unwrap_or_default()
    }

    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// Its log, over all starts.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.options.log()).unwrap_or_default()
    }
}
