//! Logs: on standard error, for people or as one JSON object a line. `RUST_LOG` chooses what is logged.

use std::io::IsTerminal;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::settings::LogFormat;

/// Sends this process's logs to standard error.
///
/// # Errors
/// `RUST_LOG` is no filter.
pub(crate) fn start(format: LogFormat, default_filter: &str) -> anyhow::Result<()> {
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(text) if !text.is_empty() => EnvFilter::try_new(text)
            .context("RUST_LOG is no filter, such as info or warn,offhook=debug")?,
        _ => EnvFilter::new(default_filter),
    };
    let logs = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match format {
        LogFormat::Pretty => logs.try_init(),
        LogFormat::Json => logs
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .try_init(),
    };
    // A second start in one process keeps the first one's subscriber.
    let _ = started;
    Ok(())
}
