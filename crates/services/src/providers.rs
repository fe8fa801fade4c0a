//! The providers that conversations use.

use offhook_engine::Latencies;
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::Models;
use offhook_engine::ports::speech::Speech;

use crate::prelude::*;
use crate::{Catalog, Network};

pub(crate) struct Providers {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) latencies: Latencies,
    pub(crate) network: Network,
    pub(crate) speech: Arc<dyn Speech>,
    pub(crate) legacy: Arc<dyn LegacyProvider>,
    pub(crate) legacy_price: Price,
}
