//! `POST /v1/batch-calls` with 10,000 recipients, beside a bare transaction of the same rows.

use std::cell::Cell;

use anyhow::{Context as _, ensure};

use super::Bench;
use crate::bare::batch::recipient;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;
use crate::service::{Options, Ports};

const RECIPIENTS: usize = 10_000;
/// One client: batches are written one after the other.
const CONNECTIONS: usize = 1;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report).await?;
    }
    Ok(())
}

async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "batch").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    drop(services);
    // Only legacy agents make batch calls. These begin in the far future: nobody is called.
    database
        .execute("UPDATE agents SET runtime = 'legacy', provider_agent_id = 'legacy-1'")
        .await?;
    let mut child = Child::start(&Role::Service(Options {
        place: database.place.clone(),
        dialer: false,
        dispatcher: false,
    }))?;
    let ports: Ports = child.said().await?;
    let headers = tenant.headers();
    let recipients: Vec<String> = (0..RECIPIENTS)
        .map(recipient)
        .map(|(to, metadata)| format!(r#"{{"to":"{to}","metadata":{metadata}}}"#))
        .collect();
    let body = format!(
        r#"{{"name":"bench","agent_id":"{}","scheduled_at":"2099-01-01T00:00:00Z","recipients":[{}]}}"#,
        tenant.agent,
        recipients.join(",")
    );
    let bare = format!(
        "/batches/{}/{}/{}/{RECIPIENTS}",
        tenant.account, tenant.agent, tenant.key
    );
    let bare = load::request("POST", &bare, "", "");
    let turn = Cell::new(0);
    let transactions = transactions(&database).await?;
    let until = Until::Elapsed(bench.turn());
    let pair = compare(
        bench.rounds,
        async || {
            turn.set(turn.get() + 1);
            let send = |_: usize, sent: usize, out: &mut Vec<u8>| {
                let headers = format!("{headers}Idempotency-Key: {}-{sent}\r\n", turn.get());
                out.extend(load::request("POST", "/v1/batch-calls", &headers, &body));
            };
            let loaded = load::run(ports.limited, CONNECTIONS, until, 202, send).await?;
            Ok(loaded.rate)
        },
        async || {
            let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&bare);
            let loaded = load::run(ports.bare, CONNECTIONS, until, 202, send).await?;
            Ok(loaded.rate)
        },
    )
    .await?;
    if let Some((before, _)) = transactions {
        let (after, batches) = self::transactions(&database).await?.context("counts")?;
        let wrote = after - before;
        ensure!(
            wrote == batches,
            "{wrote} transactions wrote the recipients of {batches} batches"
        );
    }
    let name = format!(
        "POST /v1/batch-calls, 10,000 recipients / bare inserts, {}",
        kind.name()
    );
    let detail = format!(
        "{} and {} ms, one transaction",
        number(1e3 / pair.a),
        number(1e3 / pair.b)
    );
    report.add(&name, Target::AtLeast(0.5), pair.ratio, "", &detail);
    child.stop().await?;
    database.remove().await
}

/// On PostgreSQL, the transactions that wrote the recipients that there are, and the batches that have some.
async fn transactions(database: &Database) -> anyhow::Result<Option<(i64, i64)>> {
    let Some(admin) = database.admin() else {
        return Ok(None);
    };
    let counts =
        "SELECT count(DISTINCT r.xmin::text), count(DISTINCT r.batch_id) FROM batch_recipients r";
    let row = admin.query_one(counts, &[]).await?;
    Ok(Some((row.get(0), row.get(1))))
}
