//! What a connection alone is tried to: the simulated carrier, and the collector of traces.

use tokio::net::TcpStream;
use url::Url;

use super::finding::{Finding, Hop};
use crate::prelude::*;

pub(super) const CARRIER: Hop = Hop("carrier");

const TRACES: Hop = Hop("traces");

/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(3);

pub(super) async fn carrier(settings: &Settings) -> Finding {
    const NOBODY: &str = "calls are simulated (calls.carrier): nobody's phone rings, and what agents ask of sound (recording, \
         ambient) has no effect";
    let Some(url) = &settings.simulator.url else {
        return CARRIER.warning(NOBODY);
    };
    match connect(url).await {
        Ok(()) => CARRIER.warning(format!("{NOBODY}; the simulator of `simulator.url` can be connected to")),
        Err(error) => CARRIER.failed(format!(
            "the simulator of `simulator.url` cannot be connected to ({error:#}): start it with `offhook simulator`, or \
             correct the setting"
        )),
    }
}

/// The collector that traces go to, if they go anywhere.
pub(super) async fn collector(settings: &Settings) -> Option<Finding> {
    let telemetry = settings.telemetry.as_ref()?;
    Some(match connect(&telemetry.otlp_endpoint).await {
        Ok(()) => TRACES.good("the collector of `telemetry.otlp_endpoint` can be connected to"),
        Err(error) => TRACES.failed(format!(
            "the collector of `telemetry.otlp_endpoint` cannot be connected to, so traces are lost ({error:#}): start it, \
             or correct the setting"
        )),
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
