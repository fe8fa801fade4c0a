//! A running service with its portal, signed-in people, and a browser without script.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use async_trait::async_trait;
use offhook_carriers::Simulator;
use offhook_domain::ports::Application;
use offhook_domain::{
    AccountId, CallHandle, Clock as _, EmailAddress, MemberRole, Plan, Plans, Price, Scopes,
};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{DialError, DialRequest};
use offhook_http::{HttpConfig, HttpState, LimitSettings, RateLimits};
use offhook_portal::{Portal, PortalConfig};
use offhook_providers::{ModelRegistry, SimulatedLegacy, SpeechRegistry};
use offhook_services::documents::InProcess;
use offhook_services::objects::Objects;
use offhook_services::store::{Store, mint};
use offhook_services::{CallSettings, Network, Services, ServicesConfig};
use offhook_testkit::{ManualClock, TestDatabase};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// Too fast for listening to the end.
const SPEED: f64 = 2_000.0;

pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// A running service.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) services: Services,
    /// An account on the Scale plan.
    pub(crate) account: AccountId,
    address: SocketAddr,
    server: ServerHandle,
    stop: CancellationToken,
    _database: TestDatabase,
    directory: TempDir,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(Vec::new()).await
    }

    /// A service in which accounts can connect these integrations.
    pub(crate) async fn start_with(applications: Vec<Arc<dyn Application>>) -> Self {
        Self::start_at(SPEED, applications).await
    }

    /// As [`start_with`](Self::start_with), with callees that are `speed` times faster than real ones.
    pub(crate) async fn start_at(speed: f64, applications: Vec<Arc<dyn Application>>) -> Self {
        Self::start_as(speed, applications, PortalConfig::default()).await
    }

    /// A service with this public address.
    pub(crate) async fn start_known_as(public_url: &str) -> Self {
        let config = PortalConfig {
            public_url: Some(public_url.to_owned()),
            ..PortalConfig::default()
        };
        Self::start_as(SPEED, Vec::new(), config).await
    }

    /// A service whose calls are spoken, over a trunk that is out of order, with these speech providers.
    pub(crate) async fn start_spoken(speech: SpeechRegistry) -> Self {
        let network = Network::Spoken(Arc::new(OutOfOrder));
        let sound = Some((network, speech));
        let (database, plans) = (TestDatabase::sqlite(), Plans::default());
        let config = PortalConfig::default();
        Self::start_all(database, SPEED, Vec::new(), config, sound, plans).await
    }

    /// A service in which a minute of the scripted model costs this many thousandths of a credit.
    pub(crate) async fn start_priced(millicredits: i64) -> Self {
        let mut plans = Plans::default();
        let price = Price::from_millicredits_per_minute(millicredits);
        plans.prices.insert("scripted".to_owned(), price);
        let (database, config) = (TestDatabase::sqlite(), PortalConfig::default());
        Self::start_all(database, SPEED, Vec::new(), config, None, plans).await
    }

    /// A service on this database.
    pub(crate) async fn start_on(database: TestDatabase) -> Self {
        Self::start_all(
            database,
            SPEED,
            Vec::new(),
            PortalConfig::default(),
            None,
            Plans::default(),
        )
        .await
    }

    /// A service with this public address on this database.
    pub(crate) async fn start_known_on(database: TestDatabase, public_url: &str) -> Self {
        let config = PortalConfig {
            public_url: Some(public_url.to_owned()),
            ..PortalConfig::default()
        };
        Self::start_all(database, SPEED, Vec::new(), config, None, Plans::default()).await
    }

    async fn start_as(
        speed: f64,
        applications: Vec<Arc<dyn Application>>,
        config: PortalConfig,
    ) -> Self {
        let (database, plans) = (TestDatabase::sqlite(), Plans::default());
        Self::start_all(database, speed, applications, config, None, plans).await
    }

    async fn start_all(
        database: TestDatabase,
        speed: f64,
        applications: Vec<Arc<dyn Application>>,
        config: PortalConfig,
        sound: Option<(Network, SpeechRegistry)>,
        plans: Plans,
    ) -> Self {
        let store = database.open().await;
        let clock = ManualClock::default();
        let directory = must(tempfile::tempdir());
        let services = services(store, &clock, &directory, (speed, plans), sound);
        let services = services.with_applications(applications);
        let portal = Portal::new(services.clone(), config);
        let limits = RateLimits::new(LimitSettings {
            trusted_proxies: vec![must("127.0.0.0/8".parse())],
            ..LimitSettings::default()
        });
        let state = HttpState::new(services.clone(), limits, HttpConfig::default())
            .with_pages(Arc::new(move |config| portal.clone().mount(config)));
        let listener = must(TcpListener::bind("127.0.0.1:0"));
        let address = must(listener.local_addr());
        let server = must(offhook_http::serve(listener, state, 1));
        let handle = server.handle();
        tokio::spawn(server);
        let accounts = services.accounts();
        let account = accounts.create("Acme", Plan::Scale, Some(100_000), None, None);
        let account = must(account.await).id;
        Self {
            clock,
            services,
            account,
            address,
            server: handle,
            stop: CancellationToken::new(),
            _database: database,
            directory,
        }
    }

    /// Another process on the same database.
    pub(crate) fn beside(&self, applications: Vec<Arc<dyn Application>>) -> Services {
        let store = self.services.store().clone();
        let terms = (SPEED, Plans::default());
        services(store, &self.clock, &self.directory, terms, None).with_applications(applications)
    }

    /// A signed-in member of the account.
    pub(crate) async fn browser(&self, role: MemberRole) -> Browser {
        self.browser_of(self.account, role).await
    }

    /// The owner of another account.
    pub(crate) async fn stranger(&self) -> Browser {
        let accounts = self.services.accounts();
        let account = accounts.create("Other", Plan::Scale, Some(1_000), None, None);
        let account = must(account.await).id;
        self.browser_of(account, MemberRole::Owner).await
    }

    async fn browser_of(&self, account: AccountId, role: MemberRole) -> Browser {
        let email = format!("{role}@{account}.example");
        let email: EmailAddress = must(email.parse());
        let team = self.services.team();
        must(team.add(account, email.clone(), "Ana", role).await);
        let people = self.services.people();
        let link = must(people.link(account, &email).await);
        let link = link.unwrap_or_else(|| panic!("no link"));
        let signed_in = must(people.set_password_by_link(&link.token, PASSWORD).await);
        self.session(signed_in.token).await
    }

    /// The same member of the account, signed in again elsewhere.
    pub(crate) async fn browser_elsewhere(&self, role: MemberRole) -> Browser {
        let email = format!("{role}@{}.example", self.account);
        let people = self.services.people();
        let here = self.address.ip();
        let signed_in = must(people.sign_in(&email, PASSWORD, here).await);
        self.session(signed_in.token).await
    }

    /// The person whose session a response began.
    pub(crate) async fn kept(&self, answer: &Page) -> Browser {
        let (_, cookie) = answer
            .head
            .split_once("offhook_session=")
            .unwrap_or_else(|| panic!("no session: {}", answer.head));
        let session = cookie.split(';').next().unwrap_or_default();
        self.session(session.to_owned()).await
    }

    /// A browser in which nobody is signed in.
    pub(crate) fn nobody(&self) -> Browser {
        Browser {
            address: self.address,
            session: String::new(),
            token: String::new(),
            lang: "en",
            says: "",
        }
    }

    async fn session(&self, session: String) -> Browser {
        let browser = Browser {
            address: self.address,
            session,
            token: String::new(),
            lang: "en",
            says: "",
        };
        let page = browser.get("/settings").await.assert(200);
        browser.reading(&page)
    }

    /// Sends an unauthenticated request with these header lines.
    pub(crate) async fn ask(&self, method: &str, path: &str, lines: &str) -> Page {
        exchange(self.address, method, path, lines, &[]).await
    }

    /// A key of the account with every scope.
    pub(crate) async fn key(&self) -> String {
        let keys = self.services.keys();
        let key = keys.create(self.account, "test", Scopes::all(), false, None, None);
        must(key.await).1
    }

    /// Sends an API request, as a customer's program would.
    pub(crate) async fn api(&self, key: &str, method: &str, path: &str, body: &str) -> Page {
        let authorization =
            format!("Authorization: Bearer {key}\r\nContent-Type: application/json");
        exchange(self.address, method, path, &authorization, body.as_bytes()).await
    }

    /// Starts to read documents, in this process.
    pub(crate) fn read_documents(&self) {
        let client = must(GuardedClient::new(Policy::default()));
        let document_worker = self.services.document_worker(Arc::new(InProcess), client);
        tokio::spawn(document_worker.run(self.stop.clone()));
    }

    /// Starts to dial queued calls.
    pub(crate) fn dial(&self) {
        let (jobs, stop) = (self.services.start_call_jobs(), self.stop.clone());
        tokio::spawn(async move {
            stop.cancelled().await;
            jobs.hurry().cancel();
            jobs.end_calls().await;
        });
    }

    /// Reloads a page until it shows this text.
    pub(crate) async fn until(&self, browser: &Browser, path: &str, shown: &str) -> Page {
        let shows = async {
            loop {
                let page = browser.get(path).await;
                if page.body.contains(shown) {
                    return page;
                }
                self.clock.advance(Duration::from_secs(1));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        must(tokio::time::timeout(Duration::from_secs(30), shows).await)
    }

    /// An unauthenticated sign-in form of this many bytes, the last of which never comes.
    pub(crate) async fn unfinished_form(&self, bytes: usize) -> TcpStream {
        let mut connection = must(TcpStream::connect(self.address).await);
        let head = format!(
            "POST /portal/sign-in HTTP/1.1\r\nHost: localhost:8080\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {bytes}\r\n\r\n"
        );
        must(connection.write_all(head.as_bytes()).await);
        must(connection.write_all(&vec![b'a'; bytes - 1]).await);
        connection
    }

    /// A complete one.
    pub(crate) async fn form_of_nobody(&self, bytes: usize) -> Page {
        let lines = "Content-Type: application/x-www-form-urlencoded";
        let body = vec![b'a'; bytes];
        exchange(self.address, "POST", "/portal/sign-in", lines, &body).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
        drop(self.server.stop(false));
    }
}

fn services(
    store: Store,
    clock: &ManualClock,
    directory: &TempDir,
    (speed, plans): (f64, Plans),
    sound: Option<(Network, SpeechRegistry)>,
) -> Services {
    let carrier = Arc::new(Simulator::new(speed));
    let node = mint(clock.now());
    let files = must(Objects::directory(&directory.path().join("objects"), false));
    let legacy = SimulatedLegacy::new(carrier.clone(), Arc::new(clock.clone()), node);
    let (network, speech) = sound.unwrap_or_else(|| {
        let none = must(SpeechRegistry::new(Vec::new()));
        (Network::Text(carrier), none)
    });
    must(Services::new(ServicesConfig {
        store,
        clock: Arc::new(clock.clone()),
        plans,
        models: Arc::new(must(ModelRegistry::new([]))),
        network,
        speech: Arc::new(speech),
        legacy: Arc::new(legacy),
        objects: files,
        node,
        has_redis: false,
        webhook_policy: Policy::default(),
        tool_client: must(GuardedClient::new(Policy::default())),
        sso_client: must(GuardedClient::new(Policy {
            allow_private: true,
        })),
        calls: CallSettings::default(),
    }))
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

/// A signed-in person.
pub(crate) struct Browser {
    address: SocketAddr,
    session: String,
    token: String,
    lang: &'static str,
    /// Additional header lines, each after a line break.
    says: &'static str,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Page {
    #[track_caller]
    pub(crate) fn assert(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// Checks that the page contains these texts.
    #[track_caller]
    pub(crate) fn shows(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.body.contains(text), "no {text:?} in {}", self.body);
        }
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self
            .head
            .split("\r\n")
            .filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The redirect target of a successful form.
    #[track_caller]
    pub(crate) fn leads(self) -> String {
        let page = self.assert(303);
        let to = page
            .header("location")
            .unwrap_or_else(|| panic!("no location"));
        to.strip_prefix("/portal")
            .unwrap_or_else(|| panic!("{to}"))
            .to_owned()
    }
}

impl Browser {
    /// As before, with the language Spanish.
    pub(crate) fn in_spanish(self) -> Self {
        Self { lang: "es", ..self }
    }

    /// As before, with these lines in the head of each request, each after a line break.
    pub(crate) fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    /// The same person, with the form token of this page.
    pub(crate) fn reading(&self, page: &Page) -> Self {
        let (_, rest) = page
            .body
            .split_once("name=\"_token\" value=\"")
            .unwrap_or_default();
        Self {
            address: self.address,
            session: self.session.clone(),
            token: rest.split('"').next().unwrap_or_default().to_owned(),
            lang: self.lang,
            says: self.says,
        }
    }

    /// A page of this session that stayed open while its browser began the session `now`.
    pub(crate) fn left_open_by(&self, now: &Self) -> Self {
        Self {
            address: self.address,
            session: now.session.clone(),
            token: self.token.clone(),
            lang: self.lang,
            says: self.says,
        }
    }

    /// A page of the portal.
    pub(crate) async fn get(&self, path: &str) -> Page {
        self.send("GET", path, "text/plain", &[]).await
    }

    /// A form, with its token.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let kind = "application/x-www-form-urlencoded";
        self.send("POST", path, kind, self.form(fields).as_bytes())
            .await
    }

    /// A page that contains these texts.
    pub(crate) async fn sees(&self, path: &str, texts: &[&str]) -> Page {
        self.get(path).await.assert(200).shows(texts)
    }

    /// Sends a form that is refused with a page that contains these texts.
    pub(crate) async fn refused(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        texts: &[&str],
    ) -> Page {
        self.post(path, fields).await.assert(422).shows(texts)
    }

    /// Sends a form that succeeds and redirects to `to`.
    pub(crate) async fn sends(&self, path: &str, fields: &[(&str, &str)], to: &str) {
        assert_eq!(self.post(path, fields).await.leads(), to, "{path}");
    }

    /// A form as htmx sends it, which expects a page fragment.
    pub(crate) async fn post_part(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let kind = "application/x-www-form-urlencoded\r\nHX-Request: true";
        self.send("POST", path, kind, self.form(fields).as_bytes())
            .await
    }

    fn form(&self, fields: &[(&str, &str)]) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("_token", self.token());
        form.extend_pairs(fields).finish()
    }

    /// A form with a file, with its token in the URL.
    pub(crate) async fn upload(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        file: Option<(&str, &[u8])>,
    ) -> Page {
        let mut body = Vec::new();
        for (name, value) in fields {
            let head = format!(
                "--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend(head.into_bytes());
        }
        if let Some((name, content)) = file {
            let head = format!(
                "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
            );
            body.extend(head.into_bytes());
            body.extend(content);
            body.extend(b"\r\n");
        }
        body.extend(b"--edge--\r\n");
        let path = format!("{path}?_token={}", self.token());
        self.send("POST", &path, "multipart/form-data; boundary=edge", &body)
            .await
    }

    /// The token in every form of this session.
    fn token(&self) -> &str {
        &self.token
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Page {
        let session = &self.session;
        let (lang, says) = (self.lang, self.says);
        let lines = format!(
            "Cookie: offhook_session={session}; offhook_lang={lang}\r\nContent-Type: {kind}{says}"
        );
        let path = format!("/portal{path}");
        exchange(self.address, method, &path, &lines, body).await
    }
}

async fn exchange(address: SocketAddr, method: &str, path: &str, lines: &str, body: &[u8]) -> Page {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost:8080\r\n{lines}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut stream = must(TcpStream::connect(address).await);
    must(stream.write_all(head.as_bytes()).await);
    // The server may respond before it has read everything.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{answer}"));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Page {
        status: status.unwrap_or_else(|| panic!("{head}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

pub(crate) fn must<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error:?}"))
}
