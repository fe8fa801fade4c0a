//! Traces for an OpenTelemetry collector (`telemetry.otlp_endpoint`): spans of requests, calls, dials, turns and deliveries,
//! with the fields that logs have, and so without numbers, keys and words of anybody.
//!
//! A span that ends is left in a bounded queue; one task sends what is there, many at a time. A collector that is slow or
//! away costs spans, which are counted, and never a request.

mod otlp;
mod spans;

use futures_util::FutureExt as _;

use offhook_metrics::metrics;
use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::prelude::*;
use crate::settings::TelemetrySettings;
use spans::Span;
pub(crate) use spans::Spans;

/// Spans that wait to be sent at most.
const QUEUE: usize = 8_192;

/// Spans that are sent at once.
const BATCH: usize = 512;

/// How long the first span of a batch waits for others.
const GATHERING: Duration = Duration::from_secs(1);

/// How long a collector may take for a batch.
const LIMIT: Duration = Duration::from_secs(5);

/// How long the last spans may take at the end of the process.
const LAST_SPANS_LIMIT: Duration = Duration::from_secs(2);

/// What the spans are said to be of.
const SERVICE: &str = "offhook";

/// What a collector is sent beside the spans, such as a key: `name=value,name=value`, percent-encoded.
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

/// Where spans go, as long as it is kept.
pub(crate) struct Telemetry {
    queue: mpsc::Sender<Option<Span>>,
    sample: f64,
    sender: JoinHandle<()>,
}

/// Begins to send spans to the collector.
///
/// # Errors
/// The client for it cannot be set up.
pub(crate) fn start(settings: &TelemetrySettings) -> anyhow::Result<Telemetry> {
    let (queue, spans) = mpsc::channel(QUEUE);
    let collector = Collector {
        client: crate::parts::http_client()?,
        url: format!("{}/v1/traces", settings.otlp_endpoint.trim_end_matches('/')),
        headers: headers()?,
    };
    Ok(Telemetry {
        queue,
        sample: settings.sample,
        sender: tokio::spawn(send(collector, spans).boxed()),
    })
}

/// What is sent with each request.
fn headers() -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let given = HEADERS
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    for pair in given.iter().flat_map(|given| given.split(',')) {
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        let value = percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let name = HeaderName::try_from(name.trim())
            .context("OTEL_EXPORTER_OTLP_HEADERS names a header that cannot be one")?;
        let value = HeaderValue::try_from(value)
            .with_context(|| format!("OTEL_EXPORTER_OTLP_HEADERS has no value for {name}"))?;
        headers.insert(name, value);
    }
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-protobuf"),
    );
    Ok(headers)
}

impl Telemetry {
    /// What makes spans.
    pub(crate) fn spans(&self) -> Spans {
        Spans::new(self.queue.clone(), self.sample)
    }

    /// Sends what waits, and ends.
    pub(crate) async fn stop(mut self) {
        // The subscriber, which lives as long as the process, holds the queue's other end: the task is told by a span of
        // nothing that it has seen the last one. With a full queue it has enough to do until its limit.
        let _ = self.queue.try_send(None);
        if timeout(LAST_SPANS_LIMIT, &mut self.sender).await.is_err() {
            self.sender.abort();
            tracing::warn!("the last spans could not be sent in time");
        }
    }
}

/// Who is sent the spans.
struct Collector {
    client: Client,
    url: String,
    headers: HeaderMap,
}

impl Collector {
    async fn take(&self, batch: &[Span]) -> reqwest::Result<()> {
        let request = self
            .client
            .post(&self.url)
            .timeout(LIMIT)
            .headers(self.headers.clone())
            .body(otlp::request(SERVICE, batch));
        let answer = request.send().await.and_then(Response::error_for_status);
        // Read to its end, so that the connection is used again.
        let read = async { answer?.bytes().await };
        read.await.map(drop).map_err(reqwest::Error::without_url)
    }
}

/// Sends spans until the queue's end.
async fn send(collector: Collector, mut spans: mpsc::Receiver<Option<Span>>) {
    let mut is_away = false;
    let mut ending = false;
    while !ending {
        let Some(Some(first)) = spans.recv().await else {
            return;
        };
        let mut batch = vec![first];
        let until = Instant::now() + GATHERING;
        while batch.len() < BATCH && !ending {
            match timeout_at(until, spans.recv()).await {
                Ok(Some(Some(span))) => batch.push(span),
                Ok(Some(None) | None) => ending = true,
                Err(_) => break,
            }
        }
        let count = batch.len();
        match collector.take(&batch).await {
            Ok(()) => {
                is_away = false;
                metrics().traces.sent(count);
            }
            Err(error) => {
                metrics().traces.failed(count);
                // Said once an outage.
                if !std::mem::replace(&mut is_away, true) {
                    tracing::warn!(%error, "spans could not be sent to `telemetry.otlp_endpoint`: they are lost");
                }
            }
        }
    }
}
