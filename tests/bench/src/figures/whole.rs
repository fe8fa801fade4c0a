//! What a customer's request costs with everything on: the release binary with key, limits, request log, webhooks and
//! dialer, on SQLite and on PostgreSQL with Redis, alternately.

use std::cell::RefCell;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::LocalSet;

use super::Bench;
use crate::bare::posting;
use crate::binary::{self, Offhook, Serving, find, post};
use crate::child::{Child, Role};
use crate::database::{Database, Kind, Place};
use crate::load::{self, Client, Until};
use crate::pairs::{Paired, compare, median, percentile};
use crate::process;
use crate::receiver::{Keeps, Receiver};
use crate::report::{Report, Target, number};

const CONNECTIONS: usize = 32;
/// Calls of one turn, and test events of one turn.
const EVENTS: usize = 1_000;
/// Calls of one turn whose event goes to [`ENDPOINTS`].
const FANNED_OUT: usize = 100;
const ENDPOINTS: usize = 20;
/// Test events a second where the time to their arrival is measured, and how many.
const PACE: usize = 600;
const PACED: usize = 3_000;
/// Bodies that the plain loop posts in a turn.
const POSTED: usize = 20_000;
/// The status of an accepted test event.
const TEST_STATUS: u16 = 202;
/// Test events have a type that the placed calls have not: theirs arrive when they end.
const TEST: &str = r#"{"type":"call.failed"}"#;
const TEST_TYPE: &str = r#""type":"call.failed""#;
const ARRIVE_WITHIN: Duration = Duration::from_secs(60);

const CONFIG: &str = "\
[limits]
ip_per_minute = 1000000
call_ip_per_minute = 1000000
[webhooks]
allow_private_targets = true
[plans.enterprise]
requests_per_minute = 1000000
live_calls = 100000
[calls]
drain_seconds = 0
[simulator]
speed = 20
";

pub(super) async fn run(
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    let receiver = Receiver::start(tasks, 1, false).await?;
    let embedded = Side::start(bench, Kind::Sqlite, &receiver).await?;
    let shared = Side::start(bench, Kind::Postgres, &receiver).await?;
    let rounds = bench.rounds;

    let plain = async || {
        let mut posting = Child::start(&Role::Post(posting::Options {
            url: format!("http://{}/", receiver.addresses[0]),
            body: BODY.to_owned(),
            count: POSTED,
            concurrency: CONNECTIONS,
        }))?;
        let rate = posting.said().await?;
        posting.ended().await?;
        Ok(rate)
    };
    // Before any call, whose end would be part of the load.
    for side in [&embedded, &shared] {
        let kind = side.kind;
        let both = compare(rounds, async || side.test(EVENTS).await, plain).await?;
        let target = match kind {
            Kind::Sqlite => Target::Reported,
            Kind::Postgres => Target::AtLeast(0.06),
        };
        let name = format!("test event until it arrives / plain loop, {}", store(kind));
        let detail = format!("{} and {} events/s", number(both.a), number(both.b));
        report.add(&name, target, both.ratio, "", &detail);
        let name = format!("processor time of 1,000 test events, {}", store(kind));
        let target = match kind {
            Kind::Sqlite => Target::Reported,
            Kind::Postgres => Target::AtMost(0.6),
        };
        report.add(
            &name,
            target,
            side.processor_time(),
            " s",
            "database included",
        );
        let took = side.paced().await?;
        let name = format!(
            "test event, sent to arrival, p99 at {PACE}/s, {}",
            store(kind)
        );
        let detail = format!("p50 {} ms", number(percentile(&took, 0.5)));
        report.add(
            &name,
            Target::AtMost(25.0),
            percentile(&took, 0.99),
            " ms",
            &detail,
        );
    }
    for side in [&embedded, &shared] {
        side.place(&side.one, EVENTS, 1).await?;
        side.used.take();
    }
    for (path, bound) in [("/v1/me", 0.5), ("/v1/calls?limit=20", 0.7)] {
        let rate = async |side: &Side<'_>| {
            let get = load::request("GET", path, &side.one.headers, "");
            let until = Until::Elapsed(bench.turn());
            load::rate(side.serving.address, CONNECTIONS, until, 200, &get).await
        };
        let both = compare(
            rounds,
            async || rate(&shared).await,
            async || rate(&embedded).await,
        );
        ratio(
            report,
            &format!("GET {path}"),
            bound,
            both.await?,
            "requests/s",
        );
    }

    let both = compare(
        rounds,
        async || shared.place(&shared.one, EVENTS, 1).await,
        async || embedded.place(&embedded.one, EVENTS, 1).await,
    );
    ratio(
        report,
        "placed call to delivered webhook",
        0.5,
        both.await?,
        "calls/s",
    );
    let (ours, theirs) = (shared.processor_time(), embedded.processor_time());
    let detail = format!(
        "{} and {} s of processor time per 1,000, databases included",
        number(ours),
        number(theirs)
    );
    let name = format!("processor time of a placed call and its webhook, {VERSUS}");
    report.add(&name, Target::AtMost(2.0), ours / theirs, "", &detail);

    for side in [&embedded, &shared] {
        let kind = side.kind;
        let both = compare(
            rounds,
            async || side.place(&side.many, FANNED_OUT, ENDPOINTS).await,
            plain,
        );
        let both = both.await?;
        let name = format!(
            "deliveries to {ENDPOINTS} endpoints / plain loop, {}",
            store(kind)
        );
        let detail = format!("{} and {} deliveries/s", number(both.a), number(both.b));
        report.add(&name, Target::AtLeast(0.2), both.ratio, "", &detail);
    }
    embedded.stop().await?;
    shared.stop().await
}

/// The body of the plain loop: of the size of an event.
const BODY: &str = r#"{"id":"00000000-0000-7000-8000-000000000000","type":"call.completed","created_at":"2026-01-01T00:00:00.000Z","data":{"id":"call_00000000-0000-7000-8000-000000000000","agent_id":"00000000-0000-7000-8000-000000000000","to":"+15005550100","duration_seconds":60,"termination_reason":"agent_hangup","transcript_url":null,"metadata":{}}}"#;

const VERSUS: &str = "PostgreSQL and Redis / SQLite";

const fn store(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "SQLite",
        Kind::Postgres => "PostgreSQL and Redis",
    }
}

fn ratio(report: &mut Report, what: &str, bound: f64, both: Paired, unit: &str) {
    let detail = format!("{} and {} {unit}", number(both.a), number(both.b));
    let name = format!("{what}, {VERSUS}");
    report.add(&name, Target::AtLeast(bound), both.ratio, "", &detail);
}

/// The service on one of the stores.
struct Side<'a> {
    kind: Kind,
    database: Option<Database>,
    serving: Serving,
    /// An account with one endpoint, and one with [`ENDPOINTS`].
    one: Account,
    many: Account,
    receiver: &'a Receiver,
    bench: &'a Bench,
    /// The path that sends a test event to the first account's endpoint.
    test: String,
    /// Seconds of processor time per 1,000 events of each turn since the last report.
    used: RefCell<Vec<f64>>,
    _files: (Offhook<'a>, TempDir),
}

struct Account {
    headers: String,
    call: String,
}

impl<'a> Side<'a> {
    async fn start(bench: &'a Bench, kind: Kind, receiver: &'a Receiver) -> anyhow::Result<Self> {
        let mut config = String::new();
        let directory = tempfile::tempdir()?;
        let key = directory.path().join("master-key");
        let database = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(Database::new(kind, &bench.postgres, "whole").await?),
        };
        if let Some(database) = &database {
            let Place::Postgres(url) = &database.place else {
                anyhow::bail!("not a PostgreSQL database")
            };
            let redis = bench.redis.as_ref();
            let redis = redis.context("`whole` needs Redis: --redis, or OFFHOOK_BENCH_REDIS")?;
            std::fs::write(&key, "07".repeat(32))?;
            std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
            let key = key.display();
            config = format!(
                "master_key_file = \"{key}\"\ndatabase_url = \"{url}\"\nredis_url = \"{redis}\"\n"
            );
        }
        let offhook = Offhook::new(&bench.binary, &format!("{config}{CONFIG}"))?;
        let tokens = [offhook.token(None).await?, offhook.token(None).await?];
        let (serving, _) = offhook.serve().await?;
        let mut client = Client::connect(serving.address).await?;
        let mut test = String::new();
        let mut accounts = Vec::new();
        for (token, endpoints) in tokens.iter().zip([1, ENDPOINTS]) {
            let headers = binary::headers(token);
            let config = json!({
                "system_prompt": "You are Eva.\nsay: Lovely. Shall we expect you at six?\nsay: Goodbye!",
                "first_message": "Hello, this is Eva.",
                "llm": { "provider": "scripted", "model": "scripted" },
            });
            let agent = binary::agent(&mut client, &headers, config).await?;
            for number in 0..endpoints {
                let url = format!("http://{}/{number}", receiver.addresses[0]);
                let body = json!({ "url": url }).to_string();
                let made = post(&mut client, "/v1/webhooks", &headers, &body).await?;
                let id = find(&made, "id")
                    .and_then(Value::as_str)
                    .context("its id")?;
                if endpoints == 1 {
                    test = format!("/v1/webhooks/{id}/test");
                }
            }
            let call = json!({ "agent_id": agent, "to": "+14155550123" }).to_string();
            accounts.push(Account { headers, call });
        }
        let (many, one) = (
            accounts.pop().context("two")?,
            accounts.pop().context("two")?,
        );
        Ok(Self {
            kind,
            database,
            serving,
            one,
            many,
            receiver,
            bench,
            test,
            used: RefCell::default(),
            _files: (offhook, directory),
        })
    }

    /// Seconds of processor time so far: the service's, and those of its database and Redis.
    fn cpu(&self) -> anyhow::Result<f64> {
        let own = process::cpu_seconds(self.serving.id()?)?;
        Ok(own
            + match self.kind {
                Kind::Sqlite => 0.0,
                Kind::Postgres => process::cpu_seconds_with_children(&self.bench.servers)?,
            })
    }

    /// The median of the turns since the last call, without the first, which warms up.
    fn processor_time(&self) -> f64 {
        median(self.used.take().split_off(1))
    }

    /// Runs a turn that ends when `arrivals` requests have arrived; returns them per second.
    async fn turn(
        &self,
        arrivals: usize,
        with: &'static str,
        load: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<f64> {
        self.receiver.reset(Keeps::Nothing, with);
        let (began, before) = (Instant::now(), self.cpu()?);
        load.await?;
        let last = self.receiver.wait_for_last(arrivals, ARRIVE_WITHIN).await?;
        let rate = arrivals as f64 / (last - began).as_secs_f64();
        let used = (self.cpu()? - before) * 1e3 / arrivals as f64;
        self.used.borrow_mut().push(used);
        Ok(rate)
    }

    /// Places calls; returns the events that arrive per second.
    async fn place(&self, of: &Account, calls: usize, endpoints: usize) -> anyhow::Result<f64> {
        let turn = Instant::now();
        let load = async {
            let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
                let key = format!("{:?}-{connection}-{sent}", turn).replace(' ', "");
                let headers = format!("{}Idempotency-Key: {key}\r\n", of.headers);
                out.extend(load::request("POST", "/v1/calls", &headers, &of.call));
            };
            let until = Until::Count(calls);
            load::run(self.serving.address, CONNECTIONS, until, 201, send).await?;
            Ok(())
        };
        let rate = self.turn(calls * endpoints, "call.initiated", load).await?;
        // The end of a call must not be part of the next turn.
        let mut client = Client::connect(self.serving.address).await?;
        let me = load::request("GET", "/v1/me", &of.headers, "");
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            client.exchange(&me).await?;
            let me: Value = serde_json::from_slice(client.body())?;
            if find(&me, "live_calls").and_then(Value::as_i64) == Some(0) {
                return Ok(rate);
            }
        }
        anyhow::bail!("calls have not ended")
    }

    /// Sends test events; returns those that arrive per second.
    async fn test(&self, events: usize) -> anyhow::Result<f64> {
        let request = load::request("POST", &self.test, &self.one.headers, TEST);
        let load = async {
            let (address, until) = (self.serving.address, Until::Count(events));
            load::rate(address, CONNECTIONS, until, TEST_STATUS, &request).await?;
            Ok(())
        };
        self.turn(events, TEST_TYPE, load).await
    }

    /// Sends test events at [`PACE`], whatever comes back; returns the times to their arrival in milliseconds, sorted.
    async fn paced(&self) -> anyhow::Result<Vec<f64>> {
        self.receiver.reset(Keeps::Events, TEST_TYPE);
        let request = &load::request("POST", &self.test, &self.one.headers, TEST);
        let began = Instant::now();
        let each = (0..CONNECTIONS).map(|connection| async move {
            let mut client = Client::connect(self.serving.address).await?;
            let mut sent = Vec::new();
            for number in (connection..PACED).step_by(CONNECTIONS) {
                let due = began + Duration::from_secs(1) * number as u32 / PACE as u32;
                tokio::time::sleep_until(due.into()).await;
                let status = client.exchange(request).await?;
                anyhow::ensure!(status == TEST_STATUS, "{}", client.text());
                let delivery: Value = serde_json::from_slice(client.body())?;
                let event = find(&delivery, "event_id").and_then(Value::as_str);
                sent.push((event.context("event_id")?.to_owned(), due));
            }
            anyhow::Ok(sent)
        });
        let sent = try_join_all(each).await?;
        self.receiver.wait_for(PACED, ARRIVE_WITHIN).await?;
        let mut took = Vec::with_capacity(PACED);
        for (event, due) in sent.into_iter().flatten() {
            let came = self
                .receiver
                .came(&event)
                .context("an event did not come")?;
            took.push(came.saturating_duration_since(due).as_secs_f64() * 1e3);
        }
        took.sort_by(f64::total_cmp);
        Ok(took)
    }

    async fn stop(self) -> anyhow::Result<()> {
        self.serving.stop().await?;
        match self.database {
            Some(database) => database.remove().await,
            None => Ok(()),
        }
    }
}
