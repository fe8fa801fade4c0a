//! Builds the use cases.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use offhook_documents::Extractor;
use offhook_domain::ports::whatsapp::WhatsAppApi;
use offhook_domain::ports::{Application, Embeddings, VoiceLibrary};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::Latencies;
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::Models;
use offhook_engine::ports::callbacks::CarrierCallbacks;
use offhook_engine::ports::speech::Speech;
use offhook_objects::Objects;
use tokio::sync::watch;

use crate::own_keys::Listed;
use crate::prelude::*;
use crate::recordings::Recordings;
use crate::redis_membership::RedisMembership;
use crate::uploads::Uploads;
use crate::{
    Accounts, Agents, Analyses, Batches, Billing, CallSettings, Calls, Campaigns, Catalog,
    CatalogError, Chats, Conversations, Credentials, DocumentWorker, Gate, Health, Inbound,
    Integrations, Keys, Knowledge, Legacy, Network, Numbers, Overview, People, PlanChanges,
    RecordingKeeper, RequestLogs, Restored, Retention, Scenarios, Seller, Talks, Team, ToolShelf,
    Trials, UploadCollector, Voices, Wakes, Webhooks, WhatsApp, Widgets, chats, knowledge, legacy,
};

/// What the use cases need.
pub struct ServicesConfig {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// The terms of every plan.
    pub plans: Plans,
    /// The language models that agents may name.
    pub models: Arc<dyn Models>,
    pub network: Network,
    /// The recognizers and voices that agents may name.
    pub speech: Arc<dyn Speech>,
    /// The provider of the legacy agents.
    pub legacy: Arc<dyn LegacyProvider>,
    /// Where files are stored.
    pub objects: Objects,
    /// The id of this process.
    pub node: NodeId,
    /// Whether this process shares its limits through Redis.
    pub has_redis: bool,
    /// The URLs that webhooks may point to.
    pub webhook_policy: Policy,
    /// The client of `http` tools; its policy says which URLs they may point to.
    pub tool_client: GuardedClient,
    /// The client of accounts' identity providers; its policy says which URLs they may have.
    pub sso_client: GuardedClient,
    /// How calls are placed and kept.
    pub calls: CallSettings,
}

macro_rules! use_cases {
    (
        |$runner:ident, $membership:ident, $voices:ident, $policy:ident|
        let $parts:pat = $whole:expr;
        $($(#[$doc:meta])* $name:ident: $type:ident = $use_case:expr,)*
    ) => {
        /// Every use case. Cheap to clone.
        #[derive(Clone)]
        pub struct Services {
            pub(crate) runner: Arc<Runner>,
            pub(crate) membership: Arc<RedisMembership>,
            $($name: $type,)*
        }

        impl Services {
            fn of(
                $runner: Arc<Runner>,
                $membership: Arc<RedisMembership>,
                $voices: Voices,
                $policy: Policy,
            ) -> Self {
                let $parts = $whole;
                Self {
                    $($name: $use_case,)*
                    runner: $runner.clone(),
                    membership: $membership,
                }
            }

            $($(#[$doc])*
            #[must_use]
            pub const fn $name(&self) -> &$type {
                &self.$name
            })*
        }
    };
}

use_cases! {
    |runner, membership, voices, policy|
    let Runner { ctx, live, providers, recordings, .. } = &*runner;

    accounts: Accounts = Accounts(ctx.clone()),
    keys: Keys = Keys::new(ctx.clone()),
    agents: Agents = Agents::new(ctx.clone(), providers.clone(), voices.clone(), runner.tool_client.clone()),
    analyses: Analyses = Analyses(ctx.clone()),
    billing: Billing = Billing(ctx.clone(), Arc::default()),
    calls: Calls = Calls { ctx: ctx.clone(), live: live.clone(), providers: providers.clone() },
    /// Whom an account calls.
    gate: Gate = Gate { ctx: ctx.clone(), live: live.clone(), providers: providers.clone() },
    batches: Batches = Batches(ctx.clone(), providers.clone()),
    /// Calls of engine agents to many recipients.
    campaigns: Campaigns = Campaigns(ctx.clone(), providers.clone()),
    /// Text conversations.
    chats: Chats = Chats(runner.clone()),
    /// Spoken conversations from web pages.
    talks: Talks = Talks(runner.clone(), Arc::default()),
    /// Members' trials of drafts.
    trials: Trials = Trials(runner.clone(), Arc::default()),
    /// Conversations that agents are tested with.
    scenarios: Scenarios = Scenarios {
        trials: Trials(runner.clone(), Arc::default()), running: Arc::default(), actor: Actor::Operator,
    },
    widgets: Widgets = Widgets(ctx.clone()),
    conversations: Conversations = Conversations {
        ctx: ctx.clone(), live: live.clone(), recordings: recordings.clone(), providers: providers.clone(),
    },
    /// Accounts' credentials at providers.
    credentials: Credentials = Credentials::new(ctx.clone()),
    legacy: Legacy = Legacy(runner.clone()),
    numbers: Numbers = Numbers { ctx: ctx.clone(), network: runner.providers.network.clone() },
    tools: ToolShelf = ToolShelf { ctx: ctx.clone(), client: runner.tool_client.clone() },
    webhooks: Webhooks = Webhooks { ctx: ctx.clone(), live: live.clone(), policy },
    /// The members of an account.
    team: Team = Team(ctx.clone()),
    /// Users who sign in to the portal.
    people: People = People::new(ctx.clone(), runner.sso_client.clone()),
    integrations: Integrations = runner.integrations.clone(),
    voices: Voices = voices.clone(),
    request_logs: RequestLogs = RequestLogs::new(ctx.clone()),
    /// Whether this process can serve.
    health: Health = Health { ctx: ctx.clone(), live: live.clone(), membership: membership.clone() },
    /// Incoming calls.
    inbound: Inbound = Inbound::new(runner.clone()),
    /// An account's activity now and in the last day.
    overview: Overview = Overview(ctx.clone()),
    /// Knowledge documents and folders.
    knowledge: Knowledge = runner.knowledge.clone(),
    /// Conversations on WhatsApp.
    whatsapp: WhatsApp = WhatsApp(ctx.clone(), Arc::default()),
}

impl Services {
    /// Fails if a shipped catalog is invalid.
    pub fn new(config: ServicesConfig) -> Result<Self, CatalogError> {
        let files_are_shared = config.objects.is_shared();
        let catalog = Arc::new(Catalog::load(&config.plans)?);
        let providers = Arc::new(Providers {
            models: Arc::new(Listed::new(&config.models, &catalog)),
            catalog,
            latencies: Latencies::default(),
            network: config.network,
            speech: config.speech,
            legacy: config.legacy,
            legacy_price: legacy::price(&config.plans)?,
        });
        let ctx = Arc::new(Context {
            store: config.store,
            clock: config.clock,
            plans: config.plans,
            calls: config.calls,
            node: config.node,
            wakes: Wakes::default(),
            stopping: AtomicBool::new(false),
        });
        let live = Arc::new(Live {
            chats: chats::Work::here(),
            ..Live::default()
        });
        let recordings = Recordings::new(
            ctx.clone(),
            live.clone(),
            providers.clone(),
            config.objects.clone(),
        );
        let runner = Arc::new(Runner {
            live,
            providers,
            recordings: Arc::new(recordings),
            knowledge: Knowledge {
                ctx: ctx.clone(),
                uploads: Arc::new(Uploads::new(config.objects)),
                meaning: Arc::default(),
            },
            integrations: Integrations(ctx.clone(), Arc::default()),
            tool_client: config.tool_client,
            sso_client: config.sso_client,
            ctx,
        });
        let membership = RedisMembership::new(config.has_redis, files_are_shared);
        let voices = Voices::new(runner.ctx.clone())?;
        Ok(Self::of(
            runner,
            Arc::new(membership),
            voices,
            config.webhook_policy,
        ))
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.runner.clock
    }

    /// The store, for the workers beside the use cases.
    pub fn store(&self) -> &Store {
        &self.runner.store
    }

    /// Wakes this process's workers.
    pub fn wakes(&self) -> &Wakes {
        &self.runner.wakes
    }

    /// Adds the providers whose voices can be listed.
    #[must_use]
    pub fn with_voice_libraries(mut self, libraries: Vec<Arc<dyn VoiceLibrary>>) -> Self {
        self.voices = self.voices.with_libraries(libraries);
        self.agents.voices = self.voices.clone();
        self
    }

    /// Sets who makes out the invoices.
    #[must_use]
    pub fn with_seller(mut self, seller: Seller) -> Self {
        self.billing.1 = Arc::new(Some(seller));
        self
    }

    /// Adds the applications that accounts can connect. The first call wins.
    #[must_use]
    pub fn with_applications(self, applications: Vec<Arc<dyn Application>>) -> Self {
        let _ = self.runner.integrations.1.set(applications);
        self
    }

    /// Adds an embeddings endpoint, so that documents are also found by meaning. The first call wins.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Arc<dyn Embeddings>) -> Self {
        let _ = self
            .runner
            .knowledge
            .meaning
            .set(knowledge::Meaning::new(embeddings));
        self
    }

    /// Adds the webhook endpoint of a carrier that speaks HTTP. The first call wins.
    #[must_use]
    pub fn with_carrier_door(self, door: Arc<dyn CarrierCallbacks>) -> Self {
        let _ = self.inbound.door.set(door);
        self
    }

    /// The carrier's webhook endpoint, if it speaks HTTP.
    pub fn carrier_door(&self) -> Option<&Arc<dyn CarrierCallbacks>> {
        self.inbound.door.get()
    }

    /// Adds WhatsApp, where accounts' numbers answer customers. The first call wins; without it, no customer is
    /// answered there.
    #[must_use]
    pub fn with_whatsapp(self, api: Arc<dyn WhatsAppApi>) -> Self {
        let _ = self.whatsapp.1.set(api);
        self
    }

    /// Adds a local directory, for this process alone, that holds recordings of spoken calls until the object store has
    /// them. The first call wins; without it, no call is recorded.
    #[must_use]
    pub fn with_spool(self, directory: PathBuf) -> Self {
        self.runner.recordings.spool_in(directory);
        self
    }

    /// Uploads recordings left on this machine to the object store.
    pub fn recording_keeper(&self) -> RecordingKeeper {
        RecordingKeeper(self.runner.recordings.clone())
    }

    pub fn plan_changes(&self) -> PlanChanges {
        PlanChanges(self.runner.ctx.clone())
    }

    /// Deletes rows whose retention has ended.
    pub fn retention(&self) -> Retention {
        Retention(self.runner.ctx.clone(), self.runner.recordings.clone())
    }

    /// A database that was restored from a backup.
    pub fn restored(&self) -> Restored {
        Restored(self.runner.ctx.clone(), self.runner.live.clone())
    }

    /// Deletes uploads that no document waits for.
    pub fn upload_collector(&self) -> UploadCollector {
        UploadCollector(self.runner.ctx.clone(), self.knowledge.uploads.clone())
    }

    /// The model catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.runner.providers.catalog
    }

    /// The worker that reads documents: files with `extractor`, URLs with `client`.
    pub fn document_worker(
        &self,
        extractor: Arc<dyn Extractor>,
        client: GuardedClient,
    ) -> DocumentWorker {
        DocumentWorker::new(self.knowledge.clone(), extractor, client)
    }

    /// Publishes the name of this process's Redis to the other processes on its database. The name is stored in that
    /// Redis.
    pub fn counts_in(&self, redis: watch::Receiver<Option<Arc<str>>>) {
        self.membership.count_in(redis);
    }
}
