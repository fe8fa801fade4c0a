//! Draining a backlog, beside the bare loop and plain kept connections, on PostgreSQL.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::Context as _;
use offhook_domain::{AccountId, EndpointId};
use tokio::task::LocalSet;
use tokio_postgres::Client;

use super::Bench;
use crate::bare::{deliver, keep_alive};
use crate::child::{Child, Role};
use crate::database::{Database, Kind, Place};
use crate::pairs::{compare, median};
use crate::receiver::Receiver;
use crate::report::{Report, Target, number};
use crate::seed;
use crate::service::{Options, Ports};

const BACKLOG: usize = 50_000;
/// Bytes of each body.
const SIZE: usize = 400;
/// Endpoints of one account, which may have 64 attempts under way.
const OF_ONE_ACCOUNT: usize = 20;
const WINDOW: usize = 64;
const ROUNDS: usize = 5;
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

/// Backlogs of which the first [`FIRST`] deliveries are timed.
const SMALL: usize = 10_000;
const LARGE: usize = 1_000_000;
const FIRST: usize = 10_000;
const BACKLOG_ROUNDS: usize = 3;

/// The rate among few and among many queued deliveries, in turns.
pub(super) async fn backlog(
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    for endpoints in [1, 100] {
        let drain = Drain::new(bench, tasks, endpoints).await?;
        let (mut ratios, mut large) = (Vec::new(), Vec::new());
        for _ in 0..BACKLOG_ROUNDS {
            let few = drain.first_of(SMALL).await?;
            let many = drain.first_of(LARGE).await?;
            ratios.push(many.rate / few.rate);
            large.push(many);
        }
        let endpoints = named(endpoints);
        let of = |value: fn(&Cost) -> f64| median(large.iter().map(value).collect());
        let detail = format!(
            "{} deliveries/s, {} s of processor time and {} statements per 1,000",
            number(of(|cost| cost.rate)),
            number(of(|cost| cost.cpu) / (FIRST as f64 / 1e3)),
            number(of(|cost| cost.statements) / (FIRST as f64 / 1e3)),
        );
        report.add(
            &format!("rate among 1,000,000 queued / among 10,000, {endpoints}, PostgreSQL"),
            Target::AtLeast(0.8),
            median(ratios),
            "",
            &detail,
        );
        report.add(
            &format!("database statements per delivery, 1,000,000 queued, {endpoints}"),
            Target::AtMost(2.5),
            of(|cost| cost.statements) / FIRST as f64,
            "",
            "",
        );
        drain.database.remove().await?;
    }
    Ok(())
}

fn named(endpoints: usize) -> String {
    match endpoints {
        1 => "1 endpoint".to_owned(),
        count => format!("{count} endpoints"),
    }
}

struct Drain {
    database: Database,
    url: String,
    receiver: Receiver,
    endpoints: Vec<(AccountId, EndpointId)>,
    concurrency: usize,
    service: RefCell<Vec<Cost>>,
    bare: RefCell<Vec<Cost>>,
}

/// What draining a backlog took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Deliveries a second.
    rate: f64,
    /// Processor time, in seconds, of the process that delivers.
    cpu: f64,
    /// Statements of the database, BEGIN and COMMIT among them.
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
            service: RefCell::default(),
            bare: RefCell::default(),
        })
    }

    async fn run(self, report: &mut Report) -> anyhow::Result<()> {
        let ratio = compare(
            ROUNDS,
            async || self.by_service().await,
            async || self.by_bare_loop().await,
        )
        .await?;
        let limit = self.by_kept_connections().await?;
        let endpoints = named(self.endpoints.len());
        let (rate, bare) = (number(ratio.a), number(ratio.b));
        let detail = format!(
            "{rate} and {bare} deliveries/s, {} at once",
            self.concurrency
        );
        let name = format!("draining 50,000 to {endpoints} / bare loop, PostgreSQL");
        report.add(&name, Target::AtLeast(0.6), ratio.ratio, "", &detail);
        let (service, bare) = (per_thousand(&self.service), per_thousand(&self.bare));
        let name = format!("processor time per 1,000 deliveries to {endpoints}");
        let detail = format!("bare loop {} s", number(bare.cpu));
        report.add(&name, Target::Reported, service.cpu, " s", &detail);
        let name = format!("database statements per 1,000 deliveries to {endpoints}");
        let detail = format!("bare loop {}", number(bare.statements));
        report.add(&name, Target::Reported, service.statements, "", &detail);
        let name = format!("kept connections without database, {endpoints}: the limit");
        report.add(&name, Target::Reported, limit, " deliveries/s", "");
        self.database.remove().await
    }

    fn admin(&self) -> anyhow::Result<&Client> {
        self.database.admin().context("a PostgreSQL database")
    }

    async fn fill(&self, count: usize) -> anyhow::Result<()> {
        seed::backlog(&self.database, &self.endpoints, count, SIZE).await?;
        self.receiver.reset(false);
        let admin = self.admin()?;
        Ok(admin
            .batch_execute("SELECT pg_stat_statements_reset()")
            .await?)
    }

    async fn statements(&self) -> anyhow::Result<f64> {
        // Not this connection's own.
        let sql = "SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements \
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               AND query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE '%count(*)%'";
        Ok(self.admin()?.query_one(sql, &[]).await?.get(0))
    }

    async fn by_service(&self) -> anyhow::Result<f64> {
        // Filled first: what a look at the beginning finds is what a process finds that was away.
        self.fill(BACKLOG).await?;
        let child = self.dispatch().await?;
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

    async fn dispatch(&self) -> anyhow::Result<Child> {
        let mut child = Child::start(&Role::Service(Options {
            place: self.database.place.clone(),
            dialer: false,
            dispatcher: true,
        }))?;
        child.said::<Ports>().await?;
        Ok(child)
    }

    /// What the first deliveries of a backlog take.
    async fn first_of(&self, queued: usize) -> anyhow::Result<Cost> {
        self.fill(queued).await?;
        let child = self.dispatch().await?;
        let time = self.receiver.wait_for(FIRST, MOST).await?;
        let came = self.receiver.count();
        let (cpu, statements) = (child.cpu_seconds()?, self.statements().await?);
        child.stop().await?;
        // A few more than were waited for: what all took is shared out.
        let share = FIRST as f64 / came as f64;
        Ok(Cost {
            rate: came as f64 / time.as_secs_f64(),
            cpu: cpu * share,
            statements: statements * share,
        })
    }

    async fn by_bare_loop(&self) -> anyhow::Result<f64> {
        self.fill(BACKLOG).await?;
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

    async fn by_kept_connections(&self) -> anyhow::Result<f64> {
        self.receiver.reset(false);
        let child = Child::start(&Role::KeepAlive(keep_alive::Options {
            receivers: self.receiver.addresses.clone(),
            connections: self.concurrency,
            count: BACKLOG,
            size: SIZE,
        }))?;
        let time = self.receiver.wait_for(BACKLOG, MOST).await?;
        child.ended().await?;
        Ok(BACKLOG as f64 / time.as_secs_f64())
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
