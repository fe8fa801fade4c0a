//! Pages of every other list: 1,000,000 rows of one account among 1,000 accounts, beside 10,000 rows of one.
//!
//! Lists that a plan or a rule keeps short are measured without that bound, except for the recipients of a batch, of which
//! there are 100 batches of 10,000. Lists that come from memory (`voices` is one; integrations, models, webhook events)
//! have no rows to measure.

mod account;
mod content;

use anyhow::ensure;
use offhook_domain::{AccountId, Timestamp};
use offhook_storage::{BenchList, Store};
use uuid::Uuid;

use super::Bench;
use super::paging::{Measured, Reading, compare};
use crate::database::{Database, Kind};
use crate::processor::OneProcessor;
use crate::report::{Report, Target};
use crate::sql::{Of, Sql, uuid};

const FEW: i64 = 10_000;
/// Accounts beside the one, and how many rows they have together.
const OTHERS: i64 = 999;
const OF_OTHERS: i64 = 99_900;
/// Microseconds between two rows.
const APART_US: i64 = 10_000_000;
/// When the first row was made.
const FIRST_US: i64 = 1_760_000_000_000_000;
/// How much of the rows a value matches, by [`crate::sql::pick`]; the last is a value of none.
const SHARES: [&str; 4] = ["100 %", "1 %", "0.01 %", "0"];

/// A list and the rows that fill it.
struct List {
    name: &'static str,
    tables: &'static [&'static str],
    fill: fn(Rows) -> String,
    cases: fn() -> Vec<Case>,
}

/// So many rows of one account, and those of others.
#[derive(Debug, Clone, Copy)]
struct Rows {
    sql: Sql,
    count: i64,
}

/// Whose rows are written: expressions of `i`.
struct Owner {
    /// The number of its account, agent, conversation…
    number: String,
    /// The number of its batch.
    batch: String,
    /// When the row was made.
    at: String,
}

impl Rows {
    /// Statements for the rows of all accounts.
    fn of(self, into: &str, values: impl Fn(Sql, &Owner) -> String) -> String {
        let Self { sql, count } = self;
        let owner = |number: &str, batch: &str| Owner {
            number: number.to_owned(),
            batch: batch.to_owned(),
            at: sql.instant(&format!("{FIRST_US} + (i % {count}) * {APART_US}")),
        };
        let ours = owner("0", "i / 10000");
        let theirs = owner(&format!("1 + i % {OTHERS}"), "100 + i % 900");
        [
            sql.insert(into, &values(sql, &ours), 0, count),
            sql.insert(into, &values(sql, &theirs), count, count + OF_OTHERS),
        ]
        .concat()
    }

    fn at(self, share: f64) -> Timestamp {
        self.instant((self.count as f64 * share) as i64)
    }

    fn instant(self, number: i64) -> Timestamp {
        Timestamp::from_micros(FIRST_US + number * APART_US)
    }
}

/// The row that a page goes on behind.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: Timestamp,
    id: Uuid,
    number: i64,
}

/// The page of a list with a value of this share, among these rows, behind a place.
type Page = Box<dyn Fn(usize, Rows, Option<Place>) -> BenchList>;

/// What a page is read along.
#[derive(Debug, Clone, Copy)]
enum Served {
    /// An index that every filter is a column of.
    Index,
    /// The pieces of names.
    Pieces,
    /// What is rarest of a text's pieces and the filters, where no row has all of them.
    Walk,
}

/// A filter.
struct Case {
    name: String,
    share: usize,
    page: Page,
    /// Whether there are enough matches for a deep page.
    deep: bool,
    /// Whether the first page has the lowest numbers.
    ascending: bool,
    served: Served,
}

impl Case {
    fn new(
        name: impl Into<String>,
        share: usize,
        page: impl Fn(usize, Rows, Option<Place>) -> BenchList + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            share,
            page: Box::new(page),
            deep: share < 3,
            ascending: false,
            served: Served::Index,
        }
    }

    const fn served_by(mut self, served: Served) -> Self {
        self.served = served;
        self
    }

    /// A case for each share, with the name's `%` as the share.
    fn shares(
        name: &str,
        of: std::ops::RangeInclusive<usize>,
        page: impl Fn(usize, Rows, Option<Place>) -> BenchList + Copy + 'static,
    ) -> Vec<Self> {
        of.map(|share| Self::new(format!("{name} {}", SHARES[share]), share, page))
            .collect()
    }

    fn reading<'a>(&self, filled: &'a Filled, share: usize, deep: bool) -> Reading<'a> {
        let rows = filled.rows;
        let number = if self.ascending {
            rows.count * 2 / 3
        } else {
            rows.count / 3
        };
        let place = deep.then(|| Place {
            at: rows.instant(number),
            id: uuid(Of::Row, number),
            number,
        });
        Reading {
            store: &filled.store,
            account: AccountId::from_uuid(uuid(Of::Account, 0)),
            list: (self.page)(share, rows, place),
        }
    }
}

struct Filled {
    database: Database,
    store: Store,
    rows: Rows,
}

impl Filled {
    async fn new(kind: Kind, bench: &Bench, list: &List, count: i64) -> anyhow::Result<Self> {
        let name = format!("list_{count}");
        let database = Database::new(kind, &bench.postgres, &name).await?;
        let sql = Sql::of(&database);
        let rows = Rows { sql, count };
        sql.fill(&database, &ground(sql)).await?;
        sql.fill(&database, &(list.fill)(rows)).await?;
        sql.settle(&database, list.tables).await?;
        let store = database.place.open().await?;
        Ok(Self {
            database,
            store,
            rows,
        })
    }
}

/// 1,000 accounts, each with one of everything that rows belong to.
fn ground(sql: Sql) -> String {
    let id = |of| sql.id(of, "i");
    let at = sql.instant(&(FIRST_US - APART_US).to_string());
    let (account, agent) = (id(Of::Account), id(Of::Agent));
    let insert = |into: &str, values: String| sql.insert(into, &values, 0, OTHERS + 1);
    [
        insert(
            "accounts (id, name, plan, created_at)",
            format!("{account}, 'Account', 'enterprise', {at}"),
        ),
        insert(
            "api_keys (id, account_id, name, prefix, digest, scopes, read_only, created_at)",
            format!(
                "{}, {account}, 'key', 'prefix', {}, '', false, {at}",
                id(Of::Key),
                id(Of::Key).replace("::uuid", "::text::bytea")
            ),
        ),
        insert(
            "agents (id, account_id, runtime, name, name_folded, language, status, head_version, published_version, \
             created_at, updated_at)",
            format!("{agent}, {account}, 'engine', 'Eva', 'eva', 'en-US', 'active', 1, 1, {at}, {at}"),
        ),
        insert(
            "batch_calls (id, account_id, name, agent_id, key_id, status, total, pending, dialing, completed, failed, \
             cancelled, created_at, look_at)",
            format!(
                "{}, {account}, 'batch', {agent}, {}, 'completed', 0, 0, 0, 0, 0, 0, {at}, {at}",
                id(Of::Batch),
                id(Of::Key)
            ),
        ),
        insert(
            "conversations (id, account_id, agent_id, agent_ref, agent_version, runtime, voice, state, status, metadata, \
             price_millicredits, started_at, has_audio, messages_count, last_seq, hangup_requested)",
            format!(
                "{}, {account}, {agent}, '', 1, 'engine', true, 'completed', 'completed', '{{}}', 0, {at}, false, 0, 0, false",
                id(Of::Conversation)
            ),
        ),
        insert(
            "webhook_endpoints (id, account_id, url, status, created_at, updated_at)",
            format!("{}, {account}, 'https://example.com', 'enabled', {at}, {at}", id(Of::Endpoint)),
        ),
        insert(
            "events (id, account_id, type, body, created_at)",
            format!("{}, {account}, 'call.completed', {}, {at}", id(Of::Event), sql.bytes()),
        ),
    ]
    .concat()
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        let (mut served, mut within) = (Worst::default(), Worst::default());
        let mut walked = Worst::default();
        let _held = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(OneProcessor::hold(&bench.postgres).await?),
        };
        for list in content::lists().into_iter().chain(account::lists()) {
            if bench.list.as_deref().is_some_and(|only| only != list.name) {
                continue;
            }
            let many = Filled::new(kind, bench, &list, bench.rows).await?;
            let few = Filled::new(kind, bench, &list, FEW).await?;
            for case in (list.cases)() {
                // A ten-thousandth of 10,000 is one row: the hundredth has a full page there too.
                let of_few = if case.share == 2 { 1 } else { case.share };
                let name = format!("{}, {}", list.name, case.name);
                let deep = case.deep.then(|| case.reading(&many, case.share, true));
                let few = case.reading(&few, of_few, false);
                let first = case.reading(&many, case.share, false);
                for measured in compare(&name, &few, &first, deep.as_ref()).await? {
                    eprintln!("  {}: {}", kind.name(), measured.words());
                    let worst = match case.served {
                        Served::Index => &mut served,
                        Served::Pieces => &mut within,
                        Served::Walk => &mut walked,
                    };
                    worst.see(measured);
                }
            }
            drop((many.store, few.store));
            many.database.remove().await?;
            few.database.remove().await?;
        }
        served.report(report, kind, "of any other list");
        within.report(report, kind, "with a text within names");
        walked.report(report, kind, "with common pieces or filters and no row");
    }
    ensure!(bench.rows >= FEW, "fewer than {FEW} rows show nothing");
    Ok(())
}

/// The worst of many pages.
#[derive(Default)]
struct Worst {
    worst: Option<Measured>,
    pages: usize,
    slow: usize,
}

impl Worst {
    fn see(&mut self, measured: Measured) {
        self.pages += 1;
        self.slow += usize::from(measured.ratio > 1.3);
        let worst = self.worst.as_ref();
        if worst.is_none_or(|worst| measured.ratio > worst.ratio) {
            self.worst = Some(measured);
        }
    }

    fn report(self, report: &mut Report, kind: Kind, what: &str) {
        let Some(worst) = self.worst else {
            return;
        };
        let name = format!(
            "worst page {what}, 1,000,000 rows / 10,000, {}",
            kind.name()
        );
        let detail = format!(
            "{}; {} of {} pages above 1.3",
            worst.words(),
            self.slow,
            self.pages
        );
        report.add(&name, Target::AtMost(1.3), worst.ratio, "", &detail);
    }
}
