//! Two nodes on one PostgreSQL, each held to a quarter of a core, beside one.

use std::cell::Cell;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed::{self, Bulk};
use crate::service::{Options, Ports};
use crate::share::Share;

const CORES: f64 = 0.25;
const CONNECTIONS: usize = 8;
const CONVERSATIONS: i64 = 100_000;
/// Between two looks at what PostgreSQL's sessions wait for.
const LOOK: Duration = Duration::from_millis(5);

const TWO: &str = "GET /v1/calls?limit=20 of two nodes / of one, each held to 0.25 core";

struct Node {
    ports: Ports,
    child: Child,
    _share: Share,
}

impl Node {
    async fn start(number: usize, database: &Database) -> anyhow::Result<Self> {
        let share = Share::new(&format!("node{number}"), CORES)?;
        let mut child = Child::start(&Role::Service(Options {
            place: database.place.clone(),
            dialer: false,
            dispatcher: false,
        }))?;
        let ports = child.said().await?;
        share.hold(child.id()?)?;
        Ok(Self {
            ports,
            child,
            _share: share,
        })
    }
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    if let Err(error) = Share::new("probe", CORES) {
        report.skip(
            TWO,
            Target::AtLeast(1.8),
            &format!("{error:#}: it takes root"),
        );
        return Ok(());
    }
    let database = Database::new(Kind::Postgres, &bench.postgres, "nodes").await?;
    let services = seed::open(&database).await?;
    let tenant = seed::tenants(&services, 1).await?.remove(0);
    drop(services);
    Bulk::new(CONVERSATIONS)
        .write(&database, tenant.account, [tenant.agent; 3])
        .await?;
    let nodes = [
        Node::start(0, &database).await?,
        Node::start(1, &database).await?,
    ];
    let list = load::request("GET", "/v1/calls?limit=20", &tenant.headers(), "");
    let until = Until::Elapsed(bench.turn());
    let rate = async |node: &Node| {
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(&list);
        let loaded = load::run(node.ports.limited, CONNECTIONS, until, 200, send).await?;
        anyhow::Ok(loaded.rate)
    };
    let admin = database.admin().context("a PostgreSQL database")?;
    let (looks, waits) = (Cell::new(0_u64), Cell::new(0_i64));
    let watch = async {
        let sql = "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%conversations%'";
        loop {
            let waiting: i64 = admin.query_one(sql, &[]).await?.get(0);
            waits.set(waits.get() + waiting);
            looks.set(looks.get() + 1);
            tokio::time::sleep(LOOK).await;
        }
    };
    let measure = compare(
        bench.rounds,
        async || {
            let (one, other) = tokio::try_join!(rate(&nodes[0]), rate(&nodes[1]))?;
            Ok(one + other)
        },
        async || rate(&nodes[0]).await,
    );
    let paired = tokio::select! {
        paired = measure => paired?,
        ended = watch => return ended,
    };
    let detail = format!(
        "{} and {} requests/s, {CONNECTIONS} connections a node",
        number(paired.a),
        number(paired.b)
    );
    report.add(TWO, Target::AtLeast(1.8), paired.ratio, "", &detail);
    let detail = format!("{} looks at all sessions, one every 5 ms", looks.get());
    let name = "statements of the list path seen waiting for a lock meanwhile";
    report.add(name, Target::AtMost(0.0), waits.get() as f64, "", &detail);
    for node in nodes {
        node.child.stop().await?;
    }
    database.remove().await
}
