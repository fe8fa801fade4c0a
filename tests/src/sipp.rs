//! SIPp, Debian's `sip-tester`, as the other side of the whole service: one process per test, on ports of its own. The
//! scenarios are those of `offhook-sip`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use offhook_testkit::free_port;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::wait::{eventually, must, within};

/// How long a scenario may take on a busy machine; SIPp gives up by itself before.
const LIMIT: Duration = Duration::from_secs(70);

/// SIPp's own limit, in its words.
const OWN_LIMIT: &str = "60s";

/// A running SIPp.
pub struct Sipp {
    process: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Sipp {
    /// Waits to be called, in a scenario in which `[name]` stands for a value; once it listens.
    pub async fn callee(scenario: &str, values: &[(&str, &str)]) -> Self {
        let sipp = Self::start(scenario, values, None);
        sipp.listens().await;
        sipp
    }

    /// Calls a server.
    #[must_use]
    pub fn caller(scenario: &str, server: SocketAddr) -> Self {
        Self::start(scenario, &[], Some(server))
    }

    fn start(scenario: &str, values: &[(&str, &str)], server: Option<SocketAddr>) -> Self {
        let folder = must("a folder", tempfile::tempdir());
        let port = free_port();
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/sip/tests/scenarios")
            .join(scenario)
            .with_extension("xml");
        let mut text = must(scenario, std::fs::read_to_string(from));
        for (name, value) in values {
            text = text.replace(&format!("[{name}]"), value);
        }
        let file = folder.path().join("scenario.xml");
        must(scenario, std::fs::write(&file, text));
        let local = Ipv4Addr::LOCALHOST.to_string();
        let mut command = Command::new("sipp");
        command
            .arg("-sf")
            .arg(file)
            .args(["-i", &local, "-p", &port.to_string()])
            .args(["-mi", &local, "-mp", &free_port().to_string()])
            .args(["-t", "u1", "-m", "1"])
            .args(["-nostdin", "-trace_err", "-trace_msg"])
            .arg("-error_file")
            .arg(folder.path().join("errors"))
            .arg("-message_file")
            .arg(folder.path().join("messages"))
            .args(["-timeout", OWN_LIMIT, "-timeout_error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir(folder.path())
            .kill_on_drop(true);
        if let Some(server) = server {
            command.arg(server.to_string());
        }
        Self {
            process: must("sipp", command.spawn()),
            folder,
            address: (Ipv4Addr::LOCALHOST, port).into(),
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Datagrams to a port that nobody listens on yet are lost.
    async fn listens(&self) {
        let taken = format!(":{:04X} ", self.address.port());
        eventually("a SIPp that listens", LIMIT, || async {
            let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
            table.contains(&taken).then_some(())
        })
        .await;
    }

    /// Waits for the scenario's end; each of its steps must have come.
    ///
    /// # Panics
    /// If one did not; with what was said.
    pub async fn succeeds(&mut self) {
        let status = within("the end of a scenario", LIMIT, self.process.wait()).await;
        let status = must("sipp", status);
        assert!(
            status.success(),
            "sipp: {status}\n{}\n{}",
            self.read("errors"),
            self.read("messages")
        );
    }

    /// The requests of a method, or the answers that begin so, that it received, in order.
    #[must_use]
    pub fn received(&self, beginning: &str) -> Vec<String> {
        self.told("message received", beginning)
    }

    /// Waits until it has sent so many requests of a method, repetitions among them.
    pub async fn sent_times(&self, beginning: &str, times: usize) {
        let what = format!("{times} {beginning} sent");
        eventually(&what, LIMIT, || async {
            (self.told("message sent", beginning).len() >= times).then_some(())
        })
        .await;
    }

    fn told(&self, way: &str, beginning: &str) -> Vec<String> {
        let messages = self.read("messages");
        messages
            .split("-----------------------------------------------")
            .filter(|entry| entry.contains(way))
            .filter_map(|entry| entry.split_once(":\n\n"))
            .map(|(_, message)| message.trim_start().to_owned())
            .filter(|message| message.starts_with(beginning))
            .collect()
    }

    /// Waits until it has received that many of them.
    pub async fn received_times(&self, beginning: &str, times: usize) {
        let what = format!("{times} {beginning}");
        eventually(&what, LIMIT, || async {
            (self.received(beginning).len() >= times).then_some(())
        })
        .await;
    }

    fn read(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    }
}
