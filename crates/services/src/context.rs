//! What every use case works with.

use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::sync::Notify;

use crate::CallSettings;
use crate::prelude::*;

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
    /// A campaign is due.
    pub campaigns: Arc<Notify>,
    /// A document waits to be read, or one was deleted.
    pub document_worker: Arc<Notify>,
    /// A document waits to be embedded.
    pub embedder: Arc<Notify>,
    /// A customer has sent a WhatsApp message.
    pub whatsapp: Arc<Notify>,
    /// A conversation has ended and may be analyzed.
    pub analyst: Arc<Notify>,
}

/// The rows, the time, the terms, and what this process is.
pub(crate) struct Context {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) plans: Plans,
    pub(crate) calls: CallSettings,
    pub(crate) node: NodeId,
    pub(crate) wakes: Wakes,
    pub(crate) stopping: AtomicBool,
}
