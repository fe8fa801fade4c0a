//! First and deep pages of an account with 1,000,000 conversations, compared with the first page of one with 10,000.

use anyhow::Context as _;

use super::Bench;
use crate::child::Child;
use crate::database::{Database, Kind};
use crate::load::{self, Client, Until};
use crate::pairs::compare;
use crate::report::{Report, Target, number};
use crate::seed::{self, Agents, CUSTOMERS, Tenant};

const MANY: usize = 1_000_000;
const FEW: i64 = 10_000;

/// Filters, and how many of a hundred conversations match each.
const FILTERS: [(&str, i64); 4] = [
    ("no filter", 100),
    ("agent 1 %", 1),
    ("status 1 %", 1),
    ("phone 1 %", 1),
];

pub(super) async fn run(kind: Kind, bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let count = i64::try_from(bench.size.unwrap_or(MANY))?;
    let database = Database::new(kind, &bench.postgres, "pages").await?;
    let services = seed::open(&database).await?;
    let tenants = seed::tenants(&services, 2).await?;
    let mut accounts = Vec::new();
    for (tenant, ids) in tenants.iter().zip([(0, count), (count, FEW)]) {
        let agents = seed::agents(&services, tenant).await?;
        accounts.push((tenant, agents, ids));
    }
    drop(services);
    for (tenant, agents, ids) in &accounts {
        seed::conversations(&database, tenant.account, *agents, *ids).await?;
    }
    let (child, ports) = Child::service(&database.place, false).await?;
    let mut client = Client::connect(ports.unlimited).await?;
    // A page takes a tenth of a millisecond, so less time is enough.
    let until = Until::Elapsed(bench.turn() / 5);
    let p50 = async |page: &[u8]| {
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend_from_slice(page);
        let loaded = load::run(ports.unlimited, 1, until, 200, send).await?;
        anyhow::Ok(loaded.percentile(0.5) * 1e3)
    };
    let mut worst = (0.0, String::new());
    for (filter, hundredths) in FILTERS {
        let [(many, first), (few, reference)] = [0, 1].map(|at| {
            let (tenant, agents, _) = &accounts[at];
            (*tenant, query(filter, agents))
        });
        let reference = page(few, &reference, 20, "");
        // A deep page comes after two thirds of the matching rows.
        let before = count * hundredths / 150;
        let cursor = walk(&mut client, many, &first, before).await?;
        let pages = [
            ("first", page(many, &first, 20, "")),
            ("deep", page(many, &first, 20, &cursor)),
        ];
        for (name, page) in pages {
            let paired = compare(
                bench.rounds,
                async || p50(&page).await,
                async || p50(&reference).await,
            )
            .await?;
            let (many, few) = (number(paired.a), number(paired.b));
            let words = format!("{filter}, {name} page: {many} and {few} µs at p50");
            eprintln!("  {}: {} ({words})", kind.name(), number(paired.ratio));
            if paired.ratio > worst.0 {
                worst = (paired.ratio, words);
            }
        }
    }
    let name = format!(
        "worst page of 1,000,000 / first page of 10,000 over HTTP, {}",
        kind.name()
    );
    report.add(&name, Target::AtMost(1.3), worst.0, "", &worst.1);
    child.stop().await?;
    database.remove().await
}

/// The query parameter of a filter.
fn query(filter: &str, agents: &Agents) -> String {
    match filter {
        "agent 1 %" => format!("&agent_id={}", agents[1]),
        "status 1 %" => "&status=failed".to_owned(),
        "phone 1 %" => format!("&phone={}", CUSTOMERS[1].replace('+', "%2B")),
        _ => String::new(),
    }
}

fn page(tenant: &Tenant, query: &str, limit: i64, cursor: &str) -> Vec<u8> {
    let path = format!("/v1/calls?limit={limit}{query}{cursor}");
    load::request("GET", &path, &tenant.headers(), "")
}

/// Reads `rows` rows of a list; returns the cursor of the next page.
async fn walk(
    client: &mut Client,
    tenant: &Tenant,
    query: &str,
    rows: i64,
) -> anyhow::Result<String> {
    let mut cursor = String::new();
    for _ in 0..rows / 100 {
        let status = client.exchange(&page(tenant, query, 100, &cursor)).await?;
        let text = String::from_utf8_lossy(client.body());
        let next = text.rsplit_once(r#""next_cursor":""#);
        let (_, next) = next.with_context(|| format!("{status}, and no next page: {query}"))?;
        cursor = format!("&cursor={}", next.split('"').next().unwrap_or_default());
    }
    Ok(cursor)
}
