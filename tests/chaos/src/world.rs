//! Everything that a run needs: servers, nodes, accounts, agents and endpoints, in a temporary folder.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::http::{Ask, Reply, ask};
use crate::node::{Node, Options, home};
use crate::proxy::Proxy;
use crate::receiver::{Receiver, model};
use crate::servers::{Network, Postgres, Redis};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// The setup of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) binary: PathBuf,
    pub(crate) database: Database,
    pub(crate) nodes: usize,
    pub(crate) redis: bool,
    pub(crate) accounts: usize,
    pub(crate) seed: u64,
    /// How many times faster than real people the callees are.
    pub(crate) speed: u32,
    /// Settings in addition to the usual ones.
    pub(crate) settings: Vec<(String, String)>,
}

/// An account with everything for placing calls.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// 32 hexadecimal digits.
    pub(crate) id: String,
    pub(crate) token: String,
    pub(crate) agent: String,
    /// A running campaign of the agent, and the numbers that it calls.
    pub(crate) campaign: String,
    pub(crate) people: Vec<String>,
    /// An agent that batches may use.
    pub(crate) legacy: String,
    /// 32 hexadecimal digits each.
    pub(crate) endpoints: Vec<String>,
}

/// A node or server, shared between the tasks that kill it and those that watch it.
pub(crate) type Shared<T> = Arc<Mutex<T>>;

/// The recipients of each account's campaign.
const PEOPLE: usize = 60;

/// The servers, nodes and accounts of a run; all end when it is dropped.
pub(crate) struct World {
    pub(crate) postgres: Option<Shared<Postgres>>,
    pub(crate) redis: Option<Shared<Redis>>,
    pub(crate) network: Network,
    pub(crate) receiver: Receiver,
    pub(crate) nodes: Vec<Shared<Node>>,
    /// Name and address of each node.
    pub(crate) doors: Vec<(String, Arc<parking_lot::Mutex<SocketAddr>>)>,
    /// Between each node and PostgreSQL.
    pub(crate) proxies: Vec<Proxy>,
    /// Between each node and Redis.
    pub(crate) redis_proxies: Vec<Proxy>,
    /// The clock of each node, where several share a database, whose clock decides.
    pub(crate) clocks: Vec<Clock>,
    pub(crate) accounts: Vec<Account>,
    /// How administrative commands are run.
    pub(crate) admin: Options,
    // Last, so that the processes end before their folder is removed.
    _scratch: TempDir,
}

/// The wall clock of a node: a file says by how many seconds it is off.
pub(crate) struct Clock(PathBuf);

impl Clock {
    /// Puts it forward or back, such as by `+7`, from the true time.
    pub(crate) fn put(&self, off: &str) -> std::io::Result<()> {
        // The node never reads half a file.
        let new = self.0.with_extension("new");
        std::fs::write(&new, off)?;
        std::fs::rename(&new, &self.0)
    }

    /// The words before a program that lives by it. Its monotonic clock is the true one.
    fn words(&self, library: &Path) -> Vec<String> {
        let words = [
            "env".to_owned(),
            format!("LD_PRELOAD={}", library.display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", self.0.display()),
            "FAKETIME_CACHE_DURATION=1".to_owned(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
            "NO_FAKE_STAT=1".to_owned(),
        ];
        words.into()
    }
}

/// The library that gives a process a clock of its own, where it is installed.
fn faketime() -> Option<PathBuf> {
    let machines = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    machines
        .map(|machine| machine.path().join("faketime/libfaketime.so.1"))
        .find(|library| library.exists())
}

impl World {
    /// Creates the world; every node is ready, and no account has a call.
    pub(crate) async fn make(plan: &Plan) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("offhook-chaos").tempdir()?;
        // PostgreSQL runs as another user.
        std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o711))?;
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let postgres = match plan.database {
            Database::Sqlite => None,
            Database::Postgres => Some(Postgres::start(scratch.path()).await?),
        };
        let redis = match plan.redis {
            false => None,
            true => Some(Redis::start(scratch.path()).await?),
        };
        let network = Network::start(&plan.binary, scratch.path(), plan.speed).await?;
        let receiver = Receiver::start(plan.seed).await?;
        let settings = settings(plan, &network.url, &model().await?);
        let (mut nodes, mut proxies, mut redis_proxies) = (Vec::new(), Vec::new(), Vec::new());
        let mut clocks = Vec::new();
        for number in 1..=plan.nodes {
            let name = format!("node {number}");
            let mut options = Options {
                binary: plan.binary.clone(),
                directory: home(scratch.path(), &format!("node{number}"))?,
                database_url: None,
                settings: settings.clone(),
                before: Vec::new(),
                listen: "127.0.0.1:0".to_owned(),
            };
            if let Some(postgres) = &postgres {
                let proxy = Proxy::start(here, SocketAddr::from((here, postgres.port()))).await?;
                options.database_url = Some(postgres.url_at(&proxy.address.to_string(), "offhook"));
                // Nodes share uploaded files.
                let files = scratch.path().join("objects").display().to_string();
                options.settings.insert("storage.objects".to_owned(), files);
                if let Some(library) = faketime() {
                    let clock = Clock(options.directory.join("clock"));
                    clock.put("+0")?;
                    options.before = clock.words(&library);
                    clocks.push(clock);
                }
                proxies.push(proxy);
            }
            if let Some(redis) = &redis {
                let proxy = Proxy::start(here, SocketAddr::from((here, redis.port()))).await?;
                let url = format!("redis://{}", proxy.address);
                options.settings.insert("redis_url".to_owned(), url);
                redis_proxies.push(proxy);
            }
            nodes.push(Node::new(&name, options));
        }
        let mut admin = nodes[0].options.clone();
        admin.before.clear();
        if let Some(postgres) = &postgres {
            admin.database_url = Some(postgres.url("offhook"));
        }
        for node in &mut nodes {
            node.start(None).await?;
        }
        let mut world = Self {
            doors: nodes
                .iter()
                .map(|node| (node.name.clone(), node.address()))
                .collect(),
            postgres: postgres.map(|postgres| Arc::new(Mutex::new(postgres))),
            redis: redis.map(|redis| Arc::new(Mutex::new(redis))),
            network,
            receiver,
            nodes: nodes
                .into_iter()
                .map(|node| Arc::new(Mutex::new(node)))
                .collect(),
            proxies,
            redis_proxies,
            clocks,
            accounts: Vec::new(),
            admin,
            _scratch: scratch,
        };
        for number in 0..plan.accounts {
            let account = world.account(number).await?;
            world.accounts.push(account);
        }
        Ok(world)
    }

    /// The address of a node.
    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        *self.doors[node].1.lock()
    }

    async fn account(&self, number: usize) -> anyhow::Result<Account> {
        let make = format!("account create --name Acme-{number} --plan scale --credits 100000000");
        let id = text(&self.admin.cli(&make).await?["id"])?;
        let key = format!("key create --account {id} --name chaos --scopes all");
        let token = text(&self.admin.cli(&key).await?["token"])?;
        let legacy = format!("--account {id} --provider legacy --secret sim_{id}");
        let credential = format!("account credential set {legacy}");
        self.admin.cli(&credential).await?;
        let agent = json!({"name": "Eva", "language": "en-US", "config": {
            "system_prompt": "You confirm appointments.",
            "first_message": "Hello, this is Eva from the clinic.",
            "llm": {"provider": "openai", "model": "gpt-4.1"},
        }});
        let agent = self.setup(&token, "POST", "/v1/agents", &agent).await?;
        let agent = text(&agent["id"])?;
        let publish = format!("/v1/agents/{agent}/publish");
        self.setup(&token, "POST", &publish, &json!({})).await?;
        let mut endpoints = Vec::new();
        for endpoint in 0..2 {
            let path = format!("/{number}/{endpoint}");
            let events = [
                "call.initiated",
                "call.completed",
                "call.failed",
                "campaign.completed",
            ];
            let body = json!({"url": self.receiver.url(&path), "events": events});
            let made = self.setup(&token, "POST", "/v1/webhooks", &body).await?;
            let id = text(&made["id"])?;
            self.receiver
                .register(&path, &id, &text(&made["secret"])?)?;
            endpoints.push(id.replace('-', ""));
        }
        let legacy = self.legacy(&token).await?;
        let people: Vec<String> = (0..PEOPLE)
            .map(|person| format!("+52157{number:03}{person:05}"))
            .collect();
        let campaign = self.campaign(&token, &agent, &people).await?;
        Ok(Account {
            id: id.replace('-', ""),
            token,
            agent,
            campaign,
            people,
            legacy,
            endpoints,
        })
    }

    /// A draft that may call each of these people once.
    async fn campaign(
        &self,
        token: &str,
        agent: &str,
        people: &[String],
    ) -> anyhow::Result<String> {
        let settings = json!({"calls_per_minute": 600, "breaker": {"failure_percent": 0},
            "retries": {"most_attempts": 1}});
        let draft = json!({"name": "All", "agent_id": agent, "settings": settings});
        let made = self.setup(token, "POST", "/v1/campaigns", &draft).await?;
        let campaign = text(&made["id"])?;
        let recipients: Vec<Value> = people.iter().map(|to| json!({"to": to})).collect();
        let path = format!("/v1/campaigns/{campaign}/recipients");
        let body = json!({"recipients": recipients});
        self.setup(token, "POST", &path, &body).await?;
        Ok(campaign)
    }

    /// Starts the campaigns of all accounts.
    pub(crate) async fn start_campaigns(&self) -> anyhow::Result<()> {
        for account in &self.accounts {
            let path = format!("/v1/campaigns/{}/start", account.campaign);
            self.setup(&account.token, "POST", &path, &json!({}))
                .await?;
        }
        Ok(())
    }

    /// The legacy agent that has a number, once it is listed.
    async fn legacy(&self, token: &str) -> anyhow::Result<String> {
        let began = Instant::now();
        loop {
            let listed = self
                .setup(token, "GET", "/v1/agents?runtime=legacy", &Value::Null)
                .await?;
            let agents = listed["data"].as_array().cloned().unwrap_or_default();
            if let Some(agent) = agents.iter().find(|agent| agent["name"] == "Reception") {
                return text(&agent["id"]);
            }
            ensure!(began.elapsed() < Duration::from_secs(60), "no legacy agent");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A request that must succeed, before any fault.
    pub(crate) async fn setup(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let body = (!body.is_null()).then(|| body.to_string());
        let began = Instant::now();
        loop {
            let request = Ask {
                method,
                path,
                token,
                key: None,
                body: body.as_deref(),
            };
            match ask(self.address(0), request, Duration::from_secs(20)).await {
                Ok(
                    reply @ Reply {
                        status: 200..=299, ..
                    },
                ) => return Ok(reply.json()),
                // A node that has just started may not have its database yet.
                Ok(Reply { status: 503, .. }) if began.elapsed() < Duration::from_secs(20) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                other => bail!("{method} {path}: {other:?}"),
            }
        }
    }
}

fn text(value: &Value) -> anyhow::Result<String> {
    Ok(value
        .as_str()
        .with_context(|| format!("no text: {value}"))?
        .to_owned())
}

/// No client meets a limit, callees talk fast, and receivers are on this machine.
fn settings(plan: &Plan, network: &str, model: &str) -> BTreeMap<String, String> {
    let mut settings: BTreeMap<String, String> = [
        ("webhooks.allow_private_targets", "true"),
        ("webhooks.retry_offsets", "1s,1s,1s"),
        ("limits.ip_per_minute", "1000000"),
        ("limits.call_ip_per_minute", "1000000"),
        ("limits.page_ip_per_minute", "1000000"),
        ("plans.scale.requests_per_minute", "1000000"),
        ("plans.scale.live_calls", "100000"),
        ("calls.drain_seconds", "3"),
        ("simulator.url", network),
        ("models.openai.base_url", model),
        ("models.openai.api_key", "sk-chaos"),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect();
    settings.extend(plan.settings.iter().cloned());
    settings
}
