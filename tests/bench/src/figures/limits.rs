//! The cost of the rate limits.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::ensure;
use offhook_domain::Clock as _;
use offhook_ratelimit::{IPV6_PREFIX_BITS, Key, MemoryStore, Quota};
use offhook_services::SystemClock;

use super::Bench;
use crate::child::Child;
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;

const CONNECTIONS: usize = 8;
const ADDRESSES: u32 = 1_000_000;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    addresses(report)?;
    let database = Database::new(Kind::Sqlite, &bench.postgres, "limits").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    drop(services);
    let (child, ports) = Child::service(&database.place, false).await?;
    let me = load::request("GET", "/v1/me", &tenant.headers(), "");
    let refused = load::request("GET", "/refused", "", "");
    let until = Until::Elapsed(bench.turn());
    let cost = compare(
        bench.rounds,
        async || load::rate(ports.limited, CONNECTIONS, until, 200, &me).await,
        async || load::rate(ports.unlimited, CONNECTIONS, until, 200, &me).await,
    )
    .await?;
    report.add(
        "limits on / off, GET /v1/me",
        Target::AtLeast(0.95),
        cost.ratio,
        "",
        &format!("{} and {} requests/s", number(cost.a), number(cost.b)),
    );
    // The one request per minute that these limits admit.
    let mut first = load::Client::connect(ports.refusing).await?;
    first.exchange(&me).await?;
    let refusal = compare(
        bench.rounds,
        async || load::rate(ports.refusing, CONNECTIONS, until, 429, &me).await,
        async || load::rate(ports.bare, CONNECTIONS, until, 429, &refused).await,
    )
    .await?;
    report.add(
        "refused request / bare static 429",
        Target::AtLeast(0.8),
        refusal.ratio,
        "",
        &format!("{} and {} requests/s", number(refusal.a), number(refusal.b)),
    );
    child.stop().await?;
    database.remove().await
}

fn addresses(report: &mut Report) -> anyhow::Result<()> {
    let store = MemoryStore::new();
    let now = SystemClock.now().micros();
    let quota = Quota::per_minute(1);
    let mut exact = true;
    for wanted in [true, false] {
        for number in 0..ADDRESSES {
            let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | number));
            let key = Key::address(address, IPV6_PREFIX_BITS);
            exact &= store.take(key, quota, now).allowed == wanted;
        }
    }
    ensure!(
        exact && store.overflowed() == 0,
        "addresses were not counted exactly"
    );
    let mib = store.memory_bytes() as f64 / 1_048_576.0;
    let (name, most) = ("1,000,000 addresses", Target::AtMost(100.0));
    report.add(name, most, mib, " MiB", "each counted exactly");
    Ok(())
}
