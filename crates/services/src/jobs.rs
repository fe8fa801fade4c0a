//! The background work of a process: one supervised list of jobs.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::analyses::keep_analysing;
use crate::dialer::{self, Dialer};
use crate::prelude::*;
use crate::{
    Agents, Knowledge, RecordingKeeper, Renewals, RequestLogs, Retention, Services,
    UploadCollector, Voices, batches, campaigns, chats, clock, legacy, maintenance, signals,
    whatsapp,
};

/// When the graceful stop ends a job, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Begins nothing new once the process stops. Calls are ended only after these jobs are.
    Claims,
    /// Begins nothing new once the process stops, and is waited for as long as calls are.
    BesideCalls,
    /// Works until the last call is reported.
    Calls,
    /// Begins nothing new once the process stops, and is waited for as long as the HTTP server is.
    BesideServer,
    /// Writes what requests leave behind.
    Logs,
    /// Sends what calls and requests leave behind.
    Deliveries,
    /// Works until the process ends.
    Process,
}

/// The running jobs of a process. If one ends before its phase does, its work is no longer done here, so the process
/// should end and let another one do it.
pub struct Jobs {
    runner: Arc<Runner>,
    phases: HashMap<Phase, (CancellationToken, TaskTracker)>,
    hurry: CancellationToken,
    ended: mpsc::UnboundedSender<(&'static str, Phase)>,
    ends: mpsc::UnboundedReceiver<(&'static str, Phase)>,
    /// A job that calls need is lost, so nothing here can end them politely.
    has_lost_calls: bool,
}

impl Services {
    /// Starts every job of the use cases. Those that need more are added by the caller.
    pub fn start_jobs(&self) -> Jobs {
        use Phase::{BesideCalls, BesideServer, Logs};
        let (voices, logs) = (self.voices().clone(), self.request_logs().clone());
        let (texts, renewals) = (self.knowledge().clone(), self.integrations().renewals());
        let mut jobs = self.start_call_jobs();
        jobs.start("embeddings", BesideCalls, texts, Knowledge::keep_embedding);
        jobs.start("integrations", BesideCalls, renewals, Renewals::run);
        jobs.start("voices", BesideServer, voices, Voices::run);
        jobs.start("logs", Logs, logs, RequestLogs::run);
        jobs
    }

    /// Starts the jobs that calls need.
    pub fn start_call_jobs(&self) -> Jobs {
        use Phase::{Calls, Claims};
        let runner = || self.runner.clone();
        let ctx = || self.runner.ctx.clone();
        let live = self.runner.live.clone();
        let providers = self.runner.providers.clone();
        let (membership, keys) = (self.membership.clone(), self.keys().clone());
        let (agents, batches) = (self.agents().clone(), self.batches().clone());
        let campaigns = self.campaigns().clone();
        let (keeper, collector) = (self.recording_keeper(), self.upload_collector());
        let whatsapp = (runner(), self.whatsapp().clone());
        let mut jobs = Jobs::new(runner());
        jobs.start("dialer", Claims, Dialer::new(runner()), Dialer::run);
        jobs.start("orphans", Claims, runner(), dialer::sweep);
        jobs.start("agents", Claims, agents, Agents::keep_judging);
        jobs.start("analyses", Claims, (ctx(), providers), keep_analysing);
        jobs.start("silent_chats", Claims, runner(), chats::end_the_silent);
        jobs.start("whatsapp", Claims, whatsapp, whatsapp::keep_answering);
        jobs.start("batches", Claims, batches, batches::keep_calling);
        jobs.start("campaigns", Claims, campaigns, campaigns::keep_calling);
        jobs.start("clock", Calls, ctx(), clock::keep);
        jobs.start("leases", Calls, (runner(), membership), dialer::keep_leases);
        jobs.start("hangups", Calls, runner(), dialer::obey_hangups);
        jobs.start("maintenance", Calls, (ctx(), keys), maintenance::keep);
        jobs.start("signals", Calls, (ctx(), live), signals::exchange);
        jobs.start("legacy", Calls, runner(), legacy::keep_in_step);
        jobs.start("retention", Calls, self.retention(), Retention::run);
        jobs.start("uploads", Calls, collector, UploadCollector::run);
        jobs.start("recordings", Calls, keeper, RecordingKeeper::run);
        jobs
    }
}

impl Jobs {
    fn new(runner: Arc<Runner>) -> Self {
        let (ended, ends) = mpsc::unbounded_channel();
        Self {
            runner,
            phases: HashMap::new(),
            hurry: CancellationToken::new(),
            ended,
            ends,
            has_lost_calls: false,
        }
    }

    /// Starts a job that works until its token is canceled.
    pub fn start<T, F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        phase: Phase,
        with: T,
        work: impl FnOnce(T, CancellationToken) -> F,
    ) {
        let (stop, tasks) = self.phases.entry(phase).or_default();
        let (work, ended) = (work(with, stop.clone()), self.ended.clone());
        let job = async move {
            failpoints::begin_worker(name);
            work.await;
        };
        let watched = async move {
            // A panic is logged where it happens.
            let _ = AssertUnwindSafe(job).catch_unwind().await;
            let _ = ended.send((name, phase));
        };
        tasks.spawn(watched.boxed());
    }

    /// Waits for a job that ends while it should work, and returns its name.
    pub async fn lost(&mut self) -> &'static str {
        let Some((name, phase)) = self.ends.recv().await else {
            return std::future::pending().await;
        };
        tracing::error!(job = name, "a job ended unexpectedly");
        self.has_lost_calls |= matches!(phase, Phase::Claims | Phase::Calls);
        name
    }

    /// Once canceled, live calls are no longer waited for: they say goodbye.
    pub fn hurry(&self) -> CancellationToken {
        self.hurry.clone()
    }

    /// Ends the jobs that claim work, then the calls of this process, then the jobs that calls need. Live calls continue
    /// for the drain time or until `hurry`; the rest then say goodbye (`interrupted`).
    pub async fn end_calls(&self) {
        for phase in [Phase::Claims, Phase::BesideCalls, Phase::BesideServer] {
            if let Some((stop, _)) = self.phases.get(&phase) {
                stop.cancel();
            }
        }
        tokio::join!(self.drain(), self.end(Phase::BesideCalls));
    }

    async fn drain(&self) {
        if self.has_lost_calls {
            return;
        }
        self.end(Phase::Claims).await;
        dialer::drain(&self.runner, &self.hurry).await;
        self.end(Phase::Calls).await;
        let signed_off = self.runner.store.leave_node(self.runner.node).await;
        if signed_off.is_err() {
            tracing::warn!("this node could not be signed off; its lease will run out");
        }
    }

    /// Ends the jobs of a phase.
    pub async fn end(&self, phase: Phase) {
        if let Some((stop, tasks)) = self.phases.get(&phase) {
            stop.cancel();
            tasks.close();
            tasks.wait().await;
        }
    }
}
