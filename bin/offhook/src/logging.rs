//! Logs: on standard error, for people or as one JSON object a line. `RUST_LOG` chooses what is logged. Spans go to a
//! collector beside them, whatever is logged.

use std::io::IsTerminal;

use anyhow::Context as _;
use opentelemetry_sdk::trace::SdkTracer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

use crate::settings::LogFormat;

/// Sends this process's logs to standard error, and its spans to `tracer` if there is one.
///
/// # Errors
/// `RUST_LOG` is no filter.
pub(crate) fn start(
    format: LogFormat,
    default_filter: &str,
    tracer: Option<SdkTracer>,
) -> anyhow::Result<()> {
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(text) if !text.is_empty() => EnvFilter::try_new(text)
            .context("RUST_LOG is no filter, such as info or warn,offhook=debug")?,
        _ => EnvFilter::new(default_filter),
    };
    // The SIP stack logs whole messages, numbers and digests included, as information.
    let filter = filter.add_directive("rsipstack=off".parse()?);
    // The decoder of MP3 has a warning for each thing in a file that is none.
    let filter = filter.add_directive("symphonia_bundle_mp3=off".parse()?);
    let started = match tracer {
        None => Registry::default()
            .with(logs(format))
            .with(filter)
            .try_init(),
        Some(tracer) => Registry::default()
            .with(logs(format).with_filter(filter))
            .with(spans(tracer))
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

/// Our own spans alone, and what is logged in them: others' may hold what ours never do.
fn spans<S>(tracer: SdkTracer) -> impl Layer<S> + Send + Sync
where
    S: tracing::Subscriber + Send + Sync,
    S: for<'span> tracing_subscriber::registry::LookupSpan<'span>,
{
    let ours = Targets::new().with_target("offhook", LevelFilter::INFO);
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
        .with_filter(ours)
}
