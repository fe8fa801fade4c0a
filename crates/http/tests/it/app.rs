//! The whole service on a temporary database, with a manual clock, the scripted model and the simulated network.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use async_trait::async_trait;
use offhook_carriers::Simulator;
use offhook_domain::ports::VoiceLibrary;
use offhook_domain::{AccountId, CallHandle, Clock, Plan, Plans, Scopes, Timestamp};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::legacy::LegacyProvider;
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{DialError, DialRequest};
use offhook_http::{HttpConfig, HttpState, LimitSettings, RateLimits};
use offhook_providers::{
    ModelRegistry, ProviderSettings, SimulatedLegacy, SpeechProvider, SpeechRegistry,
    WhatsAppSettings, whatsapp,
};
use offhook_ratelimit::RedisStore;
use offhook_services::documents::InProcess;
use offhook_services::objects::Objects;
use offhook_services::store::mint;
use offhook_services::{CallSettings, Network, Services, ServicesConfig};
use offhook_testkit::{ManualClock, TestDatabase};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::it::client::{Request, eventually, must};

/// Too fast for listening to the end.
const SPEED: f64 = 2_000.0;

/// A number that answers and talks.
pub(crate) const CUSTOMER: &str = "+5215512345678";

/// A page with widgets.
pub(crate) const PAGE: &str = "https://shop.example";

/// A running service.
pub(crate) struct TestApp {
    pub(crate) clock: ManualClock,
    pub(crate) services: Services,
    pub(crate) state: HttpState,
    pub(crate) address: SocketAddr,
    /// An account on the Scale plan.
    pub(crate) account: AccountId,
    /// A key of this account with every scope.
    pub(crate) token: String,
    carrier: Arc<Simulator>,
    legacy: Arc<dyn LegacyProvider>,
    objects: PathBuf,
    files: Objects,
    server: ServerHandle,
    stop: CancellationToken,
    _database: TestDatabase,
    directory: TempDir,
}

/// A test's settings.
pub(crate) struct Setup {
    pub(crate) limits: LimitSettings,
    pub(crate) config: HttpConfig,
    pub(crate) plan: Plan,
    pub(crate) credits: i64,
    /// How many times faster than real people the simulated callees are.
    pub(crate) speed: f64,
    /// The file storage; default: a directory.
    pub(crate) files: Option<Objects>,
    /// The model providers, besides `scripted`.
    pub(crate) models: Vec<(String, ProviderSettings)>,
    /// The speech providers, besides `scripted`.
    pub(crate) speech: Vec<(String, SpeechProvider)>,
    /// Whether calls are spoken: over a trunk that is out of order.
    pub(crate) spoken: bool,
    /// The provider of the legacy agents; default: a simulated one.
    pub(crate) legacy: Option<Arc<dyn LegacyProvider>>,
    /// The voice providers.
    pub(crate) voice_libraries: Vec<Arc<dyn VoiceLibrary>>,
    /// The test's own database; default: a new SQLite file.
    pub(crate) database: Option<TestDatabase>,
    /// How calls are placed and kept.
    pub(crate) calls: CallSettings,
    /// The client for models that agents name by `llm.endpoint`.
    pub(crate) custom_models: Option<GuardedClient>,
    /// The Redis that counts; default: this process counts.
    pub(crate) redis: Option<String>,
    /// WhatsApp's address; without one, no message is answered.
    pub(crate) whatsapp: Option<String>,
}

impl Default for Setup {
    /// Limits that no test meets by chance: the clock stands still, so no bucket refills.
    fn default() -> Self {
        Self {
            limits: LimitSettings {
                ip_per_minute: 100_000,
                call_ip_per_minute: 10_000,
                ..LimitSettings::default()
            },
            config: HttpConfig::default(),
            plan: Plan::Scale,
            credits: 100_000,
            speed: SPEED,
            files: None,
            models: Vec::new(),
            speech: Vec::new(),
            spoken: false,
            legacy: None,
            voice_libraries: Vec::new(),
            database: None,
            calls: CallSettings::default(),
            custom_models: None,
            redis: None,
            whatsapp: None,
        }
    }
}

impl TestApp {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn on(database: TestDatabase) -> Self {
        Self::with(Setup {
            database: Some(database),
            ..Setup::default()
        })
        .await
    }

    /// With an account on this plan.
    pub(crate) async fn on_plan(plan: Plan) -> Self {
        Self::with(Setup {
            plan,
            ..Setup::default()
        })
        .await
    }

    /// With callees that are `speed` times faster than real ones.
    pub(crate) async fn at_speed(speed: f64) -> Self {
        Self::with(Setup {
            speed,
            ..Setup::default()
        })
        .await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let database = setup.database.unwrap_or_else(TestDatabase::sqlite);
        let clock = ManualClock::default();
        let carrier = Arc::new(Simulator::new(setup.speed));
        let node = mint(clock.now());
        let directory = must(tempfile::tempdir());
        let objects = directory.path().join("objects");
        let files = setup
            .files
            .unwrap_or_else(|| must(Objects::directory(&objects, false)));
        let legacy = setup.legacy.unwrap_or_else(|| {
            let clock = Arc::new(clock.clone());
            Arc::new(SimulatedLegacy::new(carrier.clone(), clock, node))
        });
        let mut models = must(ModelRegistry::new(setup.models));
        if let Some(client) = setup.custom_models {
            models = models.with_custom_client(client);
        }
        let services = must(Services::new(ServicesConfig {
            store: database.open().await,
            clock: Arc::new(clock.clone()),
            plans: plans(),
            models: Arc::new(models),
            network: network(&carrier, setup.spoken),
            speech: Arc::new(must(SpeechRegistry::new(setup.speech))),
            legacy: legacy.clone(),
            objects: files.clone(),
            node,
            has_redis: false,
            webhook_policy: Policy::default(),
            tool_client: must(GuardedClient::new(Policy {
                allow_private: true,
            })),
            sso_client: must(GuardedClient::new(Policy::default())),
            calls: setup.calls,
        }))
        .with_voice_libraries(setup.voice_libraries)
        .with_spool(directory.path().join("spool"));
        let services = match setup.whatsapp {
            Some(base_url) => services.with_whatsapp(must(whatsapp(&WhatsAppSettings {
                base_url,
                ..WhatsAppSettings::default()
            }))),
            None => services,
        };
        let limits = match setup.redis {
            Some(url) => RateLimits::shared(must(RedisStore::connect(&url)), setup.limits),
            None => RateLimits::new(setup.limits),
        };
        let state = HttpState::new(services.clone(), limits, setup.config);
        let listener = must(TcpListener::bind("127.0.0.1:0"));
        let address = must(listener.local_addr());
        let server = must(offhook_http::serve(listener, state.clone(), 1));
        let handle = server.handle();
        tokio::spawn(server);
        let accounts = services.accounts();
        let account = accounts.create("Acme", setup.plan, Some(setup.credits), None, None);
        let account = must(account.await).id;
        let mut app = Self {
            clock,
            services,
            state,
            address,
            account,
            token: String::new(),
            carrier,
            legacy,
            objects,
            files,
            server: handle,
            stop: CancellationToken::new(),
            _database: database,
            directory,
        };
        app.token = app.key(account, Scopes::all(), false, None).await;
        app
    }

    /// Creates a key and returns its token.
    pub(crate) async fn key(
        &self,
        account: AccountId,
        scopes: Scopes,
        read_only: bool,
        expires_at: Option<Timestamp>,
    ) -> String {
        let keys = self.services.keys();
        let key = keys.create(account, "test", scopes, read_only, expires_at, None);
        must(key.await).1
    }

    pub(crate) async fn revoke(&self, token: &str) {
        let keys = must(self.services.keys().list(self.account).await);
        let key = keys.iter().find(|key| token.starts_with(&key.prefix));
        let key = key.unwrap_or_else(|| panic!("no such key"));
        must(self.services.keys().revoke(key.id).await);
    }

    /// A key of another account, on this plan.
    pub(crate) async fn stranger(&self, plan: Plan) -> String {
        let accounts = self.services.accounts();
        let account = accounts.create("Other", plan, Some(1_000), None, None);
        let account = must(account.await).id;
        self.key(account, Scopes::all(), false, None).await
    }

    /// A request without a key.
    pub(crate) fn bare(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// A request with the account's key.
    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        self.bare(method, target).key(&self.token)
    }

    pub(crate) fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    pub(crate) fn post(&self, target: &str, body: impl ToString) -> Request {
        self.request("POST", target).json(body)
    }

    pub(crate) fn patch(&self, target: &str, body: impl ToString) -> Request {
        self.request("PATCH", target).json(body)
    }

    pub(crate) fn delete(&self, target: &str) -> Request {
        self.request("DELETE", target)
    }

    /// Reads an existing resource.
    pub(crate) async fn read(&self, target: &str) -> Value {
        self.get(target).await.assert(200)
    }

    /// Reads until `holds` is true.
    pub(crate) async fn until(&self, target: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(async || Some(self.read(target).await).filter(&holds)).await
    }

    /// As [`until`](Self::until), but the clock advances one second per read. Otherwise the account's rate limit
    /// would end the wait.
    pub(crate) async fn in_time(&self, target: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(async || {
            let read = self.read(target).await;
            if holds(&read) {
                return Some(read);
            }
            self.clock.advance(Duration::from_secs(1));
            None
        })
        .await
    }

    /// Enables an agent's widget for a page, with these changes.
    pub(crate) async fn widget(&self, agent: &str, change: Value) {
        let mut settings =
            json!({"enabled": true, "allowed_origins": [PAGE], "max_sessions_per_minute": 100});
        for (name, value) in change.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        let set = self.request("PUT", &format!("/v1/agents/{agent}/widget"));
        set.json(settings).await.assert(200);
    }

    /// Every item of a list, page by page; the target has a query.
    pub(crate) async fn pages(&self, target: &str) -> Vec<Value> {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.read(&format!("{target}{cursor}")).await;
            seen.extend(data(&page).iter().cloned());
            assert_eq!(page["has_more"], page["next_cursor"].is_string());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return seen,
            }
        }
    }

    /// Checks that each of these list queries is refused with a message that begins like this.
    pub(crate) async fn refuses_queries(&self, list: &str, cases: &[(&str, &str)]) {
        for (query, start) in cases {
            let answer = self.get(&format!("{list}?{query}")).await;
            let message = answer.assert_error(400, "invalid_query");
            assert!(message.starts_with(start), "{list}?{query}: {message}");
        }
    }

    /// Checks that each of these bodies is refused with a message that begins like this.
    pub(crate) async fn refuses_bodies(&self, target: &str, cases: &[(Value, &str)]) {
        for (body, start) in cases {
            let answer = self.post(target, body).await;
            let message = answer.assert_error(400, "invalid_body");
            assert!(message.starts_with(start), "{target} {body}: {message}");
        }
    }

    /// Creates and publishes an agent; returns its id.
    pub(crate) async fn agent(&self) -> String {
        let config = json!({
            "system_prompt": "You confirm appointments.",
            "first_message": "Hola, habla Sofía.",
            "llm": {"provider": "scripted", "model": "scripted"},
        });
        self.agent_with("es-MX", config).await
    }

    /// As [`agent`](Self::agent), with this language and configuration.
    pub(crate) async fn agent_with(&self, language: &str, config: Value) -> String {
        let agent = json!({"name": "Sofía", "language": language, "config": config});
        let agent = self.post("/v1/agents", agent).await.assert(201);
        let id = text(&agent["id"]);
        let publish = format!("/v1/agents/{id}/publish");
        self.post(&publish, "{}").await.assert(200);
        id
    }

    /// Places a call and returns the response's body.
    pub(crate) async fn call(&self, agent: &str, to: &str) -> Value {
        let body = json!({"agent_id": agent, "to": to});
        self.post("/v1/calls", body).await.assert(201)
    }

    /// Starts to dial queued calls.
    pub(crate) fn dial(&self) {
        tokio::spawn(run_calls(&self.services, self.stop.clone()));
    }

    /// Starts to dial queued calls as a new process on the same database, which takes over this one's claims. The
    /// phone network and the legacy provider are the same.
    pub(crate) fn dial_elsewhere(&self) {
        let another = self.beside(Vec::new(), false);
        tokio::spawn(run_calls(&another, self.stop.clone()));
    }

    /// Another process on the same database, with these speech providers.
    pub(crate) fn beside(&self, speech: Vec<(String, SpeechProvider)>, spoken: bool) -> Services {
        self.beside_with(Vec::new(), speech, spoken)
    }

    /// As [`beside`](Self::beside), with these model providers as well.
    pub(crate) fn beside_with(
        &self,
        models: Vec<(String, ProviderSettings)>,
        speech: Vec<(String, SpeechProvider)>,
        spoken: bool,
    ) -> Services {
        let node = mint(self.clock.now());
        must(Services::new(ServicesConfig {
            store: self.services.store().clone(),
            clock: Arc::new(self.clock.clone()),
            plans: plans(),
            models: Arc::new(must(ModelRegistry::new(models))),
            network: network(&self.carrier, spoken),
            speech: Arc::new(must(SpeechRegistry::new(speech))),
            legacy: self.legacy.clone(),
            objects: self.files.clone(),
            node,
            has_redis: false,
            webhook_policy: Policy::default(),
            tool_client: must(GuardedClient::new(Policy::default())),
            sso_client: must(GuardedClient::new(Policy::default())),
            calls: CallSettings::default(),
        }))
        .with_spool(self.directory.path().join(format!("spool-{node}")))
    }

    /// The folder of stored recordings.
    pub(crate) fn recordings(&self) -> PathBuf {
        self.objects
            .join("recordings")
            .join(self.account.to_string())
    }

    /// The folder of recordings before they are stored.
    pub(crate) fn spool(&self) -> PathBuf {
        self.directory.path().join("spool")
    }

    /// The folder of stored files.
    pub(crate) fn objects(&self) -> &std::path::Path {
        &self.objects
    }

    /// Starts to read documents, in this process.
    pub(crate) fn read_documents(&self) {
        let client = must(GuardedClient::new(Policy::default()));
        let document_worker = self.services.document_worker(Arc::new(InProcess), client);
        tokio::spawn(document_worker.run(self.stop.clone()));
    }

    /// Waits until a call has ended; returns it.
    pub(crate) async fn ended(&self, handle: &str) -> Value {
        let target = format!("/v1/calls/{handle}");
        self.in_time(&target, |call| call["status"] != "initiated")
            .await
    }

    /// Stops the background work.
    pub(crate) fn rest(&self) {
        self.stop.cancel();
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.stop.cancel();
        self.state.end_streams();
        drop(self.server.stop(false));
    }
}

/// Runs the jobs that calls need until `stop`, then ends the calls.
pub(crate) fn run_calls(
    services: &Services,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let jobs = services.start_call_jobs();
    async move {
        stop.cancelled().await;
        jobs.hurry().cancel();
        jobs.end_calls().await;
    }
}

fn network(simulator: &Arc<Simulator>, spoken: bool) -> Network {
    if spoken {
        return Network::Spoken(Arc::new(OutOfOrder));
    }
    Network::Text(simulator.clone())
}

/// A trunk that accepts no calls.
struct OutOfOrder;

#[async_trait]
impl AudioCarrier for OutOfOrder {
    async fn dial(&self, _: DialRequest) -> Result<AudioLeg, DialError> {
        Err(DialError::NotConnected)
    }

    async fn hang_up_orphan(&self, _: CallHandle) -> Result<(), DialError> {
        Ok(())
    }
}

/// The usual plans, but with a Scale limit that tests do not meet by chance.
fn plans() -> Plans {
    let mut plans = Plans::default();
    plans.terms_mut(Plan::Scale).requests_per_minute = 10_000;
    plans
}

/// The rows of a table of `tests/cases`, with tab-separated columns.
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let rows = table.lines().filter(|row| !row.starts_with('#'));
    rows.map(|row| must(row.split('\t').collect::<Vec<_>>().try_into()))
}

/// The items of a list.
pub(crate) fn data(list: &Value) -> &[Value] {
    list["data"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("no string: {value}"))
        .to_owned()
}

/// The names of an object's members in order, separated by spaces.
pub(crate) fn members(value: &Value) -> String {
    let object = value.as_object();
    let object = object.unwrap_or_else(|| panic!("no object: {value}"));
    object.keys().cloned().collect::<Vec<_>>().join(" ")
}
