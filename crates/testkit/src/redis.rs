//! A Redis of a test's own, to be killed and stopped at will.

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

/// The Redis that tests share, each with keys of its own.
///
/// # Panics
/// If `OFFHOOK_TEST_REDIS` does not name it.
pub fn shared_redis_url() -> String {
    match std::env::var("OFFHOOK_TEST_REDIS") {
        Ok(url) => url,
        Err(_) => panic!("OFFHOOK_TEST_REDIS names no Redis: `just test` starts one"),
    }
}

/// A `redis-server` that keeps nothing on disk; it is killed with the value.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    child: Child,
    directory: TempDir,
}

impl RedisServer {
    /// Starts one, and waits until it answers.
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
            // Whoever answers may be another one, if somebody was quicker to take the port.
            if matches!(server.child.try_wait(), Ok(None)) {
                return server;
            }
        }
    }

    /// Starts one that speaks TLS alone, with a certificate and its key in PEM files. It may not answer yet, and can be
    /// neither asked nor started again.
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

    /// Where it is.
    pub const fn address(&self) -> SocketAddr {
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    /// Its `redis_url`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Kills it (SIGKILL); its port refuses connections then.
    pub fn kill(&mut self) {
        must("a kill", self.child.kill());
        must("its end", self.child.wait());
    }

    /// Starts it again after it was killed, empty and on the same port; returns once it answers.
    pub async fn start_again(&mut self) {
        self.child = spawn(&format!("--port {}", self.port), &self.directory);
        self.answers().await;
        let is_up = matches!(self.child.try_wait(), Ok(None));
        assert!(is_up, "redis-server ended: somebody else has its port");
    }

    /// Lets it answer nothing, while its connections stay (SIGSTOP).
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// The answer to a command that is answered by a line or a text.
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

    /// Waits until it answers, or has ended.
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
