//! The time from an event to its receiver, alone and next to an endpoint that never responds.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Deserialize;
use tokio::task::LocalSet;

use super::Bench;
use crate::child::Child;
use crate::database::{Database, Kind};
use crate::load::{self, Client};
use crate::pairs::percentile;
use crate::receiver::{Keeps, Receiver};
use crate::report::{Report, Target, number};
use crate::seed::{self, Tenant};
use crate::service::Ports;

/// The time between two events: 10 per second.
const APART: Duration = Duration::from_millis(100);
/// Events of one turn.
const EVENTS: usize = 150;
/// Turns of each account.
const TURNS: usize = 4;

pub(super) async fn run(
    kind: Kind,
    bench: &Bench,
    report: &mut Report,
    tasks: &LocalSet,
) -> anyhow::Result<()> {
    let receiver = Receiver::start(tasks, 2, false).await?;
    let silent = Receiver::start(tasks, 1, true).await?;
    let database = Database::new(kind, &bench.postgres, "webhooks").await?;
    let services = seed::open(&database).await?;
    let tenants = seed::tenants(&services, 2).await?;
    for (tenant, address) in tenants.iter().zip(&receiver.addresses) {
        seed::endpoint(&services, tenant.account, &format!("http://{address}/")).await?;
    }
    let dead = format!("http://{}/", silent.addresses[0]);
    seed::endpoint(&services, tenants[1].account, &dead).await?;
    drop(services);
    let (child, ports) = Child::service(&database.place, true).await?;

    let (mut alone, mut beside) = (Times::default(), Times::default());
    receiver.reset(Keeps::Calls, "");
    for turn in 0..TURNS {
        if turn % 2 == 0 {
            alone.measure(ports, &receiver, &tenants[0]).await?;
            beside.measure(ports, &receiver, &tenants[1]).await?;
        } else {
            beside.measure(ports, &receiver, &tenants[1]).await?;
            alone.measure(ports, &receiver, &tenants[0]).await?;
        }
    }
    let (sent, answered) = (alone.sent(), alone.answered());
    for (name, share, most) in [("p50", 0.5, 20.0), ("p99", 0.99, 150.0)] {
        let detail = format!(
            "counted from when the request that commits is sent; from its answer {} ms",
            number(percentile(&answered, share))
        );
        let name = format!(
            "webhook, commit to first byte, {name} at 10 events/s, {}",
            kind.name()
        );
        report.add(
            &name,
            Target::AtMost(most),
            percentile(&sent, share),
            " ms",
            &detail,
        );
    }
    let (quiet, disturbed) = (percentile(&sent, 0.99), percentile(&beside.sent(), 0.99));
    let name = format!(
        "webhook p99 beside an endpoint that never answers / alone, {}",
        kind.name()
    );
    let detail = format!("{} and {} ms", number(disturbed), number(quiet));
    report.add(&name, Target::AtMost(1.5), disturbed / quiet, "", &detail);
    child.stop().await?;
    database.remove().await
}

/// Milliseconds to the first byte: since the request was sent, and since its response.
#[derive(Debug, Default)]
struct Times(Vec<(f64, f64)>);

impl Times {
    fn sent(&self) -> Vec<f64> {
        sorted(self.0.iter().map(|times| times.0))
    }

    fn answered(&self) -> Vec<f64> {
        sorted(self.0.iter().map(|times| times.1))
    }

    async fn measure(
        &mut self,
        ports: Ports,
        receiver: &Receiver,
        tenant: &Tenant,
    ) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        struct Placed {
            id: String,
        }
        let bytes = load::request("POST", "/v1/calls", &tenant.headers(), &tenant.call());
        let mut client = Client::connect(ports.limited).await?;
        let mut tick = tokio::time::interval(APART);
        let mut placed = Vec::new();
        for _ in 0..EVENTS {
            tick.tick().await;
            let sent = Instant::now();
            let status = client.exchange(&bytes).await?;
            anyhow::ensure!(status == 201, "{}", client.text());
            let call: Placed = serde_json::from_slice(client.body())?;
            placed.push((call.id, sent, Instant::now()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for (id, sent, answered) in placed {
            let came = receiver
                .came(&id)
                .with_context(|| format!("the event of {id} did not come"))?;
            let ms = |since: Instant| came.saturating_duration_since(since).as_secs_f64() * 1e3;
            self.0.push((ms(sent), ms(answered)));
        }
        Ok(())
    }
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}
