//! The use cases, put together.

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
    Chats, Conversations, Credentials, Dialer, Health, Inbound, Integrations, Keys, Knowledge,
    Legacy, Librarian, Network, Numbers, Overview, People, PlanChanges, RecordingKeeper,
    RequestLogs, Restored, Retention, Shared, Talks, Team, ToolShelf, UploadCollector, Voices,
    Wakes, Webhooks, WhatsApp, Widgets, calls, chats, counting, dialer, knowledge, legacy,
    recordings, signals, talks, uploads,
};

/// What the use cases stand on.
pub struct ServicesConfig {
    /// The rows.
    pub store: Store,
    /// The present.
    pub clock: Arc<dyn Clock>,
    /// The terms of every plan.
    pub plans: Plans,
    /// The models that agents may name.
    pub models: Arc<dyn Models>,
    /// The phone network.
    pub network: Network,
    /// The recognisers and voices that agents may name.
    pub speech: Arc<dyn Speech>,
    /// The provider of the legacy agents.
    pub legacy: Arc<dyn LegacyProvider>,
    /// Where files are kept.
    pub objects: Objects,
    /// This process.
    pub node: NodeId,
    /// Whether this process shares its limits through Redis.
    pub has_redis: bool,
    /// What webhook URLs may point to.
    pub webhook_policy: Policy,
    /// What `http` tools ask through; its policy says what their URLs may point to.
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
    /// Accounts.
    accounts: Accounts = Accounts(shared.clone()),
    /// Keys.
    keys: Keys = Keys::new(shared.clone()),
    /// Agents.
    agents: Agents = Agents::new(shared.clone(), voices.clone()),
    /// Analyses of conversations.
    analyses: Analyses = Analyses(shared.clone()),
    /// Billing.
    billing: Billing = Billing(shared.clone()),
    /// Calls.
    calls: Calls = Calls(shared.clone()),
    /// Batch calls.
    batches: Batches = Batches(shared.clone()),
    /// Text conversations.
    chats: Chats = Chats(shared.clone()),
    /// Spoken conversations of web pages.
    talks: Talks = Talks(shared.clone()),
    /// Widgets of agents.
    widgets: Widgets = Widgets(shared.clone()),
    /// Conversations.
    conversations: Conversations = Conversations(shared.clone()),
    /// Credentials of accounts at providers.
    credentials: Credentials = Credentials::new(shared.clone()),
    /// Legacy agents.
    legacy: Legacy = Legacy(shared.clone()),
    /// Phone numbers.
    numbers: Numbers = Numbers(shared.clone()),
    /// Tools.
    tools: ToolShelf = ToolShelf(shared.clone()),
    /// Webhooks.
    webhooks: Webhooks = Webhooks(shared.clone()),
    /// The people who work with an account.
    team: Team = Team(shared.clone()),
    /// People who sign in to the portal.
    people: People = People::new(shared.clone()),
    /// Integrations.
    integrations: Integrations = Integrations(shared.clone()),
    /// Voices.
    voices: Voices = voices.clone(),
    /// The request log.
    request_logs: RequestLogs = RequestLogs::new(shared.clone()),
    /// Whether this process can serve.
    health: Health = Health(shared.clone()),
    /// Calls that come in.
    inbound: Inbound = Inbound::new(shared.clone()),
    /// What happens in an account now and in its last day.
    overview: Overview = Overview(shared.clone()),
    /// Knowledge documents and folders.
    knowledge: Knowledge = Knowledge(shared.clone()),
    /// Conversations on WhatsApp.
    whatsapp: WhatsApp = WhatsApp(shared.clone()),
}

impl Services {
    /// Puts the use cases together.
    ///
    /// # Errors
    /// [`CatalogError`] if a shipped catalog does not hold what it should.
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
            counting: counting::Counting::default(),
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

    /// The present.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The rows, for the workers that stand beside the use cases.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// What wakes this process's workers.
    pub fn wakes(&self) -> &Wakes {
        &self.shared.wakes
    }

    /// The same, with voice providers to ask.
    #[must_use]
    pub fn with_voice_libraries(mut self, libraries: Vec<Arc<dyn VoiceLibrary>>) -> Self {
        self.voices = self.voices.with_libraries(libraries);
        self.agents = Agents::new(self.shared.clone(), self.voices.clone());
        self
    }

    /// The same, with applications that accounts can connect. The first ones given stay.
    #[must_use]
    pub fn with_applications(self, applications: Vec<Arc<dyn Application>>) -> Self {
        let _ = self.shared.applications.set(applications);
        self
    }

    /// The same, with an endpoint by which documents are also found by their meaning. The first one given stays.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Arc<dyn Embeddings>) -> Self {
        let _ = self.shared.meaning.set(knowledge::Meaning::new(embeddings));
        self
    }

    /// The same, with the door of a carrier that speaks HTTP. The first one given stays.
    #[must_use]
    pub fn with_carrier_door(self, door: Arc<dyn CarrierDoor>) -> Self {
        let _ = self.shared.carrier_door.set(door);
        self
    }

    /// The door of the carrier, if it speaks HTTP.
    pub fn carrier_door(&self) -> Option<&Arc<dyn CarrierDoor>> {
        self.shared.carrier_door.get()
    }

    /// The same, with WhatsApp, by which numbers of accounts answer customers. The first one given stays; without one
    /// nobody is answered there.
    #[must_use]
    pub fn with_whatsapp(self, api: Arc<dyn WhatsAppApi>) -> Self {
        let _ = self.shared.whatsapp.set(api);
        self
    }

    /// The same, with a directory of this machine, for this process alone, where the recordings of spoken calls are
    /// until the object store has them. The first one given stays; without one no call is recorded.
    #[must_use]
    pub fn with_spool(self, directory: PathBuf) -> Self {
        self.shared.recordings.spool_in(directory);
        self
    }

    /// What brings recordings to the object store that were left on this machine.
    pub fn recording_keeper(&self) -> RecordingKeeper {
        RecordingKeeper(self.shared.clone())
    }

    /// Changes of plan.
    pub fn plan_changes(&self) -> PlanChanges {
        PlanChanges(self.shared.clone())
    }

    /// What deletes rows whose time is over.
    pub fn retention(&self) -> Retention {
        Retention(self.shared.clone())
    }

    /// A database that was restored from a backup.
    pub fn restored(&self) -> Restored {
        Restored(self.shared.clone())
    }

    /// What collects uploads that no document waits for.
    pub fn upload_collector(&self) -> UploadCollector {
        UploadCollector(self.shared.clone())
    }

    /// The model catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// The worker that reads documents: files by `extractor`, addresses by `client`.
    pub fn librarian(&self, extractor: Arc<dyn Extractor>, client: GuardedClient) -> Librarian {
        Librarian::new(self.shared.clone(), extractor, client)
    }

    /// The worker that dials and keeps house.
    pub fn dialer(&self) -> Dialer {
        Dialer::new(self.shared.clone(), self.keys.clone(), self.agents.clone())
    }
}
