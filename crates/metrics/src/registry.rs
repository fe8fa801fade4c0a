//! The names of the figures, and their text.

use prometheus_client::encoding::text;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::families::{
    Calls, Database, Deliveries, Http, Jobs, Knowledge, Limiter, Logs, Recordings, Traces,
};
use crate::process::Process;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that a process counts of itself.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Requests and their answers.
    pub http: Http,
    /// The store of the limits.
    pub limiter: Limiter,
    /// The request log.
    pub logs: Logs,
    /// Calls.
    pub calls: Calls,
    /// Recordings of spoken calls.
    pub recordings: Recordings,
    /// Webhook deliveries.
    pub deliveries: Deliveries,
    /// Knowledge documents.
    pub knowledge: Knowledge,
    /// Work that is done now and then.
    pub jobs: Jobs,
    /// The database.
    pub database: Database,
    /// Spans for a collector.
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

    /// Everything in OpenMetrics' text format 1.0, which Prometheus reads.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(32 * 1024);
        // Writing to a string does not fail, and no figure refuses to be written.
        let _ = text::encode(&mut text, &self.registry);
        text
    }

    fn register(&mut self) {
        self.registry.register_collector(Box::new(Process));
        let all = self.registry.sub_registry_with_prefix("offhook");
        all.register(
            "build",
            "The version that runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        http(all, &self.http, &self.limiter, &self.logs);
        calls(all, &self.calls);
        recordings(all, &self.recordings);
        deliveries(all, &self.deliveries);
        work(all, &self.knowledge, &self.jobs);
        database(all, &self.database);
        all.register(
            "trace_spans",
            "Spans for the collector: sent, failed or dropped",
            self.traces.spans.clone(),
        );
    }
}

fn http(all: &mut Registry, http: &Http, limiter: &Limiter, logs: &Logs) {
    all.register(
        "http_requests",
        "Answered requests by method, route and class of status",
        http.requests.clone(),
    );
    all.register_with_unit(
        "http_request_duration",
        "Time from a request's head to its answer's",
        Unit::Seconds,
        http.durations.clone(),
    );
    all.register(
        "http_requests_in_flight",
        "Requests that are being answered",
        http.in_flight.clone(),
    );
    all.register(
        "http_refusals",
        "Requests that a limit refused: address, address_calls, account, or unavailable if it cannot count",
        http.refusals.clone(),
    );
    all.register(
        "limiter_decisions",
        "Checks of the limits, in memory or in Redis: admitted, refused, or unavailable if Redis did not answer in time",
        limiter.decisions.clone(),
    );
    all.register(
        "limiter_clients",
        "Addresses and accounts that this process counts at present; Redis counts elsewhere",
        limiter.clients.clone(),
    );
    all.register_with_unit(
        "limiter_memory",
        "Memory of the limits' tables",
        Unit::Bytes,
        limiter.memory.clone(),
    );
    all.register(
        "limiter_shared",
        "Requests counted in cells that clients share for want of places: some may be refused early",
        limiter.shared.clone(),
    );
    all.register(
        "log_entries_dropped",
        "Entries of the request log that were dropped",
        logs.dropped.clone(),
    );
    all.register(
        "log_entries_waiting",
        "Entries of the request log that wait to be written",
        logs.waiting.clone(),
    );
}

fn calls(all: &mut Registry, calls: &Calls) {
    all.register("calls_accepted", "Calls accepted", calls.accepted.clone());
    all.register(
        "calls_came_in",
        "Calls that came in, by what became of them",
        calls.came_in.clone(),
    );
    all.register(
        "calls_ended",
        "Calls that have ended, by status and reason",
        calls.ended.clone(),
    );
    all.register(
        "calls_queued",
        "Calls that wait to be dialed, in the whole deployment",
        calls.queued.clone(),
    );
    all.register(
        "calls_live",
        "Calls that are dialed, talk or close, in the whole deployment",
        calls.live.clone(),
    );
    all.register(
        "calls_held",
        "Calls that this process holds",
        calls.held.clone(),
    );
    all.register_with_unit(
        "call_queue_duration",
        "Time from a call's acceptance to its claim",
        Unit::Seconds,
        calls.queue.clone(),
    );
    all.register_with_unit(
        "dial_duration",
        "Time until the carrier took a call over or refused it",
        Unit::Seconds,
        calls.dials.clone(),
    );
    all.register_with_unit(
        "turn_latency",
        "Time from the end of the caller's speech to the agent's first audio",
        Unit::Seconds,
        calls.turns.clone(),
    );
    all.register_with_unit(
        "turn_step_duration",
        "Time that the steps of a spoken reply took, one after the other",
        Unit::Seconds,
        calls.turn_steps.clone(),
    );
    all.register(
        "lease_renewal_failures",
        "Times that this process could not renew its leases",
        calls.renewal_failures.clone(),
    );
    all.register(
        "leases_lost",
        "Calls of this process that another one took for lost",
        calls.leases_lost.clone(),
    );
    all.register(
        "orphans_taken",
        "Calls of lost processes that this one has ended",
        calls.orphans.clone(),
    );
}

fn recordings(all: &mut Registry, recordings: &Recordings) {
    all.register(
        "recordings",
        "Recordings of spoken calls here: kept in the object store, or failed, of which no more than a part is kept",
        recordings.ended.clone(),
    );
    all.register(
        "recordings_waiting",
        "Recordings that wait on this machine for the object store",
        recordings.waiting.clone(),
    );
}

fn deliveries(all: &mut Registry, deliveries: &Deliveries) {
    all.register(
        "delivery_attempts",
        "Webhook attempts by what came of them: the class of the status, or the error",
        deliveries.attempts.clone(),
    );
    all.register_with_unit(
        "delivery_attempt_duration",
        "Time of a webhook attempt",
        Unit::Seconds,
        deliveries.durations.clone(),
    );
    all.register(
        "deliveries_in_flight",
        "Webhook attempts under way",
        deliveries.in_flight.clone(),
    );
    all.register(
        "deliveries_unrecorded",
        "Results of attempts that the database has not heard of",
        deliveries.unrecorded.clone(),
    );
    all.register(
        "deliveries_backlog",
        "Deliveries that are not done, in the whole deployment; counted up to 100000",
        deliveries.backlog.clone(),
    );
    all.register_with_unit(
        "deliveries_oldest_due",
        "How long the delivery that has been due longest has waited",
        Unit::Seconds,
        deliveries.oldest_due.clone(),
    );
}

fn work(all: &mut Registry, knowledge: &Knowledge, jobs: &Jobs) {
    all.register(
        "documents_read",
        "Documents read here, by what came of them",
        knowledge.read.clone(),
    );
    all.register(
        "documents_waiting",
        "Documents that wait to be read, in the whole deployment",
        knowledge.waiting.clone(),
    );
    all.register(
        "documents_to_embed",
        "Documents that wait for their vectors, in the whole deployment",
        knowledge.to_embed.clone(),
    );
    all.register(
        "job_runs",
        "Runs of jobs in this process, by outcome",
        jobs.runs.clone(),
    );
    all.register_with_unit(
        "job_last_success_timestamp",
        "When a job last succeeded in this process, Unix time",
        Unit::Seconds,
        jobs.last_success.clone(),
    );
    all.register(
        "ready",
        "Whether this process can serve (/readyz)",
        jobs.ready.clone(),
    );
    all.register(
        "batches_waiting",
        "Batches with somebody still to call, in the whole deployment",
        jobs.waiting_batches.clone(),
    );
}

fn database(all: &mut Registry, database: &Database) {
    all.register_with_unit(
        "db_unit_duration",
        "Time of a unit of work on the database, its waiting included",
        Unit::Seconds,
        database.durations.clone(),
    );
    all.register(
        "db_errors",
        "Units of work that the database did not do, by kind",
        database.errors.clone(),
    );
    all.register_with_unit(
        "db_connection_wait",
        "Time that a unit of work waited for its connection (PostgreSQL)",
        Unit::Seconds,
        database.waits.clone(),
    );
    all.register(
        "db_connections",
        "Connections to PostgreSQL",
        database.pool.clone(),
    );
    all.register(
        "db_waiting",
        "Units of work that wait for a connection (PostgreSQL) or a reader (SQLite)",
        database.waiting.clone(),
    );
    all.register(
        "db_writer_queue",
        "Writes that wait for the writer (SQLite)",
        database.writer_queue.clone(),
    );
}
