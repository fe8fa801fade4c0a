//! Clients that place calls and ask for their results, like real ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::evidence::{Asked, Evidence, Look, Meant, OptedOut};
use crate::http::{Ask, NoReply, Reply, ask};
use crate::receiver::unix_micros;
use crate::world::{Account, World};

/// How long a patient client waits for a response.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client retries.
const ASKS_FOR: Duration = Duration::from_secs(120);

/// The longest wait in seconds, even if `Retry-After` is longer.
const WAITS_AT_MOST: u64 = 2;

/// A request with an Idempotency-Key, by the index of its account.
#[derive(Clone, Copy)]
struct Keyed<'a> {
    account: usize,
    key: &'a str,
    meant: Meant,
    path: &'a str,
    body: &'a str,
}

/// What clients saw.
#[derive(Default)]
pub(crate) struct Seen {
    asked: Vec<Asked>,
    looks: Vec<Look>,
    untold: Vec<String>,
    /// Accepted calls: account index, key, body and handle.
    placed: Vec<(usize, String, String, String)>,
    opted_out: Vec<OptedOut>,
    /// The node that did not respond to the last request with this key.
    silent: HashMap<String, String>,
    oddities: Vec<String>,
    slowest: Duration,
}

/// The clients of a run.
#[derive(Clone)]
pub(crate) struct Load {
    doors: Vec<(String, Arc<Mutex<std::net::SocketAddr>>)>,
    accounts: Arc<Vec<Account>>,
    seen: Arc<Mutex<Seen>>,
    began: Instant,
    /// Once true, no client starts anything new.
    over: Arc<AtomicBool>,
    under_way: Arc<AtomicU64>,
}

impl Load {
    /// Clients that have not started.
    pub(crate) fn new(world: &World) -> Self {
        Self {
            doors: world.doors.clone(),
            accounts: Arc::new(world.accounts.clone()),
            seen: Arc::default(),
            began: Instant::now(),
            over: Arc::default(),
            under_way: Arc::default(),
        }
    }

    /// Places `calls` calls, evenly over `time`, with batches and repeats in between. Returns when every client has
    /// its response or has given up.
    pub(crate) async fn run(&self, calls: u64, batches: u64, time: Duration, seed: u64) {
        let mut clients = JoinSet::new();
        let repeating = tokio::spawn(self.clone().repeat(Chance::new(seed, 5)));
        let opting_out = tokio::spawn(self.clone().opt_out(Chance::new(seed, 7)));
        let every = calls / batches.max(1);
        for number in 0..calls {
            let at = self.began + time.mul_f64(number as f64 / calls as f64);
            tokio::time::sleep_until(at.into()).await;
            let load = self.clone();
            clients
                .spawn(async move { load.client(number, Chance::new(seed, 1_000 + number)).await });
            if batches > 0 && number % every == every / 2 {
                let (load, batch) = (self.clone(), number / every);
                let chance = Chance::new(seed, 900_000 + batch);
                clients.spawn(async move { load.batch(batch, chance).await });
            }
            while clients.try_join_next().is_some() {}
        }
        while let Some(ended) = clients.join_next().await {
            if let Err(error) = ended {
                let odd = format!("a client broke: {error}");
                self.seen.lock().oddities.push(odd);
            }
        }
        self.over.store(true, Ordering::SeqCst);
        let _ = repeating.await;
        let _ = opting_out.await;
    }

    /// How many clients still wait for a response.
    pub(crate) fn waiting(&self) -> u64 {
        self.under_way.load(Ordering::SeqCst)
    }

    /// The longest response time.
    pub(crate) fn slowest(&self) -> Duration {
        self.seen.lock().slowest
    }

    /// Adds what the clients saw.
    pub(crate) fn tell(&self, evidence: &mut Evidence) {
        let seen = self.seen.lock();
        evidence.asked.clone_from(&seen.asked);
        evidence.looks.clone_from(&seen.looks);
        evidence.untold.clone_from(&seen.untold);
        evidence.opted_out.clone_from(&seen.opted_out);
        evidence.oddities.extend(seen.oddities.iter().cloned());
    }

    async fn client(&self, number: u64, mut chance: Chance) {
        let account = chance.index(self.accounts.len());
        let key = format!("key {number}");
        let person = format!("+5215500{number:06}");
        let (place, refusal) = (Meant::Place, Meant::Refusal);
        let (own, other) = (
            &*self.accounts[account].agent,
            &*self.accounts[account].legacy,
        );
        let (agent, to, meant) = match chance.below(100) {
            0..3 => ("nobody", &*person, refusal),
            3..5 => (own, "12345", refusal),
            5..45 => (own, "+15005550001", place),
            45..55 => (own, "+15005550003", place),
            55..60 => (own, "+15005550006", place),
            60..64 => (own, "+15005550005", place),
            64..67 => (own, "+15005550007", place),
            67..70 => (other, &*person, place),
            _ => (own, &*person, place),
        };
        let body = json!({"agent_id": agent, "to": to, "metadata": {"key": key}}).to_string();
        let gives_up = chance.percent(3);
        let placing = Keyed {
            account,
            key: &key,
            meant,
            path: "/v1/calls",
            body: &body,
        };
        let asking = self.insist(placing, gives_up, &mut chance);
        let Some(reply) = asking.await.filter(|reply| reply.status == 201) else {
            return;
        };
        let handle = reply.json()["id"].as_str().unwrap_or_default().to_owned();
        let placed = (account, key.clone(), body, handle.clone());
        self.seen.lock().placed.push(placed);
        if chance.percent(20) {
            self.look(account, &handle, &mut chance).await;
        }
        if chance.percent(6) {
            tokio::time::sleep(chance.millis(0, 300)).await;
            let path = format!("/v1/calls/{handle}/hangup");
            let token = &self.accounts[account].token;
            let (node, address) = self.door(&mut chance);
            if let Ok(reply) = ask(address, Ask::post(&path, token, "{}"), PATIENCE).await
                && !matches!(reply.status, 202 | 409 | 503)
            {
                let odd = format!("{node} answered {path} {}: {}", reply.status, reply.body);
                self.seen.lock().oddities.push(odd);
            }
        }
    }

    async fn batch(&self, number: u64, mut chance: Chance) {
        let account = chance.index(self.accounts.len());
        let key = format!("batch {number}");
        let recipients: Vec<_> = (0..20)
            .map(|place| json!({"to": format!("+5215600{:06}", number * 100 + place)}))
            .collect();
        let agent = &self.accounts[account].legacy;
        let body = json!({"name": key, "agent_id": agent, "recipients": recipients}).to_string();
        let batch = Keyed {
            account,
            key: &key,
            meant: Meant::Batch,
            path: "/v1/batch-calls",
            body: &body,
        };
        self.insist(batch, false, &mut chance).await;
    }

    /// Suppresses numbers that are called, or soon will be.
    async fn opt_out(self, mut chance: Chance) {
        while !self.over.load(Ordering::SeqCst) {
            tokio::time::sleep(chance.millis(50, 300)).await;
            let index = chance.index(self.accounts.len());
            let account = &self.accounts[index];
            let placed = {
                let seen = self.seen.lock();
                let mut last = seen.placed.iter().rev().take(20);
                let own = last.find(|placed| placed.0 == index && !placed.2.contains("+1500555"));
                own.and_then(|placed| serde_json::from_str::<serde_json::Value>(&placed.2).ok())
            };
            let number = match placed.filter(|_| chance.percent(50)) {
                Some(call) => call["to"].as_str().unwrap_or_default().to_owned(),
                None => account.people[chance.index(account.people.len())].clone(),
            };
            let body = json!({"number": number}).to_string();
            let request = Ask::post("/v1/suppressions", &account.token, &body);
            let (_, address) = self.door(&mut chance);
            if let Ok(reply) = ask(address, request, PATIENCE).await
                && reply.status == 201
            {
                let account = account.id.clone();
                let at = unix_micros();
                self.seen.lock().opted_out.push(OptedOut {
                    account,
                    number,
                    at,
                });
            }
        }
    }

    /// Retries until there is a final response.
    async fn insist(&self, keyed: Keyed<'_>, gives_up: bool, chance: &mut Chance) -> Option<Reply> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        let answer = loop {
            if began.elapsed() > ASKS_FOR {
                let key = keyed.key;
                let told = format!("`{key}` was asked for {ASKS_FOR:?} without an answer");
                self.seen.lock().untold.push(told);
                break None;
            }
            let patience = match chance.percent(8) {
                true => chance.millis(5, 200),
                false => PATIENCE,
            };
            let reply = self.send(keyed, patience, chance).await;
            let wait = match reply {
                Ok(reply) if is_final(&reply) => break Some(reply),
                Ok(reply) => Duration::from_secs(reply.retry_after.unwrap_or(1).min(WAITS_AT_MOST)),
                Err(_) => chance.millis(20, 250),
            };
            if gives_up {
                break None;
            }
            tokio::time::sleep(wait).await;
        };
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        answer
    }

    /// Sends a request with a key once, and records the result.
    async fn send(
        &self,
        keyed: Keyed<'_>,
        patience: Duration,
        chance: &mut Chance,
    ) -> Result<Reply, NoReply> {
        let (key, account) = (keyed.key, &self.accounts[keyed.account]);
        let (node, address) = self.another_door(key, chance);
        let request = Ask {
            key: Some(key),
            ..Ask::post(keyed.path, &account.token, keyed.body)
        };
        let at = self.began.elapsed();
        let reply = ask(address, request, patience).await;
        let mut seen = self.seen.lock();
        if let Ok(reply) = &reply {
            seen.slowest = seen.slowest.max(reply.took);
        }
        match &reply {
            Ok(_) => seen.silent.remove(key),
            Err(_) => seen.silent.insert(key.to_owned(), node.clone()),
        };
        let told = reply.as_ref().ok();
        seen.asked.push(Asked {
            account: account.id.clone(),
            key: key.to_owned(),
            meant: keyed.meant,
            node,
            at,
            status: told.map(|reply| reply.status),
            code: told.map(Reply::code).unwrap_or_default(),
            body: told.map(|reply| reply.body.clone()).unwrap_or_default(),
            replayed: told.is_some_and(|reply| reply.replayed),
        });
        reply
    }

    async fn look(&self, account: usize, handle: &str, chance: &mut Chance) {
        let path = format!("/v1/calls/{handle}");
        let request = Ask::get(&path, &self.accounts[account].token);
        let (node, address) = self.door(chance);
        if let Ok(reply) = ask(address, request, PATIENCE).await {
            self.seen.lock().looks.push(Look {
                handle: handle.to_owned(),
                node,
                status: reply.status,
            });
        }
    }

    /// Repeats placed calls, reads them, and misuses their keys.
    async fn repeat(self, mut chance: Chance) {
        while !self.over.load(Ordering::SeqCst) {
            tokio::time::sleep(chance.millis(20, 120)).await;
            let old = {
                let seen = self.seen.lock();
                let index = chance.index(seen.placed.len());
                seen.placed.get(index).cloned()
            };
            if let Some(old) = old {
                self.again(&old, &mut chance).await;
            }
        }
    }

    /// Repeats up to `most` of the placed calls after the run.
    pub(crate) async fn repeat_at_the_end(&self, most: usize, seed: u64) {
        let mut chance = Chance::new(seed, 6);
        let placed = self.seen.lock().placed.clone();
        let step = (placed.len() / most.max(1)).max(1);
        for old in placed.iter().step_by(step) {
            self.again(old, &mut chance).await;
        }
    }

    async fn again(&self, old: &(usize, String, String, String), chance: &mut Chance) {
        let (account, key, body, handle) = old;
        let other = body.replace("\"to\":\"+", "\"to\":\"+1");
        let (meant, body) = match chance.below(4) {
            0 => (Meant::Other, &other),
            1 => return self.look(*account, handle, chance).await,
            _ => (Meant::Again, body),
        };
        let again = Keyed {
            account: *account,
            key,
            meant,
            path: "/v1/calls",
            body,
        };
        let _ = self.send(again, PATIENCE, chance).await;
    }

    /// If possible, another node than the one that did not respond to the last request with this key.
    fn another_door(&self, key: &str, chance: &mut Chance) -> (String, std::net::SocketAddr) {
        let door = self.door(chance);
        let avoided = self.seen.lock().silent.get(key).cloned();
        match avoided == Some(door.0.clone()) {
            true => self.door(chance),
            false => door,
        }
    }

    fn door(&self, chance: &mut Chance) -> (String, std::net::SocketAddr) {
        let (name, address) = &self.doors[chance.index(self.doors.len())];
        (name.clone(), *address.lock())
    }
}

/// Whether a retry would change nothing. A key in flight and an unavailable service are not final.
fn is_final(reply: &Reply) -> bool {
    match reply.status {
        429 | 500.. => false,
        409 => reply.code() != "conflict",
        _ => true,
    }
}
