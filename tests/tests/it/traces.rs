//! Spans for an OpenTelemetry collector (`telemetry.otlp_endpoint`), decoded as a collector does.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use offhook_tests::{Options, Received, Receiver, Server, both, eventually, must, text};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Word;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::metrics::{exposition, with_metrics};

const LIMIT: Duration = Duration::from_secs(20);

/// The spans that a collector received.
fn spans(received: &[Received]) -> Vec<Span> {
    let mut spans = Vec::new();
    for one in received {
        assert_eq!(one.path, "/collector/v1/traces");
        assert_eq!(one.header("content-type"), Some("application/x-protobuf"));
        let request = must(
            "protobuf",
            ExportTraceServiceRequest::decode(one.body.as_slice()),
        );
        for resource in request.resource_spans {
            let about = resource.resource.unwrap_or_default().attributes;
            let names: Vec<_> = about.iter().map(|one| one.key.as_str()).collect();
            assert!(names.contains(&"service.name"), "{names:?}");
            spans.extend(
                resource
                    .scope_spans
                    .into_iter()
                    .flat_map(|scope| scope.spans),
            );
        }
    }
    spans
}

fn attributes(span: &Span) -> BTreeMap<String, String> {
    let value = |one: &opentelemetry_proto::tonic::common::v1::KeyValue| match one
        .value
        .clone()
        .unwrap_or_default()
        .value
    {
        Some(Word::StringValue(text)) => text,
        Some(Word::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    span.attributes
        .iter()
        .map(|one| (one.key.clone(), value(one)))
        .collect()
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

both! {
    async fn a_collector_sees_a_call_from_the_request_to_the_delivery_and_nobody_in_it(database: Database) {
        let collector = Receiver::start().await;
        let options = Options::on(database)
            .set("telemetry.otlp_endpoint", collector.url("/collector"));
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/path-of-xochitl")).await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+5215512345678", "metadata": {"lead_name": "Xochitl"}});
        let answer = account.post("/v1/calls", body).await;
        let placed = answer.assert(201);
        let request = answer.header("x-request-id").unwrap_or_default().to_owned();
        let handle = text(&placed["id"]).to_owned();
        account.ended(&handle).await;
        receiver.count(2).await;
        // The process sends the last spans when it ends.
        assert!(server.stop().await.success());
        let received = collector.received();
        let spans = spans(&received);
        let requests = named(&spans, "request");
        let placing = requests
            .iter()
            .find(|span| attributes(span).get("request_id") == Some(&request));
        let placing = placing.unwrap_or_else(|| panic!("no span of {request}: {spans:?}"));
        assert_eq!(attributes(placing).get("method").map(String::as_str), Some("POST"));
        let answered = &placing.events[placing.events.len() - 1];
        assert_eq!(answered.name, "answered");
        let calls = named(&spans, "call");
        assert_eq!(calls.len(), 1, "{spans:?}");
        let call = attributes(calls[0]);
        assert_eq!(call.get("call").map(String::as_str), Some(&handle[5..]));
        assert_eq!(call.get("request_id"), Some(&request), "the call names the request that placed it");
        let dials = named(&spans, "dial");
        assert_eq!(dials.len(), 1);
        let turns = named(&spans, "turn");
        assert!(turns.len() >= 2, "{turns:?}");
        for inner in dials.iter().chain(&turns) {
            assert_eq!(inner.parent_span_id, calls[0].span_id, "{inner:?}");
            assert!(inner.start_time_unix_nano <= inner.end_time_unix_nano);
        }
        assert!(turns.iter().any(|turn| attributes(turn).contains_key("latency_ms")));
        let deliveries = named(&spans, "delivery");
        assert_eq!(deliveries.len(), 2);
        for delivery in deliveries {
            assert_eq!(attributes(delivery).get("status").map(String::as_str), Some("200"));
        }
        let token = &account.token["service_live_".len()..];
        for secret in ["5215512345678", "ochitl", &token[..16], "path-of", &account.id] {
            for one in &received {
                let has = one.body.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!has, "{secret} was sent");
            }
        }
    }

    async fn a_collector_that_is_away_costs_spans_and_no_request(database: Database) {
        let options = with_metrics(Options::on(database))
            .set("telemetry.otlp_endpoint", "http://127.0.0.1:9");
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let began = Instant::now();
        for _ in 0..50 {
            account.read("/v1/me").await;
        }
        assert!(began.elapsed() < Duration::from_secs(10));
        eventually("spans that are counted as lost", LIMIT, || async {
            let lost = [("outcome", "failed")];
            let lost = exposition(&server).await.sum("offhook_trace_spans_total", &lost);
            (lost > 0.0).then_some(())
        })
        .await;
        let log = server.log();
        assert_eq!(log.matches("spans could not be sent").count(), 1, "{log}");
        assert!(server.stop().await.success());
    }

    async fn without_a_collector_nothing_is_said_of_spans(database: Database) {
        let server = Server::start(with_metrics(Options::on(database))).await;
        server.account("scale").await.read("/v1/me").await;
        assert_eq!(exposition(&server).await.sum("offhook_trace_spans_total", &[]), 0.0);
    }
}
