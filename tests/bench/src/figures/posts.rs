//! `POST /v1/calls` with Idempotency-Keys, compared with a bare transaction of two inserts.

use std::cell::{Cell, RefCell};

use super::Bench;
use crate::child::Child;
use crate::database::{Database, Kind};
use crate::load::{self, Loaded, Until};
use crate::pairs::{compare, median};
use crate::report::{Report, Target, number};
use crate::seed::{self, Tenant};

const CONNECTIONS: usize = 32;
const ACCOUNTS: usize = 64;

pub(super) async fn run(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "posts").await?;
    let services = seed::open(&database).await?;
    let tenants = seed::tenants(&services, ACCOUNTS).await?;
    drop(services);
    let (child, ports) = Child::service(&database.place, false).await?;
    let until = Until::Elapsed(bench.turn());
    let of = |connection: usize, sent: usize| (connection + sent * CONNECTIONS) % ACCOUNTS;
    let placed: Vec<_> = tenants.iter().map(|it| (it.headers(), it.call())).collect();
    let bare: Vec<_> = tenants.iter().map(bare).collect();
    // Each turn uses different keys.
    let turn = Cell::new(0);
    let (ours, theirs) = (Spreads::default(), Spreads::default());
    let many = compare(
        bench.rounds,
        async || {
            turn.set(turn.get() + 1);
            let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
                let (headers, body) = &placed[of(connection, sent)];
                let key = format!("{}-{connection}-{sent}", turn.get());
                let headers = format!("{headers}Idempotency-Key: {key}\r\n");
                out.extend(load::request("POST", "/v1/calls", &headers, body));
            };
            ours.note(load::run(ports.limited, CONNECTIONS, until, 201, send).await?)
        },
        async || {
            let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
                out.extend_from_slice(&bare[of(connection, sent)]);
            };
            theirs.note(load::run(ports.bare, CONNECTIONS, until, 201, send).await?)
        },
    )
    .await?;
    let kind = kind.name();
    let (a, b) = (number(many.a), number(many.b));
    let detail = format!("{a} and {b} requests/s; {CONNECTIONS} connections, dialer off");
    let name = format!("POST /v1/calls / bare transaction, {ACCOUNTS} accounts, {kind}");
    report.add(&name, Target::AtLeast(0.4), many.ratio, "", &detail);
    let [p50, p99, spread] = ours.medians();
    let [_, _, bare] = theirs.medians();
    let detail = format!(
        "p50 {} ms, p99 {} ms; bare transaction {}",
        number(p50),
        number(p99),
        number(bare)
    );
    let name = format!("POST /v1/calls p99 / p50, {ACCOUNTS} accounts, {kind}");
    report.add(&name, Target::AtMost(4.0), spread, "", &detail);
    child.stop().await?;
    database.remove().await
}

fn bare(tenant: &Tenant) -> Vec<u8> {
    let Tenant {
        account,
        agent,
        key,
        ..
    } = tenant;
    let path = format!("/calls/{account}/{agent}/{key}");
    let headers = "Content-Type: application/json\r\n";
    load::request("POST", &path, headers, &tenant.call())
}

/// p50 and p99 of each turn, in milliseconds.
#[derive(Default)]
struct Spreads(RefCell<Vec<(f64, f64)>>);

impl Spreads {
    fn note(&self, loaded: Loaded) -> anyhow::Result<f64> {
        let both = (loaded.percentile(0.5), loaded.percentile(0.99));
        self.0.borrow_mut().push(both);
        Ok(loaded.rate)
    }

    /// The median of p50, of p99, and of p99 / p50.
    fn medians(&self) -> [f64; 3] {
        let turns = self.0.borrow();
        let of = |value: fn(&(f64, f64)) -> f64| median(turns.iter().map(value).collect());
        [of(|it| it.0), of(|it| it.1), of(|it| it.1 / it.0)]
    }
}
