//! `offhook serve` as a child process.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use offhook_testkit::fakes::calendar::{API_PATH, FakeCalendar};
use offhook_testkit::fakes::oauth::{
    AUTHORIZE_PATH, CLIENT_ID, CLIENT_SECRET, REVOKE_PATH, TOKEN_PATH,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::binary;
use crate::client::{Address, Client};
use crate::database::Database;
use crate::wait::{eventually, must, text, within};

/// How long a start may take.
const START: Duration = Duration::from_secs(60);

/// How long a stop may take, beyond the drain that a test sets.
const STOP: Duration = Duration::from_secs(40);

/// The divisor of the leases of [`Options::in_haste`]: `OFFHOOK_TEST_HASTE`, or else 4, which leaves a lease longer
/// than a delivery attempt. `scripts/test --all` sets 1.
#[must_use]
pub fn haste() -> u32 {
    let given = std::env::var("OFFHOOK_TEST_HASTE").ok();
    given.and_then(|haste| haste.parse().ok()).unwrap_or(4)
}

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    database: Database,
    has_own_files: bool,
    haste: u32,
    through: Option<SocketAddr>,
    disk: Option<PathBuf>,
    port: u16,
    settings: BTreeMap<String, String>,
}

impl Options {
    /// Settings with which no test meets a limit by chance, callees talk fast, and receivers may be on this machine.
    #[must_use]
    pub fn on(database: Database) -> Self {
        let mut options = Self {
            database,
            has_own_files: false,
            haste: 1,
            through: None,
            disk: None,
            port: 0,
            settings: BTreeMap::new(),
        };
        for (key, value) in [
            ("webhooks.allow_private_targets", "true"),
            ("webhooks.retry_offsets", "1s,1s,1s"),
            ("simulator.speed", "100"),
            ("limits.ip_per_minute", "100000"),
            ("limits.call_ip_per_minute", "100000"),
            ("limits.page_ip_per_minute", "1000000"),
            ("plans.starter.requests_per_minute", "50000"),
            ("plans.pro.requests_per_minute", "50000"),
            ("plans.scale.requests_per_minute", "50000"),
        ] {
            options = options.set(key, value);
        }
        options
    }

    #[must_use]
    pub fn set(mut self, key: &str, value: impl ToString) -> Self {
        self.settings.insert(key.to_owned(), value.to_string());
        self
    }

    /// Adds a calendar that members can connect.
    #[must_use]
    pub fn with_calendar(self, calendar: &FakeCalendar) -> Self {
        let base = calendar.upstream.base_url();
        let key = |name: &str| format!("integrations.google_calendar.{name}");
        self.set(&key("client_id"), CLIENT_ID)
            .set(&key("client_secret"), CLIENT_SECRET)
            .set(&key("authorize_url"), format!("{base}{AUTHORIZE_PATH}"))
            .set(&key("token_url"), format!("{base}{TOKEN_PATH}"))
            .set(&key("revoke_url"), format!("{base}{REVOKE_PATH}"))
            .set(&key("api_url"), format!("{base}{API_PATH}"))
    }

    /// Shortens leases by [`haste`], for tests that wait for those of a dead process.
    #[must_use]
    pub fn in_haste(mut self) -> Self {
        self.haste = haste();
        self
    }

    /// Connects to the database through this address.
    #[must_use]
    pub const fn through(mut self, proxy: SocketAddr) -> Self {
        self.through = Some(proxy);
        self
    }

    /// Writes all files below this folder.
    #[must_use]
    pub fn on_disk(mut self, folder: &Path) -> Self {
        self.disk = Some(folder.to_owned());
        self
    }

    /// Known as `http://localhost` at this port, for what browsers do at such an address alone.
    #[must_use]
    pub fn at_localhost(mut self, port: u16) -> Self {
        self.port = port;
        self.set("http.public_url", format!("http://localhost:{port}"))
    }

    /// A separate folder for a server.
    fn folder(&self) -> TempDir {
        let parent = self.disk.clone().unwrap_or_else(std::env::temp_dir);
        must("a directory", tempfile::tempdir_in(parent))
    }

    /// Keeps files in the server's own data directory, even on a database that several servers share.
    #[must_use]
    pub const fn own_files(mut self) -> Self {
        self.has_own_files = true;
        self
    }

    /// Restores the default of this setting.
    #[must_use]
    pub fn default_of(mut self, key: &str) -> Self {
        self.settings.remove(key);
        self
    }
}

/// An account with a key.
#[derive(Debug, Clone)]
pub struct Account {
    /// The account's id.
    pub id: String,
    /// The key's id.
    pub key_id: String,
    /// The key.
    pub token: String,
    /// A client with the key.
    pub client: Client,
}

impl std::ops::Deref for Account {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// A server; dropping it kills it.
#[derive(Debug)]
pub struct Server {
    options: Options,
    address: Address,
    child: Child,
    directory: TempDir,
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub async fn start(options: Options) -> Self {
        Self::start_until(options, "/readyz").await
    }

    /// Starts a server with the usual settings, and creates an account on the Scale plan.
    pub async fn furnished(database: Database) -> (Self, Account) {
        let server = Self::start(Options::on(database)).await;
        let account = server.account("scale").await;
        (server, account)
    }

    /// Starts a server that need not become ready, and waits until it responds.
    pub async fn start_unready(options: Options) -> Self {
        Self::start_until(options, "/healthz").await
    }

    async fn start_until(options: Options, path: &str) -> Self {
        let directory = options.folder();
        if options.database.is_shared() {
            let key = directory.path().join("key");
            must("a master key", std::fs::write(key, "07".repeat(32)));
        }
        let child = spawn(&options, directory.path(), &[]);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut server = Self {
            options,
            address: Address::new(nowhere),
            child,
            directory,
        };
        server.ready(path).await;
        server
    }

    /// Starts a server next to others on the same database and waits until it responds, ready or not. `variables` are
    /// added to its environment.
    pub async fn join(options: Options, variables: &[(&str, &str)]) -> Self {
        let directory = options.folder();
        let key = directory.path().join("key");
        must("a master key", std::fs::write(key, "07".repeat(32)));
        let child = spawn(&options, directory.path(), variables);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut server = Self {
            options,
            address: Address::new(nowhere),
            child,
            directory,
        };
        server.ready("/healthz").await;
        server
    }

    /// Kills the server, like a power loss.
    pub async fn kill(&mut self) {
        must("a kill", self.child.kill().await);
    }

    /// The error output of a server that cannot start with these settings.
    ///
    /// # Panics
    /// If it ends with success.
    pub async fn refused(options: Options) -> String {
        let directory = options.folder();
        let key = directory.path().join("key");
        must("a master key", std::fs::write(key, "07".repeat(32)));
        let mut command = Command::from(command(&options, directory.path()));
        let command = command.args(["serve", "--listen", "127.0.0.1:0"]);
        let ended = within("a refusal", START, command.kill_on_drop(true).output()).await;
        let ended = must("a command", ended);
        assert!(!ended.status.success());
        String::from_utf8_lossy(&ended.stderr).into_owned()
    }

    /// Restarts the ended server on the same data; `variables` are added to its environment.
    pub async fn start_again(&mut self, variables: &[(&str, &str)]) {
        self.child = spawn(&self.options, self.directory.path(), variables);
        // A node that died keeps the next one from being ready until its lease has expired; the next one serves
        // anyway.
        self.ready("/healthz").await;
    }

    /// As [`Server::start_again`], without waiting.
    pub fn begin_again(&mut self, variables: &[(&str, &str)]) {
        self.child = spawn(&self.options, self.directory.path(), variables);
    }

    /// The resident memory of the server's process, in MiB.
    #[must_use]
    pub fn resident_mib(&self) -> u64 {
        let pid = self.child.id().unwrap_or_default();
        let status = must(
            "its status",
            std::fs::read_to_string(format!("/proc/{pid}/status")),
        );
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() / 1024
    }

    /// Changes a setting for the next start.
    pub fn set(&mut self, key: &str, value: impl ToString) {
        self.options
            .settings
            .insert(key.to_owned(), value.to_string());
    }

    /// Kills the server and restarts it on the same data.
    pub async fn crash_and_restart(&mut self) {
        self.crash_and_restart_with(&[]).await;
    }

    /// As [`Server::crash_and_restart`]; `variables` are added to its environment.
    pub async fn crash_and_restart_with(&mut self, variables: &[(&str, &str)]) {
        must("a kill", self.child.kill().await);
        self.start_again(variables).await;
    }

    async fn ready(&mut self, path: &str) {
        let file = data_dir(self.directory.path()).join("listen");
        let log = self.log_path();
        let child = &mut self.child;
        let started = eventually("a server that listens", START, || {
            let ended = must("the state of the server", child.try_wait());
            if let Some(status) = ended {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("the server ended at its start: {status}\n{log}");
            }
            let address = std::fs::read_to_string(&file).ok();
            let address = address.and_then(|text| text.trim().parse::<SocketAddr>().ok());
            async move { address }
        });
        self.address.set(started.await);
        if self.options.settings.contains_key("http.tls_cert") {
            // The clients of these tests use plain HTTP.
            return;
        }
        let client = self.client();
        eventually("a server that is ready", START, || async {
            let answer = client.get(path).try_send().await;
            answer.ok().filter(|answer| answer.status == 200)
        })
        .await;
    }

    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.address.clone())
    }

    /// The server's current address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address.get()
    }

    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        data_dir(self.directory.path())
    }

    #[must_use]
    pub const fn database(&self) -> &Database {
        &self.options.database
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// The server's log, over all starts.
    #[must_use]
    pub fn log(&self) -> String {
        must("the log", std::fs::read_to_string(self.log_path()))
    }

    /// Asks the server to stop (SIGTERM) and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal("TERM").await;
        self.ended().await
    }

    /// Sends a signal by name.
    pub async fn signal(&self, name: &str) {
        let Some(pid) = self.child.id() else {
            panic!("the server has ended already\n{}", self.log());
        };
        let kill = Command::new("kill")
            .args(["-s", name, &pid.to_string()])
            .status()
            .await;
        assert!(must("kill", kill).success());
    }

    /// Waits for the end of the server's process.
    pub async fn ended(&mut self) -> ExitStatus {
        self.ended_within(STOP).await
    }

    /// As [`Server::ended`], with a time limit.
    pub async fn ended_within(&mut self, limit: Duration) -> ExitStatus {
        must(
            "its end",
            within("the end of the server", limit, self.child.wait()).await,
        )
    }

    /// The output of another command with the same settings, such as `account list`.
    pub async fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, &[]).await
    }

    /// As [`Server::run`]; `variables` are added to the command's environment.
    pub async fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::from(command(&self.options, self.directory.path()));
        command.envs(variables.iter().copied());
        must("a command", command.args(arguments).output().await)
    }

    /// The output of a command with `--json`.
    ///
    /// # Panics
    /// If it fails.
    pub async fn cli(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat()).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        must("its JSON", serde_json::from_slice(&output.stdout))
    }

    /// Creates an account on this plan, with enough credits and a key with all scopes.
    pub async fn account(&self, plan: &str) -> Account {
        self.account_with(plan, 1_000).await
    }

    /// Creates an account on this plan, with `credits` and a key with all scopes.
    pub async fn account_with(&self, plan: &str, credits: u32) -> Account {
        let credits = credits.to_string();
        let make = ["account", "create", "--name", "Acme"];
        let with = ["--plan", plan, "--credits", &credits];
        let made = self.cli(&[&make[..], &with].concat()).await;
        self.key(text(&made["id"]), &["--scopes", "all"]).await
    }

    /// Adds a trunk number to an account as the operator; this agent answers it.
    ///
    /// # Panics
    /// If the output does not show the number and its agent.
    pub async fn add_number(&self, account: &str, number: &str, agent: Option<&str>) {
        let mut add = vec!["number", "add", "--account", account];
        add.extend(["--phone-number", number, "--provider", "sip"]);
        add.extend(agent.into_iter().flat_map(|agent| ["--agent", agent]));
        let added = self.cli(&add).await;
        assert_eq!(
            (&added["provider"], &added["agent_id"]),
            (&json!("sip"), &json!(agent))
        );
    }

    /// Stores an account's credential of a provider as the operator; returns the output.
    pub async fn credential(&self, account: &str, provider: &str, secret: &str) -> Value {
        let set = ["account", "credential", "set", "--account", account];
        let what = ["--provider", provider, "--secret", secret];
        self.cli(&[&set[..], &what].concat()).await
    }

    /// Creates a key of an account; `how` are the flags of `key create`.
    pub async fn key(&self, account: &str, how: &[&str]) -> Account {
        let create = ["key", "create", "--account", account, "--name", "test"];
        let key = self.cli(&[&create, how].concat()).await;
        let token = text(&key["token"]).to_owned();
        Account {
            id: account.to_owned(),
            key_id: text(&key["id"]).to_owned(),
            client: self.client().with_key(&token),
            token,
        }
    }
}

impl Account {
    /// The same key, used through another server.
    #[must_use]
    pub fn through(&self, server: &Server) -> Self {
        Self {
            client: server.client().with_key(&self.token),
            ..self.clone()
        }
    }

    /// Creates and publishes an agent that talks to the simulated callees; returns its id.
    pub async fn agent(&self) -> String {
        self.agent_with(json!({
            "system_prompt": "You confirm appointments of {{lead_name}}.",
            "first_message": "Hello {{lead_name}}, this is Eva from the clinic.",
            "llm": {"provider": "scripted", "model": "scripted"},
        }))
        .await
    }

    /// Creates and publishes an agent with this configuration; returns its id.
    pub async fn agent_with(&self, config: Value) -> String {
        let body = json!({"name": "Eva", "language": "en-US", "config": config});
        let agent = self.post("/v1/agents", body).await.assert(201);
        let id = text(&agent["id"]).to_owned();
        let publish = self.post(&format!("/v1/agents/{id}/publish"), "{}");
        publish.await.assert(200);
        id
    }

    pub async fn call(&self, agent: &str, to: &str) -> String {
        let body = json!({"agent_id": agent, "to": to});
        let placed = self.post("/v1/calls", body).await.assert(201);
        text(&placed["id"]).to_owned()
    }

    /// Waits until a call has ended; returns it.
    pub async fn ended(&self, handle: &str) -> Value {
        self.ended_within(handle, Duration::from_secs(30)).await
    }

    /// As [`Account::ended`], with a time limit. Retries while the server is unavailable.
    pub async fn ended_within(&self, handle: &str, limit: Duration) -> Value {
        let target = format!("/v1/calls/{handle}");
        eventually(&format!("the end of {handle}"), limit, || async {
            let answer = self.get(&target).try_send().await.ok()?;
            if answer.status == 503 {
                return None;
            }
            let call = answer.assert(200);
            (call["status"] != "initiated").then_some(call)
        })
        .await
    }

    /// Registers a webhook endpoint; returns its id and secret.
    pub async fn webhook(&self, url: &str) -> (String, String) {
        let made = self.post("/v1/webhooks", json!({"url": url})).await;
        let made = made.assert(201);
        (
            text(&made["id"]).to_owned(),
            text(&made["secret"]).to_owned(),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            let last = lines.len().saturating_sub(60);
            eprintln!("the end of the server's log:\n{}", lines[last..].join("\n"));
        }
    }
}

fn data_dir(directory: &Path) -> PathBuf {
    directory.join("data")
}

/// The same database at another address.
fn at(database: &str, address: SocketAddr) -> String {
    let mut url = must("a URL", url::Url::parse(database));
    must("a host", url.set_ip_host(address.ip()));
    must("a port", url.set_port(Some(address.port())));
    url.to_string()
}

/// A command with the settings of `options`.
fn command(options: &Options, directory: &Path) -> std::process::Command {
    let mut command = binary::command();
    command.arg("--data-dir").arg(data_dir(directory));
    if let Some(url) = options.database.url() {
        let url = match options.through {
            Some(proxy) => at(&url, proxy),
            None => url,
        };
        command.args(["--database-url", &url]);
        command.env("OFFHOOK_MASTER_KEY_FILE", directory.join("key"));
        // Several servers on one database share their files.
        if let Database::Postgres(database) = &options.database
            && !options.has_own_files
            && let Some(files) = database.files()
        {
            command.env("OFFHOOK_STORAGE__OBJECTS", files);
        }
    }
    for (key, value) in &options.settings {
        let name = format!("OFFHOOK_{}", key.replace('.', "__").to_uppercase());
        command.env(name, value);
    }
    command
}

fn spawn(options: &Options, directory: &Path, variables: &[(&str, &str)]) -> Child {
    // After a kill, the file still names the old address.
    let _ = std::fs::remove_file(data_dir(directory).join("listen"));
    let log = File::options()
        .create(true)
        .append(true)
        .open(directory.join("log"));
    let mut command = Command::from(command(options, directory));
    command
        .env("OFFHOOK_TEST_HASTE", options.haste.to_string())
        .args(["serve", "--listen", &format!("127.0.0.1:{}", options.port)])
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(must("a log", log))
        .kill_on_drop(true);
    must("offhook serve", command.spawn())
}
