//! A Redis server for one test, which the test may kill and freeze.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::free_port;

/// How long a start may take.
const START: Duration = Duration::from_secs(20);

/// The URL of the Redis that tests share; each test uses its own keys.
///
/// # Panics
/// If `OFFHOOK_TEST_REDIS` is not set.
pub fn shared_redis_url() -> String {
    match std::env::var("OFFHOOK_TEST_REDIS") {
        Ok(url) => url,
        Err(_) => panic!("OFFHOOK_TEST_REDIS names no Redis: `just test` starts one"),
    }
}

/// A `redis-server` that keeps nothing on disk; dropping this kills it.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    child: Child,
    directory: TempDir,
}

impl RedisServer {
    /// Starts a server, and waits until it responds.
    pub async fn start() -> Self {
        loop {
            let port = free_port();
            let directory = must("a directory", tempfile::tempdir());
            let mut server = Self {
                port,
                child: spawn(&format!("--port {port}"), &directory),
                directory,
            };
            server.answers().await;
            // Another server may respond, if it was quicker to take the port.
            if matches!(server.child.try_wait(), Ok(None)) {
                return server;
            }
        }
    }

    /// Starts a server that only accepts TLS, with a certificate and its key in PEM files. It may not respond yet,
    /// and accepts neither [`RedisServer::say`] nor a restart.
    pub fn start_tls(certificate: &Path, key: &Path) -> Self {
        let port = free_port();
        let directory = must("a directory", tempfile::tempdir());
        let (certificate, key) = (certificate.display(), key.display());
        let files = format!("--tls-cert-file {certificate} --tls-key-file {key}");
        let arguments = format!("--port 0 --tls-port {port} {files} --tls-auth-clients no");
        Self {
            port,
            child: spawn(&arguments, &directory),
            directory,
        }
    }

    pub const fn address(&self) -> SocketAddr {
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    /// Its `redis_url`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Kills it (SIGKILL); its port then refuses connections.
    pub fn kill(&mut self) {
        must("a kill", self.child.kill());
        must("its end", self.child.wait());
    }

    /// Restarts it after a kill, empty and on the same port; returns once it responds.
    pub async fn start_again(&mut self) {
        self.child = spawn(&format!("--port {}", self.port), &self.directory);
        self.answers().await;
        let is_up = matches!(self.child.try_wait(), Ok(None));
        assert!(is_up, "redis-server ended: somebody else has its port");
    }

    /// Stops its responses but keeps its connections (SIGSTOP).
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Resumes it.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// The response to a command that returns a line or a text.
    pub async fn say(&self, command: &str) -> String {
        must(command, self.try_say(command).await)
    }

    async fn try_say(&self, command: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.address()).await?;
        let line = format!("{command}\r\nQUIT\r\n");
        stream.write_all(line.as_bytes()).await?;
        let mut said = Vec::new();
        stream.read_to_end(&mut said).await?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Waits until it responds or has ended.
    async fn answers(&mut self) {
        let asked = async {
            while !matches!(self.try_say("PING").await, Ok(said) if said.starts_with("+PONG")) {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(START, asked).await.is_err() {
            panic!("redis-server does not answer");
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(must("kill", sent).success());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(arguments: &str, directory: &TempDir) -> Child {
    let started = Command::new("redis-server")
        .args(["--bind", "127.0.0.1"])
        .args(arguments.split(' '))
        .args(["--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    must("redis-server", started)
}

fn must<T>(what: &str, result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}
