//! Spans in OpenTelemetry's protocol (OTLP, `trace.proto`): protobuf of the few messages that there are, written by hand.

use std::time::{SystemTime, UNIX_EPOCH};

use super::spans::{Noted, Span, Value};

/// A span that is nobody's answer and nobody's question.
const INTERNAL: u64 = 1;

/// A status that says of a span that it failed.
const ERROR: u64 = 2;

/// A message of protobuf: its fields one after the other.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn integer(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn each<T>(self, field: u64, values: &[T], message: impl Fn(&T) -> Self) -> Self {
        let with = |all: Self, value| all.bytes(field, &message(value).0);
        values.iter().fold(self, with)
    }
}

/// The body of a request that gives spans of `service` to a collector.
pub(super) fn request(service: &str, spans: &[Span]) -> Vec<u8> {
    let text = |text: &str| Value::Text(text.to_owned());
    let about = [
        ("service.name", text(service)),
        ("service.version", text(env!("CARGO_PKG_VERSION"))),
    ];
    let resource = Message::default().each(1, &about, key_value);
    let scope = Message::default().bytes(1, service.as_bytes());
    let of_scope = Message::default().bytes(1, &scope.0).each(2, spans, span);
    let of_resource = Message::default()
        .bytes(1, &resource.0)
        .bytes(2, &of_scope.0);
    Message::default().bytes(1, &of_resource.0).0
}

fn span(span: &Span) -> Message {
    let message = Message::default()
        .bytes(1, span.trace.map(u64::to_be_bytes).as_flattened())
        .bytes(2, &span.id.to_be_bytes());
    let message = match span.parent {
        Some(parent) => message.bytes(4, &parent.to_be_bytes()),
        None => message,
    };
    let message = message
        .bytes(5, span.name.as_bytes())
        .integer(6, INTERNAL)
        .fixed(7, nanos(span.began))
        .fixed(8, nanos(span.ended))
        .each(9, &span.fields, key_value)
        .each(11, &span.events, event)
        .integer(12, span.dropped_events.into());
    match span.is_error {
        true => message.bytes(15, &Message::default().integer(3, ERROR).0),
        false => message,
    }
}

fn event(event: &Noted) -> Message {
    Message::default()
        .fixed(1, nanos(event.at))
        .bytes(2, event.name.as_bytes())
        .each(3, &event.fields, key_value)
}

fn key_value((name, value): &(&'static str, Value)) -> Message {
    let any = Message::default();
    let any = match value {
        Value::Text(text) => any.bytes(1, text.as_bytes()),
        Value::Truth(is_so) => any.integer(2, u64::from(*is_so)),
        Value::Integer(number) => any.integer(3, number.cast_unsigned()),
        Value::Number(number) => any.fixed(4, number.to_bits()),
    };
    Message::default()
        .bytes(1, name.as_bytes())
        .bytes(2, &any.0)
}

fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
    use prost::Message as _;

    use super::*;

    fn named(name: &str, value: Any) -> KeyValue {
        let value = Some(AnyValue { value: Some(value) });
        KeyValue {
            key: name.to_owned(),
            value,
            ..KeyValue::default()
        }
    }

    #[test]
    fn a_collector_reads_what_is_written() {
        let at = UNIX_EPOCH + Duration::from_nanos(1_777_573_931_123_456_789);
        let spans = [Span {
            trace: [1, u64::MAX],
            id: 258,
            parent: Some(7),
            name: "call",
            began: at,
            ended: at + Duration::from_nanos(1),
            fields: vec![
                ("text", Value::Text("Año".repeat(99))),
                ("less", Value::Integer(-2)),
                ("half", Value::Number(0.5)),
                ("so", Value::Truth(true)),
            ],
            events: vec![Noted {
                at,
                name: "answered".to_owned(),
                fields: vec![("level", Value::Text("INFO".to_owned()))],
            }],
            dropped_events: 300,
            is_error: true,
        }];
        let read = ExportTraceServiceRequest::decode(&*request("offhook", &spans)).unwrap();
        assert_eq!(read.resource_spans.len(), 1);
        let of_resource = &read.resource_spans[0];
        let about = &of_resource.resource.as_ref().unwrap().attributes;
        assert_eq!(
            about[0],
            named("service.name", Any::StringValue("offhook".to_owned()))
        );
        let of_scope = &of_resource.scope_spans[0];
        assert_eq!(of_scope.scope.as_ref().unwrap().name, "offhook");
        let span = &of_scope.spans[0];
        assert_eq!(
            span.trace_id,
            [[0, 0, 0, 0, 0, 0, 0, 1], [0xff; 8]].concat()
        );
        assert_eq!(span.span_id, [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(span.parent_span_id, [0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!((span.name.as_str(), span.kind), ("call", 1));
        assert_eq!(span.start_time_unix_nano, 1_777_573_931_123_456_789);
        assert_eq!(span.end_time_unix_nano, 1_777_573_931_123_456_790);
        let fields = [
            named("text", Any::StringValue("Año".repeat(99))),
            named("less", Any::IntValue(-2)),
            named("half", Any::DoubleValue(0.5)),
            named("so", Any::BoolValue(true)),
        ];
        assert_eq!(span.attributes, fields);
        assert_eq!(span.events[0].name, "answered");
        assert_eq!(span.events[0].time_unix_nano, 1_777_573_931_123_456_789);
        assert_eq!(span.events[0].attributes.len(), 1);
        assert_eq!(span.dropped_events_count, 300);
        assert_eq!(span.status.as_ref().unwrap().code, 2);
    }
}
