//! PostgreSQL, Redis and the simulated phone network, private to a run.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_postgres::{Client, NoTls};

use crate::http::{Ask, ask};
use crate::node::without_settings;

/// How long a server may take to start.
const START: Duration = Duration::from_secs(60);

pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}

/// Sends a signal by name.
pub(crate) async fn signal(pid: u32, name: &str) {
    let pid = pid.to_string();
    let mut kill = Command::new("kill");
    // The process may have ended meanwhile.
    let _ = kill
        .args(["-s", name, &pid])
        .stderr(Stdio::null())
        .status()
        .await;
}

/// A PostgreSQL server as durable as in production.
pub(crate) struct Postgres {
    bin: PathBuf,
    data: PathBuf,
    port: u16,
    password: String,
    /// PostgreSQL refuses to run as root.
    user: Option<(u32, u32)>,
    child: Child,
}

impl Postgres {
    /// Creates a cluster below `scratch` and starts it.
    pub(crate) async fn start(scratch: &Path) -> anyhow::Result<Self> {
        let bin = newest_postgres().context(
            "PostgreSQL (15 or later) is missing on this machine: `just test` installs it",
        )?;
        let user = other_user().await?;
        let home = scratch.join("postgres");
        std::fs::create_dir_all(&home)?;
        if let Some((uid, gid)) = user {
            chown(&home, Some(uid), Some(gid))?;
        }
        let mut random = [0; 16];
        std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut random)?;
        let password = hex::encode(random);
        let (data, secret) = (home.join("data"), home.join("password"));
        std::fs::write(&secret, &password)?;
        if let Some((uid, gid)) = user {
            chown(&secret, Some(uid), Some(gid))?;
        }
        let made = as_user(Command::new(bin.join("initdb")), user)
            .current_dir(&home)
            .arg("--pgdata")
            .arg(&data)
            .arg("--pwfile")
            .arg(&secret)
            .args(["--username=postgres", "--auth=password", "--encoding=UTF8"])
            .args(["--locale=C", "--no-sync"])
            .stdin(Stdio::null())
            .output()
            .await?;
        ensure!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let port = free_port()?;
        let child = postgres(&bin, &data, port, user)?;
        let postgres = Self {
            bin,
            data,
            port,
            password,
            user,
            child,
        };
        postgres.ready().await?;
        postgres.run("CREATE DATABASE offhook").await?;
        Ok(postgres)
    }

    /// The URL of a database, without a proxy.
    pub(crate) fn url(&self, database: &str) -> String {
        self.url_at(&format!("127.0.0.1:{}", self.port), database)
    }

    /// The URL of a database behind another address.
    pub(crate) fn url_at(&self, address: &str, database: &str) -> String {
        format!("postgres://postgres:{}@{address}/{database}", self.password)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Stops it as a crash would (`-m immediate`), and restarts it after `away`.
    pub(crate) async fn crash(&mut self, away: Duration) -> anyhow::Result<()> {
        if let Some(pid) = self.child.id() {
            signal(pid, "QUIT").await;
        }
        self.child.wait().await?;
        tokio::time::sleep(away).await;
        self.child = postgres(&self.bin, &self.data, self.port, self.user)?;
        self.ready().await
    }

    /// Cuts every connection of the service.
    pub(crate) async fn cut(&self) -> anyhow::Result<()> {
        let end =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'offhook'";
        self.run(end).await
    }

    /// Runs a statement on a separate connection.
    async fn run(&self, sql: &str) -> anyhow::Result<()> {
        Ok(self.connect("postgres").await?.batch_execute(sql).await?)
    }

    /// A separate connection for the run.
    pub(crate) async fn connect(&self, database: &str) -> anyhow::Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    async fn ready(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            match tokio_postgres::connect(&self.url("postgres"), NoTls).await {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > START => bail!("PostgreSQL did not start: {error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

fn postgres(bin: &Path, data: &Path, port: u16, user: Option<(u32, u32)>) -> anyhow::Result<Child> {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(data.with_file_name("log"))?;
    // fsync, full_page_writes and synchronous_commit are on, PostgreSQL's defaults.
    Ok(as_user(Command::new(bin.join("postgres")), user)
        .current_dir(data)
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string()])
        .args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
        ])
        .args(["-c", "max_connections=200"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()?)
}

fn as_user(mut command: Command, user: Option<(u32, u32)>) -> Command {
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// The user that runs PostgreSQL if this process is root.
async fn other_user() -> anyhow::Result<Option<(u32, u32)>> {
    if id(&["-u"]).await? != Some(0) {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if let (Some(uid), Some(gid)) = (id(&["-u", name]).await?, id(&["-g", name]).await?) {
            return Ok(Some((uid, gid)));
        }
    }
    bail!("there is no user to run PostgreSQL as")
}

async fn id(arguments: &[&str]) -> anyhow::Result<Option<u32>> {
    let output = Command::new("id").args(arguments).output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

/// The directory of the newest PostgreSQL's programs.
fn newest_postgres() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten() {
        let version = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        let bin = entry.path().join("bin");
        if version >= 15 && bin.join("initdb").exists() && bin.join("postgres").exists() {
            found.push((version, bin));
        }
    }
    found.into_iter().max().map(|(_, bin)| bin)
}

/// A Redis server that keeps nothing on disk.
pub(crate) struct Redis {
    directory: PathBuf,
    port: u16,
    child: Child,
}

impl Redis {
    pub(crate) async fn start(scratch: &Path) -> anyhow::Result<Self> {
        let (directory, port) = (scratch.join("redis"), free_port()?);
        std::fs::create_dir_all(&directory)?;
        let child = redis(&directory, port)?;
        let redis = Self {
            directory,
            port,
            child,
        };
        redis.ready().await?;
        Ok(redis)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Kills it, and restarts it empty after `away`.
    pub(crate) async fn crash(&mut self, away: Duration) -> anyhow::Result<()> {
        self.child.kill().await?;
        tokio::time::sleep(away).await;
        self.child = redis(&self.directory, self.port)?;
        self.ready().await
    }

    async fn ready(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            ensure!(began.elapsed() < START, "Redis did not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

fn redis(directory: &Path, port: u16) -> anyhow::Result<Child> {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port"])
        .arg(port.to_string())
        .arg("--dir")
        .arg(directory)
        .args(["--save", "", "--appendonly", "no"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .context("redis-server is missing on this machine: `just test` installs it")
}

/// The phone network, whose log of dials outlives every node.
pub(crate) struct Network {
    pub(crate) url: String,
    dial_log: PathBuf,
    heard_log: PathBuf,
    _child: Child,
}

impl Network {
    /// Starts it, with callees that are `speed` times faster than real ones.
    pub(crate) async fn start(binary: &Path, scratch: &Path, speed: u32) -> anyhow::Result<Self> {
        let (dial_log, heard_log) = (scratch.join("dials"), scratch.join("heard"));
        let mut command = Command::new(binary);
        without_settings(&mut command);
        let mut child = command
            .args(["simulator", "--listen", "127.0.0.1:0", "--json", "--speed"])
            .arg(speed.to_string())
            .arg("--dial-log")
            .arg(&dial_log)
            .arg("--heard-log")
            .arg(&heard_log)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} does not start", binary.display()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("standard output")?;
        BufReader::new(stdout).read_line(&mut line).await?;
        let told: Value = serde_json::from_str(&line).context("the simulator's address")?;
        Ok(Self {
            url: told["url"].as_str().unwrap_or_default().to_owned(),
            dial_log,
            heard_log,
            _child: child,
        })
    }

    /// Every dial, one JSON object per line.
    pub(crate) fn dials(&self) -> anyhow::Result<Vec<Value>> {
        lines(&self.dial_log)
    }

    /// Every text that one side of a call heard, in order, one JSON object per line.
    pub(crate) fn heard(&self) -> anyhow::Result<Vec<Value>> {
        lines(&self.heard_log)
    }

    /// The handles of the live calls.
    pub(crate) async fn live(&self) -> anyhow::Result<Vec<String>> {
        let address = self.url.trim_start_matches("http://").parse()?;
        let reply = ask(address, Ask::get("/calls", ""), Duration::from_secs(10)).await;
        let reply =
            reply.map_err(|why| anyhow::anyhow!("the simulator does not answer: {why:?}"))?;
        let handles = reply.json()["live"].as_array().cloned().unwrap_or_default();
        Ok(handles
            .iter()
            .filter_map(|handle| handle.as_str().map(str::to_owned))
            .collect())
    }
}

fn lines(log: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(log)?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect()
}
