//! A healthy endpoint beside another account's dead one with 1,000,000 queued deliveries, on PostgreSQL.

use tokio::task::LocalSet;

use super::Bench;
use super::webhooks::Times;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::pairs::percentile;
use crate::receiver::Receiver;
use crate::report::{Report, Target, number};
use crate::seed::{self, Tenant};
use crate::service::{Options, Ports};

const QUEUED: usize = 1_000_000;
const SIZE: usize = 400;
const TURNS: usize = 4;

/// A service with an account whose endpoint answers, and one whose endpoint never does.
struct World {
    database: Database,
    child: Child,
    ports: Ports,
    tenant: Tenant,
}

impl World {
    async fn start(
        bench: &Bench,
        name: &str,
        queued: usize,
        receiver: &Receiver,
        at: usize,
        silent: &Receiver,
    ) -> anyhow::Result<Self> {
        let database = Database::new(Kind::Postgres, &bench.postgres, name).await?;
        let services = seed::open(&database).await?;
        let mut tenants = seed::tenants(&services, 2).await?;
        let healthy = format!("http://{}/", receiver.addresses[at]);
        seed::endpoint(&services, tenants[0].account, &healthy).await?;
        let dead = format!("http://{}/", silent.addresses[0]);
        let dead = seed::endpoint(&services, tenants[1].account, &dead).await?;
        drop(services);
        if queued > 0 {
            let endpoints = [(tenants[1].account, dead)];
            seed::backlog(&database, &endpoints, queued, SIZE).await?;
        }
        let mut child = Child::start(&Role::Service(Options {
            place: database.place.clone(),
            dialer: false,
            dispatcher: true,
        }))?;
        let ports = child.said().await?;
        Ok(Self {
            database,
            child,
            ports,
            tenant: tenants.swap_remove(0),
        })
    }

    async fn stop(self) -> anyhow::Result<()> {
        self.child.stop().await?;
        self.database.remove().await
    }
}

pub(super) async fn run(
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    let receiver = Receiver::start(tasks, 2, false).await?;
    let silent = Receiver::start(tasks, 1, true).await?;
    let alone = World::start(bench, "alone", 0, &receiver, 0, &silent).await?;
    let beside = World::start(bench, "beside", QUEUED, &receiver, 1, &silent).await?;
    let (mut quiet, mut disturbed) = (Times::default(), Times::default());
    receiver.reset(true);
    for turn in 0..TURNS {
        if turn % 2 == 0 {
            quiet.measure(alone.ports, &receiver, &alone.tenant).await?;
            disturbed
                .measure(beside.ports, &receiver, &beside.tenant)
                .await?;
        } else {
            disturbed
                .measure(beside.ports, &receiver, &beside.tenant)
                .await?;
            quiet.measure(alone.ports, &receiver, &alone.tenant).await?;
        }
    }
    let (quiet, disturbed) = (
        percentile(&quiet.sent(), 0.99),
        percentile(&disturbed.sent(), 0.99),
    );
    report.add(
        "webhook p99 beside 1,000,000 deliveries queued to a dead endpoint / without, PostgreSQL",
        Target::AtMost(1.5),
        disturbed / quiet,
        "",
        &format!("{} and {} ms", number(disturbed), number(quiet)),
    );
    alone.stop().await?;
    beside.stop().await
}
