//! A running `offhook demo`.

use std::fs::File;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::binary;
use crate::wait::{must, within};

/// How long its call may take: with audio it lasts as long as people talk.
const CALL: Duration = Duration::from_secs(120);

/// A running demo; dropping it ends it.
pub struct Demo {
    /// The server's address.
    pub address: SocketAddr,
    /// The page where the owner chooses a password.
    pub welcome: String,
    pub printed: String,
    _said: Lines<BufReader<ChildStdout>>,
    _folder: TempDir,
    _process: Child,
}

impl Demo {
    /// Starts a demo and waits until its call is over.
    ///
    /// # Panics
    /// If it ends, or prints no address.
    pub async fn start() -> Self {
        let folder = must("a folder", tempfile::tempdir());
        let mut command = Command::from(binary::command());
        command
            .args(["demo", "--listen", "127.0.0.1:0"])
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(must("a file", File::create(folder.path().join("stderr"))))
            .kill_on_drop(true);
        let mut process = must("offhook demo", command.spawn());
        let Some(stdout) = process.stdout.take() else {
            panic!("the demo has no standard output");
        };
        let mut said = BufReader::new(stdout).lines();
        let mut printed = String::new();
        let welcome = within("the call of the demo", CALL, async {
            loop {
                let Some(line) = must("the demo's output", said.next_line().await) else {
                    let why = std::fs::read_to_string(folder.path().join("stderr"));
                    panic!("the demo ended:\n{printed}\n{}", why.unwrap_or_default());
                };
                printed.push_str(&line);
                printed.push('\n');
                if line.contains("/portal/welcome/") {
                    return line.trim().to_owned();
                }
            }
        })
        .await;
        let address = welcome.trim_start_matches("http://").split('/').next();
        let address = address.unwrap_or_default();
        Self {
            address: must(address, address.parse()),
            welcome,
            printed,
            _said: said,
            _folder: folder,
            _process: process,
        }
    }
}
