//! Spans as they are made: what each is of, and whose part it is.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::mpsc::Sender;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// What is noted in a span at most: a call may last for hours.
const MAX_EVENTS: usize = 128;

/// The machine's time: a collector puts spans of many machines beside each other.
#[expect(
    clippy::disallowed_methods,
    reason = "an adapter: nothing is decided by it"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A span, from its beginning to where it is sent.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) trace: [u64; 2],
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'static str,
    pub(super) began: SystemTime,
    pub(super) ended: SystemTime,
    pub(super) fields: Vec<(&'static str, Value)>,
    pub(super) events: Vec<Noted>,
    pub(super) dropped_events: u32,
    pub(super) is_error: bool,
}

/// What was logged in a span.
#[derive(Debug, Clone)]
pub(super) struct Noted {
    pub(super) at: SystemTime,
    pub(super) name: String,
    pub(super) fields: Vec<(&'static str, Value)>,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Truth(bool),
}

/// Makes spans, and leaves those that have ended in a queue.
pub(crate) struct Spans {
    queue: Sender<Option<Span>>,
    /// The part of traces that is sent, in 2^64ths.
    sample: u64,
    /// Keyed from the system's random numbers: what it makes of a number cannot be foretold, and no other process's ids
    /// are like it.
    ids: RandomState,
    number: AtomicU64,
}

/// What is kept with a span of the registry; `None` if its trace is not sent.
struct Begun(Option<Span>);

impl Spans {
    /// `sample` is the part of traces that is sent, from 0 to 1.
    pub(super) fn new(queue: Sender<Option<Span>>, sample: f64) -> Self {
        Self {
            queue,
            // Saturates: all of them.
            sample: (sample * u64::MAX as f64) as u64,
            ids: RandomState::new(),
            number: AtomicU64::new(0),
        }
    }

    /// A number that is not zero, which would be no id.
    fn random(&self) -> u64 {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.ids.hash_one(number).max(1)
    }
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(made) = context.span(id) else {
            return;
        };
        let above = made.parent().and_then(|above| {
            let extensions = above.extensions();
            let begun = extensions.get::<Begun>()?;
            Some(begun.0.as_ref().map(|span| (span.trace, span.id)))
        });
        let (trace, parent) = match above {
            Some(Some((trace, parent))) => (Some(trace), Some(parent)),
            Some(None) => (None, None),
            None => {
                let trace = [self.random(), self.random()];
                ((self.random() <= self.sample).then_some(trace), None)
            }
        };
        let span = trace.map(|trace| {
            let began = now();
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            Span {
                trace,
                id: self.random(),
                parent,
                name: attributes.metadata().name(),
                began,
                ended: began,
                fields: fields.fields,
                events: Vec::new(),
                dropped_events: 0,
                is_error: false,
            }
        });
        made.extensions_mut().insert(Begun(span));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        change(&context, id, |span| {
            let mut fields = Fields::default();
            values.record(&mut fields);
            span.fields.append(&mut fields.fields);
        });
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(inside) = context.event_span(event).map(|span| span.id()) else {
            return;
        };
        change(&context, &inside, |span| {
            let level = event.metadata().level();
            span.is_error |= *level == Level::ERROR;
            if span.events.len() == MAX_EVENTS {
                span.dropped_events += 1;
                return;
            }
            let mut fields = Fields::default();
            fields.add("level", Value::Text(level.to_string()));
            event.record(&mut fields);
            let name = fields.message;
            span.events.push(Noted {
                at: now(),
                name: name.unwrap_or_else(|| event.metadata().name().to_owned()),
                fields: fields.fields,
            });
        });
    }

    /// What is left last ends a span: it stays open as long as there is one below it.
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        change(&context, id, |span| span.ended = now());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let closed = context.span(&id);
        let begun = closed.and_then(|span| span.extensions_mut().remove::<Begun>());
        if let Some(Begun(Some(mut span))) = begun {
            if span.ended == span.began {
                span.ended = now();
            }
            if self.queue.try_send(Some(span)).is_err() {
                offhook_metrics::metrics().traces.dropped(1);
            }
        }
    }
}

fn change<S>(context: &Context<'_, S>, id: &Id, change: impl FnOnce(&mut Span))
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if let Some(span) = context.span(id)
        && let Some(Begun(Some(span))) = span.extensions_mut().get_mut::<Begun>()
    {
        change(span);
    }
}

/// Collects fields.
#[derive(Default)]
struct Fields {
    fields: Vec<(&'static str, Value)>,
    message: Option<String>,
}

impl Fields {
    fn add(&mut self, name: &'static str, value: Value) {
        self.fields.push((name, value));
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let whole = i64::try_from(value).map(Value::Integer);
        self.add(field.name(), whole.unwrap_or(Value::Number(value as f64)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), Value::Number(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), Value::Truth(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = Some(value.to_owned()),
            name => self.add(name, Value::Text(value.to_owned())),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn made(sample: f64, log: impl FnOnce()) -> Vec<Span> {
        let (queue, mut ended) = mpsc::channel(100_000);
        let ours = Targets::new().with_target("offhook", LevelFilter::INFO);
        let spans = Spans::new(queue, sample).with_filter(ours);
        let subscriber = tracing_subscriber::registry().with(spans);
        tracing::subscriber::with_default(subscriber, log);
        std::iter::from_fn(|| ended.try_recv().ok().flatten()).collect()
    }

    #[test]
    fn a_span_has_its_fields_its_events_and_the_one_above_it() {
        let made = made(1.0, || {
            let call = tracing::info_span!("call", call = %"c", request_id = tracing::field::Empty);
            call.record("request_id", "r");
            call.in_scope(|| {
                tracing::debug_span!("hidden").in_scope(|| {
                    tracing::info_span!("dial", number = 7_u64)
                        .in_scope(|| tracing::error!(code = 3, "failed {}", 1));
                });
            });
            tracing::info_span!(target: "other", "foreign").in_scope(|| {});
        });
        let [dial, call] = &made[..] else {
            panic!("{made:?}");
        };
        assert_eq!((dial.name, dial.parent), ("dial", Some(call.id)));
        assert_eq!((call.name, call.parent), ("call", None));
        assert_eq!(dial.trace, call.trace);
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(
            call.fields,
            [("call", text("c")), ("request_id", text("r"))]
        );
        assert_eq!(dial.fields, [("number", Value::Integer(7))]);
        assert_eq!(dial.events[0].name, "failed 1");
        assert_eq!(
            dial.events[0].fields,
            [("level", text("ERROR")), ("code", Value::Integer(3))]
        );
        assert!(dial.is_error && !call.is_error);
        assert!(call.began <= dial.began && dial.ended <= call.ended);
    }

    #[test]
    fn a_trace_is_sent_whole_or_not_at_all() {
        let made = made(0.25, || {
            for _ in 0..20_000 {
                tracing::info_span!("above")
                    .in_scope(|| tracing::info_span!("below").in_scope(|| {}));
            }
        });
        let below = made.iter().filter(|span| span.parent.is_some()).count();
        assert_eq!(below * 2, made.len());
        assert!((4_500..5_500).contains(&below), "{below}");
    }
}
