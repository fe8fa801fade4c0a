//! An account's own keys for models: in place of the deployment's, for its agents alone, and free.

use offhook_domain::{AccountId, CredentialProvider, Plan, Scopes};
use offhook_providers::ProviderSettings;
use offhook_services::ModelKind;
use offhook_testkit::TestDatabase;
use offhook_testkit::upstream::{Answer, ReceivedRequest, Upstream};
use serde_json::{Value, json};

use crate::it::app::{PAGE, Setup, TestApp, text};
use crate::it::client::must;

const OPENAI: CredentialProvider = CredentialProvider::OpenAi;
const ANTHROPIC: CredentialProvider = CredentialProvider::Anthropic;

const SESSIONS: &str = "/widget/v1/sessions";

const REFUSED: &str = "sk-refused-0000";

/// OpenAI, as its reference has it.
async fn openai() -> Upstream {
    Upstream::start(|asked: &ReceivedRequest| {
        if asked.header("authorization") == Some(&*format!("Bearer {REFUSED}")) {
            return Answer::text(401, "application/json", "{}");
        }
        let piece = json!({"choices": [{"index": 0, "delta": {"content": "At nine."}, "finish_reason": "stop"}]});
        Answer::text(200, "text/event-stream", &format!("data: {piece}\n\ndata: [DONE]\n\n"))
    })
    .await
}

/// A client of an account.
struct Client<'a> {
    app: &'a TestApp,
    account: AccountId,
    token: String,
}

impl<'a> Client<'a> {
    async fn of(app: &'a TestApp, account: AccountId) -> Self {
        let token = app.key(account, Scopes::all(), false, None).await;
        Self {
            app,
            account,
            token,
        }
    }

    async fn set(&self, provider: CredentialProvider, key: &str) {
        let credentials = self.app.services.credentials();
        must(credentials.set(self.account, provider, key).await);
    }

    async fn remove(&self, provider: CredentialProvider) {
        let credentials = self.app.services.credentials();
        must(credentials.remove(self.account, provider).await);
    }

    /// An agent with this model, for all pages, and the answer to its publication.
    async fn publish(&self, (provider, model): (&str, &str), status: u16) -> (String, Value) {
        let config = json!({
            "system_prompt": "Be brief.",
            "llm": {"provider": provider, "model": model},
        });
        let agent = json!({"name": "Eva", "language": "en", "config": config});
        let made = self.app.bare("POST", "/v1/agents").key(&self.token);
        let made = made.json(agent).await;
        let id = text(&made.assert(201)["id"]);
        let publish = self.app.bare("POST", &format!("/v1/agents/{id}/publish"));
        let published = publish.key(&self.token).json("{}").await.assert(status);
        if status == 200 {
            let widget = json!({"enabled": true, "allowed_origins": [PAGE]});
            let put = self.app.bare("PUT", &format!("/v1/agents/{id}/widget"));
            put.json(widget).key(&self.token).await.assert(200);
        }
        (id, published)
    }

    async fn agent(&self, provider: &str, model: &str) -> String {
        self.publish((provider, model), 200).await.0
    }

    async fn last_error(&self) -> Option<String> {
        let listed = self.app.services.credentials().list(self.account).await;
        must(listed).remove(0).last_error
    }

    async fn begin(&self, agent: &str) -> (String, String) {
        let begun = self.app.bare("POST", SESSIONS).header("Origin", PAGE);
        let begun = begun.json(json!({"agent_id": agent})).await.assert(201);
        (text(&begun["id"]), text(&begun["token"]))
    }

    /// Says something, and returns the reply; `status` is that of the answer.
    async fn say(&self, (id, token): &(String, String), status: u16) -> Value {
        let said = self.app.bare("POST", &format!("{SESSIONS}/{id}/messages"));
        let said = said.header("Origin", PAGE).key(token);
        said.json(json!({"text": "When?"})).await.assert(status)
    }

    /// Ends the session, and returns what it cost.
    async fn end(&self, (id, token): &(String, String)) -> Value {
        let end = self.app.bare("POST", &format!("{SESSIONS}/{id}/end"));
        end.header("Origin", PAGE).key(token).await.assert(200);
        let target = format!("/v1/conversations/{id}");
        loop {
            let read = self
                .app
                .bare("GET", &target)
                .key(&self.token)
                .await
                .assert(200);
            if read["status"] != "initiated" {
                return read["credits"].clone();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// The keys that were sent, in order.
fn keys(upstream: &Upstream) -> Vec<String> {
    let asked = upstream.asked();
    let keys = asked
        .iter()
        .filter_map(|asked| asked.header("authorization"));
    keys.map(|key| key.replace("Bearer ", "")).collect()
}

async fn other(app: &TestApp) -> AccountId {
    let accounts = app.services.accounts();
    let other = accounts.create("Other", Plan::Scale, Some(1_000), None, None);
    must(other.await).id
}

async fn an_own_key_serves_its_account_alone_and_costs_nothing(database: TestDatabase) {
    let upstream = openai().await;
    let deployment = ProviderSettings {
        base_url: upstream.base_url(),
        api_key: Some("k-deployment".to_owned()),
    };
    let app = TestApp::with(Setup {
        database: Some(database),
        models: vec![("openai".to_owned(), deployment)],
        ..Setup::default()
    })
    .await;
    let mine = Client::of(&app, app.account).await;
    let theirs = Client::of(&app, other(&app).await).await;
    mine.set(OPENAI, "sk-own-00001234").await;

    let (my_agent, their_agent) = (
        mine.agent("openai", "gpt-4.1").await,
        theirs.agent("openai", "gpt-4.1").await,
    );
    let (my_chat, their_chat) = (
        mine.begin(&my_agent).await,
        theirs.begin(&their_agent).await,
    );
    assert_eq!(mine.say(&my_chat, 200).await["text"], "At nine.");
    theirs.say(&their_chat, 200).await;
    assert_eq!(keys(&upstream), ["sk-own-00001234", "k-deployment"]);
    mine.set(OPENAI, "sk-own-00005678").await;
    mine.say(&my_chat, 200).await;
    assert_eq!(keys(&upstream)[2..], ["sk-own-00005678"]);

    // A campaign's calls are priced by the same keys.
    let mut estimates = Vec::new();
    for (client, agent) in [(&mine, &my_agent), (&theirs, &their_agent)] {
        let post =
            |target: &str, body: Value| app.bare("POST", target).key(&client.token).json(body);
        let draft = json!({"name": "All", "agent_id": agent});
        let draft = post("/v1/campaigns", draft).await.assert(201);
        let target = format!("/v1/campaigns/{}", text(&draft["id"]));
        let people = json!({"recipients": [{"to": "+525511111111"}]});
        post(&format!("{target}/recipients"), people)
            .await
            .assert(201);
        let estimate = format!("{target}/estimate");
        let estimate = app
            .bare("GET", &estimate)
            .key(&client.token)
            .await
            .assert(200);
        estimates.push(estimate["credits"].as_i64());
    }
    assert!(estimates[0] < estimates[1], "{estimates:?}");

    let object = |url| format!(r#"{{"api_key":"sk-1","base_url":"{url}"}}"#);
    for (secret, is_kept) in [
        (object("http://models.example.com/v1"), false),
        (object("https://10.0.0.1/v1"), false),
        ("{sk-1".to_owned(), false),
        ("sk 1".to_owned(), false),
        (object("https://models.example.com/v1"), true),
    ] {
        let credentials = app.services.credentials();
        let set = credentials.set(theirs.account, OPENAI, &secret).await;
        assert_eq!(set.is_ok(), is_kept, "{secret}");
    }
    theirs.remove(OPENAI).await;

    // Only the own key opens a model that the catalog lacks.
    let unlisted = mine.agent("openai", "gpt-of-tomorrow").await;
    let unlisted = mine.begin(&unlisted).await;
    mine.say(&unlisted, 200).await;
    let refused = json!({"name": "Eva", "language": "en", "config": {
        "llm": {"provider": "openai", "model": "gpt-of-tomorrow"},
    }});
    let refused = app.bare("POST", "/v1/agents").json(refused);
    let refused = refused.key(&theirs.token).await;
    refused.assert_error(400, "invalid_body");

    // A refused key is recorded for the account.
    mine.set(OPENAI, REFUSED).await;
    mine.say(&my_chat, 502).await;
    while mine.last_error().await.is_none() {
        tokio::task::yield_now().await;
    }

    // A removed key takes effect at once. What began free does not go on at the deployment's cost.
    mine.remove(OPENAI).await;
    let sent = keys(&upstream).len();
    mine.say(&my_chat, 502).await;
    mine.say(&unlisted, 502).await;
    assert_eq!(keys(&upstream).len(), sent);
    let again = mine.begin(&my_agent).await;
    mine.say(&again, 200).await;
    assert_eq!(keys(&upstream)[sent..], ["k-deployment"]);
    assert_eq!(mine.end(&my_chat).await, 0);
    let price = theirs.end(&their_chat).await;
    assert_ne!(price, 0);
    assert_eq!(mine.end(&again).await, price);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_key_serves_its_account_alone_and_costs_nothing_on_sqlite() {
    an_own_key_serves_its_account_alone_and_costs_nothing(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn an_own_key_serves_its_account_alone_and_costs_nothing_on_postgres() {
    an_own_key_serves_its_account_alone_and_costs_nothing(TestDatabase::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_only_an_account_has_is_offered_to_it_alone() {
    let client = must(offhook_egress::GuardedClient::new(
        offhook_egress::Policy::default(),
    ));
    let app = TestApp::with(Setup {
        custom_models: Some(client),
        ..Setup::default()
    })
    .await;
    let mine = Client::of(&app, app.account).await;
    let theirs = Client::of(&app, other(&app).await).await;
    let (_, refused) = mine.publish(("anthropic", "claude-x"), 409).await;
    let why = refused.to_string();
    assert!(why.contains("config.llm.provider"), "{why}");
    assert!(why.contains("Settings, Provider credentials"), "{why}");
    mine.set(ANTHROPIC, "sk-ant-own-1234").await;
    let agent = mine.agent("anthropic", "claude-x").await;
    theirs.publish(("anthropic", "claude-x"), 409).await;
    mine.set(CredentialProvider::Deepgram, "dg-own-key").await;
    let offered = async |account, kind, name: &str| {
        let agents = must(app.services.agents().of(account).await);
        let offered = agents.offered_providers(kind);
        offered.iter().any(|one| one.name == name && one.is_set_up)
    };
    for (kind, name) in [
        (ModelKind::Llm, "anthropic"),
        (ModelKind::Stt, "deepgram"),
        (ModelKind::Tts, "provider_c"),
    ] {
        assert!(offered(mine.account, kind, name).await, "{name}");
        assert!(!offered(theirs.account, kind, name).await, "{name}");
    }
    assert!(!offered(mine.account, ModelKind::Llm, "google").await);

    // A published agent whose provider is gone is judged, and judged again.
    let agents = app.services.agents();
    mine.remove(ANTHROPIC).await;
    must(agents.judge_of(app.account).await);
    let status = async || {
        let read = app
            .bare("GET", &format!("/v1/agents/{agent}"))
            .key(&mine.token);
        read.await.assert(200)["status"].clone()
    };
    assert_eq!(status().await, "error");
    mine.set(ANTHROPIC, "sk-ant-own-1234").await;
    must(agents.judge().await);
    assert_eq!(status().await, "active");

    let listed = must(app.services.credentials().list(app.account).await);
    let ends: Vec<_> = listed
        .iter()
        .map(|one| one.last_characters.as_deref())
        .collect();
    assert_eq!(ends, [Some("1234"), None], "a short key shows nothing");
}
