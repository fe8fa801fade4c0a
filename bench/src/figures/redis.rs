//! What counting in Redis costs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use offhook_ratelimit::{IPV6_PREFIX_BITS, Key, MAX_PER_MINUTE, Quota, RedisStore};

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;
use crate::service::{Options, Ports};

const CONNECTIONS: usize = 8;

/// Keys that are asked for in turn.
const KEYS: u32 = 1_000;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let url = bench.redis.as_deref();
    let url = url.context("the figure redis needs a Redis: scripts/bench starts one")?;
    checks(bench, report, url).await?;
    requests(bench, report).await
}

/// A check beside a GET of the same states, on one connection.
async fn checks(bench: &Bench, report: &mut Report, url: &str) -> anyhow::Result<()> {
    let store = RedisStore::connect(url)?;
    let quota = Quota::per_minute(MAX_PER_MINUTE);
    let next = AtomicU32::new(0);
    let client = || {
        let number = next.fetch_add(1, Ordering::Relaxed) % KEYS;
        let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | number));
        Key::address(address, IPV6_PREFIX_BITS)
    };
    let check = async || anyhow::Ok(store.take(client(), quota).await.map(drop)?);
    let place = async || {
        let both = store.take_bucket_and_window(client(), quota, MAX_PER_MINUTE);
        anyhow::Ok(both.await.map(drop)?)
    };
    let get = async || {
        let number = next.fetch_add(1, Ordering::Relaxed) % KEYS;
        let mapped = 0xffff_0a00_0000_u64 | u64::from(number);
        let name = format!("ratelimit:{{0{mapped:032x}}}:b");
        anyhow::Ok(store.bare_get(&name).await.map(drop)?)
    };
    for at_once in [1, 32] {
        let detail = |rates: (f64, f64)| {
            let (get, check) = (number(rates.0), number(rates.1));
            format!("{get} GETs/s and {check} checks/s, {at_once} at once")
        };
        let costs = compare(
            bench.rounds,
            async || rate(bench, at_once, &get).await,
            async || rate(bench, at_once, &check).await,
        )
        .await?;
        let name = "a check in Redis / a bare GET on its connection";
        let detail_of_check = detail((costs.a, costs.b));
        report.add(
            name,
            Target::AtMost(2.0),
            costs.ratio,
            " ×",
            &detail_of_check,
        );
        let costs = compare(
            bench.rounds,
            async || rate(bench, at_once, &get).await,
            async || rate(bench, at_once, &place).await,
        )
        .await?;
        let name = "bucket and window in one check / a bare GET";
        let detail_of_both = detail((costs.a, costs.b));
        report.add(name, Target::Reported, costs.ratio, " ×", &detail_of_both);
    }
    Ok(())
}

/// How often a second `step` is done, `at_once` at a time.
async fn rate(
    bench: &Bench,
    at_once: usize,
    step: &impl AsyncFn() -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let began = Instant::now();
    let done = try_join_all((0..at_once).map(async |_| {
        let mut done = 0_u32;
        while began.elapsed() < bench.turn() {
            step().await?;
            done += 1;
        }
        anyhow::Ok(done)
    }));
    let done: u32 = done.await?.into_iter().sum();
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

/// Requests with two checks each, beside requests with none.
async fn requests(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(Kind::Sqlite, &bench.postgres, "redis").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    drop(services);
    let mut child = Child::start(&Role::Service(Options {
        place: database.place.clone(),
        dialer: false,
        dispatcher: false,
    }))?;
    let ports: Ports = child.said().await?;
    let shared = ports.shared.context("the service has no Redis")?;
    let me = load::request("GET", "/v1/me", &tenant.headers(), "");
    let until = Until::Elapsed(bench.turn());
    let rate = async |address| {
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&me);
        let run = load::run(address, CONNECTIONS, until, 200, send).await?;
        anyhow::Ok(run.rate)
    };
    let cost = compare(
        bench.rounds,
        async || rate(shared).await,
        async || rate(ports.unlimited).await,
    )
    .await?;
    report.add(
        "limits in Redis / off, GET /v1/me",
        Target::Reported,
        cost.ratio,
        "",
        &format!("{} and {} requests/s", number(cost.a), number(cost.b)),
    );
    child.stop().await?;
    database.remove().await
}
