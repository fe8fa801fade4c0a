//! Integrations: connected in the portal, used by agents as tools, renewed, and revoked; against fakes.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ports::Application;
use offhook_domain::{AgentId, IntegrationStatus, Json, MemberRole};
use offhook_providers::{ApplicationSettings, application};
use offhook_services::{Integration, Services};
use offhook_testkit::fakes::calendar::{API_PATH, EVENTS_PATH, FakeCalendar};
use offhook_testkit::fakes::crm::FakeCrm;
use offhook_testkit::fakes::oauth::{
    AUTHORIZE_PATH, CLIENT_ID, CLIENT_SECRET, REVOKE_PATH, TOKEN_PATH,
};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::it::world::{Browser, Page, World, must};

pub(crate) const CONNECT: &str = "/integrations/google_calendar/connect";
pub(crate) const DISCONNECT: &str = "/integrations/google_calendar/disconnect";
const CALLBACK: &str = "/integrations/callback";

pub(crate) fn settings(base: &str) -> ApplicationSettings {
    ApplicationSettings {
        client_id: CLIENT_ID.to_owned(),
        client_secret: CLIENT_SECRET.to_owned(),
        authorize_url: Some(format!("{base}{AUTHORIZE_PATH}")),
        token_url: Some(format!("{base}{TOKEN_PATH}")),
        revoke_url: Some(format!("{base}{REVOKE_PATH}")),
        api_url: Some(format!("{base}{API_PATH}")),
    }
}

pub(crate) fn calendar_at(base: &str) -> Arc<dyn Application> {
    must(application("google_calendar", &settings(base)))
}

/// A service with a configured calendar, and an admin of an account.
pub(crate) async fn with_calendar() -> (World, FakeCalendar, Browser) {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let world = World::start_with(vec![application]).await;
    let ana = world.browser(MemberRole::Admin).await;
    (world, fake, ana)
}

/// Starts connecting; returns the URL of the application's page, from a plain link.
pub(crate) async fn begin(browser: &Browser, path: &str) -> String {
    let page = browser.post(path, &[]).await.assert(200);
    let (_, rest) = page
        .body
        .split_once("class=\"button primary\" href=\"")
        .unwrap_or_else(|| panic!("no link in {}", page.body));
    let url = rest.split('"').next().unwrap_or_default();
    url.replace("&amp;", "&")
}

async fn back(browser: &Browser, query: &str) -> Page {
    browser.get(&format!("{CALLBACK}?{query}")).await
}

/// Returns from the application to the list; returns the text of the notice.
pub(crate) async fn told(browser: &Browser, query: &str) -> String {
    let page = back(browser, query).await;
    let notice = page.header("set-cookie").unwrap_or_default().to_owned();
    assert_eq!(page.leads(), "/integrations");
    let value = notice
        .trim_start_matches("offhook_notice=")
        .split(';')
        .next();
    let value = value.unwrap_or_default();
    percent_encoding::percent_decode_str(value)
        .decode_utf8_lossy()
        .into_owned()
}

pub(crate) async fn connect(fake: &FakeCalendar, browser: &Browser) {
    let query = fake.authority.consent(&begin(browser, CONNECT).await);
    let said = told(browser, &query).await;
    assert!(said.starts_with("Google Calendar connected."), "{said}");
}

async fn calendar(world: &World) -> Integration {
    let integrations = world.services.integrations();
    let all = must(integrations.list(world.account, None, 1_000).await).items;
    let mut found = all.into_iter();
    let found = found.find(|integration| integration.toolkit.toolkit == "google_calendar");
    found.unwrap_or_else(|| panic!("no calendar"))
}

/// The status and the error.
pub(crate) async fn stands(world: &World) -> (IntegrationStatus, Option<String>) {
    let calendar = calendar(world).await;
    (calendar.status, calendar.last_error)
}

/// Waits until the connection has this status; returns its error.
pub(crate) async fn stands_as(world: &World, status: IntegrationStatus) -> Option<String> {
    let stands = async {
        loop {
            let (stands, error) = stands(world).await;
            if stands == status {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(10), stands).await)
}

/// Renews expired tokens, if it is this process's turn; returns how many connections it renewed.
pub(crate) async fn renew(services: &Services) -> usize {
    let renewals = services.integrations().renewals();
    must(renewals.run_due(&CancellationToken::new()).await)
}

/// As [`renew`], after this time.
pub(crate) async fn renew_after(world: &World, hours: u64) -> usize {
    world.clock.advance(Duration::from_secs(hours * 3_600));
    renew(&world.services).await
}

/// The id of an account's tool, by its name.
pub(crate) async fn tool(world: &World, key: &str, name: &str) -> String {
    let list = world
        .api(key, "GET", "/v1/agents/tools?limit=100", "")
        .await;
    let list: serde_json::Value = must(serde_json::from_str(&list.assert(200).body));
    let tools = list["data"].as_array().cloned().unwrap_or_default();
    let found = tools.iter().find(|tool| tool["name"] == name);
    let id = found.and_then(|tool| tool["id"].as_str());
    id.unwrap_or_else(|| panic!("no {name} in {list}"))
        .to_owned()
}

/// Advances the lease clock by this many seconds.
pub(crate) fn turn_lease_clock(world: &World, seconds: i64) {
    world.services.store().turn_lease_clock(seconds * 1_000_000);
}

/// A published agent with these tools, whose model follows this script.
pub(crate) async fn agent(world: &World, tools: &[&str], prompt: &str) -> String {
    let body = json!({
        "name": "Sofia",
        "language": "en",
        "config": {
            "system_prompt": prompt,
            "first_message": "Hello.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "tool_ids": tools,
        },
    });
    let body = must(Json::parse(body.to_string().as_bytes()));
    let agents = world.services.agents();
    let made = must(agents.create(world.account, &body).await);
    let id: AgentId = made.agent.id;
    let nothing = Json::object::<String>([]);
    must(agents.publish(world.account, id, &nothing).await);
    id.to_string()
}

/// An agent that looks up free times, and says them.
pub(crate) async fn receptionist(world: &World) -> String {
    let free = tool(world, &world.key().await, "google_calendar_free_slots").await;
    let prompt = "say: One moment.\n\
                  call: google_calendar_free_slots {\"date\":\"2030-06-04\",\"to_time\":\"10:00\"}\n\
                  then: There is {result}.";
    agent(world, &[&free], prompt).await
}

/// A chat with the agent in which the customer sends one message; returns its page.
pub(crate) async fn chat(developer: &Browser, agent: &str) -> Page {
    let chat = developer
        .post("/try/chat", &[("agent", agent)])
        .await
        .leads();
    let message = [("message_id", "m1"), ("after", "0"), ("text", "Tuesday?")];
    developer
        .post(&format!("{chat}/messages"), &message)
        .await
        .leads();
    developer.get(&chat).await.assert(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_books_in_the_calendar_that_an_admin_connected() {
    let (world, fake, ana) = with_calendar().await;
    let page = ana.post(CONNECT, &[]).await.assert(200);
    let page = page.shows(&[
        "Connect Google Calendar",
        "127.0.0.1",
        "Looks up which times are free",
    ]);
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("form-action 'self'"), "{policy}");
    assert_eq!(stands(&world).await, (IntegrationStatus::Connecting, None));
    connect(&fake, &ana).await;
    let calendar = calendar(&world).await;
    assert_eq!(calendar.status, IntegrationStatus::Active);
    assert!(calendar.connected_at.is_some());

    let key = world.key().await;
    let free = tool(&world, &key, "google_calendar_free_slots").await;
    let book = tool(&world, &key, "google_calendar_book").await;
    let shown = world
        .api(&key, "GET", &format!("/v1/agents/tools/{book}"), "")
        .await;
    let shown: serde_json::Value = must(serde_json::from_str(&shown.assert(200).body));
    assert_eq!(shown["kind"], "http");
    assert_eq!(shown["http"]["method"], "POST");
    assert_eq!(shown["http"]["headers"], json!({}));
    assert_eq!(
        shown.get("function"),
        None,
        "the shape of a tool is the interface's"
    );
    let renamed = r#"{"name":"appointment","description":"Books."}"#;
    let path = format!("/v1/agents/tools/{book}");
    world.api(&key, "PATCH", &path, renamed).await.assert(200);
    ana.get(&format!("/tools/{book}"))
        .await
        .assert(200)
        .shows(&["comes from a connected application"]);
    let other = r#"{"http":{"url":"https://example.com/"}}"#;
    let refused = world.api(&key, "PATCH", &path, other).await.assert(409);
    refused.shows(&["only its `name` and `description` may be changed"]);

    let day = "2030-06-04";
    let prompt = format!(
        "say: One moment.\n\
         call: google_calendar_free_slots {{\"date\":\"{day}\",\"to_time\":\"10:00\"}}\n\
         then: There is {{result}}.\n\
         call: appointment {{\"start\":\"{day}T09:30\",\"title\":\"Zoe\"}}\n\
         then: Done: {{result}}."
    );
    let agent = agent(&world, &[&free, &book], &prompt).await;
    chat(&ana, &agent).await.shows(&["&quot;booked&quot;:true"]);
    let events = fake.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["summary"], "Zoe");
    assert_eq!(
        events[0]["start"]["dateTime"],
        format!("{day}T09:30:00-06:00")
    );

    // A second customer who wants the same time is refused.
    chat(&ana, &agent).await.shows(&["That time is taken"]);
    assert_eq!(fake.events().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_finds_its_contact_and_is_logged() {
    let fake = FakeCrm::start().await;
    fake.put("501", "Zoe", "Diaz", "+5215512345678");
    let settings = ApplicationSettings {
        api_url: Some(fake.upstream.base_url()),
        ..settings(&fake.upstream.base_url())
    };
    let hubspot = must(application("hubspot", &settings));
    let world = World::start_with(vec![hubspot]).await;
    let ana = world.browser(MemberRole::Admin).await;
    let url = begin(&ana, "/integrations/hubspot/connect").await;
    told(&ana, &fake.authority.consent(&url)).await;
    let key = world.key().await;
    let find = tool(&world, &key, "hubspot_find_contact").await;
    let log = tool(&world, &key, "hubspot_log_call").await;
    let prompt = "say: One moment.\n\
                  call: hubspot_find_contact {\"query\":\"+5215512345678\"}\n\
                  then: Noted.\n\
                  call: hubspot_log_call {\"contact_id\":\"501\",\"summary\":\"She comes on Tuesday.\"}\n\
                  then: {result}.";
    let agent = agent(&world, &[&find, &log], prompt).await;
    chat(&ana, &agent).await.shows(&["&quot;logged&quot;:true"]);
    let calls = fake.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    let expected = "She comes on Tuesday.";
    assert_eq!(calls[0]["properties"]["hs_call_body"], expected);
    assert_eq!(calls[0]["associations"][0]["to"]["id"], "501");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_good_once_in_time_and_for_the_session_that_asked() {
    let (world, fake, ana) = with_calendar().await;
    let eve = world.browser(MemberRole::Owner).await;
    let stranger = world.stranger().await;
    let stale = "Not connected: this response came too late";
    let query = fake.authority.consent(&begin(&ana, CONNECT).await);
    for (browser, query) in [
        (&eve, query.as_str()),
        (&stranger, query.as_str()),
        (&ana, "state=forged&code=code-1"),
        (&ana, "code=code-1"),
        (&ana, ""),
    ] {
        let said = told(browser, query).await;
        assert!(said.starts_with(stale), "{query}: {said}");
    }
    assert!(
        fake.upstream.asked_of("POST", TOKEN_PATH).is_empty(),
        "no code was tried"
    );
    assert!(
        told(&ana, &query)
            .await
            .starts_with("Google Calendar connected.")
    );
    let said = told(&ana, &query).await;
    assert!(said.starts_with(stale), "a replay: {said}");
    assert_eq!(fake.upstream.asked_of("POST", TOKEN_PATH).len(), 1);

    let late = fake.authority.consent(&begin(&ana, CONNECT).await);
    world.clock.advance(Duration::from_secs(600));
    assert!(
        told(&ana, &late).await.starts_with(stale),
        "ten minutes are over"
    );
    assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_no_or_turns_back_leaves_everything_as_it_was() {
    let (world, fake, ana) = with_calendar().await;
    let url = begin(&ana, CONNECT).await;
    assert_eq!(stands(&world).await, (IntegrationStatus::Connecting, None));
    let no = fake.authority.refuse(&url, "access_denied");
    let said = told(&ana, &no).await;
    let expected = "Access to Google Calendar was not allowed. Nothing changed.";
    assert_eq!(said, expected);
    assert_eq!(stands(&world).await, (IntegrationStatus::Available, None));
    begin(&ana, CONNECT).await;
    world.clock.advance(Duration::from_secs(600));
    assert_eq!(
        stands(&world).await,
        (IntegrationStatus::Available, None),
        "nobody came back"
    );
    connect(&fake, &ana).await;
    let url = begin(&ana, CONNECT).await;
    assert_eq!(
        stands(&world).await.0,
        IntegrationStatus::Active,
        "what works goes on working"
    );
    told(&ana, &fake.authority.refuse(&url, "access_denied")).await;
    assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_grants_nothing_is_told_of_without_its_words() {
    let (world, fake, ana) = with_calendar().await;
    let not_granted = "Google Calendar did not grant access. Nothing was connected.";
    for fault in [
        Fault::Close,
        Fault::LoseAnswer,
        Fault::CutBody,
        Fault::Malformed,
        Fault::Unknown,
        Fault::Status(404),
        Fault::Status(429),
        Fault::Status(500),
    ] {
        let query = fake.authority.consent(&begin(&ana, CONNECT).await);
        fake.upstream.fail("POST", TOKEN_PATH, fault, 1);
        let said = told(&ana, &query).await;
        assert!(said.starts_with(not_granted), "{fault:?}: {said}");
        let (status, error) = stands(&world).await;
        let error = error.unwrap_or_default();
        assert_eq!(status, IntegrationStatus::Error, "{fault:?}");
        assert!(error.starts_with("Google Calendar "), "{fault:?}: {error}");
        assert!(!error.contains(UPSTREAM_WORDS), "{error}");
        assert!(
            told(&ana, &query).await.starts_with("Not connected"),
            "used up"
        );
    }
    fake.authority
        .allow(Some("https://www.googleapis.com/auth/calendar.events"));
    let query = fake.authority.consent(&begin(&ana, CONNECT).await);
    assert!(told(&ana, &query).await.starts_with(not_granted), "a part");
    let error = stands(&world).await.1.unwrap_or_default();
    assert!(
        error.ends_with("connect it again, and allow all of it"),
        "{error}"
    );
    fake.authority.allow(None);
    let url = begin(&ana, CONNECT).await;
    let said = told(&ana, &fake.authority.refuse(&url, "server_error")).await;
    assert!(said.starts_with(not_granted), "{said}");
    connect(&fake, &ana).await;
    assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_uses_is_renewed_once_a_day_and_the_status_is_true() {
    let (world, fake, ana) = with_calendar().await;
    fake.authority.rotate();
    connect(&fake, &ana).await;
    let active = (IntegrationStatus::Active, None);
    assert_eq!(renew_after(&world, 0).await, 0, "it is good yet");
    assert_eq!(renew_after(&world, 23).await, 0, "too soon");
    assert_eq!(renew_after(&world, 1).await, 1);
    assert_eq!(stands(&world).await, active);
    let (_, refresh) = fake.authority.good();
    assert_eq!(refresh.len(), 1, "rotated");

    fake.upstream
        .fail("POST", TOKEN_PATH, Fault::Status(500), 1);
    assert_eq!(renew_after(&world, 24).await, 1);
    assert_eq!(stands(&world).await, active, "nobody missed anything");
    turn_lease_clock(&world, 16);
    assert_eq!(renew_after(&world, 24).await, 1);
    let (_, after) = fake.authority.good();
    assert_ne!(after, refresh);

    fake.authority.withdraw();
    assert_eq!(renew_after(&world, 24).await, 1);
    let (status, error) = stands(&world).await;
    assert_eq!(status, IntegrationStatus::Expired);
    let said = "Google Calendar takes the authorization no more";
    assert!(error.unwrap_or_default().starts_with(said));
    assert_eq!(renew_after(&world, 24).await, 0, "nothing is left to renew");
    let ana = world.browser_elsewhere(MemberRole::Admin).await;
    ana.get("/integrations")
        .await
        .assert(200)
        .shows(&["Expired", said, "Reconnect"]);
    let ben = world
        .browser_elsewhere(MemberRole::Admin)
        .await
        .in_spanish();
    ben.get("/integrations").await.assert(200).shows(&[
        "Google Calendar ya no acepta la autorización (se retiró allá, o venció): conéctala de nuevo",
    ]);
    connect(&fake, &ana).await;
    assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_lapsed_unseen_is_renewed_for_the_conversation_that_needs_it() {
    let (world, fake, ana) = with_calendar().await;
    connect(&fake, &ana).await;
    let agent = receptionist(&world).await;
    // No process renewed it.
    fake.authority.lapse();
    world.clock.advance(Duration::from_secs(7_200));
    chat(&ana, &agent)
        .await
        .shows(&["2030-06-04T09:00:00-06:00"]);
    // The application rejects the token before its expiry.
    fake.authority.lapse();
    chat(&ana, &agent)
        .await
        .shows(&["2030-06-04T09:00:00-06:00"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_failed_is_tried_again_for_the_conversation_that_needs_it() {
    let (world, fake, ana) = with_calendar().await;
    connect(&fake, &ana).await;
    let agent = receptionist(&world).await;
    let times = ["2030-06-04T09:00:00-06:00"];
    let not_now = ["The application could not be reached for new access, and nothing was done"];
    let asked = || fake.upstream.asked_of("POST", TOKEN_PATH).len();
    let away = |times| {
        let upstream = &fake.upstream;
        upstream.fail("POST", TOKEN_PATH, Fault::Status(500), times);
    };

    fake.authority.lapse();
    world.clock.advance(Duration::from_secs(7_200));
    away(2);
    chat(&ana, &agent).await.shows(&not_now);
    let (status, error) = stands(&world).await;
    assert_eq!(status, IntegrationStatus::Error);
    let said = "Google Calendar answers with HTTP status 500";
    assert!(error.unwrap_or_default().starts_with(said));
    assert_eq!(asked(), 2, "a consent and a renewal");
    chat(&ana, &agent).await.shows(&not_now);
    assert_eq!(asked(), 2, "not by each that needs it");
    turn_lease_clock(&world, 16);
    chat(&ana, &agent).await.shows(&not_now);
    assert_eq!(asked(), 3);
    turn_lease_clock(&world, 32);
    chat(&ana, &agent).await.shows(&times);
    assert_eq!(asked(), 4);
    assert_eq!(stands_as(&world, IntegrationStatus::Active).await, None);

    // Rejected before its expiry, and the renewal fails; then the token works after all.
    away(1);
    let upstream = &fake.upstream;
    upstream.fail("GET", EVENTS_PATH, Fault::Status(401), 1);
    chat(&ana, &agent).await.shows(&not_now);
    assert_eq!(stands(&world).await.0, IntegrationStatus::Error);
    chat(&ana, &agent).await.shows(&times);
    assert_eq!(asked(), 5, "the token that there is was used");
    stands_as(&world, IntegrationStatus::Active).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_consent_is_a_new_connection_and_a_renewal_is_none() {
    let (world, fake, ana) = with_calendar().await;
    let connected_at = async || calendar(&world).await.connected_at;
    connect(&fake, &ana).await;
    let first = connected_at().await;
    assert_eq!(renew_after(&world, 1).await, 1);
    assert_eq!(connected_at().await, first);
    connect(&fake, &ana).await;
    let second = connected_at().await;
    assert!(second > first, "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_revoked_and_its_tools_say_so() {
    let (world, fake, ana) = with_calendar().await;
    connect(&fake, &ana).await;
    let key = world.key().await;
    let book = tool(&world, &key, "google_calendar_book").await;
    let prompt = "say: One moment.\n\
                  call: google_calendar_book {\"start\":\"2030-06-04T09:30\",\"title\":\"Zoe\"}\n\
                  then: {result}.";
    let agent = agent(&world, &[&book], prompt).await;
    assert_eq!(ana.post(DISCONNECT, &[]).await.leads(), "/integrations");
    assert_eq!(fake.authority.good(), (Vec::new(), Vec::new()));
    let expected = (IntegrationStatus::Disconnected, None);
    assert_eq!(stands(&world).await, expected);
    chat(&ana, &agent)
        .await
        .shows(&["The application is not connected"]);
    assert!(fake.upstream.asked_of("POST", EVENTS_PATH).is_empty());
    assert_eq!(renew_after(&world, 2).await, 0);

    // After reconnecting, the same tool works again.
    connect(&fake, &ana).await;
    assert_eq!(tool(&world, &key, "google_calendar_book").await, book);
    chat(&ana, &agent).await.shows(&["&quot;booked&quot;:true"]);
    fake.upstream
        .fail("POST", REVOKE_PATH, Fault::Status(500), 1);
    let page = ana.post(DISCONNECT, &[]).await;
    let notice = page.header("set-cookie").unwrap_or_default();
    assert!(notice.contains("did%20not%20confirm"), "{notice}");
    let expected = (IntegrationStatus::Disconnected, None);
    assert_eq!(stands(&world).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_can_work_is_offered_and_only_to_those_who_may() {
    let (world, _fake, ana) = with_calendar().await;
    let page = ana.get("/integrations").await.assert(200);
    assert_eq!(
        page.body.matches("/connect\"").count(),
        1,
        "the calendar alone"
    );
    let answer = ana.post("/integrations/hubspot/connect", &[]).await;
    answer.assert(404);
    let answer = ana.post("/integrations/nothing/connect", &[]).await;
    answer.assert(404);
    let developer = world.browser(MemberRole::Developer).await;
    let page = developer.get("/integrations").await.assert(200);
    assert_eq!(page.body.matches("/connect\"").count(), 0);
    developer.post(CONNECT, &[]).await.assert(403);
    developer.post(DISCONNECT, &[]).await.assert(403);
    let answer = developer.get(&format!("{CALLBACK}?state=a&code=b")).await;
    answer.assert(403);
    let bare = World::start().await;
    let bea = bare.browser(MemberRole::Owner).await;
    let page = bea.get("/integrations").await.assert(200);
    assert_eq!(
        page.body.matches("/connect\"").count(),
        0,
        "this service is set up for none"
    );
    bea.post(CONNECT, &[]).await.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daily_pass_that_was_cut_short_goes_on_with_the_next_process() {
    let (world, fake, ana) = with_calendar().await;
    connect(&fake, &ana).await;
    world.clock.advance(Duration::from_secs(24 * 3_600));
    let stopping = CancellationToken::new();
    stopping.cancel();
    let renewals = world.services.integrations().renewals();
    assert_eq!(must(renewals.run_due(&stopping).await), 1);
    assert_eq!(renew_after(&world, 2).await, 1, "due at once");
    assert_eq!(renew_after(&world, 2).await, 0, "a day later");
}
