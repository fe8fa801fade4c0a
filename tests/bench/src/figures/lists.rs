//! `GET /v1/calls?limit=20` of 100,000 conversations, compared with the bare handler.

use super::Bench;
use crate::child::Child;
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed;

const CONNECTIONS: usize = 8;
const CONVERSATIONS: i64 = 100_000;

pub(super) async fn run(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "lists").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    let agents = seed::agents(&services, &tenant).await?;
    drop(services);
    seed::conversations(&database, tenant.account, agents, (0, CONVERSATIONS)).await?;
    let (child, ports) = Child::service(&database.place, false).await?;
    let service = load::request("GET", "/v1/calls?limit=20", &tenant.headers(), "");
    let bare = load::request("GET", &format!("/list/{}", tenant.account), "", "");
    let until = Until::Elapsed(bench.turn());
    let lists = compare(
        bench.rounds,
        async || load::rate(ports.limited, CONNECTIONS, until, 200, &service).await,
        async || load::rate(ports.bare, CONNECTIONS, until, 200, &bare).await,
    )
    .await?;
    let detail = format!(
        "{} and {} requests/s, {CONNECTIONS} connections",
        number(lists.a),
        number(lists.b)
    );
    let name = format!("GET /v1/calls?limit=20 / bare list, {}", kind.name());
    report.add(&name, Target::AtLeast(0.6), lists.ratio, "", &detail);
    child.stop().await?;
    database.remove().await
}
