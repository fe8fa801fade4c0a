//! The names of the metrics, and their text.

use prometheus_client::encoding::text;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::families::{
    Calls, Database, Deliveries, Http, Jobs, Knowledge, Limiter, Logs, Recordings, Traces,
};
use crate::process::Process;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Registers metrics: field, name, unit if it has one, and help text.
macro_rules! figures {
    ($all:ident; $($of:ident.$figure:ident, $name:literal, $($unit:ident,)? $help:literal;)*) => {$(
        figures!(@one $all, $name, $help, $of.$figure.clone() $(, $unit)?);
    )*};
    (@one $all:ident, $name:literal, $help:literal, $figure:expr) => {
        $all.register($name, $help, $figure);
    };
    (@one $all:ident, $name:literal, $help:literal, $figure:expr, $unit:ident) => {
        $all.register_with_unit($name, $help, Unit::$unit, $figure);
    };
}

/// All metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub http: Http,
    pub limiter: Limiter,
    pub logs: Logs,
    pub calls: Calls,
    pub recordings: Recordings,
    pub deliveries: Deliveries,
    pub knowledge: Knowledge,
    /// Periodic jobs.
    pub jobs: Jobs,
    pub database: Database,
    /// Trace spans for a collector.
    pub traces: Traces,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            http: Http::default(),
            limiter: Limiter::default(),
            logs: Logs::default(),
            calls: Calls::default(),
            recordings: Recordings::default(),
            deliveries: Deliveries::default(),
            knowledge: Knowledge::default(),
            jobs: Jobs::default(),
            database: Database::default(),
            traces: Traces::default(),
        };
        metrics.register();
        metrics
    }

    /// All metrics in OpenMetrics text format 1.0, which Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(32 * 1024);
        // Writing to a string does not fail, and every metric can be encoded.
        let _ = text::encode(&mut text, &self.registry);
        text
    }

    fn register(&mut self) {
        let Self {
            registry,
            http,
            limiter,
            logs,
            calls,
            recordings,
            deliveries,
            knowledge,
            jobs,
            database,
            traces,
        } = self;
        registry.register_collector(Box::new(Process));
        let all = registry.sub_registry_with_prefix("offhook");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        all.register("build", "The version that runs", version);
        figures! {
            all;
            http.requests, "http_requests", "Answered requests by method, route and class of status";
            http.durations, "http_request_duration", Seconds, "Time from a request's head to its answer's";
            http.in_flight, "http_requests_in_flight", "Requests that are being answered";
            http.refusals, "http_refusals",
                "Requests that a limit refused: address, address_calls, account, or unavailable if it cannot count";
            limiter.decisions, "limiter_decisions",
                "Checks of the limits, in memory or in Redis: admitted, refused, or unavailable if Redis did not answer in time";
            limiter.clients, "limiter_clients",
                "Addresses and accounts that this process counts at present; Redis counts elsewhere";
            limiter.memory, "limiter_memory", Bytes, "Memory of the limits' tables";
            limiter.shared, "limiter_shared",
                "Requests counted in cells that clients share for want of places: some may be refused early";
            logs.dropped, "log_entries_dropped", "Entries of the request log that were dropped";
            logs.waiting, "log_entries_waiting", "Entries of the request log that wait to be written";
            calls.accepted, "calls_accepted", "Calls accepted";
            calls.came_in, "calls_came_in", "Calls that came in, by what became of them";
            calls.ended, "calls_ended", "Calls that have ended, by status and reason";
            calls.queued, "calls_queued", "Calls that wait to be dialed, in the whole deployment";
            calls.live, "calls_live", "Calls that are dialed, talk or close, in the whole deployment";
            calls.held, "calls_held", "Calls that this process holds";
            calls.queue, "call_queue_duration", Seconds, "Time from a call's acceptance to its claim";
            calls.dials, "dial_duration", Seconds, "Time until the carrier took a call over or refused it";
            calls.turns, "turn_latency", Seconds, "Time from the end of the caller's speech to the agent's first audio";
            calls.turn_steps, "turn_step_duration", Seconds,
                "Time that the steps of a spoken reply took, one after the other";
            calls.claims_replaced, "claims_replaced",
                "Sentences of agents, in calls and chats, that claimed an action which no tool had carried out";
            calls.renewal_failures, "lease_renewal_failures", "Times that this process could not renew its leases";
            calls.leases_lost, "leases_lost", "Calls of this process that another one took for lost";
            calls.orphans, "orphans_taken", "Calls of lost processes that this one has ended";
            recordings.ended, "recordings",
                "Recordings of spoken calls here: kept in the object store, or failed, of which no more than a part is kept";
            recordings.waiting, "recordings_waiting", "Recordings that wait on this machine for the object store";
            deliveries.attempts, "delivery_attempts",
                "Webhook attempts by what came of them: the class of the status, or the error";
            deliveries.durations, "delivery_attempt_duration", Seconds, "Time of a webhook attempt";
            deliveries.in_flight, "deliveries_in_flight", "Webhook attempts under way";
            deliveries.unrecorded, "deliveries_unrecorded", "Results of attempts that the database has not heard of";
            deliveries.backlog, "deliveries_backlog",
                "Deliveries that are not done, in the whole deployment; counted up to 100000";
            deliveries.oldest_due, "deliveries_oldest_due", Seconds,
                "How long the delivery that has been due longest has waited";
            knowledge.read, "documents_read", "Documents read here, by what came of them";
            knowledge.waiting, "documents_waiting", "Documents that wait to be read, in the whole deployment";
            knowledge.to_embed, "documents_to_embed", "Documents that wait for their vectors, in the whole deployment";
            jobs.runs, "job_runs", "Runs of jobs in this process, by outcome";
            jobs.last_success, "job_last_success_timestamp", Seconds,
                "When a job last succeeded in this process, Unix time";
            jobs.left, "job_left_behind", "What a job could not do in its last run in this process";
            jobs.ready, "ready", "Whether this process can serve (/readyz)";
            jobs.waiting_batches, "batches_waiting", "Batches with somebody still to call, in the whole deployment";
            database.durations, "db_unit_duration", Seconds,
                "Time of a unit of work on the database, its waiting included";
            database.errors, "db_errors", "Units of work that the database did not do, by kind";
            database.waits, "db_connection_wait", Seconds,
                "Time that a unit of work waited for its connection (PostgreSQL)";
            database.pool, "db_connections", "Connections to PostgreSQL";
            database.waiting, "db_waiting",
                "Units of work that wait for a connection (PostgreSQL) or a reader (SQLite)";
            database.writer_queue, "db_writer_queue", "Writes that wait for the writer (SQLite)";
            traces.spans, "trace_spans", "Spans for the collector: sent, failed or dropped";
        }
    }
}
