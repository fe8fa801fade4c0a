//! `GET /v1/billing/usage` over a year of 1,000,000 conversations, beside a year of 10,000: in the service, every page.

use std::time::Instant;

use anyhow::ensure;
use offhook_domain::AccountId;
use offhook_services::Services;

use super::Bench;
use crate::database::{Database, Kind};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;
use crate::sql::{Of, Sql};

const FEW: i64 = 10_000;
const DAYS: i64 = 365;
const DAY_US: i64 = 86_400_000_000;
const FIRST_DAY: i64 = 20_400;
/// The largest page of a list.
const LIMIT: u32 = 100;
/// Years that are read in one round.
const TIMES: u32 = 32;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        let many = Year::new(kind, bench, bench.rows).await?;
        let few = Year::new(kind, bench, FEW).await?;
        let pair = compare(
            bench.rounds,
            async || many.read().await,
            async || few.read().await,
        )
        .await?;
        let name = format!(
            "usage over a year of 1,000,000 conversations / of 10,000, {}",
            kind.name()
        );
        let detail = format!("{} and {} µs", number(pair.a), number(pair.b));
        report.add(&name, Target::AtMost(2.0), pair.ratio, "", &detail);
        for year in [many, few] {
            drop(year.services);
            year.database.remove().await?;
        }
    }
    Ok(())
}

/// An account's year.
struct Year {
    database: Database,
    services: Services,
    account: AccountId,
    count: i64,
}

impl Year {
    async fn new(kind: Kind, bench: &Bench, count: i64) -> anyhow::Result<Self> {
        let database = Database::new(kind, &bench.postgres, &format!("usage_{count}")).await?;
        let services = seed::open(&database).await?;
        let tenant = seed::tenants(&services, 1).await?.remove(0);
        let sql = Sql::of(&database);
        let at = sql.instant(&format!(
            "{} + i * {DAYS} * ({DAY_US} / {count})",
            FIRST_DAY * DAY_US
        ));
        let conversations = sql.insert(
            "conversations (id, account_id, agent_id, agent_ref, agent_version, runtime, voice, state, status, metadata, \
             price_millicredits, started_at, ended_at, duration_seconds, credits, has_audio, messages_count, last_seq, \
             hangup_requested)",
            &format!(
                "{}, {}, {}, '', 1, 'engine', true, 'completed', 'completed', '{{}}', 0, {at}, {at}, 60, 1, false, 0, 0, false",
                sql.id(Of::Row, "i"),
                sql.uuid(tenant.account.uuid()),
                sql.uuid(tenant.agent.uuid())
            ),
            0,
            count,
        );
        // As the totals of conversations that are older than the table were made.
        let day = sql.day("started_at");
        let totals = format!(
            "INSERT INTO usage_days (account_id, day, calls, conversations, duration_seconds, credits) \
             SELECT account_id, {day}, SUM(CASE WHEN voice THEN 1 ELSE 0 END), COUNT(*), \
               SUM(COALESCE(duration_seconds, 0)), SUM(COALESCE(credits, 0)) \
             FROM conversations GROUP BY 1, 2;"
        );
        sql.fill(&database, &(conversations + &totals)).await?;
        sql.settle(&database, &["conversations", "usage_days"])
            .await?;
        Ok(Self {
            account: tenant.account,
            database,
            services,
            count,
        })
    }

    /// Microseconds that a year takes.
    async fn read(&self) -> anyhow::Result<f64> {
        let first = i32::try_from(FIRST_DAY)?;
        let last = first + i32::try_from(DAYS)? - 1;
        let mut conversations = 0;
        let began = Instant::now();
        for _ in 0..TIMES {
            conversations = 0;
            let mut after = None;
            loop {
                let billing = self.services.billing();
                let page = billing.usage(self.account, (first, last), after, LIMIT);
                let page = page.await?;
                conversations += page.items.iter().map(|day| day.conversations).sum::<i64>();
                after = page.items.last().map(|day| day.day);
                if !page.has_more {
                    break;
                }
            }
        }
        let took = began.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES);
        ensure!(
            conversations == self.count,
            "the days have {conversations} of {} conversations",
            self.count
        );
        Ok(took)
    }
}
