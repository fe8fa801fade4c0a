//! Traces for an OpenTelemetry collector (`telemetry.otlp_endpoint`): spans of requests, calls, dials, turns and deliveries,
//! with the fields that logs have, and so without numbers, keys and words of anybody.
//!
//! A span that ends is left in a bounded queue; one task sends what is there, many at a time. A collector that is slow or
//! away costs spans, which are counted, and never a request.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use offhook_metrics::metrics;
use opentelemetry::Context;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::settings::TelemetrySettings;

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

/// Where spans go, as long as it is kept.
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    sender: JoinHandle<()>,
}

/// Begins to send spans to the collector.
///
/// # Errors
/// The client for it cannot be set up.
pub(crate) fn start(settings: &TelemetrySettings) -> anyhow::Result<Telemetry> {
    let resource = Resource::builder().with_service_name(SERVICE);
    let resource = resource.with_attribute(opentelemetry::KeyValue::new(
        "service.version",
        env!("CARGO_PKG_VERSION"),
    ));
    let resource = resource.build();
    let endpoint = settings.otlp_endpoint.trim_end_matches('/');
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client(crate::parts::http_client()?))
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{endpoint}/v1/traces"))
        .with_timeout(LIMIT)
        // Its waits would hold a thread of the runtime.
        .with_retry_policy(RetryPolicy::default().with_max_retries(0))
        .build()?;
    exporter.set_resource(&resource);
    let (queue, spans) = mpsc::channel(QUEUE);
    let provider = SdkTracerProvider::builder()
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
            settings.sample,
        ))))
        .with_resource(resource)
        .with_span_processor(Queue(queue))
        .build();
    Ok(Telemetry {
        provider,
        sender: tokio::spawn(send(exporter, spans)),
    })
}

impl Telemetry {
    /// What makes spans.
    pub(crate) fn tracer(&self) -> SdkTracer {
        self.provider.tracer(SERVICE)
    }

    /// Sends what waits, and ends.
    pub(crate) async fn stop(mut self) {
        // The subscriber, which lives as long as the process, holds the queue's other end: the task is told by a span of
        // nothing that it has seen the last one.
        let _ = self.provider.shutdown_with_timeout(Duration::ZERO);
        if timeout(LAST_SPANS_LIMIT, &mut self.sender).await.is_err() {
            self.sender.abort();
            tracing::warn!("the last spans could not be sent in time");
        }
    }
}

/// Takes ended spans, or drops them.
#[derive(Debug)]
struct Queue(mpsc::Sender<Option<SpanData>>);

impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(Some(span)).is_err() {
            metrics().traces.dropped(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        // With a full queue the task has enough to do until its limit.
        let _ = self.0.try_send(None);
        Ok(())
    }
}

/// Sends spans until the queue's end.
async fn send(exporter: SpanExporter, mut spans: mpsc::Receiver<Option<SpanData>>) {
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
        match exporter.export(batch).await {
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

/// The client that everything else here uses, as the exporter wants it.
struct Client(reqwest::Client);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let mut answer = timeout(LIMIT, self.0.execute(request)).await??;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            std::mem::swap(headers, answer.headers_mut());
        }
        let body = timeout(LIMIT, answer.bytes()).await??;
        Ok(response.body(body)?)
    }
}
