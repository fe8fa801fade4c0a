//! Draining a backlog, compared with the bare loop, on PostgreSQL.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Context as _;
use offhook_domain::{AccountId, EndpointId};
use tokio::task::LocalSet;
use tokio_postgres::Client;

use super::Bench;
use crate::bare::deliver;
use crate::child::{Child, Role};
use crate::database::{Database, Kind, Place};
use crate::pairs::{compare, median};
use crate::receiver::{Keeps, Receiver};
use crate::report::{Report, Target, number};
use crate::seed;

const BACKLOG: usize = 50_000;
/// Bytes of each body.
const SIZE: usize = 400;
/// Endpoints of one account, which may have 64 attempts in flight.
const OF_ONE_ACCOUNT: usize = 20;
const WINDOW: usize = 64;
/// The maximum of rounds.
const ROUNDS: usize = 5;
/// The minimum rate, as a fraction of the bare loop's. With many endpoints a claim writes the delivery and its
/// attempt, so that a crash finds the attempt, and a result writes both again: twice what the bare loop writes.
const TO_ONE: f64 = 0.6;
const TO_MANY: f64 = 0.45;
const MOST: Duration = Duration::from_secs(300);

pub(super) async fn run(
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    for endpoints in [1, 100] {
        Drain::new(bench, tasks, endpoints)
            .await?
            .run(report)
            .await?;
    }
    Ok(())
}

struct Drain {
    database: Database,
    url: String,
    receiver: Receiver,
    endpoints: Vec<(AccountId, EndpointId)>,
    concurrency: usize,
    rounds: usize,
    service: RefCell<Vec<Cost>>,
    bare: RefCell<Vec<Cost>>,
}

/// The cost of draining a backlog.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Deliveries per second.
    rate: f64,
    /// Processor time, in seconds, of the delivering process.
    cpu: f64,
    /// Database statements, including BEGIN and COMMIT.
    statements: f64,
}

impl Drain {
    async fn new(bench: &Bench, tasks: &LocalSet, endpoints: usize) -> anyhow::Result<Self> {
        let receiver = Receiver::start(tasks, endpoints, false).await?;
        let database = Database::new(Kind::Postgres, &bench.postgres, "drain").await?;
        let services = seed::open(&database).await?;
        let accounts = endpoints.div_ceil(OF_ONE_ACCOUNT);
        let tenants = seed::tenants(&services, accounts).await?;
        let mut made = Vec::new();
        for (number, address) in receiver.addresses.iter().enumerate() {
            let account = tenants[number % accounts].account;
            let url = format!("http://{address}/");
            made.push((account, seed::endpoint(&services, account, &url).await?));
        }
        let Place::Postgres(url) = database.place.clone() else {
            anyhow::bail!("the backlog is drained on PostgreSQL");
        };
        Ok(Self {
            database,
            url,
            receiver,
            endpoints: made,
            concurrency: accounts * WINDOW,
            rounds: bench.rounds.min(ROUNDS),
            service: RefCell::default(),
            bare: RefCell::default(),
        })
    }

    async fn run(self, report: &mut Report) -> anyhow::Result<()> {
        let ratio = compare(
            self.rounds,
            async || self.by_service().await,
            async || self.by_bare_loop().await,
        )
        .await?;
        let (endpoints, least) = match self.endpoints.len() {
            1 => ("1 endpoint".to_owned(), TO_ONE),
            count => (format!("{count} endpoints"), TO_MANY),
        };
        let (service, bare) = (per_thousand(&self.service), per_thousand(&self.bare));
        let detail = format!(
            "{} and {} deliveries/s, {} at once; {} and {} s of processor time, {} and {} statements per 1,000",
            number(ratio.a),
            number(ratio.b),
            self.concurrency,
            number(service.cpu),
            number(bare.cpu),
            number(service.statements),
            number(bare.statements),
        );
        let name = format!("draining 50,000 to {endpoints} / bare loop, PostgreSQL");
        report.add(&name, Target::AtLeast(least), ratio.ratio, "", &detail);
        self.database.remove().await
    }

    fn admin(&self) -> anyhow::Result<&Client> {
        self.database.admin().context("a PostgreSQL database")
    }

    async fn fill(&self) -> anyhow::Result<()> {
        seed::backlog(&self.database, &self.endpoints, BACKLOG, SIZE).await?;
        self.receiver.reset(Keeps::Nothing, "");
        let admin = self.admin()?;
        Ok(admin
            .batch_execute("SELECT pg_stat_statements_reset()")
            .await?)
    }

    async fn statements(&self) -> anyhow::Result<f64> {
        // Excludes this connection's own statements.
        let sql = "SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               AND query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%count(*)%'";
        Ok(self.admin()?.query_one(sql, &[]).await?.get(0))
    }

    async fn by_service(&self) -> anyhow::Result<f64> {
        // Filled before the start, like a process that was away and finds a backlog.
        self.fill().await?;
        let (child, _) = Child::service(&self.database.place, true).await?;
        let time = self.receiver.wait_for(BACKLOG, MOST).await?;
        let open = "SELECT count(*) FROM deliveries WHERE state <> 'delivered'";
        while self.admin()?.query_one(open, &[]).await?.get::<_, i64>(0) > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let cost = self.cost(time, child.cpu_seconds()?).await?;
        child.stop().await?;
        self.service.borrow_mut().push(cost);
        Ok(cost.rate)
    }

    async fn by_bare_loop(&self) -> anyhow::Result<f64> {
        self.fill().await?;
        let mut child = Child::start(&Role::Deliver(deliver::Options {
            database: self.url.clone(),
            concurrency: self.concurrency,
        }))?;
        let time = self.receiver.wait_for(BACKLOG, MOST).await?;
        let cpu = child.said().await?;
        let cost = self.cost(time, cpu).await?;
        child.ended().await?;
        self.bare.borrow_mut().push(cost);
        Ok(cost.rate)
    }

    async fn cost(&self, time: Duration, cpu: f64) -> anyhow::Result<Cost> {
        Ok(Cost {
            rate: BACKLOG as f64 / time.as_secs_f64(),
            cpu,
            statements: self.statements().await?,
        })
    }
}

fn per_thousand(costs: &RefCell<Vec<Cost>>) -> Cost {
    let thousands = BACKLOG as f64 / 1e3;
    let costs = costs.borrow();
    let median_of = |value: fn(&Cost) -> f64| median(costs.iter().map(value).collect());
    Cost {
        rate: median_of(|cost| cost.rate),
        cpu: median_of(|cost| cost.cpu) / thousands,
        statements: median_of(|cost| cost.statements) / thousands,
    }
}
