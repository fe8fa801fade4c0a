//! `offhook simulator`

use offhook_carriers::{SimulatorSettings, serve_simulator};
use offhook_services::SystemClock;
use tokio::net::TcpListener;

use crate::prelude::*;
use crate::signals::Signals;

#[derive(Debug, Args)]
pub(super) struct SimulatorArgs {
    /// The loopback address to listen on; port 0 picks one.
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
    /// Append each dial to this file as a JSON line, before answering it.
    #[arg(long, value_name = "FILE")]
    dial_log: Option<PathBuf>,
    /// Append each text that a side of a call heard to this file as a JSON line.
    #[arg(long, value_name = "FILE")]
    heard_log: Option<PathBuf>,
    /// How many times faster than real time people speak [default: simulator.speed, else 1].
    #[arg(long, value_name = "N", value_parser = speed, allow_negative_numbers = true)]
    speed: Option<f64>,
    /// Print the address as a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed: Option<f64> = text.parse().ok();
    speed
        .filter(|speed| *speed > 0.0 && *speed <= 10_000.0)
        .ok_or_else(|| "must be a number above 0, at most 10000".to_owned())
}

pub(super) async fn run(settings: Settings, args: SimulatorArgs) -> anyhow::Result<()> {
    ensure!(
        args.listen.ip().is_loopback(),
        "--listen must be a loopback address, such as 127.0.0.1:8090: the simulator asks for no key"
    );
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("{} cannot be listened on", args.listen))?;
    let address = listener.local_addr()?;
    let settings = SimulatorSettings {
        speed: args.speed.or(settings.simulator.speed).unwrap_or(1.0),
        dial_log: args.dial_log,
        heard_log: args.heard_log,
        clock: Arc::new(SystemClock),
    };
    let mut signals = Signals::listen()?;
    tracing::info!(%address, "ready");
    let url = format!("http://{address}");
    output::print(
        args.json,
        &serde_json::json!({ "url": url }),
        &format!("the simulator is at {url}"),
    )?;
    tokio::select! {
        served = serve_simulator(listener, settings) => served.context("the simulator cannot run"),
        () = signals.next() => Ok(()),
    }
}
