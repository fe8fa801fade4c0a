//! What a connection alone is tried to: the simulated carrier, and the collector of traces.

use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::Finding;
use crate::settings::Settings;

pub(super) const CARRIER: &str = "carrier";

const TRACES: &str = "traces";

/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(3);

pub(super) async fn carrier(settings: &Settings) -> Finding {
    let Some(url) = &settings.simulator.url else {
        return Finding::good(CARRIER, "the simulated network of this process");
    };
    match connect(url).await {
        Ok(()) => Finding::good(
            CARRIER,
            "the simulator of `simulator.url` can be connected to",
        ),
        Err(error) => Finding::failed(
            CARRIER,
            format!(
                "the simulator of `simulator.url` cannot be connected to ({error:#}): start it with `offhook simulator`, or \
                 correct the setting"
            ),
        ),
    }
}

/// The collector that traces go to, if they go anywhere.
pub(super) async fn collector(settings: &Settings) -> Option<Finding> {
    let telemetry = settings.telemetry.as_ref()?;
    Some(match connect(&telemetry.otlp_endpoint).await {
        Ok(()) => Finding::good(
            TRACES,
            "the collector of `telemetry.otlp_endpoint` can be connected to",
        ),
        Err(error) => Finding::failed(
            TRACES,
            format!(
                "the collector of `telemetry.otlp_endpoint` cannot be connected to, so traces are lost ({error:#}): start it, \
                 or correct the setting"
            ),
        ),
    })
}

async fn connect(url: &str) -> anyhow::Result<()> {
    let url = Url::parse(url).context("no URL")?;
    let host = url.host_str().context("no host")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().context("no port")?;
    let connecting = TcpStream::connect((host, port));
    timeout(LIMIT, connecting)
        .await
        .with_context(|| format!("no answer within {} s", LIMIT.as_secs()))??;
    Ok(())
}
