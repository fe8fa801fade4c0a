//! Offhook's use cases: the rules that need data. HTTP, portal and command line all come through here.

mod accounts;
mod agents;
mod analyses;
mod batches;
mod billing;
mod calls;
mod catalog;
mod chats;
mod clock;
mod conversations;
mod counting;
mod credentials;
mod dialer;
mod draining;
mod events;
mod feed;
mod figures;
mod folding;
mod health;
mod housekeeping;
mod inbound;
mod integrations;
mod keys;
mod knowledge;
mod legacy;
mod network;
mod numbers;
mod overview;
mod page;
mod people;
mod plan_changes;
mod price;
mod recordings;
mod refusal;
mod request_logs;
mod restored;
mod retention;
mod signals;
mod speech;
mod spoken;
mod talks;
mod team;
mod toolkits;
mod tools;
mod uploads;
mod urls;
mod voices;
mod webhooks;
mod whatsapp;
mod widgets;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use offhook_documents::Extractor;
use offhook_domain::{Clock, NodeId, Plans, Price};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::Latencies;
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::Application;
use offhook_engine::ports::Embeddings;
use offhook_engine::ports::Models;
use offhook_engine::ports::VoiceLibrary;
use offhook_engine::ports::speech::Speech;
use offhook_engine::whatsapp::WhatsAppApi;
use offhook_objects::Objects;
use offhook_storage::Store;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

pub use accounts::{AccountError, Accounts};
pub use agents::{AgentError, AgentVersionView, AgentView, Agents};
pub use analyses::{Analyses, AnalysisSchemaView};
pub use batches::{BatchBody, BatchError, Batches, PrintBatch};
pub use billing::{Billing, BillingError, USAGE_DAYS};
pub use calls::{CallSettings, Calls, HangUpError, Looks, PlaceCall, PlaceCallError, PlacedReply};
pub use catalog::{Catalog, CatalogError, Model, ModelKind, ModelPrice};
pub use chats::{
    Answering, ChatError, ChatEvent, ChatReply, ChatTranscript, Chats, OpenedChat, WidgetDoor,
};
pub use clock::{SharedClock, SystemClock};
pub use conversations::{Conversations, RecordingError, SoFar};
pub use credentials::{CredentialError, Credentials};
pub use dialer::Dialer;
pub use health::Health;
pub use inbound::{Inbound, InboundCall, NotAnswered, WaitingLine};
pub use integrations::{
    Begun, ConnectError, ConsentAnswer, Integration, IntegrationError, Integrations, Renewals,
};
pub use keys::{Caller, KeyError, KeyFault, Keys};
#[cfg(feature = "bench")]
#[doc(hidden)]
pub use knowledge::bench_index;
pub use knowledge::{
    Deleted, DocumentFile, Knowledge, KnowledgeError, Librarian, NewContent, SearchHit,
};
pub use legacy::{Legacy, ReportError, SyncError};
pub use network::Network;
pub use numbers::{Imported, NumberError, Numbers};
pub use offhook_documents as documents;
pub use offhook_engine::ports::door::{Callback as CarrierCallback, CarrierDoor, MediaConnection};
pub use offhook_objects as objects;
pub use offhook_storage as store;
pub use overview::{LastDay, Overview};
pub use page::{Page, PageRequest};
pub use people::{
    BeginError, ChangePasswordError, InvitationFor, JoinError, Link, LinkError, LinkFor,
    NewService, PASSWORD_LENGTHS, PasswordFault, People, Person, SignInError, SignedIn,
    TeamRefusal,
};
pub use plan_changes::{PlanChange, PlanChangeError, PlanChanges};
pub use recordings::{KeepError, Recording, RecordingKeeper};
pub use refusal::Refusal;
pub use request_logs::{Logged, RequestLogs};
pub use restored::{Held, Restored};
pub use retention::Retention;
pub use talks::{TALK_FRAME_BYTES, TALK_RATE, Talk, TalkError, TalkEvent, Talks};
pub use team::{Invited, Seats, Team, TeamError};
pub use toolkits::{Toolkit, Toolkits};
pub use tools::{ToolError, ToolShelf, ToolView};
pub use uploads::{CollectError, UploadCollector};
pub use voices::{ListedVoice, SyncOutcome, VoiceFilter, VoicePlace, VoiceSyncError, Voices};
pub use webhooks::{Registered, WebhookError, Webhooks, event_example};
pub use whatsapp::{WhatsApp, WhatsAppError};
pub use widgets::Widgets;

use feed::Feed;

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

/// Wakes the workers of this process; each also polls, so that a lost wake costs a moment and nothing else.
#[derive(Clone, Default)]
pub struct Wakes {
    /// A call has been queued, or a place has become free.
    pub dialer: Arc<Notify>,
    /// A delivery has become due.
    pub dispatcher: Arc<Notify>,
    /// How often this process has changed a webhook endpoint: what the dispatcher has claimed before is looked at again.
    pub endpoint_changes: Arc<AtomicU64>,
    /// A batch is to be looked at.
    pub batches: Arc<Notify>,
    /// A document waits to be read, or one was deleted.
    pub librarian: Arc<Notify>,
    /// A document waits to be embedded.
    pub embedder: Arc<Notify>,
    /// A customer has written on WhatsApp.
    pub whatsapp: Arc<Notify>,
    /// A conversation has ended that may be analysed.
    pub analyst: Arc<Notify>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) plans: Plans,
    pub(crate) catalog: Catalog,
    pub(crate) toolkits: Toolkits,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) latencies: Latencies,
    pub(crate) network: Network,
    pub(crate) speech: Arc<dyn Speech>,
    pub(crate) legacy: Arc<dyn LegacyProvider>,
    pub(crate) legacy_price: Price,
    /// The legacy calls that this process follows.
    pub(crate) legacy_looks: legacy::Looks,
    pub(crate) recordings: recordings::Recordings,
    pub(crate) uploads: uploads::Uploads,
    pub(crate) files_are_shared: bool,
    pub(crate) node: NodeId,
    pub(crate) has_redis: bool,
    pub(crate) counting: counting::Counting,
    pub(crate) webhook_policy: Policy,
    pub(crate) tool_client: GuardedClient,
    pub(crate) calls: CallSettings,
    pub(crate) feed: Feed,
    pub(crate) signals: signals::Signals,
    pub(crate) wakes: Wakes,
    pub(crate) registry: dialer::Registry,
    /// The calls that this process holds, as tasks: it ends when they have.
    pub(crate) held: TaskTracker,
    /// What accounts can connect, where this service is set up for any.
    pub(crate) applications: OnceLock<Vec<Arc<dyn Application>>>,
    /// Search by meaning, where an embeddings endpoint is configured.
    pub(crate) meaning: OnceLock<knowledge::Meaning>,
    /// Where a carrier that speaks HTTP comes in.
    pub(crate) carrier_door: OnceLock<Arc<dyn CarrierDoor>>,
    /// The requests that placed the calls that wait here.
    pub(crate) placed_by: calls::PlacedBy,
    /// Answers and endings of text conversations that are under way here.
    pub(crate) chats: chats::Work,
    /// By which customers are written to on WhatsApp.
    pub(crate) whatsapp: OnceLock<Arc<dyn WhatsAppApi>>,
    /// Pages that are told of the conversations which they hold here.
    pub(crate) listeners: talks::Listeners,
    /// This process is being stopped.
    pub(crate) stopping: AtomicBool,
}

/// Every use case, over one set of resources. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    shared: Arc<Shared>,
    accounts: Accounts,
    keys: Keys,
    agents: Agents,
    analyses: Analyses,
    billing: Billing,
    calls: Calls,
    batches: Batches,
    chats: Chats,
    talks: Talks,
    widgets: Widgets,
    conversations: Conversations,
    credentials: Credentials,
    legacy: Legacy,
    numbers: Numbers,
    tools: ToolShelf,
    webhooks: Webhooks,
    team: Team,
    people: People,
    integrations: Integrations,
    voices: Voices,
    request_logs: RequestLogs,
    health: Health,
    inbound: Inbound,
    overview: Overview,
    knowledge: Knowledge,
    whatsapp: WhatsApp,
}

impl Services {
    /// Puts the use cases together.
    ///
    /// # Errors
    /// [`CatalogError`] if a shipped catalog does not hold what it should.
    pub fn new(config: ServicesConfig) -> Result<Self, CatalogError> {
        let catalog = Catalog::load(&config.plans)?;
        let shared = Arc::new(Shared {
            store: config.store,
            clock: config.clock,
            plans: config.plans,
            catalog,
            toolkits: Toolkits::load()?,
            models: config.models,
            latencies: Latencies::default(),
            network: config.network,
            speech: config.speech,
            legacy: config.legacy,
            legacy_price: legacy::price()?,
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
            whatsapp: OnceLock::new(),
            listeners: talks::Listeners::default(),
            stopping: AtomicBool::new(false),
        });
        let voices = Voices::new(shared.clone())?;
        Ok(Self {
            accounts: Accounts::new(shared.clone()),
            keys: Keys::new(shared.clone()),
            agents: Agents::new(shared.clone(), voices.clone()),
            analyses: Analyses::new(shared.clone()),
            billing: Billing::new(shared.clone()),
            calls: Calls::new(shared.clone()),
            conversations: Conversations::new(shared.clone()),
            batches: Batches::new(shared.clone()),
            chats: Chats::new(shared.clone()),
            talks: Talks::new(shared.clone()),
            widgets: Widgets::new(shared.clone()),
            credentials: Credentials::new(shared.clone()),
            legacy: Legacy::new(shared.clone()),
            numbers: Numbers::new(shared.clone()),
            tools: ToolShelf::new(shared.clone()),
            webhooks: Webhooks::new(shared.clone()),
            team: Team::new(shared.clone()),
            people: People::new(shared.clone()),
            integrations: Integrations::new(shared.clone()),
            voices,
            request_logs: RequestLogs::new(shared.clone()),
            health: Health::new(shared.clone()),
            inbound: Inbound::new(shared.clone()),
            overview: Overview::new(shared.clone()),
            knowledge: Knowledge::new(shared.clone()),
            whatsapp: WhatsApp::new(shared.clone()),
            shared,
        })
    }

    /// The present.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The rows, for the workers that stand beside the use cases.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// What wakes this process's workers.
    #[must_use]
    pub fn wakes(&self) -> &Wakes {
        &self.shared.wakes
    }

    /// Accounts.
    #[must_use]
    pub const fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Keys.
    #[must_use]
    pub const fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Agents.
    #[must_use]
    pub const fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Analyses of conversations.
    #[must_use]
    pub const fn analyses(&self) -> &Analyses {
        &self.analyses
    }

    /// Billing.
    #[must_use]
    pub const fn billing(&self) -> &Billing {
        &self.billing
    }

    /// Calls.
    #[must_use]
    pub const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Conversations.
    #[must_use]
    pub const fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// Text conversations.
    #[must_use]
    pub const fn chats(&self) -> &Chats {
        &self.chats
    }

    /// Conversations on WhatsApp.
    #[must_use]
    pub const fn whatsapp(&self) -> &WhatsApp {
        &self.whatsapp
    }

    /// Spoken conversations of web pages.
    #[must_use]
    pub const fn talks(&self) -> &Talks {
        &self.talks
    }

    /// Widgets of agents.
    #[must_use]
    pub const fn widgets(&self) -> &Widgets {
        &self.widgets
    }

    /// Batch calls.
    #[must_use]
    pub const fn batches(&self) -> &Batches {
        &self.batches
    }

    /// Credentials of accounts at providers.
    #[must_use]
    pub const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Legacy agents.
    #[must_use]
    pub const fn legacy(&self) -> &Legacy {
        &self.legacy
    }

    /// Phone numbers.
    #[must_use]
    pub const fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Tools.
    #[must_use]
    pub const fn tools(&self) -> &ToolShelf {
        &self.tools
    }

    /// Webhooks.
    #[must_use]
    pub const fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// The people who work with an account.
    #[must_use]
    pub const fn team(&self) -> &Team {
        &self.team
    }

    /// People who sign in to the portal.
    #[must_use]
    pub const fn people(&self) -> &People {
        &self.people
    }

    /// Integrations.
    #[must_use]
    pub const fn integrations(&self) -> &Integrations {
        &self.integrations
    }

    /// The request log.
    #[must_use]
    pub const fn request_logs(&self) -> &RequestLogs {
        &self.request_logs
    }

    /// Voices.
    #[must_use]
    pub const fn voices(&self) -> &Voices {
        &self.voices
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
    #[must_use]
    pub fn carrier_door(&self) -> Option<&Arc<dyn CarrierDoor>> {
        self.shared.carrier_door.get()
    }

    /// The same, with WhatsApp, by which numbers of accounts answer customers. The first one given stays; without one nobody
    /// is answered there.
    #[must_use]
    pub fn with_whatsapp(self, api: Arc<dyn WhatsAppApi>) -> Self {
        let _ = self.shared.whatsapp.set(api);
        self
    }

    /// The same, with a directory of this machine, for this process alone, where the recordings of spoken calls are until
    /// the object store has them. The first one given stays; without one no call is recorded.
    #[must_use]
    pub fn with_spool(self, directory: PathBuf) -> Self {
        self.shared.recordings.spool_in(directory);
        self
    }

    /// What brings recordings to the object store that were left on this machine.
    #[must_use]
    pub fn recording_keeper(&self) -> RecordingKeeper {
        RecordingKeeper::new(self.shared.clone())
    }

    /// Changes of plan.
    #[must_use]
    pub fn plan_changes(&self) -> PlanChanges {
        PlanChanges::new(self.shared.clone())
    }

    /// What deletes rows whose time is over.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention::new(self.shared.clone())
    }

    /// A database that was restored from a backup.
    #[must_use]
    pub fn restored(&self) -> Restored {
        Restored::new(self.shared.clone())
    }

    /// What collects uploads that no document waits for.
    #[must_use]
    pub fn upload_collector(&self) -> UploadCollector {
        UploadCollector::new(self.shared.clone())
    }

    /// The model catalog.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Whether this process can serve.
    #[must_use]
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Calls that come in.
    #[must_use]
    pub const fn inbound(&self) -> &Inbound {
        &self.inbound
    }

    /// What happens in an account now and in its last day.
    #[must_use]
    pub const fn overview(&self) -> &Overview {
        &self.overview
    }

    /// Knowledge documents and folders.
    #[must_use]
    pub const fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// The worker that reads documents: files by `extractor`, addresses by `client`.
    #[must_use]
    pub fn librarian(&self, extractor: Arc<dyn Extractor>, client: GuardedClient) -> Librarian {
        Librarian::new(self.shared.clone(), extractor, client)
    }

    /// The worker that dials and keeps house.
    #[must_use]
    pub fn dialer(&self) -> Dialer {
        Dialer::new(self.shared.clone(), self.keys.clone(), self.agents.clone())
    }
}
