//! Pages of the portal in an account of 1,000,000 conversations beside one of 10,000, and what watching live calls costs.

use anyhow::{Context as _, ensure};
use offhook_domain::{EmailAddress, MemberRole};
use offhook_services::Services;
use tokio::time::{Duration, Instant, sleep};

use super::Bench;
use crate::child::{Child, Role};
use crate::database::{Database, Kind};
use crate::load::{self, Client, Until};
use crate::pairs::{compare, percentile};
use crate::report::{Report, Target, number};
use crate::seed::{self, Bulk, Tenant};
use crate::service::{Options, Ports};

const FEW: i64 = 10_000;
/// Times that a page is asked for in one round.
const TIMES: usize = 200;

/// The pages whose time could grow with the conversations.
const PAGES: [(&str, &str); 2] = [
    ("overview", "/portal/"),
    ("list of conversations", "/portal/conversations"),
];

/// The part that shows all live calls, and how often a page asks for it.
const LIVE: &str = "/portal/conversations/live/calls";
const LIVE_EVERY_S: f64 = 2.0;
const LIVE_CALLS: usize = 50;
/// How long they may take to be answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    for kind in bench.databases() {
        let mut many = Office::open(kind, bench, bench.rows).await?;
        let few = Office::open(kind, bench, FEW).await?;
        for (name, path) in PAGES {
            let pair = compare(
                bench.rounds,
                async || many.times(path).await,
                async || few.times(path).await,
            )
            .await?;
            report.add(
                &format!(
                    "{name} at 1,000,000 conversations / at 10,000, {}",
                    kind.name()
                ),
                Target::AtMost(1.5),
                pair.ratio,
                "",
                &format!("p50 {} and {} ms", number(pair.a), number(pair.b)),
            );
        }
        many.live(kind, report).await?;
        for office in [many, few] {
            office.child.stop().await?;
            office.database.remove().await?;
        }
    }
    Ok(())
}

/// A service with an account of many conversations, and somebody who is signed in to it.
struct Office {
    database: Database,
    child: Child,
    ports: Ports,
    tenant: Tenant,
    headers: String,
}

impl Office {
    async fn open(kind: Kind, bench: &Bench, count: i64) -> anyhow::Result<Self> {
        let database = Database::new(kind, &bench.postgres, &format!("portal_{count}")).await?;
        let services = seed::open(&database).await?;
        let tenant = seed::tenants(&services, 1).await?.remove(0);
        let session = sign_in(&services, &tenant).await?;
        drop(services);
        let agents = [tenant.agent; 3];
        let bulk = Bulk::new(count);
        bulk.write(&database, tenant.account, agents).await?;
        let mut child = Child::start(&Role::Service(Options {
            place: database.place.clone(),
            dialer: true,
            dispatcher: false,
        }))?;
        let ports: Ports = child.said().await?;
        Ok(Self {
            database,
            child,
            ports,
            tenant,
            headers: format!("Cookie: offhook_session={session}\r\n"),
        })
    }

    /// The median of the times that a page takes, in milliseconds.
    async fn times(&self, path: &str) -> anyhow::Result<f64> {
        let page = load::request("GET", path, &self.headers, "");
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend(&page);
        let loaded = load::run(self.ports.limited, 1, Until::Count(TIMES), 200, send).await?;
        Ok(percentile(&loaded.latencies, 0.5))
    }

    /// What one who watches 50 live calls costs: the whole time of an answer, that of its database included, is taken for
    /// the processor's.
    async fn live(&mut self, kind: Kind, report: &mut Report) -> anyhow::Result<()> {
        let call = load::request(
            "POST",
            "/v1/calls",
            &self.tenant.headers(),
            &self.tenant.call(),
        );
        let send = |_: usize, _: usize, out: &mut Vec<u8>| out.extend(&call);
        load::run(self.ports.limited, 10, Until::Count(LIVE_CALLS), 201, send).await?;
        let mut client = Client::connect(self.ports.limited).await?;
        let me = load::request("GET", "/v1/me", &self.tenant.headers(), "");
        let began = Instant::now();
        loop {
            ensure!(client.exchange(&me).await? == 200, "{}", client.text());
            let me: serde_json::Value = serde_json::from_slice(client.body())?;
            let live = me["live_calls"].as_u64().context("live_calls")?;
            if usize::try_from(live)? == LIVE_CALLS {
                break;
            }
            ensure!(began.elapsed() < ANSWERED_WITHIN, "{live} live calls");
            sleep(Duration::from_millis(50)).await;
        }
        let took = self.times(LIVE).await?;
        let share = took / 1e3 / LIVE_EVERY_S * 100.0;
        report.add(
            &format!("watching 50 live calls, of a core, {}", kind.name()),
            Target::AtMost(1.0),
            share,
            " %",
            &format!(
                "{} ms each {LIVE_EVERY_S} s, the database's part included",
                number(took)
            ),
        );
        Ok(())
    }
}

/// The token of a session of the account's owner.
async fn sign_in(services: &Services, tenant: &Tenant) -> anyhow::Result<String> {
    let email: EmailAddress = "owner@bench.example".parse()?;
    let (account, people) = (tenant.account, services.people());
    let owner = MemberRole::Owner;
    services
        .team()
        .add(account, email.clone(), "Owner", owner)
        .await?;
    let link = people.link(account, &email).await?.context("a link")?;
    let signed_in = people
        .set_password_by_link(&link.token, "a bench of long words")
        .await?;
    Ok(signed_in.token)
}
