//! Builds the use cases.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use offhook_documents::Extractor;
use offhook_domain::{Clock, NodeId, Plans};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::Latencies;
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::door::CarrierDoor;
use offhook_engine::ports::speech::Speech;
use offhook_engine::ports::{Application, Embeddings, Models, VoiceLibrary};
use offhook_engine::whatsapp::WhatsAppApi;
use offhook_objects::Objects;
use offhook_storage::Store;
use tokio_util::task::TaskTracker;

use crate::feed::Feed;
use crate::{
    Accounts, Agents, Analyses, Batches, Billing, CallSettings, Calls, Catalog, CatalogError,
    Chats, Conversations, Credentials, Dialer, DocumentWorker, Health, Inbound, Integrations, Keys,
    Knowledge, Legacy, Network, Numbers, Overview, People, PlanChanges, RecordingKeeper,
    RequestLogs, Restored, Retention, Shared, Talks, Team, ToolShelf, UploadCollector, Voices,
    Wakes, Webhooks, WhatsApp, Widgets, calls, chats, dialer, knowledge, legacy, recordings,
    redis_membership, signals, talks, uploads,
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
    /// How calls are placed and kept.
    pub calls: CallSettings,
}

macro_rules! use_cases {
    (|$shared:ident, $voices:ident| $($(#[$doc:meta])* $name:ident: $type:ident = $use_case:expr,)*) => {
        /// Every use case, over one set of resources. Cheap to clone.
        #[derive(Clone)]
        pub struct Services {
            pub(crate) shared: Arc<Shared>,
            $($name: $type,)*
        }

        impl Services {
            fn of($shared: Arc<Shared>, $voices: Voices) -> Self {
                Self {
                    $($name: $use_case,)*
                    shared: $shared,
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

use_cases! { |shared, voices|
    accounts: Accounts = Accounts(shared.clone()),
    keys: Keys = Keys::new(shared.clone()),
    agents: Agents = Agents::new(shared.clone(), voices.clone()),
    analyses: Analyses = Analyses(shared.clone()),
    billing: Billing = Billing(shared.clone()),
    calls: Calls = Calls(shared.clone()),
    batches: Batches = Batches(shared.clone()),
    /// Text conversations.
    chats: Chats = Chats(shared.clone()),
    /// Spoken conversations from web pages.
    talks: Talks = Talks(shared.clone()),
    widgets: Widgets = Widgets(shared.clone()),
    conversations: Conversations = Conversations(shared.clone()),
    /// Accounts' credentials at providers.
    credentials: Credentials = Credentials::new(shared.clone()),
    legacy: Legacy = Legacy(shared.clone()),
    numbers: Numbers = Numbers(shared.clone()),
    tools: ToolShelf = ToolShelf(shared.clone()),
    webhooks: Webhooks = Webhooks(shared.clone()),
    /// The members of an account.
    team: Team = Team(shared.clone()),
    /// Users who sign in to the portal.
    people: People = People::new(shared.clone()),
    integrations: Integrations = Integrations(shared.clone()),
    voices: Voices = voices.clone(),
    request_logs: RequestLogs = RequestLogs::new(shared.clone()),
    /// Whether this process can serve.
    health: Health = Health(shared.clone()),
    /// Incoming calls.
    inbound: Inbound = Inbound::new(shared.clone()),
    /// An account's activity now and in the last day.
    overview: Overview = Overview(shared.clone()),
    /// Knowledge documents and folders.
    knowledge: Knowledge = Knowledge(shared.clone()),
    /// Conversations on WhatsApp.
    whatsapp: WhatsApp = WhatsApp(shared.clone()),
}

impl Services {
    /// Fails if a shipped catalog is invalid.
    pub fn new(config: ServicesConfig) -> Result<Self, CatalogError> {
        let catalog = Catalog::load(&config.plans)?;
        let legacy_price = legacy::price(&config.plans)?;
        let shared = Arc::new(Shared {
            store: config.store,
            clock: config.clock,
            plans: config.plans,
            catalog,
            models: config.models,
            latencies: Latencies::default(),
            network: config.network,
            speech: config.speech,
            legacy: config.legacy,
            legacy_price,
            legacy_looks: legacy::Looks::default(),
            files_are_shared: config.objects.is_shared(),
            recordings: recordings::Recordings::new(config.objects.clone()),
            uploads: uploads::Uploads::new(config.objects),
            node: config.node,
            has_redis: config.has_redis,
            redis_membership: redis_membership::RedisMembership::default(),
            webhook_policy: config.webhook_policy,
            tool_client: config.tool_client,
            calls: config.calls,
            feed: Feed::default(),
            signals: signals::Signals::default(),
            wakes: Wakes::default(),
            registry: dialer::Registry::default(),
            held: TaskTracker::new(),
            applications: OnceLock::new(),
            meaning: OnceLock::new(),
            carrier_door: OnceLock::new(),
            placed_by: calls::PlacedBy::default(),
            chats: chats::Work::here(),
            talkers: talks::Addresses::default(),
            whatsapp: OnceLock::new(),
            listeners: talks::Listeners::default(),
            stopping: AtomicBool::new(false),
        });
        let voices = Voices::new(shared.clone())?;
        Ok(Self::of(shared, voices))
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The store, for the workers beside the use cases.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Wakes this process's workers.
    pub fn wakes(&self) -> &Wakes {
        &self.shared.wakes
    }

    /// Adds the providers whose voices can be listed.
    #[must_use]
    pub fn with_voice_libraries(mut self, libraries: Vec<Arc<dyn VoiceLibrary>>) -> Self {
        self.voices = self.voices.with_libraries(libraries);
        self.agents = Agents::new(self.shared.clone(), self.voices.clone());
        self
    }

    /// Adds the applications that accounts can connect. The first call wins.
    #[must_use]
    pub fn with_applications(self, applications: Vec<Arc<dyn Application>>) -> Self {
        let _ = self.shared.applications.set(applications);
        self
    }

    /// Adds an embeddings endpoint, so that documents are also found by meaning. The first call wins.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Arc<dyn Embeddings>) -> Self {
        let _ = self.shared.meaning.set(knowledge::Meaning::new(embeddings));
        self
    }

    /// Adds the webhook endpoint of a carrier that speaks HTTP. The first call wins.
    #[must_use]
    pub fn with_carrier_door(self, door: Arc<dyn CarrierDoor>) -> Self {
        let _ = self.shared.carrier_door.set(door);
        self
    }

    /// The carrier's webhook endpoint, if it speaks HTTP.
    pub fn carrier_door(&self) -> Option<&Arc<dyn CarrierDoor>> {
        self.shared.carrier_door.get()
    }

    /// Adds WhatsApp, where accounts' numbers answer customers. The first call wins; without it, no customer is
    /// answered there.
    #[must_use]
    pub fn with_whatsapp(self, api: Arc<dyn WhatsAppApi>) -> Self {
        let _ = self.shared.whatsapp.set(api);
        self
    }

    /// Adds a local directory, for this process alone, that holds recordings of spoken calls until the object store has
    /// them. The first call wins; without it, no call is recorded.
    #[must_use]
    pub fn with_spool(self, directory: PathBuf) -> Self {
        self.shared.recordings.spool_in(directory);
        self
    }

    /// Uploads recordings left on this machine to the object store.
    pub fn recording_keeper(&self) -> RecordingKeeper {
        RecordingKeeper(self.shared.clone())
    }

    pub fn plan_changes(&self) -> PlanChanges {
        PlanChanges(self.shared.clone())
    }

    /// Deletes rows whose retention has ended.
    pub fn retention(&self) -> Retention {
        Retention(self.shared.clone())
    }

    /// A database that was restored from a backup.
    pub fn restored(&self) -> Restored {
        Restored(self.shared.clone())
    }

    /// Deletes uploads that no document waits for.
    pub fn upload_collector(&self) -> UploadCollector {
        UploadCollector(self.shared.clone())
    }

    /// The model catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// The worker that reads documents: files with `extractor`, URLs with `client`.
    pub fn document_worker(
        &self,
        extractor: Arc<dyn Extractor>,
        client: GuardedClient,
    ) -> DocumentWorker {
        DocumentWorker::new(self.shared.clone(), extractor, client)
    }

    /// The worker that dials and runs maintenance.
    pub fn dialer(&self) -> Dialer {
        Dialer::new(self.shared.clone(), self.keys.clone(), self.agents.clone())
    }
}
