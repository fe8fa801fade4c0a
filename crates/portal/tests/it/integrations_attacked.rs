//! Connecting and renewing under attack and at bad moments.

use std::time::Duration;

use offhook_domain::tool::TOOLS_AT_MOST;
use offhook_domain::{IntegrationStatus, Json, MemberRole};
use offhook_testkit::fakes::oauth::{CLIENT_SECRET, TOKEN_PATH};
use offhook_testkit::upstream::Fault;

use crate::it::integrations::{
    CONNECT, DISCONNECT, begin, calendar_at, chat, connect, receptionist, renew, renew_after,
    stands, told, with_calendar,
};
use crate::it::world::must;

const NOT_GRANTED: &str = "Google Calendar did not grant access. Nothing was connected.";

const STALE: &str = "Not connected: this response came too late";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_belongs_to_one_session_of_the_person_who_asked() {
    let (world, fake, ana) = with_calendar().await;
    let elsewhere = world.browser_elsewhere(MemberRole::Admin).await;
    let query = fake.authority.consent(&begin(&ana, CONNECT).await);
    assert!(told(&elsewhere, &query).await.starts_with(STALE));
    assert!(fake.upstream.asked_of("POST", TOKEN_PATH).is_empty());
    assert!(
        told(&ana, &query)
            .await
            .starts_with("Google Calendar connected.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_exchanged_with_the_verifier_and_the_address_of_its_own_consent() {
    let (world, fake, ana) = with_calendar().await;
    let (first, second) = (begin(&ana, CONNECT).await, begin(&ana, CONNECT).await);
    let (first, second) = (
        fake.authority.consent(&first),
        fake.authority.consent(&second),
    );
    // Another person's code with a valid state.
    let state = first.split('&').next().unwrap_or_default();
    let code = second.split('&').nth(1).unwrap_or_default();
    assert!(
        told(&ana, &format!("{state}&{code}"))
            .await
            .starts_with(NOT_GRANTED)
    );
    // This uses up the code, and its own state is now useless.
    assert!(told(&ana, &second).await.starts_with(NOT_GRANTED));
    assert_eq!(stands(&world).await.0, IntegrationStatus::Error);
    let exchanges = fake.upstream.asked_of("POST", TOKEN_PATH);
    assert_eq!(exchanges.len(), 2);
    let form = exchanges[0].form();
    let of = |name: &str| {
        let found = form.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let expected = "http://localhost:8080/portal/integrations/callback";
    assert_eq!(of("redirect_uri"), expected);
    assert!(of("code_verifier").len() >= 43, "{form:?}");
    assert_eq!(exchanges[0].query, "", "secrets travel in the body alone");
    // A redirect with an error has no code, whatever else it contains.
    let url = begin(&ana, CONNECT).await;
    let both = format!("{}&error=access_denied", fake.authority.consent(&url));
    assert!(
        told(&ana, &both)
            .await
            .starts_with("Access to Google Calendar was not allowed")
    );
    assert_eq!(fake.upstream.asked_of("POST", TOKEN_PATH).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_application_sends_back_is_shown_to_nobody() {
    let (world, fake, ana) = with_calendar().await;
    let url = begin(&ana, CONNECT).await;
    let evil = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let said = told(&ana, &fake.authority.refuse(&url, evil)).await;
    assert!(
        said.starts_with(NOT_GRANTED) && !said.contains("script"),
        "{said}"
    );
    let page = ana.get("/integrations").await.assert(200);
    assert!(!page.body.contains("alert(1)") && !page.body.contains(CLIENT_SECRET));
    let (_, error) = stands(&world).await;
    assert_eq!(
        error.as_deref(),
        Some("Google Calendar answered the request for consent with an error")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_that_rotates_is_used_by_one_of_two_processes() {
    let (world, fake, ana) = with_calendar().await;
    fake.authority.rotate();
    connect(&fake, &ana).await;
    let another = world.beside(vec![calendar_at(&fake.upstream.base_url())]);
    let agent = receptionist(&world).await;
    for round in 1..=3 {
        world.clock.advance(Duration::from_secs(86_400));
        let ana = world.browser_elsewhere(MemberRole::Admin).await;
        let slow = Fault::Slow(Duration::from_millis(200));
        fake.upstream.fail("POST", TOKEN_PATH, slow, 1);
        // One of them needs new tokens at once, the other has its daily turn.
        let (page, renewed) = tokio::join!(chat(&ana, &agent), renew(&another));
        page.shows(&["2030-06-04T09:00:00-06:00"]);
        assert!(renewed <= 1);
        assert_eq!(fake.upstream.asked_of("POST", TOKEN_PATH).len(), 1 + round);
        assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_with_hardly_a_life_are_not_asked_for_without_end() {
    let (world, fake, _) = with_calendar().await;
    for seconds in [0, 5] {
        fake.authority.expire_in(Some(seconds));
        let ana = world.browser_elsewhere(MemberRole::Admin).await;
        connect(&fake, &ana).await;
        let before = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        for _ in 0..3 {
            assert_eq!(renew_after(&world, 24).await, 1);
            assert_eq!(renew_after(&world, 0).await, 0, "again at once");
        }
        let after = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        assert_eq!(after - before, 3);
        assert_eq!(stands(&world).await, (IntegrationStatus::Active, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_while_it_is_taken_back_is_given_back_too() {
    let (world, fake, ana) = with_calendar().await;
    fake.authority.rotate();
    connect(&fake, &ana).await;
    world.clock.advance(Duration::from_secs(3_600));
    let slow = Fault::Slow(Duration::from_secs(1));
    fake.upstream.fail("POST", TOKEN_PATH, slow, 1);
    let services = world.services.clone();
    let renewing = tokio::spawn(async move { renew(&services).await });
    let asked = async {
        while fake.upstream.asked_of("POST", TOKEN_PATH).len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(30), asked).await);
    assert_eq!(ana.post(DISCONNECT, &[]).await.leads(), "/integrations");
    assert_eq!(must(renewing.await), 1);
    assert_eq!(fake.authority.good(), (Vec::new(), Vec::new()));
    let expected = (IntegrationStatus::Disconnected, None);
    assert_eq!(stands(&world).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_room_for_the_tools_is_told_before_and_after_the_consent() {
    let (world, fake, ana) = with_calendar().await;
    let fill = async |from: i64, to: i64| {
        for number in from..to {
            let name = format!("t{number}");
            let tool =
                serde_json::json!({"name": name, "description": "Ends.", "kind": "end_call"});
            let tool = must(Json::parse(tool.to_string().as_bytes()));
            must(world.services.tools().create(world.account, &tool).await);
        }
    };
    fill(0, TOOLS_AT_MOST - 2).await;
    let query = fake.authority.consent(&begin(&ana, CONNECT).await);
    fill(TOOLS_AT_MOST - 2, TOOLS_AT_MOST - 1).await;
    let full =
        "Not connected: with the tools of Google Calendar the account would have more than 64.";
    let said = told(&ana, &query).await;
    assert!(said.starts_with(full), "{said}");
    let granted_back = (Vec::new(), Vec::new());
    assert_eq!(
        fake.authority.good(),
        granted_back,
        "nobody has what was granted"
    );
    assert_eq!(stands(&world).await.0, IntegrationStatus::Available);
    assert_eq!(
        ana.post(CONNECT, &[]).await.leads(),
        "/integrations",
        "before the consent"
    );
}
