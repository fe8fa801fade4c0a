//! Integrations in phone calls: each action happens once, and its result is reported truthfully.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ports::Application;
use offhook_domain::{IntegrationStatus, MemberRole};
use offhook_providers::{ApplicationSettings, application, application_within};
use offhook_testkit::fakes::calendar::{EVENTS_PATH, FakeCalendar};
use offhook_testkit::fakes::crm::FakeCrm;
use offhook_testkit::fakes::oauth::TOKEN_PATH;
use offhook_testkit::upstream::Fault;
use serde_json::{Value, json};

use crate::it::integrations::{
    agent, begin, calendar_at, connect, renew_after, settings, stands, stands_as, told, tool,
    turn_lease_clock,
};
use crate::it::world::{World, must};

/// A number that answers and talks.
const CUSTOMER: &str = "+5215512345678";

/// Slow enough for callees to listen to the end.
const SPEED: f64 = 100.0;

/// In the customer's first turn the agent books the appointment; then it says goodbye.
const BOOK: &str = r#"say: One moment.
call: google_calendar_book {"start":"2030-06-04T09:30","title":"Zoe"}
then: {result}.
say: Goodbye!"#;

const BOOKED: &str =
    r#"tool: google_calendar_book({"start":"2030-06-04T09:30","title":"Zoe"}) → {"booked":true,"#;

/// An account with a calendar, a key, and an agent that books.
struct Desk {
    world: World,
    fake: FakeCalendar,
    key: String,
    agent: String,
}

impl Desk {
    async fn open(prompt: &str) -> Self {
        Self::open_with(prompt, calendar_at).await
    }

    async fn open_with(prompt: &str, application: impl Fn(&str) -> Arc<dyn Application>) -> Self {
        let fake = FakeCalendar::start().await;
        let application = application(&fake.upstream.base_url());
        let world = World::start_at(SPEED, vec![application]).await;
        let ana = world.browser(MemberRole::Admin).await;
        connect(&fake, &ana).await;
        let tools = ["google_calendar_free_slots", "google_calendar_book"];
        Self::staff(world, fake, &tools, prompt).await
    }

    async fn staff(world: World, fake: FakeCalendar, tools: &[&str], prompt: &str) -> Self {
        let key = world.key().await;
        let mut ids = Vec::new();
        for name in tools {
            ids.push(tool(&world, &key, name).await);
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let agent = agent(&world, &ids, prompt).await;
        world.dial();
        Self {
            world,
            fake,
            key,
            agent,
        }
    }

    async fn api(&self, method: &str, path: &str, body: &str, status: u16) -> Value {
        let answer = self.world.api(&self.key, method, path, body).await;
        must(serde_json::from_str(&answer.assert(status).body))
    }

    /// Places a call; returns its handle.
    async fn call(&self) -> String {
        let body = json!({"agent_id": self.agent, "to": CUSTOMER}).to_string();
        let placed = self.api("POST", "/v1/calls", &body, 201).await;
        placed["id"].as_str().unwrap_or_default().to_owned()
    }

    /// The resource at a path, once it satisfies `is_done`.
    async fn until(&self, path: &str, is_done: impl Fn(&Value) -> bool) -> Value {
        let done = async {
            loop {
                let body = self.api("GET", path, "", 200).await;
                if is_done(&body) {
                    return body;
                }
                // Otherwise the account's rate limit would end the wait.
                self.world.clock.advance(Duration::from_secs(1));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        must(tokio::time::timeout(Duration::from_secs(30), done).await)
    }

    /// The ended call, and the turns of the agent and the tools.
    async fn ended(&self, handle: &str) -> (Value, Vec<String>) {
        let path = format!("/v1/calls/{handle}");
        let call = self
            .until(&path, |call| call["status"] != "initiated")
            .await;
        let id = handle.trim_start_matches("call_");
        let path = format!("/v1/conversations/{id}");
        let conversation = self.api("GET", &path, "", 200).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let turns = turns
            .filter(|turn| turn["role"] != "user")
            .map(|turn| format!("{}: {}", text(&turn["role"]), text(&turn["text"])));
        (call, turns.collect())
    }

    /// A call from beginning to end; returns the tools' turns.
    async fn held(&self) -> Vec<String> {
        let (call, turns) = self.ended(&self.call().await).await;
        assert_eq!(call["status"], "completed", "{call}");
        let tools = turns.into_iter();
        tools.filter(|turn| turn.starts_with("tool: ")).collect()
    }

    fn asked(&self, path: &str) -> usize {
        let asked = self.fake.upstream.asked_of("POST", path);
        asked.iter().filter(|asked| asked.path == path).count()
    }

    /// Waits until the calendar gets a booking request.
    async fn is_asked_to_book(&self) {
        let asked = async {
            while self.asked(EVENTS_PATH) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        must(tokio::time::timeout(Duration::from_secs(30), asked).await);
    }
}

/// The names of an object's members.
fn members(value: &Value) -> Vec<&str> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, _)| name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_finds_its_contact_books_is_logged_and_told_of_as_every_other() {
    let calendar = FakeCalendar::start().await;
    let crm = FakeCrm::start().await;
    crm.put("501", "Zoe", "Diaz", CUSTOMER);
    let base = crm.upstream.base_url();
    let settings = ApplicationSettings {
        api_url: Some(base.clone()),
        ..settings(&base)
    };
    let applications = vec![
        calendar_at(&calendar.upstream.base_url()),
        must(application("hubspot", &settings)),
    ];
    let world = World::start_at(SPEED, applications).await;
    let ana = world.browser(MemberRole::Admin).await;
    connect(&calendar, &ana).await;
    let url = begin(&ana, "/integrations/hubspot/connect").await;
    told(&ana, &crm.authority.consent(&url)).await;
    let tools = [
        "google_calendar_book",
        "hubspot_find_contact",
        "hubspot_log_call",
    ];
    let prompt = r#"say: One moment.
call: hubspot_find_contact {"query":"+5215512345678"}
call: google_calendar_book {"start":"2030-06-04T09:30","title":"Zoe"}
say: It is noted.
call: hubspot_log_call {"contact_id":"501","summary":"She comes on Tuesday.","direction":"outbound"}
say: Goodbye!"#;
    let desk = Desk::staff(world, calendar, &tools, prompt).await;
    desk.api(
        "POST",
        "/v1/webhooks",
        r#"{"url":"https://example.com/hook"}"#,
        201,
    )
    .await;
    let schema = r#"{"schema":{"type":"object","properties":{"topic":{"type":"string"}},"required":["topic"]}}"#;
    let target = format!("/v1/agents/{}/analysis-schema", desk.agent);
    desk.api("PUT", &target, schema, 200).await;

    let handle = desk.call().await;
    let (call, turns) = desk.ended(&handle).await;
    assert_eq!(call["status"], "completed", "{call}");
    let used: Vec<&str> = turns
        .iter()
        .filter_map(|turn| {
            turn.strip_prefix("tool: ")?
                .split_once('(')
                .map(|(name, _)| name)
        })
        .collect();
    assert_eq!(
        used,
        [
            "hubspot_find_contact",
            "google_calendar_book",
            "hubspot_log_call"
        ]
    );
    assert!(
        turns
            .iter()
            .any(|turn| turn.contains("\"contact_id\":\"501\"")),
        "{turns:?}"
    );
    assert!(
        turns.iter().any(|turn| turn.starts_with(BOOKED)),
        "{turns:?}"
    );
    let events = desk.fake.events();
    assert_eq!((events.len(), &events[0]["summary"]), (1, &json!("Zoe")));
    let id = handle.trim_start_matches("call_");
    let event = events[0]["id"].as_str().unwrap_or_default();
    assert!(
        event.starts_with(&id.replace('-', "")),
        "it says which conversation booked it"
    );
    let calls = crm.calls();
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["properties"]["hs_call_direction"], "OUTBOUND");

    let path = format!("/v1/conversations/{id}");
    let analysed = desk
        .until(&path, |it| it["analysis"]["status"] != "pending")
        .await;
    let analysis = &analysed["analysis"];
    assert_eq!(analysis["status"], "completed", "{analysis}");
    assert!(analysis["data"]["topic"].is_string(), "{analysis}");

    events_keep_their_shape(&desk, &handle).await;
}

/// An analysis does not change the shape of a call's webhook events.
async fn events_keep_their_shape(desk: &Desk, handle: &str) {
    let kinds = desk.api("GET", "/v1/webhooks/events", "", 200).await;
    let example = |kind: &str| {
        let mut all = kinds["data"].as_array().into_iter().flatten();
        let found = all.find(|event| event["type"] == kind);
        found.map_or(Value::Null, |event| event["example"].clone())
    };
    for kind in ["call.initiated", "call.completed"] {
        let path = format!("/v1/webhooks/deliveries?type={kind}");
        let list = desk.api("GET", &path, "", 200).await;
        assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{kind}");
        let delivery = list["data"][0]["id"].as_str().unwrap_or_default();
        let path = format!("/v1/webhooks/deliveries/{delivery}");
        let event = desk.api("GET", &path, "", 200).await["payload"].clone();
        let example = example(kind);
        assert_eq!(members(&event), members(&example), "{kind}");
        assert_eq!(members(&event["data"]), members(&example["data"]), "{kind}");
        assert_eq!(event["data"]["id"], handle);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_that_takes_its_time_is_waited_for_while_the_call_goes_on() {
    let desk = Desk::open(BOOK).await;
    let slow = Fault::Slow(Duration::from_secs(2));
    desk.fake.upstream.fail("POST", EVENTS_PATH, slow, 1);
    // The customer loses patience and speaks, which stops no tool.
    let tools = desk.held().await;
    assert!(
        tools.len() == 1 && tools[0].starts_with(BOOKED),
        "{tools:?}"
    );
    assert_eq!((desk.fake.events().len(), desk.asked(EVENTS_PATH)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_that_takes_too_long_may_have_booked_and_that_is_what_is_said() {
    let desk = Desk::open_with(BOOK, |base| {
        must(application_within(
            "google_calendar",
            &settings(base),
            Duration::from_secs(3),
        ))
    })
    .await;
    let silent = Fault::Slow(Duration::from_secs(600));
    desk.fake.forget(true);
    desk.fake.upstream.fail("POST", EVENTS_PATH, silent, 1);
    let tools = desk.held().await;
    assert!(
        tools[0].contains("it may have been booked, or not. Do not try again"),
        "{tools:?}"
    );
    assert_eq!((tools.len(), desk.asked(EVENTS_PATH)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_does_not_make_a_second_appointment() {
    // Each time the customer speaks, the model books the same again.
    let again = BOOK.lines().take(3).collect::<Vec<_>>().join("\n");
    let desk = Desk::open(&again).await;
    desk.fake
        .upstream
        .fail("POST", EVENTS_PATH, Fault::LoseAnswer, 1);
    let tools = desk.held().await;
    assert!(tools.len() > 1, "{tools:?}");
    assert!(
        tools.iter().all(|turn| turn.starts_with(BOOKED)),
        "{tools:?}"
    );
    assert_eq!((desk.fake.events().len(), desk.asked(EVENTS_PATH)), (1, 1));
    // Another call needs another appointment.
    let tools = desk.held().await;
    assert!(tools[0].contains("That time is taken"), "{tools:?}");
    assert_eq!(desk.fake.events().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ends_while_the_calendar_books_says_that_nobody_knows() {
    let desk = Desk::open(BOOK).await;
    let silent = Fault::Slow(Duration::from_secs(600));
    desk.fake.upstream.fail("POST", EVENTS_PATH, silent, 1);
    let handle = desk.call().await;
    desk.is_asked_to_book().await;
    desk.api("POST", &format!("/v1/calls/{handle}/hangup"), "", 202)
        .await;
    let (call, turns) = desk.ended(&handle).await;
    assert_eq!(call["termination_reason"], "api_hangup", "{call}");
    let last = turns.last().map(String::as_str).unwrap_or_default();
    assert!(
        last.ends_with("it may have been done, or not."),
        "{turns:?}"
    );
    assert_eq!((desk.fake.events().len(), desk.asked(EVENTS_PATH)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_good_no_more_is_renewed_once_and_the_booking_is_made() {
    let prompt = r#"say: One moment.
call: google_calendar_free_slots {"date":"2030-06-04","to_time":"10:00"}
call: google_calendar_book {"start":"2030-06-04T09:30","title":"Zoe"}
then: {result}.
say: Goodbye!"#;
    let desk = Desk::open(prompt).await;
    desk.fake.authority.rotate();
    for rounds in 1..=2 {
        // Two concurrent tools find the token rejected: first before its expiry, then after it.
        desk.fake.authority.lapse();
        if rounds == 2 {
            desk.world.clock.advance(Duration::from_secs(7_200));
            desk.fake.cancel_all();
        }
        let tools = desk.held().await;
        assert!(tools[0].contains("free_slots"), "{tools:?}");
        assert!(tools[1].starts_with(BOOKED), "{tools:?}");
        assert_eq!(
            desk.asked(TOKEN_PATH),
            1 + rounds,
            "a consent and each renewal"
        );
        assert_eq!(stands(&desk.world).await, (IntegrationStatus::Active, None));
    }
    assert_eq!(desk.fake.events().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn access_that_was_withdrawn_is_said_plainly_and_the_status_is_true() {
    let desk = Desk::open(BOOK).await;
    desk.fake.authority.withdraw();
    let tools = desk.held().await;
    let said = "The application does not let the service in any more, and nothing was done";
    assert!(tools[0].contains(said), "{tools:?}");
    let (status, error) = stands(&desk.world).await;
    assert_eq!(status, IntegrationStatus::Expired);
    let error = error.unwrap_or_default();
    assert!(
        error.starts_with("Google Calendar takes the authorization no more"),
        "{error}"
    );
    // Further calls send no futile requests.
    let tools = desk.held().await;
    assert!(
        tools[0].contains("The application is not connected"),
        "{tools:?}"
    );
    assert_eq!((desk.asked(TOKEN_PATH), desk.asked(EVENTS_PATH)), (2, 0));
    assert!(desk.fake.events().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_refused_though_it_is_new_is_not_renewed_again_and_again() {
    let desk = Desk::open(BOOK).await;
    let refuse = |times| {
        let upstream = &desk.fake.upstream;
        upstream.fail("GET", EVENTS_PATH, Fault::Status(401), times);
    };
    let is_refused = async || {
        let stand = stands_as(&desk.world, IntegrationStatus::Error).await;
        let said = "Google Calendar takes no authorization of this service, not even a new one (HTTP status 401)";
        assert!(
            stand
                .as_deref()
                .is_some_and(|stand| stand.starts_with(said)),
            "{stand:?}"
        );
    };
    refuse(3);
    for _ in 0..2 {
        let tools = desk.held().await;
        let said = "does not let the service in, and nothing was done";
        assert!(tools[0].contains(said), "{tools:?}");
        // The second call tries the existing tokens.
        assert_eq!((desk.asked(TOKEN_PATH), desk.fake.events().len()), (2, 0));
        is_refused().await;
    }
    // Neither a broken request nor new tokens prove that the application grants access.
    let upstream = &desk.fake.upstream;
    upstream.fail("GET", EVENTS_PATH, Fault::Status(503), 1);
    desk.held().await;
    is_refused().await;
    turn_lease_clock(&desk.world, 16);
    assert_eq!(renew_after(&desk.world, 1).await, 1);
    assert_eq!(desk.asked(TOKEN_PATH), 3);
    is_refused().await;
    // After a while, a call renews them once more.
    refuse(2);
    desk.held().await;
    assert_eq!(desk.asked(TOKEN_PATH), 4);
    is_refused().await;
    // The next successful request clears the error without reconnecting.
    desk.held().await;
    assert_eq!(
        stands_as(&desk.world, IntegrationStatus::Active).await,
        None
    );
    assert_eq!((desk.asked(TOKEN_PATH), desk.fake.events().len()), (4, 1));
}
