//! The faults of a run, by a plan made from its seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use offhook_failpoints as failpoints;
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::evidence::Death;
use crate::node::Node;
use crate::proxy::Way;
use crate::receiver::unix_micros;
use crate::world::{Shared, World};

/// How long a node may take to stop: its drain, and the end of its work in progress.
const STOPS_WITHIN: Duration = Duration::from_secs(40);

/// Longer than a lease.
pub(crate) const LONGER_THAN_A_LEASE: Duration = Duration::from_secs(48);

/// Shorter than the shortest lease of a run.
const STOPPED_BRIEFLY: Duration = Duration::from_secs(4);

/// By how many seconds a node's clock is off at most.
const OFF_AT_MOST: u64 = 30;

/// How often a failpoint is passed at most before it ends the process.
const PASSES: u64 = 30;

/// The injected faults, by name.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) oddities: Vec<String>,
    /// Deliveries in flight at each disturbance, summed.
    pub(crate) in_flight: u64,
    pub(crate) deaths: Vec<Death>,
    /// By how many microseconds a node's clock was off at most.
    pub(crate) clocks_off: i64,
}

impl Done {
    /// Processes that ended abruptly: by SIGKILL, or by themselves at a failpoint.
    pub(crate) fn kills(&self) -> u64 {
        let counts = self.counts.iter();
        counts
            .filter(|(what, _)| what.starts_with("SIGKILL") || what.starts_with("abort"))
            .map(|(_, count)| count)
            .sum()
    }

    /// All faults after which a delivery may be repeated.
    pub(crate) fn disturbances(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Injects faults.
#[derive(Clone)]
pub(crate) struct Faults {
    nodes: Vec<Shared<Node>>,
    world: Arc<World>,
    done: Arc<parking_lot::Mutex<Done>>,
}

impl Faults {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self {
            nodes: world.nodes.clone(),
            world,
            done: Arc::default(),
        }
    }

    pub(crate) fn done(&self) -> parking_lot::MutexGuard<'_, Done> {
        self.done.lock()
    }

    fn count(&self, what: &str) {
        let mut done = self.done();
        *done.counts.entry(what.to_owned()).or_default() += 1;
        done.in_flight += self.world.receiver.under_way();
    }

    /// Records that a node's process ended or is stopped for longer than its leases.
    fn died(&self, node: &Node) {
        let at = unix_micros();
        self.done().deaths.push(Death {
            node: node.id(),
            at,
        });
    }

    fn odd(&self, what: String) {
        self.done().oddities.push(what);
    }

    /// Kills about `kills` times in `time`, with all other faults in between. Takes up to twice the time if fewer
    /// were killed.
    pub(crate) async fn run(&self, kills: u64, time: Duration, seed: u64) {
        let mut chance = Chance::new(seed, 1);
        let mut tasks = JoinSet::new();
        let began = Instant::now();
        let every = time / u32::try_from(kills.max(1)).unwrap_or(1);
        let mut next = began + every;
        let mut round = 0;
        while self.done().kills() < kills && began.elapsed() < time * 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.watch(&mut tasks, &mut chance).await;
            if Instant::now() < next {
                continue;
            }
            next += every;
            round += 1;
            self.kill(&mut tasks, &mut chance).await;
            self.something_else(round, &mut tasks, &mut chance);
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Restarts nodes that have ended, and records why they did.
    async fn watch(&self, tasks: &mut JoinSet<()>, chance: &mut Chance) {
        for shared in &self.nodes {
            // Another task is working on a locked node.
            let Ok(mut node) = shared.clone().try_lock_owned() else {
                continue;
            };
            let Some(status) = node.ended() else {
                continue;
            };
            self.died(&node);
            if node.is_abort(status) {
                let point = node.armed.as_deref().unwrap_or_default();
                self.count(&format!(
                    "abort at {}",
                    point.split(':').next().unwrap_or_default()
                ));
            } else {
                self.odd(format!(
                    "{} ended by itself: {status}\n{}",
                    node.name,
                    node.last_words()
                ));
            }
            let (pause, point) = (chance.millis(0, 600), self.point(chance));
            let faults = self.clone();
            tasks.spawn(async move {
                tokio::time::sleep(pause).await;
                faults.start(&mut node, point).await;
            });
        }
    }

    async fn start(&self, node: &mut Node, point: Option<String>) {
        if let Err(error) = node.start(point).await {
            self.odd(error.to_string());
        }
    }

    /// Half of all starts end at a failpoint.
    fn point(&self, chance: &mut Chance) -> Option<String> {
        let points = [failpoints::ALL, failpoints::OF_BATCHES].concat();
        let point = chance.pick(&points)?;
        let times = 1 + chance.below(PASSES);
        chance.percent(50).then(|| format!("{point}:{times}"))
    }

    async fn kill(&self, tasks: &mut JoinSet<()>, chance: &mut Chance) {
        let victim = self.nodes[chance.index(self.nodes.len())].clone();
        let (pause, point) = (chance.millis(0, 900), self.point(chance));
        // A node that is just starting survives.
        let Ok(mut node) = victim.try_lock_owned() else {
            return;
        };
        if node.ended().is_some() {
            return;
        }
        if let Err(error) = node.kill().await {
            self.odd(format!("{}: {error}", node.name));
        }
        self.count("SIGKILL");
        self.died(&node);
        let faults = self.clone();
        tasks.spawn(async move {
            tokio::time::sleep(pause).await;
            faults.start(&mut node, point).await;
        });
    }

    fn something_else(&self, round: u64, tasks: &mut JoinSet<()>, chance: &mut Chance) {
        // Each fault once for certain, then by chance.
        let what = match round {
            3 => 0,
            6 => 10,
            9 => 20,
            12 => 30,
            15 => 40,
            18 => 50,
            21 => 60,
            4 => 90,
            _ => chance.below(160),
        };
        let faults = self.clone();
        let mut chance = Chance::new(chance.below(u64::MAX), 3);
        let index = chance.index(self.nodes.len());
        tasks.spawn(async move {
            match what {
                0..10 => faults.crash_postgres(&mut chance).await,
                10..20 => faults.cut_sessions().await,
                20..40 => {
                    if let Some(proxy) = faults.world.proxies.get(index) {
                        proxy.cut();
                        faults.count("database connections of one node reset");
                    }
                }
                40..50 => faults.stall(index, &mut chance).await,
                50..60 => faults.freeze(index, chance.millis(500, 4_000)).await,
                60..70 => faults.term(index, &mut chance).await,
                70..80 => faults.crash_redis(&mut chance).await,
                90..110 => faults.step_clock(index, &mut chance),
                // Only in long runs, because it takes long.
                80..82 if faults.nodes.len() > 1 && round > 60 => {
                    faults.freeze(index, LONGER_THAN_A_LEASE).await;
                }
                _ => {}
            }
        });
    }

    async fn crash_postgres(&self, chance: &mut Chance) {
        let Some(postgres) = &self.world.postgres else {
            return;
        };
        self.count("PostgreSQL stopped at once");
        if let Err(error) = postgres.lock().await.crash(chance.millis(100, 3_000)).await {
            self.odd(error.to_string());
        }
    }

    async fn crash_redis(&self, chance: &mut Chance) {
        let Some(redis) = &self.world.redis else {
            return;
        };
        self.count("Redis killed");
        if let Err(error) = redis.lock().await.crash(chance.millis(100, 2_000)).await {
            self.odd(error.to_string());
        }
    }

    async fn cut_sessions(&self) {
        let Some(postgres) = &self.world.postgres else {
            return;
        };
        let cut = postgres.lock().await.cut().await;
        if cut.is_ok() {
            self.count("every database session ended");
        }
    }

    async fn stall(&self, index: usize, chance: &mut Chance) {
        let Some(proxy) = self.world.proxies.get(index) else {
            return;
        };
        self.count("database of one node silent");
        proxy.set(Way::Stalled);
        tokio::time::sleep(chance.millis(500, 4_000)).await;
        proxy.set(Way::Open);
    }

    /// Stops a process for a while (SIGSTOP).
    async fn freeze(&self, index: usize, time: Duration) {
        let Ok(node) = self.nodes[index].clone().try_lock_owned() else {
            return;
        };
        self.count("SIGSTOP, later SIGCONT");
        // What is longer is longer than a lease, however much sooner leases expire.
        if time > STOPPED_BRIEFLY {
            self.died(&node);
        }
        node.signal("STOP").await;
        tokio::time::sleep(time).await;
        node.signal("CONT").await;
    }

    /// Puts the wall clock of a node forward or back.
    fn step_clock(&self, index: usize, chance: &mut Chance) {
        let Some(clock) = self.world.clocks.get(index) else {
            return;
        };
        let seconds = chance.below(OFF_AT_MOST + 1);
        let sign = if chance.percent(50) { '+' } else { '-' };
        match clock.put(&format!("{sign}{seconds}")) {
            Ok(()) => self.count("clock of one node put forward or back"),
            Err(error) => self.odd(error.to_string()),
        }
        let mut done = self.done();
        let off = i64::try_from(seconds).unwrap_or(i64::MAX) * 1_000_000;
        done.clocks_off = done.clocks_off.max(off);
    }

    async fn term(&self, index: usize, chance: &mut Chance) {
        let Ok(mut node) = self.nodes[index].clone().try_lock_owned() else {
            return;
        };
        if node.ended().is_some() {
            return;
        }
        self.count("SIGTERM");
        self.died(&node);
        // An armed node may end at its failpoint meanwhile.
        if let Err(error) = node.stop(STOPS_WITHIN).await
            && node.armed.is_none()
        {
            self.odd(error.to_string());
        }
        self.died(&node);
        let point = self.point(chance);
        self.start(&mut node, point).await;
    }

    /// Ends the faults: every node runs without a failpoint, and everything is reachable. With `freeze`, one node is
    /// stopped for longer than its lease, and resumes after other nodes have taken over its work.
    pub(crate) async fn calm(&self, freeze: Option<Duration>) {
        for proxy in self.world.proxies.iter().chain(&self.world.redis_proxies) {
            proxy.set(Way::Open);
        }
        for (index, shared) in self.nodes.iter().enumerate() {
            let mut node = shared.lock().await;
            if freeze.is_some() && index == 0 && node.ended().is_none() && node.armed.is_none() {
                continue;
            }
            if node.armed.is_some() || node.ended().is_some() {
                let _ = node.kill().await;
                self.count("SIGKILL");
                self.died(&node);
                self.start(&mut node, None).await;
            }
        }
        if let Some(time) = freeze {
            self.freeze(0, time).await;
        }
    }

    /// Checks that every node still runs, and reports those that do not.
    pub(crate) async fn all_run(&self) {
        for shared in &self.nodes {
            let mut node = shared.lock().await;
            if let Some(status) = node.ended() {
                self.odd(format!(
                    "{} ended when all was calm: {status}\n{}",
                    node.name,
                    node.last_words()
                ));
            }
            let log = node.log();
            if let Some(line) = log.lines().find(|line| line.contains("panicked")) {
                self.odd(format!("{} panicked: {line}", node.name));
            }
        }
    }
}
