//! Logs: on standard error, for people or as one JSON object a line. `RUST_LOG` chooses what is logged. Spans go to a
//! collector beside them, whatever is logged.

use std::io::IsTerminal;

use anyhow::Context as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, fmt};

use crate::settings::LogFormat;
use crate::telemetry::Spans;

/// Sends this process's logs to standard error, and its spans to `spans` if there is one.
///
/// # Errors
/// `RUST_LOG` is no filter.
pub(crate) fn start(
    format: LogFormat,
    default_filter: &str,
    spans: Option<Spans>,
) -> anyhow::Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.is_empty() => text
            .parse::<Targets>()
            .context("RUST_LOG is no filter, such as info or warn,offhook=debug")?,
        _ => default_filter.parse()?,
    };
    let filter = filter
        // The SIP stack logs whole messages, numbers and digests included, as information.
        .with_target("rsipstack", LevelFilter::OFF)
        // The decoder of MP3 has a warning for each thing in a file that is none.
        .with_target("symphonia_bundle_mp3", LevelFilter::OFF);
    let started = match spans {
        None => Registry::default()
            .with(logs(format))
            .with(filter)
            .try_init(),
        // Our own spans alone, and what is logged in them: others' may hold what ours never do.
        Some(spans) => Registry::default()
            .with(logs(format).with_filter(filter))
            .with(spans.with_filter(Targets::new().with_target("offhook", LevelFilter::INFO)))
            .try_init(),
    };
    // A second start in one process keeps the first one's subscriber.
    let _ = started;
    Ok(())
}

fn logs(format: LogFormat) -> Box<dyn Layer<Registry> + Send + Sync> {
    let logs = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Pretty => logs.boxed(),
        LogFormat::Json => logs
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .boxed(),
    }
}
