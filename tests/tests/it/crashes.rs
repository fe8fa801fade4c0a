//! A service that aborts between any two steps of placing, dialing, closing and delivering loses nothing and dials
//! nothing twice.
//!
//! Each failpoint has its own service, database, phone network and receiver, several at once: most of the time goes
//! into waiting for the dead process's leases.

use std::collections::{HashMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use offhook_failpoints as failpoints;
use offhook_tests::{
    Account, Answer, Database, Options, Receiver, Server, SimulatorProcess, both, eventually,
    model_server, must, text,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

const SIGABRT: i32 = 6;

/// How long until the process reaches its failpoint.
const ABORTS_WITHIN: Duration = Duration::from_secs(60);

/// The leases of a dead process, then those of its deliveries, with room for a busy machine.
const SETTLED_WITHIN: Duration = Duration::from_secs(150);

/// Frequent failpoints, at a later pass: in the middle of a transcript, and between the events of a call.
const LATER_TIMES: [&str; 2] = ["dial.after_turn:4", "deliver.after_send:4"];

/// Failpoints played concurrently: more would compete for the processor and PostgreSQL's connections.
const AT_ONCE: usize = 12;

/// Failpoints prepared concurrently: each starts a service twice, and runs commands.
const PREPARED_AT_ONCE: usize = 3;

/// The suffix of the keys of calls that are placed after the crash.
const LATER: &str = " later";

/// A callee who talks.
const PERSON: &str = "+5215512345678";
/// A busy line.
const BUSY: &str = "+15005550001";

/// Places a call as clients do: with a key, retried until there is a response.
async fn place(account: Account, key: String, agent: String, to: &'static str) -> Answer {
    let body = json!({"agent_id": agent, "to": to, "metadata": {"key": key}}).to_string();
    eventually(&format!("an answer to {key}"), SETTLED_WITHIN, || async {
        let answer = account
            .post("/v1/calls", &body)
            .idempotency_key(&key)
            .try_send()
            .await
            .ok()?;
        match answer.status {
            201 => Some(answer),
            // Another request is handling the key, or the database is still starting.
            409 | 503 => None,
            _ => panic!("{key}: {}", answer.text()),
        }
    })
    .await
}

struct Scene {
    point: &'static str,
    simulator: SimulatorProcess,
    receiver: Receiver,
    server: Server,
    account: Account,
    agent: String,
}

impl Scene {
    async fn set(point: &'static str, database: Database) -> Self {
        let simulator = SimulatorProcess::start(50).await;
        let receiver = Receiver::start().await;
        let options = Options::on(database)
            .in_haste()
            .set("simulator.url", simulator.url())
            .set("models.openai.base_url", model_server().await)
            .set("models.openai.api_key", "sk-test");
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        account.webhook(&receiver.url("/")).await;
        // An agent that costs credits, so that the ledger has something to lose.
        let agent = account
            .agent_with(json!({
                "system_prompt": "You confirm appointments.",
                "first_message": "Hello, this is Eva from the clinic.",
                "llm": {"provider": "openai", "model": "gpt-4.1"},
            }))
            .await;
        assert!(server.stop().await.success());
        server.start_again(&[("OFFHOOK_FAILPOINT", point)]).await;
        Self {
            point,
            simulator,
            receiver,
            server,
            account,
            agent,
        }
    }

    fn place(&self, key: &str, to: &'static str) -> tokio::task::JoinHandle<Answer> {
        tokio::spawn(place(
            self.account.clone(),
            key.to_owned(),
            self.agent.clone(),
            to,
        ))
    }

    /// The calls placed before the crash. The closing failpoints get a single call, so that it is known to be the one
    /// being closed.
    fn first_calls(&self) -> Vec<(String, &'static str)> {
        let numbers: &[&'static str] = if self.point.starts_with("close.") {
            &[PERSON]
        } else {
            &[PERSON, PERSON, BUSY]
        };
        numbers
            .iter()
            .enumerate()
            .map(|(n, to)| (format!("{} {n}", self.point), *to))
            .collect()
    }

    async fn play(mut self) {
        let mut keys = self.first_calls();
        let placing: Vec<_> = keys.iter().map(|(key, to)| self.place(key, to)).collect();
        let status = self.server.ended_within(ABORTS_WITHIN).await;
        assert_eq!(status.signal(), Some(SIGABRT), "{}: {status}", self.point);
        self.server.start_again(&[]).await;
        let mut placed = Vec::new();
        for one in placing {
            placed.push(must("a client", one.await));
        }
        for (n, to) in [PERSON, BUSY].into_iter().enumerate() {
            let key = format!("{} {n}{LATER}", self.point);
            placed.push(must("a client", self.place(&key, to).await));
            keys.push((key, to));
        }
        self.check_calls(&keys, &placed).await;
    }

    async fn check_calls(&self, keys: &[(String, &'static str)], placed: &[Answer]) {
        let point = self.point;
        let mut calls = HashMap::new();
        for ((key, to), answer) in keys.iter().zip(placed) {
            let handle = text(&answer.json()["id"]).to_owned();
            let call = self.account.ended_within(&handle, SETTLED_WITHIN).await;
            self.check_call(&call, key, to);
            let again = place(self.account.clone(), key.clone(), self.agent.clone(), to).await;
            assert_eq!(
                again.body, answer.body,
                "{point}: the same answer each time"
            );
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{point}");
            calls.insert(handle, text(&call["status"]).to_owned());
        }
        assert_eq!(calls.len(), keys.len(), "{point}: one call a key");
        let listed = self.account.read("/v1/calls?limit=100").await;
        let listed: HashSet<_> = listed["data"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| text(&call["call_id"]).to_owned())
            .collect();
        assert_eq!(
            listed,
            calls.keys().cloned().collect(),
            "{point}: no other call"
        );
        self.check_events(&calls).await;
        let faults = self.server.cli(&["doctor", "--books"]).await;
        assert_eq!(faults, json!({"faults": []}), "{point}: the books add up");
        let credits = self.account.read("/v1/billing/credits").await;
        assert_eq!(credits["reserved_credits"], 0, "{point}: {credits}");
        // Later than everything that could still have dialed.
        for handle in calls.keys() {
            assert!(
                self.simulator.dialed(handle) <= 1,
                "{point}: dialed twice: {:?}",
                self.simulator.dials()
            );
        }
    }

    fn check_call(&self, call: &Value, key: &str, to: &str) {
        let point = self.point;
        let handle = text(&call["call_id"]);
        assert_eq!(call["metadata"]["key"], key, "{point}");
        let dialed = self.simulator.dialed(handle);
        let (status, reason) = (text(&call["status"]), call["failure_reason"].as_str());
        match (status, reason) {
            ("completed", None) => assert_eq!((to, dialed), (PERSON, 1), "{point}: {call}"),
            ("failed", Some("busy")) => assert_eq!((to, dialed), (BUSY, 1), "{point}: {call}"),
            ("failed", Some("interrupted")) => assert!(dialed <= 1, "{point}: {call}"),
            _ => panic!("{point}: {call}"),
        }
        // Not affected: calls placed after the crash, or when only placing had begun.
        let untouched = key.ends_with(LATER)
            || point.starts_with("place.")
            || point == failpoints::DIAL_BEFORE_CLAIM;
        // A stored outcome stays.
        let decided = point.starts_with("close.") && point != failpoints::CLOSE_BEFORE_CLOSING;
        if untouched || decided {
            assert_ne!(reason, Some("interrupted"), "{point}: {call}");
        }
    }

    async fn check_events(&self, calls: &HashMap<String, String>) {
        let point = self.point;
        let delivered = |all: &[offhook_tests::Received]| {
            calls.iter().all(|(handle, status)| {
                let kinds: HashSet<_> = all
                    .iter()
                    .filter(|one| one.call() == *handle)
                    .map(|one| one.kind())
                    .collect();
                kinds.contains("call.initiated") && kinds.contains(&format!("call.{status}"))
            })
        };
        let what = format!("{point}: every event at the receiver");
        let received = self
            .receiver
            .wait_within(SETTLED_WITHIN, &what, delivered)
            .await;
        let listed = eventually(
            &format!("{point}: every delivery recorded"),
            SETTLED_WITHIN,
            || async {
                let list = self.account.read("/v1/webhooks/deliveries?limit=100").await;
                let data = list["data"].as_array().cloned().unwrap_or_default();
                data.iter()
                    .all(|delivery| delivery["status"] == "delivered")
                    .then_some(data)
            },
        )
        .await;
        assert_eq!(listed.len(), 2 * calls.len(), "{point}: two events a call");
        // One event began each call and one ended it, however often they were delivered.
        let mut events: HashMap<(String, bool), HashSet<String>> = HashMap::new();
        for one in &received {
            let id = one
                .header("x-service-event-id")
                .unwrap_or_default()
                .to_owned();
            events
                .entry((one.call(), one.kind() == "call.initiated"))
                .or_default()
                .insert(id);
        }
        for (call, ids) in &events {
            assert_eq!(ids.len(), 1, "{point}: {call:?}");
        }
        assert_eq!(events.len(), 2 * calls.len(), "{point}");
    }
}

fn points() -> impl Iterator<Item = &'static str> {
    failpoints::ALL.iter().copied().chain(LATER_TIMES)
}

/// Plays every failpoint, and reports those that failed.
async fn every_point(databases: Vec<Database>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let stages = Arc::new(Semaphore::new(PREPARED_AT_ONCE));
    let mut playing = Vec::new();
    for (point, database) in points().zip(databases) {
        let (places, stages) = (places.clone(), stages.clone());
        playing.push((
            point,
            tokio::spawn(async move {
                let _place = must("a place", places.acquire().await);
                let scene = {
                    let _stage = must("a stage", stages.acquire().await);
                    Scene::set(point, database).await
                };
                scene.play().await;
            }),
        ));
    }
    let mut failed = Vec::new();
    for (point, play) in playing {
        if play.await.is_err() {
            failed.push(point);
        }
    }
    assert!(failed.is_empty(), "what failed is told above: {failed:?}");
}

both! {
    async fn after_an_abort_at_any_point_nothing_is_lost_and_nothing_is_dialed_twice(
        database: Database,
    ) {
        let mut databases = vec![database.clone()];
        while databases.len() < points().count() {
            databases.push(match database {
                Database::Sqlite => Database::Sqlite,
                Database::Postgres(_) => Database::postgres().await,
            });
        }
        every_point(databases).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_ends_with_the_first_worker_that_it_loses() {
    let ended = futures_util::stream::iter(failpoints::WORKERS).map(|worker| async move {
        let mut server = Server::start(Options::on(Database::Sqlite)).await;
        assert!(server.stop().await.success());
        server.begin_again(&[("OFFHOOK_TEST_DEAD_WORKER", worker)]);
        let status = server.ended_within(ABORTS_WITHIN).await;
        assert_eq!(status.code(), Some(1), "{worker}");
        let log = server.log();
        assert!(
            log.contains(&format!("the worker {worker} dies")),
            "{worker}: {log}"
        );
        assert!(log.contains("ended unexpectedly"), "{worker}: {log}");
    });
    ended
        .buffer_unordered(PREPARED_AT_ONCE)
        .collect::<Vec<()>>()
        .await;
}

#[test]
fn every_point_has_its_own_name() {
    let mut names = [failpoints::ALL, failpoints::OF_BATCHES].concat();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        failpoints::ALL.len() + failpoints::OF_BATCHES.len()
    );
}
