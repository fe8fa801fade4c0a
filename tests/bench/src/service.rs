//! The service as the binary composes it, with the bare handlers on the same store, in a separate process.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use offhook_carriers::Simulator;
use offhook_dispatch::sender::Sender;
use offhook_dispatch::{DispatchConfig, Dispatcher};
use offhook_domain::{Clock as _, Plan, Plans};
use offhook_egress::{GuardedClient, Policy};
use offhook_http::{HttpConfig, HttpState, LimitSettings, RateLimits};
use offhook_portal::{Portal, PortalConfig};
use offhook_providers::{ElevenLabsAgents, ModelRegistry, SpeechRegistry};
use offhook_ratelimit::MAX_PER_MINUTE;
use offhook_services::objects::Objects;
use offhook_services::{CallSettings, Network, Services, ServicesConfig, SystemClock};
use offhook_storage::{Store, mint};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::bare;
use crate::child::parent_is_gone;
use crate::database::Place;

/// The speed of the simulated callees.
const SPEED: f64 = 1.0;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) place: Place,
    /// Whether webhooks are delivered.
    pub(crate) dispatcher: bool,
}

/// The addresses of the servers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ports {
    /// With limits too large to refuse any request.
    pub(crate) limited: SocketAddr,
    /// Without limits.
    pub(crate) unlimited: SocketAddr,
    /// With limits that refuse every request.
    pub(crate) refusing: SocketAddr,
    /// The bare handlers.
    pub(crate) bare: SocketAddr,
}

/// Serves until the parent is gone.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    // As the binary logs.
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let filter = Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("actix_server", LevelFilter::WARN);
    tracing_subscriber::registry()
        .with(logs.with_ansi(false))
        .with(filter)
        .init();
    let store = options.place.open().await?;
    let services = services(store.clone())?;
    if options.dispatcher {
        let sender = Sender::new(Policy {
            allow_private: true,
        })?;
        let (clock, wake) = (
            services.clock().clone(),
            services.wakes().dispatcher.clone(),
        );
        let config = DispatchConfig::new(services.store().clone(), clock, sender, wake);
        tokio::spawn(Dispatcher::new(config).run(CancellationToken::new()));
    }
    let limits = |per_minute, enabled| LimitSettings {
        ip_per_minute: per_minute,
        call_ip_per_minute: per_minute,
        enabled,
        ..LimitSettings::default()
    };
    let in_memory = |limits| serve(&services, RateLimits::new(limits));
    let ports = Ports {
        limited: in_memory(limits(MAX_PER_MINUTE, true))?,
        unlimited: in_memory(limits(MAX_PER_MINUTE, false))?,
        refusing: in_memory(limits(1, true))?,
        bare: serve_bare(store, &options.place).await?,
    };
    println!("{}", serde_json::to_string(&ports)?);
    std::io::stdout().flush()?;
    parent_is_gone().await;
    Ok(())
}

/// The use cases, with plans that allow any rate.
pub(crate) fn services(store: Store) -> anyhow::Result<Services> {
    let mut plans = Plans::default();
    let terms = plans.terms_mut(Plan::Enterprise);
    terms.requests_per_minute = MAX_PER_MINUTE;
    let custom = GuardedClient::new(Policy::default())?;
    let models = ModelRegistry::new(std::collections::BTreeMap::new())?.with_custom_client(custom);
    let carrier = Arc::new(Simulator::new(SPEED));
    let node = mint(SystemClock.now());
    Ok(Services::new(ServicesConfig {
        store,
        clock: Arc::new(SystemClock),
        plans,
        models: Arc::new(models),
        // No legacy calls are placed; the provider only verifies webhooks.
        legacy: Arc::new(ElevenLabsAgents::new("http://127.0.0.1:9")?),
        network: Network::Text(carrier),
        speech: Arc::new(SpeechRegistry::new([])?),
        objects: Objects::directory(&std::env::temp_dir(), false)?,
        node,
        has_redis: false,
        webhook_policy: Policy {
            allow_private: true,
        },
        tool_client: GuardedClient::new(Policy::default())?,
        sso_client: GuardedClient::new(Policy::default())?,
        calls: CallSettings {
            // Calls are placed faster here than they can be made.
            queue_at_most: i64::MAX,
            ..CallSettings::default()
        },
    })?)
}

fn serve(services: &Services, limits: RateLimits) -> anyhow::Result<SocketAddr> {
    let portal = Portal::new(services.clone(), PortalConfig::default());
    let state = HttpState::new(services.clone(), limits, HttpConfig::default())
        .with_pages(Arc::new(move |config| portal.clone().mount(config)));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    tokio::spawn(offhook_http::serve(listener, state, threads())?);
    Ok(address)
}

async fn serve_bare(store: Store, place: &Place) -> anyhow::Result<SocketAddr> {
    let writer = bare::post::Writer::open(place).await?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    tokio::spawn(bare::serve(listener, store, writer, threads())?);
    Ok(address)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
