//! `GET /v1/calls?limit=20` of 100,000 conversations, beside the bare handler and a static answer.

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed::{self, Bulk};
use crate::service::{Options, Ports};

const CONNECTIONS: usize = 8;
const CONVERSATIONS: i64 = 100_000;

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        on(kind, bench, report).await?;
    }
    Ok(())
}

async fn on(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let database = Database::new(kind, &bench.postgres, "lists").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    let agents = [
        tenant.agent,
        seed::agent(&services, tenant.account, "Ben").await?,
        seed::agent(&services, tenant.account, "Cleo").await?,
    ];
    drop(services);
    Bulk::new(CONVERSATIONS)
        .write(&database, tenant.account, agents)
        .await?;
    let mut child = Child::start(&Role::Service(Options {
        place: database.place.clone(),
        dialer: false,
        dispatcher: false,
    }))?;
    let ports: Ports = child.said().await?;

    let service = load::request("GET", "/v1/calls?limit=20", &tenant.headers(), "");
    let bare = load::request("GET", &format!("/list/{}", tenant.account), "", "");
    let mut client = load::Client::connect(ports.bare).await?;
    client.exchange(&bare).await?;
    let bytes = client.body().len();
    let fixed = load::request("GET", &format!("/fixed/{bytes}"), "", "");
    let until = Until::Elapsed(bench.turn());
    let rate = async |address, bytes: &[u8]| {
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(bytes);
        anyhow::Ok(
            load::run(address, CONNECTIONS, until, 200, send)
                .await?
                .rate,
        )
    };
    let lists = compare(
        bench.rounds,
        async || rate(ports.limited, &service).await,
        async || rate(ports.bare, &bare).await,
    )
    .await?;
    report.add(
        &format!("GET /v1/calls?limit=20 / bare list, {}", kind.name()),
        Target::AtLeast(0.6),
        lists.ratio,
        "",
        &format!(
            "{} and {} requests/s, {CONNECTIONS} connections",
            number(lists.a),
            number(lists.b)
        ),
    );
    let worth = compare(
        bench.rounds,
        async || rate(ports.bare, &bare).await,
        async || rate(ports.bare, &fixed).await,
    )
    .await?;
    report.add(
        &format!(
            "bare list / static answer of {bytes} bytes, {}",
            kind.name()
        ),
        Target::AtLeast(0.08),
        worth.ratio,
        "",
        &format!("{} and {} requests/s", number(worth.a), number(worth.b)),
    );
    child.stop().await?;
    database.remove().await
}
