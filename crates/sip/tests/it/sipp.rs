//! SIPp, Debian's `sip-tester`: one process per test, on its own ports.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::it::support::PATIENCE;

/// Skips the test with a message if SIPp is missing; fails in CI.
macro_rules! needs_sipp {
    () => {
        if !crate::it::sipp::is_installed() {
            return;
        }
    };
}
pub(crate) use needs_sipp;

pub(crate) fn is_installed() -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join("sipp").is_file())
    });
    if !found {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "sipp is missing: install sip-tester"
        );
        eprintln!("NOT TESTED: sipp is missing; install sip-tester (scripts/test does)");
    }
    found
}

/// A running SIPp.
pub(crate) struct Sipp {
    process: Child,
    folder: TempDir,
    pub(crate) address: SocketAddr,
}

/// The options of SIPp.
pub(crate) struct Play {
    scenario: &'static str,
    calls: u32,
    transport: &'static str,
    keys: HashMap<&'static str, String>,
    remote: Option<SocketAddr>,
}

/// A scenario of `tests/scenarios`.
pub(crate) fn play(scenario: &'static str) -> Play {
    Play {
        scenario,
        calls: 1,
        transport: "u1",
        keys: HashMap::new(),
        remote: None,
    }
}

impl Play {
    /// Sets the number of calls.
    pub(crate) fn calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }

    pub(crate) fn over_tcp(mut self) -> Self {
        self.transport = "t1";
        self
    }

    /// Replaces `[name]` in the scenario, even where SIPp allows no keyword.
    pub(crate) fn key(mut self, name: &'static str, value: impl ToString) -> Self {
        self.keys.insert(name, value.to_string());
        self
    }

    /// Places calls instead of waiting for them.
    pub(crate) fn to(mut self, remote: SocketAddr) -> Self {
        self.remote = Some(remote);
        self
    }

    pub(crate) fn start(self) -> Sipp {
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/scenarios")
            .join(self.scenario)
            .with_extension("xml");
        let mut text = std::fs::read_to_string(scenario).unwrap();
        for (name, value) in &self.keys {
            text = text.replace(&format!("[{name}]"), value);
        }
        let scenario = folder.path().join("scenario.xml");
        std::fs::write(&scenario, text).unwrap();
        let mut command = Command::new("sipp");
        command
            .arg("-sf")
            .arg(scenario)
            .args(["-i", &address.ip().to_string()])
            .args(["-p", &address.port().to_string()])
            .args(["-mi", &own_address().to_string()])
            .args(["-t", self.transport, "-m", &self.calls.to_string()])
            .args(["-nostdin", "-trace_err", "-trace_msg"])
            .arg("-error_file")
            .arg(folder.path().join("errors"))
            .arg("-message_file")
            .arg(folder.path().join("messages"))
            .args(["-timeout", "20s", "-timeout_error"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir(folder.path())
            .kill_on_drop(true);
        if let Some(remote) = self.remote {
            command.arg(remote.to_string());
        }
        Sipp {
            process: command.spawn().unwrap(),
            folder,
            address,
        }
    }
}

impl Sipp {
    /// Waits until SIPp listens: datagrams to a closed port are lost.
    pub(crate) async fn listening(mut self) -> Self {
        let bound = async {
            let taken = format!(":{:04X} ", self.address.port());
            loop {
                let ended = self.process.try_wait().unwrap();
                assert_eq!(ended, None, "sipp: {}", self.read("errors"));
                let sockets = ["/proc/net/udp", "/proc/net/tcp"]
                    .map(|table| std::fs::read_to_string(table).unwrap_or_default());
                if sockets.iter().any(|table| table.contains(&taken)) {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, bound).await.expect("sipp listens");
        self
    }

    /// Waits for the scenario's end; every step must have happened.
    pub(crate) async fn succeeds(&mut self) {
        let status = timeout(PATIENCE + PATIENCE, self.process.wait())
            .await
            .expect("sipp ends")
            .unwrap();
        assert!(
            status.success(),
            "sipp: {status}\n{}\n{}",
            self.read("errors"),
            self.read("messages")
        );
    }

    /// The received requests of a method, or the received responses with this beginning, in order.
    pub(crate) fn received(&self, beginning: &str) -> Vec<String> {
        let messages = self.read("messages");
        messages
            .split("-----------------------------------------------")
            .filter(|entry| entry.contains("message received"))
            .filter_map(|entry| entry.split_once("bytes :\n\n"))
            .map(|(_, message)| message.trim_start().to_owned())
            .filter(|message| message.starts_with(beginning))
            .collect()
    }

    fn read(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    }
}

pub(crate) fn header<'a>(message: &'a str, name: &str) -> &'a str {
    message
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        .unwrap_or_else(|| panic!("{name} is missing in:\n{message}"))
        .trim()
}

/// A port that is free for UDP and TCP, below the ephemeral range.
fn free_port() -> u16 {
    let host = Ipv4Addr::LOCALHOST;
    loop {
        let port = 12_000 + u16::try_from(chance() % 20_000).unwrap();
        if UdpSocket::bind((host, port)).is_ok() && TcpListener::bind((host, port)).is_ok() {
            return port;
        }
    }
}

/// A loopback address for this test only: SIPp binds several media ports, and exits if one is taken.
fn own_address() -> Ipv4Addr {
    Ipv4Addr::from_bits(0x7f80_0000 | u32::try_from(chance() % 0x7f_ffff).unwrap())
}

fn chance() -> u64 {
    RandomState::new().hash_one(())
}
