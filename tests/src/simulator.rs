//! The simulated phone network as a separate process.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::binary;
use crate::wait::{must, text};

/// `offhook simulator`; dropping it ends it.
#[derive(Debug)]
pub struct SimulatorProcess {
    url: String,
    dial_log: PathBuf,
    _directory: TempDir,
    _child: Child,
}

impl SimulatorProcess {
    /// A network whose callees are `speed` times faster than real ones.
    pub async fn start(speed: u32) -> Self {
        let directory = must("a directory", tempfile::tempdir());
        let dial_log = directory.path().join("dials");
        let mut command = Command::from(binary::command());
        command
            .args(["simulator", "--listen", "127.0.0.1:0", "--json", "--speed"])
            .arg(speed.to_string())
            .arg("--dial-log")
            .arg(&dial_log)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = must("offhook simulator", command.spawn());
        let mut line = String::new();
        match child.stdout.take() {
            Some(stdout) => must(
                "its address",
                BufReader::new(stdout).read_line(&mut line).await,
            ),
            None => panic!("the simulator has no standard output"),
        };
        let told: Value = must(&line, serde_json::from_str(&line));
        Self {
            url: text(&told["url"]).to_owned(),
            dial_log,
            _directory: directory,
            _child: child,
        }
    }

    /// The value of `simulator.url`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every dial so far: `{at, handle, to, node}`.
    #[must_use]
    pub fn dials(&self) -> Vec<Value> {
        let lines = must("the dial log", std::fs::read_to_string(&self.dial_log));
        lines
            .lines()
            .map(|line| must(line, serde_json::from_str(line)))
            .collect()
    }

    #[must_use]
    pub fn dialed(&self, handle: &str) -> usize {
        self.dials()
            .iter()
            .filter(|dial| dial["handle"] == handle)
            .count()
    }
}
