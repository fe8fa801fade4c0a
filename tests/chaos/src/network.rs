//! Three nodes in separate network namespaces, whose links go down.
//!
//! A node reaches PostgreSQL, Redis and the rest (clients, phone network, receivers) over three links. A link that is
//! down drops all packets silently, as a broken switch does.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::http::{Ask, ask};
use crate::node::{Node, Options};
use crate::proxy::{Proxy, Way};
use crate::report::row;
use crate::run::say;
use crate::world::{Plan, World};

/// The longest response time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A link's index, which gives its two addresses in 10.213.x.0/24.
#[derive(Debug, Clone, Copy)]
enum Link {
    Database = 1,
    Redis = 2,
    Rest = 3,
}

/// A network namespace with its links; dropping it removes it.
pub(crate) struct Namespace {
    name: String,
    number: u8,
}

impl Namespace {
    /// Creates it, with three links up.
    async fn make(number: u8) -> anyhow::Result<Self> {
        let namespace = Self {
            name: format!("offhook-{}-{number}", std::process::id()),
            number,
        };
        let name = namespace.name.as_str();
        ip(&format!("netns add {name}")).await?;
        ip(&format!("-n {name} link set lo up")).await?;
        for link in [Link::Database, Link::Redis, Link::Rest] {
            let (near, far) = (namespace.near(link), namespace.far(link));
            let (here, there) = (namespace.here(link), namespace.there(link));
            for words in [
                format!("link add {near} type veth peer name {far} netns {name}"),
                format!("addr add {here}/30 dev {near}"),
                format!("link set {near} up"),
                format!("-n {name} addr add {there}/30 dev {far}"),
                format!("-n {name} link set {far} up"),
            ] {
                ip(&words).await?;
            }
        }
        Ok(namespace)
    }

    fn near(&self, link: Link) -> String {
        format!(
            "oh{}{}{}",
            std::process::id() % 100_000,
            self.number,
            link as u8
        )
    }

    fn far(&self, link: Link) -> String {
        format!("eth{}", link as u8)
    }

    /// The address of the host's end.
    fn here(&self, link: Link) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.number, link as u8 * 4 + 1)
    }

    /// The address of the node's end.
    fn there(&self, link: Link) -> Ipv4Addr {
        Ipv4Addr::new(10, 213, self.number, link as u8 * 4 + 2)
    }

    async fn set(&self, link: Link, up: bool) -> anyhow::Result<()> {
        let state = if up { "up" } else { "down" };
        ip(&format!("link set {} {state}", self.near(link))).await
    }

    /// The prefix for a command that should run in the namespace.
    fn exec(&self) -> Vec<String> {
        let words = ["ip", "netns", "exec", &self.name];
        words.map(str::to_owned).to_vec()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The links go with it.
        let _ = std::process::Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
    }
}

async fn ip(words: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {words}: {said}");
    Ok(())
}

/// Why this machine cannot create network namespaces, if it cannot.
pub(crate) async fn unable() -> Option<String> {
    let name = format!("offhook-try-{}", std::process::id());
    let tried = ip(&format!("netns add {name}")).await;
    let _ = ip(&format!("netns del {name}")).await;
    let error = tried.err()?;
    Some(format!(
        "network namespaces cannot be made here (root and iproute2 are needed), so nothing was tested: {error}"
    ))
}

/// Forwards from an address of this namespace to another. `offhook-chaos forward` runs it in the namespace of a node
/// that listens on its loopback.
pub(crate) async fn forward(listen: IpAddr, to: SocketAddr) -> anyhow::Result<()> {
    let proxy = Proxy::start(listen, to).await?;
    println!("{}", proxy.address);
    std::future::pending().await
}

/// A node in its namespace.
struct Place {
    node: Node,
    /// The address for clients.
    door: SocketAddr,
    database: Proxy,
    _forward: Child,
    // Dropped after the processes in it.
    namespace: Namespace,
}

impl Place {
    async fn make(world: &World, number: u8, scratch: &Path) -> anyhow::Result<Self> {
        let namespace = Namespace::make(number).await?;
        let here = |link| IpAddr::V4(namespace.here(link));
        let postgres = world.postgres.as_ref().context("PostgreSQL")?.lock().await;
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let database = Proxy::start(here(Link::Database), local(postgres.port())).await?;
        let network = world.network.url.trim_start_matches("http://").parse()?;
        let carrier = Proxy::start(here(Link::Rest), network).await?;
        let mut options = Options {
            directory: crate::node::home(scratch, &format!("far{number}"))?,
            database_url: Some(postgres.url_at(&database.address.to_string(), "offhook")),
            before: namespace.exec(),
            listen: "127.0.0.1:8080".to_owned(),
            ..world.admin.clone()
        };
        let carrier = format!("http://{}", carrier.address);
        options.settings.insert("simulator.url".to_owned(), carrier);
        if let Some(redis) = &world.redis {
            let port = redis.lock().await.port();
            let redis = Proxy::start(here(Link::Redis), local(port)).await?;
            let url = format!("redis://{}", redis.address);
            options.settings.insert("redis_url".to_owned(), url);
        }
        let mut node = Node::new(&format!("node {number}"), options);
        node.start(None).await?;
        let mut words = namespace.exec().into_iter();
        let mut forward = Command::new(words.next().unwrap_or_default())
            .args(words)
            .arg(std::env::current_exe()?)
            .args(["forward", "--to", "127.0.0.1:8080", "--listen"])
            .arg(namespace.there(Link::Rest).to_string())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut line = String::new();
        let stdout = forward.stdout.take().context("standard output")?;
        BufReader::new(stdout).read_line(&mut line).await?;
        Ok(Self {
            node,
            door: line
                .trim()
                .parse()
                .context("the address of the forwarder")?,
            database,
            _forward: forward,
            namespace,
        })
    }
}

/// A node's responses over a period.
#[derive(Debug, Default)]
struct Answers {
    served: u32,
    /// 503 with `Retry-After`.
    told_to_wait: u32,
    slowest: Duration,
    /// Violations: no response in time, other status codes, 503 without `Retry-After`.
    wrong: Vec<String>,
    /// When a request was first served, counted from the start of the period.
    first_served: Option<Duration>,
}

/// Sends a node a request every 100 ms for `time`: the list of calls and a new call in turn.
async fn watch(world: &World, name: &str, door: SocketAddr, time: Duration) -> Answers {
    let account = &world.accounts[0];
    let body = json!({"agent_id": account.agent, "to": "+15005550001"}).to_string();
    let (mut answers, began, mut number) = (Answers::default(), Instant::now(), 0_u64);
    while began.elapsed() < time {
        number += 1;
        let places = number % 2 == 0;
        let key = format!("{name} {number} {:?}", began);
        let request = match places {
            true => Ask {
                key: Some(&key),
                ..Ask::post("/v1/calls", &account.token, &body)
            },
            false => Ask::get("/v1/calls", &account.token),
        };
        let asked = Instant::now();
        let reply = ask(door, request, Duration::from_secs(15)).await;
        let took = asked.elapsed();
        answers.slowest = answers.slowest.max(took);
        let what = format!("{name}, {} after {:.1?}", request.method, began.elapsed());
        match &reply {
            Ok(reply) if matches!(reply.status, 200 | 201) => {
                answers.served += 1;
                answers.first_served.get_or_insert(began.elapsed());
            }
            Ok(reply) if reply.status == 503 && reply.retry_after.is_some() => {
                answers.told_to_wait += 1;
            }
            Ok(reply) => answers
                .wrong
                .push(format!("{what}: {} {}", reply.status, reply.body)),
            Err(why) => answers
                .wrong
                .push(format!("{what}: {why:?} after {took:.1?}")),
        }
        if took > ANSWERS_WITHIN && reply.is_ok() {
            answers
                .wrong
                .push(format!("{what}: an answer took {took:.1?}"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    answers
}

/// One line of the table.
struct Line {
    what: String,
    attacked_by: String,
    seen: String,
    wrong: Vec<String>,
}

/// Cuts links one after the other, and prints what clients saw. A link stays down for `time`, and a node must serve
/// again as soon after it is back.
pub(crate) async fn run(plan: &Plan, time: Duration) -> anyhow::Result<()> {
    let began = Instant::now();
    if let Some(why) = unable().await {
        println!("{why}");
        return Ok(());
    }
    let world = World::make(plan).await?;
    let scratch = tempfile::Builder::new().prefix("offhook-net").tempdir()?;
    let mut places = Vec::new();
    for number in 1..=3 {
        places.push(Place::make(&world, number, scratch.path()).await?);
    }
    // The node that set up the world is no longer needed.
    for node in &world.nodes {
        node.lock().await.stop(Duration::from_secs(40)).await?;
    }
    say(began, "three nodes run in namespaces");
    let mut lines = Vec::new();
    for place in &places {
        let (name, door) = (&place.node.name, place.door);
        let answers = watch(&world, name, door, Duration::from_secs(2)).await;
        ensure!(
            answers.wrong.is_empty() && answers.served > 0,
            "{name} does not serve before anything is cut: {answers:?}"
        );
    }
    lines.push(cut(&world, &places, 0, Link::Database, time).await?);
    say(began, "the database link of node 1 was down");
    if world.redis.is_some() {
        lines.push(cut(&world, &places, 1, Link::Redis, time).await?);
        say(began, "the Redis link of node 2 was down");
    }
    lines.push(slow(&world, &places[2], time).await);
    say(began, "the database link of node 3 was slow");
    for place in &mut places {
        if let Some(status) = place.node.ended() {
            bail!(
                "{} ended: {status}\n{}",
                place.node.name,
                place.node.last_words()
            );
        }
    }
    print(&lines)
}

fn print(lines: &[Line]) -> anyhow::Result<()> {
    println!("\n| Promise | Attacked by | Seen | Result |");
    println!("|---|---|---|---|");
    for line in lines {
        row(&line.what, &line.attacked_by, &line.seen, line.wrong.len());
    }
    let wrong: Vec<&String> = lines.iter().flat_map(|line| &line.wrong).collect();
    for one in wrong.iter().take(20) {
        println!("  - {one}");
    }
    ensure!(wrong.is_empty(), "promises were broken: see above");
    Ok(())
}

/// Takes a link of one node down and up again while clients use every node.
async fn cut(
    world: &World,
    places: &[Place],
    index: usize,
    link: Link,
    time: Duration,
) -> anyhow::Result<Line> {
    let namespace = &places[index].namespace;
    namespace.set(link, false).await?;
    let (one, other) = (&places[index], &places[(index + 1) % places.len()]);
    let (lost, others) = tokio::join!(
        watch(world, &one.node.name, one.door, time),
        watch(world, &other.node.name, other.door, time),
    );
    namespace.set(link, true).await?;
    let healed = watch(world, &one.node.name, one.door, time).await;
    let mut wrong = lost.wrong;
    wrong.extend(others.wrong);
    wrong.extend(healed.wrong);
    if lost.told_to_wait == 0 {
        wrong.push(format!("{}: nobody was told to wait", one.node.name));
    }
    if others.told_to_wait > 0 {
        let count = others.told_to_wait;
        wrong.push(format!(
            "{}: {count} were told to wait, and nothing of it was cut",
            other.node.name
        ));
    }
    let heals = match healed.first_served {
        Some(after) => format!("served again after {after:.1?}"),
        None => {
            wrong.push(format!("{}: not healed within {time:?}", one.node.name));
            "never served again".to_owned()
        }
    };
    let what = match link {
        Link::Database => {
            "a node without its database says 503 with `Retry-After` within 2 s, and heals"
        }
        _ => "a node without Redis says 503 with `Retry-After` within 2 s, and heals",
    };
    Ok(Line {
        what: what.to_owned(),
        attacked_by: format!("a link that swallows everything for {time:?}"),
        seen: format!(
            "{} x 503, slowest {:.1?}; {heals}; beside it {} served, slowest {:.1?}",
            lost.told_to_wait, lost.slowest, others.served, others.slowest
        ),
        wrong,
    })
}

/// Slows down the database connection of one node.
async fn slow(world: &World, place: &Place, time: Duration) -> Line {
    place.database.set(Way::Slow(Duration::from_millis(25)));
    let answers = watch(world, &place.node.name, place.door, time).await;
    place.database.set(Way::Open);
    let mut wrong = answers.wrong;
    if answers.served == 0 {
        wrong.push(format!("{}: nothing was served", place.node.name));
    }
    Line {
        what: "a node whose database is slow to reach still answers within 2 s".to_owned(),
        attacked_by: format!("25 ms more each way for {time:?}"),
        seen: format!(
            "{} served, {} x 503, slowest {:.1?}",
            answers.served, answers.told_to_wait, answers.slowest
        ),
        wrong,
    }
}
