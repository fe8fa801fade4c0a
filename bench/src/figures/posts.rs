//! `POST /v1/calls` with Idempotency-Keys, beside a bare transaction of two inserts.

use std::cell::{Cell, RefCell};

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::{Paired, compare, median};
use crate::report::{Report, Target, number};
use crate::seed::{self, Tenant};
use crate::service::{Options, Ports};

const CONNECTIONS: usize = 32;
const ACCOUNTS: usize = 64;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report).await?;
    }
    Ok(())
}

async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "posts").await?;
    let services = seed::open(&database).await?;
    let tenants = seed::tenants(&services, ACCOUNTS).await?;
    drop(services);
    let options = |dialer| {
        Role::Service(Options {
            place: database.place.clone(),
            dialer,
            dispatcher: false,
        })
    };
    let mut child = Child::start(&options(false))?;
    let ports: Ports = child.said().await?;
    let turns = Turns::new(bench, ports, &tenants, 0);
    let many = turns.compare(ACCOUNTS).await?;
    let detail = format!(
        "{} and {} requests/s; {CONNECTIONS} connections, dialer off",
        number(many.a),
        number(many.b)
    );
    let name = format!(
        "POST /v1/calls / bare transaction, {ACCOUNTS} accounts, {}",
        kind.name()
    );
    report.add(&name, Target::AtLeast(0.4), many.ratio, "", &detail);
    let (p50, p99) = turns.percentiles();
    let bare = spread(&turns.bare_spreads.borrow());
    let detail = format!(
        "p50 {} ms, p99 {} ms; bare transaction {}",
        number(p50),
        number(p99),
        number(bare)
    );
    let name = format!(
        "POST /v1/calls p99 / p50, {ACCOUNTS} accounts, {}",
        kind.name()
    );
    report.add(&name, Target::AtMost(4.0), turns.spread(), "", &detail);
    let one = turns.compare(1).await?;
    let detail = format!("{} and {} requests/s", number(one.a), number(one.b));
    let name = format!(
        "POST /v1/calls / bare transaction, one account, {}",
        kind.name()
    );
    report.add(&name, Target::Reported, one.ratio, "", &detail);
    child.stop().await?;

    let mut child = Child::start(&options(true))?;
    let ports: Ports = child.said().await?;
    let turns = Turns::new(bench, ports, &tenants, 1_000_000);
    let mut rates = Vec::new();
    for _ in 0..bench.rounds {
        rates.push(turns.service(ACCOUNTS).await?);
    }
    let (p50, p99) = turns.percentiles();
    let detail = format!("p50 {} ms, p99 {} ms", number(p50), number(p99));
    let name = format!("POST /v1/calls while calls are dialed, {}", kind.name());
    report.add(
        &name,
        Target::Reported,
        median(rates),
        " requests/s",
        &detail,
    );
    child.stop().await?;
    database.remove().await
}

/// The turns of service and bare handler.
struct Turns<'a> {
    bench: &'a Bench,
    ports: Ports,
    service: Vec<(String, String)>,
    bare: Vec<Vec<u8>>,
    /// Of each turn of the service: p50 and p99 in milliseconds.
    spreads: RefCell<Vec<(f64, f64)>>,
    /// The same of the bare handler.
    bare_spreads: RefCell<Vec<(f64, f64)>>,
    /// Makes the keys of each turn different.
    turn: Cell<usize>,
}

impl<'a> Turns<'a> {
    fn new(bench: &'a Bench, ports: Ports, tenants: &[Tenant], first_turn: usize) -> Self {
        let bare = |tenant: &Tenant| {
            let Tenant {
                account,
                agent,
                key,
                ..
            } = tenant;
            let path = format!("/calls/{account}/{agent}/{key}");
            load::request(
                "POST",
                &path,
                "Content-Type: application/json\r\n",
                &tenant.call(),
            )
        };
        Self {
            bench,
            ports,
            service: tenants
                .iter()
                .map(|tenant| (tenant.headers(), tenant.call()))
                .collect(),
            bare: tenants.iter().map(bare).collect(),
            spreads: RefCell::default(),
            bare_spreads: RefCell::default(),
            turn: Cell::new(first_turn),
        }
    }

    async fn compare(&self, accounts: usize) -> anyhow::Result<Paired> {
        self.spreads.borrow_mut().clear();
        self.bare_spreads.borrow_mut().clear();
        let rounds = self.bench.rounds;
        let (a, b) = (
            async || self.service(accounts).await,
            async || self.bare(accounts).await,
        );
        compare(rounds, a, b).await
    }

    async fn service(&self, accounts: usize) -> anyhow::Result<f64> {
        let turn = self.turn.get();
        self.turn.set(turn + 1);
        let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
            let (headers, body) = &self.service[(connection + sent * CONNECTIONS) % accounts];
            let headers = format!("{headers}Idempotency-Key: {turn}-{connection}-{sent}\r\n");
            out.extend(load::request("POST", "/v1/calls", &headers, body));
        };
        let until = Until::Elapsed(self.bench.turn());
        let loaded = load::run(self.ports.limited, CONNECTIONS, until, 201, send).await?;
        let percentiles = (loaded.percentile(0.5), loaded.percentile(0.99));
        self.spreads.borrow_mut().push(percentiles);
        Ok(loaded.rate)
    }

    async fn bare(&self, accounts: usize) -> anyhow::Result<f64> {
        let send = |connection: usize, sent: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(&self.bare[(connection + sent * CONNECTIONS) % accounts]);
        };
        let until = Until::Elapsed(self.bench.turn());
        let loaded = load::run(self.ports.bare, CONNECTIONS, until, 201, send).await?;
        let percentiles = (loaded.percentile(0.5), loaded.percentile(0.99));
        self.bare_spreads.borrow_mut().push(percentiles);
        Ok(loaded.rate)
    }

    /// The median of the turns' p50 and p99.
    fn percentiles(&self) -> (f64, f64) {
        let spreads = self.spreads.borrow();
        let p50 = spreads.iter().map(|spread| spread.0).collect();
        (
            median(p50),
            median(spreads.iter().map(|spread| spread.1).collect()),
        )
    }

    /// The median of the turns' p99 / p50.
    fn spread(&self) -> f64 {
        spread(&self.spreads.borrow())
    }
}

fn spread(turns: &[(f64, f64)]) -> f64 {
    median(turns.iter().map(|(p50, p99)| p99 / p50).collect())
}
