//! The resources that the use cases share.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use offhook_domain::{Clock, NodeId, Plans, Price};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::Latencies;
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::door::CarrierDoor;
use offhook_engine::ports::speech::Speech;
use offhook_engine::ports::{Application, Models};
use offhook_engine::whatsapp::WhatsAppApi;
use offhook_storage::Store;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::feed::Feed;
use crate::{
    CallSettings, Catalog, Network, calls, chats, dialer, knowledge, legacy, recordings,
    redis_membership, signals, talks, uploads,
};

/// Wakes the workers of this process. Each also polls, so a lost wake-up costs only a moment.
#[derive(Clone, Default)]
pub struct Wakes {
    /// A call has been queued, or a slot has become free.
    pub dialer: Arc<Notify>,
    /// A delivery has become due.
    pub dispatcher: Arc<Notify>,
    /// How often this process has changed a webhook endpoint: the dispatcher then reads again what it has claimed.
    pub endpoint_changes: Arc<AtomicU64>,
    /// A batch is due.
    pub batches: Arc<Notify>,
    /// A document waits to be read, or one was deleted.
    pub document_worker: Arc<Notify>,
    /// A document waits to be embedded.
    pub embedder: Arc<Notify>,
    /// A customer has sent a WhatsApp message.
    pub whatsapp: Arc<Notify>,
    /// A conversation has ended and may be analyzed.
    pub analyst: Arc<Notify>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) plans: Plans,
    pub(crate) catalog: Catalog,
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
    pub(crate) redis_membership: redis_membership::RedisMembership,
    pub(crate) webhook_policy: Policy,
    pub(crate) tool_client: GuardedClient,
    pub(crate) calls: CallSettings,
    pub(crate) feed: Feed,
    pub(crate) signals: signals::Signals,
    pub(crate) wakes: Wakes,
    pub(crate) registry: dialer::Registry,
    /// The calls that this process holds, as tasks; the process ends after them.
    pub(crate) held: TaskTracker,
    /// The applications that accounts can connect, if this service is set up for any.
    pub(crate) applications: OnceLock<Vec<Arc<dyn Application>>>,
    /// Search by meaning, if an embeddings endpoint is configured.
    pub(crate) meaning: OnceLock<knowledge::Meaning>,
    /// The webhook endpoint of a carrier that speaks HTTP.
    pub(crate) carrier_door: OnceLock<Arc<dyn CarrierDoor>>,
    /// The requests that placed the calls waiting here.
    pub(crate) placed_by: calls::PlacedBy,
    /// Answers and endings of text conversations under way here.
    pub(crate) chats: chats::Work,
    /// Web pages with a voice conversation here, by IP address.
    pub(crate) talkers: talks::Addresses,
    /// The API that writes to customers on WhatsApp.
    pub(crate) whatsapp: OnceLock<Arc<dyn WhatsAppApi>>,
    /// The event listeners of pages with a voice conversation here.
    pub(crate) listeners: talks::Listeners,
    pub(crate) stopping: AtomicBool,
}
