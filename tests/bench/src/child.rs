//! The measured processes: this program again, in another role.

use std::process::Stdio;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use crate::database::Place;
use crate::{bare, process, service};

/// The variable that holds the role.
pub(crate) const ROLE: &str = "OFFHOOK_BENCH_ROLE";

/// The role of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Serve, with the bare handlers on the same store.
    Service(service::Options),
    /// Deliver the open deliveries with the bare loop.
    Deliver(bare::deliver::Options),
    /// Post with the plain loop.
    Post(bare::posting::Options),
}

/// Runs the role; the process ends when its parent does.
pub(crate) async fn run(role: Role) -> anyhow::Result<()> {
    match role {
        Role::Service(options) => service::run(options).await,
        Role::Deliver(options) => bare::deliver::run(options).await,
        Role::Post(options) => bare::posting::run(options).await,
    }
}

/// Waits until the parent closes this process's standard input.
pub(crate) async fn parent_is_gone() {
    let (gone, wait) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(gone);
    });
    let _ = wait.await;
}

/// A process in another role; dropping this kills it.
pub(crate) struct Child {
    process: tokio::process::Child,
    _stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// Starts this program in `role`; its log goes to a temporary file.
    pub(crate) fn start(role: &Role) -> anyhow::Result<Self> {
        let log = tempfile::tempfile()?;
        let mut process = Command::new(std::env::current_exe()?)
            .env(ROLE, serde_json::to_string(role)?)
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = BufReader::new(process.stdout.take().context("standard output")?);
        Ok(Self {
            _stdin: process.stdin.take(),
            process,
            stdout,
        })
    }

    /// Starts the service on a database; also returns its ports.
    pub(crate) async fn service(
        place: &Place,
        dispatcher: bool,
    ) -> anyhow::Result<(Self, service::Ports)> {
        let place = place.clone();
        let mut child = Self::start(&Role::Service(service::Options { place, dispatcher }))?;
        let ports = child.said().await?;
        Ok((child, ports))
    }

    /// The next line of its output, as JSON.
    pub(crate) async fn said<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).await?;
        serde_json::from_str(&line)
            .with_context(|| format!("a process of the benchmark said {line:?}"))
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> anyhow::Result<()> {
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest).await?;
        anyhow::ensure!(
            self.process.wait().await?.success(),
            "a process of the benchmark failed"
        );
        Ok(())
    }

    /// Kills it and waits for its end.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Its processor time in seconds.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        process::cpu_seconds(self.process.id().context("the process has ended")?)
    }
}
