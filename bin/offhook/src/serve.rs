//! `offhook serve`: the service from its start to its graceful end.

use futures_util::FutureExt as _;
use std::net::TcpListener;

use actix_web::dev::ServerHandle;
use offhook_dispatch::Dispatcher;
use offhook_http::{HttpConfig, HttpState, LimitSettings, RateLimits};
use offhook_portal::{Portal, PortalConfig};
use offhook_ratelimit::RedisStore;
use offhook_services::{DocumentWorker, Jobs, Phase, Services};
use offhook_storage::StoreError;
use rustls::ServerConfig;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::data_dir::{self, DataDirLock};
use crate::inbound;
use crate::links;
use crate::metrics::{self, Figures};
use crate::prelude::*;
use crate::signals::Signals;
use crate::telephone;
use crate::tls;

/// How long events that calls have left in their last moments may take to be claimed.
const LAST_EVENTS_LIMIT: Duration = Duration::from_secs(4);

/// How long event streams may take to tell the end of the calls that they follow. Those of other processes' calls are
/// cut then.
const STREAMS_LIMIT: Duration = Duration::from_millis(500);

/// How long deeds of the portal whose browsers are gone may take.
const DEEDS_LIMIT: Duration = Duration::from_secs(5);

/// How long deliveries under way may take once all calls are reported: one attempt's deadline and its record.
const DELIVERIES_LIMIT: Duration = Duration::from_secs(15);

/// How long the database may be out of reach at the start before that is an error.
const DATABASE_LIMIT: Duration = Duration::from_secs(30);

/// The pause before it is tried again.
const DATABASE_AGAIN: Duration = Duration::from_secs(1);

/// Serves until a signal, then ends gracefully.
///
/// # Errors
/// The service cannot start, or was ended before it was done.
pub(crate) async fn run(settings: Settings) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let mut running = tokio::select! {
        biased;
        running = start(settings) => running?,
        // It may be waiting for its database.
        () = signals.next() => return Ok(()),
    };
    let failed = tokio::select! {
        () = signals.next() => None,
        failed = running.failed() => Some(failed),
    };
    let stopped = running.stop(&mut signals).await;
    failed.map_or(stopped, Err)
}

/// A service that serves.
pub(crate) struct Running {
    address: SocketAddr,
    data_dir: PathBuf,
    services: Services,
    http: Http,
    jobs: Jobs,
    _figures: Option<Figures>,
    _lock: DataDirLock,
}

struct Http {
    state: HttpState,
    portal: Portal,
    handle: ServerHandle,
    server: JoinHandle<std::io::Result<()>>,
}

/// Does what needs the database. One that starts together with this process, or is busy for a moment, is waited for.
async fn patiently<T>(
    limit: Duration,
    work: impl AsyncFn() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        let error = match work().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let passes = error
            .downcast_ref::<StoreError>()
            .is_some_and(StoreError::may_pass);
        if !passes || began.elapsed() >= limit {
            return Err(error);
        }
        tracing::warn!(%error, "waiting for the database");
        sleep(DATABASE_AGAIN).await;
    }
}

/// Starts the service; when this returns, it answers.
///
/// # Errors
/// The data directory, the database or the address cannot be had, or a part cannot be set up.
pub(crate) async fn start(settings: Settings) -> anyhow::Result<Running> {
    settings.check_serving()?;
    let tls = settings.http.tls.as_ref();
    let tls = tls.map(|tls| tls::server_config("http", tls)).transpose()?;
    data_dir::create(&settings.data_dir)?;
    let lock = data_dir::lock(&settings.data_dir)?;
    let limit = match settings.is_shared() {
        true => DATABASE_LIMIT,
        // A file is there or not.
        false => Duration::ZERO,
    };
    let store = patiently(limit, async || parts::open_store_to_serve(&settings).await).await?;
    let node = parts::new_node();
    if let Some(gone) = data_dir::succeed(&settings.data_dir, node)? {
        patiently(limit, async || Ok(store.leave_node(gone).await?)).await?;
    }
    let telephone = telephone::connect(&settings).await?;
    let services = patiently(limit, async || {
        let network = telephone.network.clone();
        parts::services(&settings, store.clone(), node, network).await
    });
    let services = services.await?;
    let services = match telephone.door {
        Some(door) => services.with_carrier_door(door),
        None => services,
    };
    if let Some(address) = telephone.address {
        data_dir::write_address(&settings.data_dir, data_dir::SIP_LISTEN, address)?;
        tracing::info!(%address, "carriers are listened to");
    }
    let inbound = match telephone.switchboard {
        Some(switchboard) => inbound::serve(switchboard, services.inbound().clone()).boxed(),
        None => std::future::pending().boxed(),
    };
    let listener = TcpListener::bind(settings.listen)
        .with_context(|| format!("{} cannot be listened on", settings.listen))?;
    let address = listener.local_addr()?;
    let limits = limits(&settings, &services)?;
    let (dispatcher, reader) = (
        parts::dispatcher(&settings, &services)?,
        parts::document_worker(&services)?,
    );
    let mut jobs = services.start_jobs();
    jobs.start("dispatcher", Phase::Deliveries, dispatcher, Dispatcher::run);
    jobs.start("documents", Phase::BesideCalls, reader, DocumentWorker::run);
    jobs.start("inbound", Phase::Process, inbound, |inbound, _| inbound);
    let http = Http::start(&settings, &services, limits, listener, tls)?;
    let figures = match settings.metrics_listen {
        Some(listen) => {
            let figures = metrics::start(listen, &settings.data_dir, &services, &http.state);
            Some(figures.await?)
        }
        None => None,
    };
    data_dir::write_address(&settings.data_dir, data_dir::LISTEN, address)?;
    tracing::info!(%address, %node, "ready");
    if settings.sip.is_none() && settings.twilio.is_none() {
        tracing::warn!("calls are simulated (calls.carrier): nobody's phone rings");
    }
    invite_the_first(&settings, &services).await;
    Ok(Running {
        address,
        data_dir: settings.data_dir,
        services,
        http,
        jobs,
        _figures: figures,
        _lock: lock,
    })
}

/// Says how the first account is made in the portal, while there is none. Whoever reads the log of this process may.
async fn invite_the_first(settings: &Settings, services: &Services) {
    match services.people().first_run_code().await {
        Ok(Some(code)) => {
            let url = links::first(&links::origin(settings));
            tracing::info!(%url, %code, "there is no account yet: make the first one in the portal with this code");
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "whether there is an account could not be read"),
    }
}

impl Running {
    /// The address that is served.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The use cases, for what has no request.
    pub(crate) const fn services(&self) -> &Services {
        &self.services
    }

    /// Returns only when a part of the service ends by itself, which none should.
    async fn failed(&mut self) -> anyhow::Error {
        let part = tokio::select! {
            _ = &mut self.http.server => "the HTTP server",
            job = self.jobs.lost() => job,
        };
        anyhow::anyhow!("{part} ended unexpectedly")
    }

    /// Ends the service: no new calls, while live calls go on for `calls.drain_seconds`, then say goodbye. Till the last
    /// one is reported requests are answered, so that calls can be read, followed and hung up. A second signal makes them say goodbye now, a third one ends at once.
    ///
    /// # Errors
    /// It was ended before it was done.
    pub(crate) async fn stop(self, signals: &mut Signals) -> anyhow::Result<()> {
        tracing::info!(
            "stopping; live calls go on for calls.drain_seconds, another signal ends them now"
        );
        let hurry = self.jobs.hurry();
        let ended = tokio::select! {
            () = self.drain() => Ok(()),
            () = async {
                signals.next().await;
                tracing::info!("live calls are ended");
                hurry.cancel();
                signals.next().await;
            } => Err(anyhow::anyhow!("ended before it was done: what was left is settled at the next start")),
        };
        tracing::info!("stopped");
        ended
    }

    async fn drain(self) {
        self.services.health().stop();
        self.jobs.end_calls().await;
        let last_events = timeout(LAST_EVENTS_LIMIT, self.services.events_sent());
        let server_jobs = self.jobs.end(Phase::BesideServer);
        let (_, (), ()) = tokio::join!(last_events, self.http.stop(), server_jobs);
        self.jobs.end(Phase::Logs).await;
        // What is not under way by now keeps until the next start.
        let deliveries = self.jobs.end(Phase::Deliveries);
        if timeout(DELIVERIES_LIMIT, deliveries).await.is_err() {
            tracing::warn!("deliveries under way were left");
        }
        data_dir::remove_listen(&self.data_dir);
    }
}

impl Http {
    fn start(
        settings: &Settings,
        services: &Services,
        limits: RateLimits,
        listener: TcpListener,
        tls: Option<ServerConfig>,
    ) -> anyhow::Result<Self> {
        let scheme = tls.as_ref().map_or("http", |_| "https");
        let origin = links::on_this_machine(scheme, listener.local_addr()?);
        let config = HttpConfig {
            cors_origins: settings.http.cors_origins.clone(),
            max_connections: max_connections(),
            ..HttpConfig::default()
        };
        let portal = PortalConfig {
            public_url: settings.http.public_url.clone(),
            origin,
        };
        let portal = Portal::new(services.clone(), portal);
        let state = HttpState::new(services.clone(), limits, config).with_pages(Arc::new({
            let portal = portal.clone();
            move |config| portal.clone().mount(config)
        }));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let server = match tls {
            Some(tls) => offhook_http::serve_https(listener, tls, state.clone(), threads)?,
            None => offhook_http::serve(listener, state.clone(), threads)?,
        };
        let handle = server.handle();
        Ok(Self {
            state,
            portal,
            handle,
            server: tokio::spawn(server.boxed()),
        })
    }

    /// Takes no new requests and answers those under way. Streams of ended calls end by themselves.
    async fn stop(self) {
        self.handle.pause().await;
        // What takes longer is waited for with its connection, if there still is one.
        let _ = timeout(DEEDS_LIMIT, self.portal.rests()).await;
        let stopped = self.handle.stop(true);
        tokio::pin!(stopped);
        if timeout(STREAMS_LIMIT, &mut stopped).await.is_err() {
            self.state.end_streams();
            stopped.await;
        }
        if !self.server.is_finished() {
            let _ = self.server.await;
        }
    }
}

/// How many connections are served: as many as the library takes, and half of what the process may open. Calls, the
/// database and what is sent need the rest.
fn max_connections() -> usize {
    let most = HttpConfig::default().max_connections;
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut files = getrlimit(Resource::Nofile);
        let soft = files.current;
        files.current = files.maximum;
        if setrlimit(Resource::Nofile, files).is_err() {
            files.current = soft;
        }
        let files = files.current.and_then(|files| usize::try_from(files).ok());
        files.map_or(most, |files| most.min(files / 2))
    }
    #[cfg(not(unix))]
    most
}

/// What requests are counted by, alone or with the other processes on this database.
fn limits(settings: &Settings, services: &Services) -> anyhow::Result<RateLimits> {
    let limits = LimitSettings {
        ip_per_minute: settings.limits.ip_per_minute,
        call_ip_per_minute: settings.limits.call_ip_per_minute,
        page_ip_per_minute: settings.limits.page_ip_per_minute,
        trusted_proxies: settings.http.trusted_proxies.clone(),
        enabled: settings.limits.enabled,
    };
    Ok(match &settings.redis_url {
        // Out of reach, it keeps nobody from starting: requests are refused until it is there.
        Some(url) => {
            let store = RedisStore::connect(url.expose())?;
            services.counts_in(store.name());
            RateLimits::shared(store, limits)
        }
        None => RateLimits::new(limits),
    })
}
