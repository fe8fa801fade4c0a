//! `/v1/campaigns`: an engine agent calls many recipients.

use std::time::Duration;

use offhook_services::CallSettings;
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::it::app::{CUSTOMER, Setup, TestApp, data, text};
use crate::it::client::{Answer, eventually, must};

const ALL: &str = "/v1/campaigns";
const BUSY: &str = "+15005550001";

/// Creates a draft with these settings; returns its address.
async fn draft(app: &TestApp, settings: Value) -> String {
    let agent = app.agent().await;
    draft_of(app, &agent, settings).await
}

async fn draft_of(app: &TestApp, agent: &str, settings: Value) -> String {
    let body = json!({"name": "Summer", "agent_id": agent, "settings": settings});
    let made = app.post(ALL, body).await.assert(201);
    assert_eq!(made["status"], "draft");
    format!("{ALL}/{}", text(&made["id"]))
}

async fn add(app: &TestApp, campaign: &str, recipients: Value) -> Value {
    let body = json!({"recipients": recipients});
    let added = app.post(&format!("{campaign}/recipients"), body);
    added.await.assert(201)
}

async fn upload(app: &TestApp, campaign: &str, query: &str, file: &[u8]) -> Answer {
    let target = format!("{campaign}/recipients{query}");
    let request = app.request("POST", &target);
    request
        .header("Content-Type", "text/csv")
        .body(file.to_vec())
        .await
}

async fn step(app: &TestApp, campaign: &str, step: &str) -> Answer {
    app.request("POST", &format!("{campaign}/{step}")).await
}

/// Waits until a campaign's counts are these: pending, dialing, reached, unreached, blocked. Little time passes meanwhile.
async fn counts(app: &TestApp, campaign: &str, expected: [i64; 5]) -> Value {
    let names = ["pending", "dialing", "reached", "unreached", "blocked"];
    eventually(async || {
        let read = app.read(campaign).await;
        app.clock.advance(Duration::from_millis(100));
        let counts = names.map(|name| read["counts"][name].as_i64());
        (counts == expected.map(Some)).then_some(read)
    })
    .await
}

async fn rows(app: &TestApp, campaign: &str) -> Vec<Value> {
    let list = app.read(&format!("{campaign}/recipients")).await;
    data(&list).to_vec()
}

/// People who can be listened to.
async fn on(database: TestDatabase) -> TestApp {
    TestApp::with(Setup {
        speed: 50.0,
        database: Some(database),
        ..Setup::default()
    })
    .await
}

async fn databases() -> [TestDatabase; 2] {
    [TestDatabase::sqlite(), TestDatabase::postgres().await]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_calls_everybody_and_whom_it_found_busy_again() {
    for database in databases().await {
        let app = on(database).await;
        let settings = json!({"calls_per_minute": 6000, "retries": {"most_attempts": 2}});
        let campaign = draft(&app, settings).await;
        let file = format!(
            "\u{feff}to,name,order,consent_basis,consent_at\n'{CUSTOMER},Ana,=1+1,express,2026-01-01\n{BUSY},,7,,\n{BUSY},,8,,\n"
        );
        let added = upload(&app, &campaign, "", file.as_bytes()).await;
        let expected = json!({"added": 2, "duplicates": 1, "bad_rows": 0, "bad": []});
        assert_eq!(added.assert(201), expected);
        let again = upload(&app, &campaign, "", file.as_bytes()).await;
        assert_eq!(again.assert(201)["added"], 0);
        assert_eq!(
            data(&app.read("/v1/calls").await).len(),
            0,
            "a draft calls nobody"
        );
        app.dial();
        assert_eq!(
            step(&app, &campaign, "start").await.assert(200)["status"],
            "running"
        );
        counts(&app, &campaign, [1, 0, 1, 0, 0]).await;
        let busy = rows(&app, &campaign).await.remove(1);
        assert_eq!(
            (&busy["status"], &busy["outcome"], &busy["attempts"]),
            (&json!("pending"), &json!("busy"), &json!(1))
        );
        app.clock.advance(Duration::from_secs(13 * 60));
        counts(&app, &campaign, [1, 0, 1, 0, 0]).await;
        app.clock.advance(Duration::from_secs(120));
        let done = counts(&app, &campaign, [0, 0, 1, 1, 0]).await;
        assert_eq!(
            (&done["status"], &done["counts"]["total"]),
            (&json!("completed"), &json!(2))
        );
        assert!(done["ended_at"].is_string());

        let [ana, busy] = rows(&app, &campaign).await.try_into().unwrap_or_default();
        assert_eq!(
            (&ana["outcome"], &ana["attempts"]),
            (&json!("answered_human"), &json!(1))
        );
        assert_eq!(
            (&busy["attempts"], &busy["next_at"]),
            (&json!(2), &Value::Null)
        );
        let call = app
            .read(&format!("/v1/calls/{}", text(&ana["call_id"])))
            .await;
        assert_eq!(
            call["metadata"],
            json!({"order": "=1+1", "customer_name": "Ana"})
        );
        assert_eq!(call["consent"]["basis"], "express");
        let calls = app.read("/v1/calls").await;
        assert_eq!(data(&calls).len(), 3);
        let results = app.get(&format!("{campaign}/results")).await;
        // The client does not undo the transfer's chunks.
        let written = String::from_utf8(results.body.clone()).unwrap_or_default();
        let lines: Vec<&str> = written.lines().filter(|line| line.contains(',')).collect();
        assert_eq!(lines.len(), 3, "{written}");
        assert!(
            lines[1].starts_with(&format!("'{CUSTOMER},Ana,done,answered_human,,1,call_")),
            "{written}"
        );
        let busy = app
            .read(&format!("{campaign}/recipients?outcome=busy&status=done"))
            .await;
        assert_eq!(data(&busy).len(), 1);
        let late = app.post(
            &format!("{campaign}/recipients"),
            json!({"recipients": [{"to": CUSTOMER}]}),
        );
        late.await.assert_error(409, "conflict");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_are_named_and_may_be_left_out() {
    let app = on(TestDatabase::sqlite()).await;
    let campaign = draft(
        &app,
        json!({"window": {"days": [4], "start": "09:00", "end": "17:00"}}),
    )
    .await;
    // The country's zones have no hour in common; of the last number no zone is known.
    let file = b"to,name,time_zone\n5512345678,x,\n+525511111111,a\xf1o,\n+525522222222,Bea,Mars\n+525533333333,x\n+525544444444,Eva,\n+18005550100,x,\n+18005550101,x,America/New_York\n+9991234567,x,\n";
    let refused = upload(&app, &campaign, "", file)
        .await
        .assert_error(400, "invalid_body");
    assert!(
        refused.starts_with("`file`: 6 bad rows; row 2: `to`"),
        "{refused}"
    );
    assert_eq!(rows(&app, &campaign).await.len(), 0);
    let added = upload(&app, &campaign, "?skip_bad_rows=true", file)
        .await
        .assert(201);
    assert_eq!(
        (&added["added"], &added["bad_rows"]),
        (&json!(2), &json!(6))
    );
    for (at, part) in [
        (1, "row 3: is not UTF-8"),
        (2, "row 4: `time_zone`: must be an IANA time zone"),
        (3, "row 5: has 2 cells in place of 3"),
        (4, "row 7: `to`: the campaign's window is never open"),
        (5, "row 9: `to`: has no known time zone"),
    ] {
        let fault = text(&added["bad"][at]);
        assert!(fault.starts_with(part), "{fault}");
    }
    let target = format!("{campaign}/recipients");
    app.refuses_bodies(
        &target,
        &[
            (json!({}), "`recipients`: is required"),
            (json!({"recipients": []}), "`recipients`"),
            (
                json!({"recipients": [{"to": CUSTOMER, "variables": {"a": []}}]}),
                "`recipients`: 1 bad row; `recipients[0].variables.a`",
            ),
            (
                json!({"recipients": [{"to": CUSTOMER}], "skip": true}),
                "`skip`: unknown field",
            ),
        ],
    )
    .await;
    let some = json!({"recipients": [{"to": "1"}, {"to": CUSTOMER}], "skip_bad_rows": true});
    assert_eq!(app.post(&target, some).await.assert(201)["added"], 1);
    let agent = app.agent().await;
    app.refuses_bodies(
        ALL,
        &[
            (json!({"name": "x"}), "`agent_id`"),
            (json!({"name": "x", "agent_id": "x"}), "`agent_id`: no agent"),
            (json!({"name": "x", "agent_id": agent, "settings": {"retries": {"busy": 0}}}), "`settings.retries.busy`: must be `never`"),
            (json!({"name": "x", "agent_id": agent, "settings": {"window": {"days": [], "start": "09:00", "end": "17:00"}}}), "`settings.window.days`"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_called_outside_the_window_or_against_the_accounts_rules() {
    for database in databases().await {
        let app = on(database).await;
        // It is Thursday, 12:32 in Mexico City and 20:32 in Madrid.
        let window = json!({"days": [4, 5], "start": "09:00", "end": "20:00"});
        let settings = json!({"calls_per_minute": 6000, "window": window});
        let campaign = draft(&app, settings).await;
        let (mexican, spaniard, suppressed) = ("+525511111111", "+34911111111", "+525522222222");
        add(
            &app,
            &campaign,
            json!([{"to": spaniard}, {"to": suppressed}, {"to": mexican}, {"to": "+525533333333", "time_zone": "Europe/Madrid"}]),
        )
        .await;
        let row = json!({"number": suppressed});
        app.post("/v1/suppressions", row).await.assert(201);
        app.dial();
        step(&app, &campaign, "start").await.assert(200);
        counts(&app, &campaign, [2, 0, 1, 0, 1]).await;
        let waiting = rows(&app, &campaign).await;
        for at in [0, 3] {
            assert_eq!(
                (
                    &waiting[at]["rule"],
                    &waiting[at]["next_at"],
                    &waiting[at]["attempts"]
                ),
                (
                    &json!("window"),
                    &json!("2026-05-01T07:00:00.000Z"),
                    &json!(0)
                ),
            );
        }
        assert_eq!(
            (
                &waiting[1]["status"],
                &waiting[1]["outcome"],
                &waiting[1]["rule"]
            ),
            (
                &json!("done"),
                &json!("blocked"),
                &json!("suppression_list")
            )
        );
        assert_eq!(data(&app.read("/v1/calls").await).len(), 1);
        app.clock.advance(Duration::from_secs(13 * 3_600));
        counts(&app, &campaign, [0, 0, 3, 0, 1]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_is_paused_resumed_and_cancelled() {
    let app = on(TestDatabase::sqlite()).await;
    let campaign = draft(&app, json!({"calls_per_minute": 1})).await;
    let refused = step(&app, &campaign, "start")
        .await
        .assert_error(409, "conflict");
    assert!(refused.contains("no recipients"), "{refused}");
    add(
        &app,
        &campaign,
        json!([{"to": "+525511111111"}, {"to": "+525522222222"}, {"to": "+525533333333"}]),
    )
    .await;
    step(&app, &campaign, "pause")
        .await
        .assert_error(409, "conflict");
    step(&app, &campaign, "start").await.assert(200);
    step(&app, &campaign, "start")
        .await
        .assert_error(409, "conflict");
    app.dial();
    // One call in a minute.
    counts(&app, &campaign, [2, 0, 1, 0, 0]).await;
    let paused = step(&app, &campaign, "pause").await.assert(200);
    assert_eq!(
        (&paused["status"], &paused["paused_reason"]),
        (&json!("paused"), &json!("customer"))
    );
    step(&app, &campaign, "pause")
        .await
        .assert_error(409, "conflict");
    app.clock.advance(Duration::from_secs(600));
    add(&app, &campaign, json!([{"to": "+525544444444"}])).await;
    counts(&app, &campaign, [3, 0, 1, 0, 0]).await;
    step(&app, &campaign, "resume").await.assert(200);
    counts(&app, &campaign, [2, 0, 2, 0, 0]).await;
    let over = step(&app, &campaign, "cancel").await.assert(200);
    assert_eq!(over["status"], "cancelled");
    for again in ["resume", "cancel"] {
        let refused = step(&app, &campaign, again).await;
        refused.assert_error(409, "conflict");
    }
    app.clock.advance(Duration::from_secs(600));
    counts(&app, &campaign, [2, 0, 2, 0, 0]).await;
    let list = app.read(&format!("{ALL}?status=cancelled")).await;
    assert_eq!(data(&list), [app.read(&campaign).await]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_starts_once_its_agent_can_call() {
    let app = on(TestDatabase::sqlite()).await;
    let agent = app.agent().await;
    let campaign = draft_of(&app, &agent, json!({})).await;
    add(&app, &campaign, json!([{"to": CUSTOMER}])).await;
    let set = async |status: &str| {
        let change = json!({"status": status});
        let changed = app.patch(&format!("/v1/agents/{agent}"), change);
        changed.await.assert(200)
    };
    set("paused").await;
    let refused = step(&app, &campaign, "start").await;
    refused.assert_error(403, "agent_disabled");
    assert_eq!(app.read(&campaign).await["status"], "draft");
    set("active").await;
    step(&app, &campaign, "start").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_pauses_when_its_calls_fail() {
    let app = on(TestDatabase::sqlite()).await;
    let settings = json!({"calls_per_minute": 6000, "live_percent": 1, "breaker": {"failure_percent": 50, "calls": 5}});
    let campaign = draft(&app, settings).await;
    let failing = ["+15005550003", "+15005550005", "+15005550007"];
    let mut people: Vec<Value> = failing.map(|to| json!({"to": to})).to_vec();
    people.push(json!({"to": CUSTOMER}));
    add(&app, &campaign, people.into()).await;
    step(&app, &campaign, "start").await.assert(200);
    app.dial();
    let paused = app
        .in_time(&campaign, |read| read["status"] == "paused")
        .await;
    assert_eq!(paused["paused_reason"], "failure_rate");
    assert_eq!(paused["counts"]["pending"], 1, "one call at a time");
    step(&app, &campaign, "resume").await.assert(200);
    counts(&app, &campaign, [0, 0, 1, 3, 0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_says_what_a_campaign_takes() {
    let app = on(TestDatabase::sqlite()).await;
    let window = json!({"days": [1, 2, 3, 4, 5], "start": "09:00", "end": "18:00"});
    let settings =
        json!({"calls_per_minute": 1, "window": window, "retries": {"most_attempts": 2}});
    let campaign = draft(&app, settings).await;
    let number = |at: u32| json!({"to": format!("+5255{at:08}")});
    add(&app, &campaign, (0..1_000).map(number).collect()).await;
    let estimate = app.read(&format!("{campaign}/estimate")).await;
    assert_eq!(
        (
            &estimate["recipients"],
            &estimate["calls"],
            &estimate["minutes"],
            &estimate["assumed"]
        ),
        (&json!(1_000), &json!(1_500), &json!(1_500), &json!(true))
    );
    assert_eq!(estimate["credits_available"], 100_000);
    // Of 25 hours of calls, five and a half are on Thursday, and nine each on Friday and Monday.
    let end = text(&estimate["finishes_at"]);
    assert!(end.starts_with("2026-05-05T16"), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_until_its_window_closes_is_placed_again_in_the_next_one() {
    for database in databases().await {
        // This process places calls and dials none.
        let calls = CallSettings {
            sessions_at_most: 0,
            ..CallSettings::default()
        };
        let app = TestApp::with(Setup {
            calls,
            speed: 50.0,
            database: Some(database),
            ..Setup::default()
        })
        .await;
        // It is Thursday, 12:32:11 in Mexico City.
        let window = json!({"days": [4, 5], "start": "09:00", "end": "12:33"});
        let campaign = draft(&app, json!({"window": window})).await;
        add(&app, &campaign, json!([{"to": "+525511111111"}])).await;
        app.dial();
        step(&app, &campaign, "start").await.assert(200);
        app.until(&campaign, |read| read["counts"]["dialing"] == 1)
            .await;
        app.clock.advance(Duration::from_secs(60));
        app.dial_elsewhere();
        counts(&app, &campaign, [1, 0, 0, 0, 0]).await;
        let one = app
            .until(&format!("{campaign}/recipients"), |list| {
                data(list)[0]["rule"] == "window"
                    && data(list)[0]["next_at"] != data(list)[0]["updated_at"]
            })
            .await;
        let one = &data(&one)[0];
        assert_eq!(one["attempts"], 0);
        let call = app
            .read(&format!("/v1/calls/{}", text(&one["call_id"])))
            .await;
        assert_eq!(
            (&call["failure_reason"], &call["compliance_rule"]),
            (&json!("compliance_blocked"), &json!("window"))
        );
        app.clock.advance(Duration::from_secs(21 * 3_600));
        counts(&app, &campaign, [0, 0, 1, 0, 0]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_called_again_when_they_asked_to_be() {
    for database in databases().await {
        let app = on(database).await;
        // It is Thursday, 12:32 in Mexico City.
        let script = "say: When?\ncall: call_back {\"at\": \"2026-04-29T10:00\"}\nthen: {result}\n\
                      say: And?\ncall: call_back {\"at\": \"2026-05-01T10:00\"}\nthen: {result}\n";
        let agent = app.agent_with("en", config(script, json!({}))).await;
        let zone = json!({"time_zone": "America/Mexico_City"});
        let settings = format!("/v1/agents/{agent}/settings");
        app.request("PUT", &settings).json(zone).await.assert(200);
        let publish = format!("/v1/agents/{agent}/publish");
        app.request("POST", &publish).await.assert(200);
        let retries = json!({"most_attempts": 1});
        let campaign = draft_of(&app, &agent, json!({"retries": retries})).await;
        add(&app, &campaign, json!([{"to": CUSTOMER}])).await;
        app.dial();
        step(&app, &campaign, "start").await.assert(200);
        eventually(async || {
            let called = rows(&app, &campaign).await[0]["attempts"] == 1;
            app.clock.advance(Duration::from_millis(100));
            let read = app.read(&campaign).await;
            (called && read["counts"]["pending"] == 1).then_some(())
        })
        .await;
        let [asked] = rows(&app, &campaign).await.try_into().unwrap_or_default();
        assert_eq!(
            (&asked["next_at"], &asked["outcome"], &asked["attempts"]),
            (
                &json!("2026-05-01T16:00:00.000Z"),
                &json!("answered_human"),
                &json!(1)
            ),
        );
        let handle = text(&asked["call_id"]);
        let id = handle.trim_start_matches("call_");
        let said = app
            .read(&format!("/v1/conversations/{id}"))
            .await
            .to_string();
        assert!(
            said.contains("Not noted: `at` must be a time such as 2026-04-30T12:"),
            "{said}"
        );
        assert!(
            said.contains("will be called at 2026-05-01T10:00"),
            "{said}"
        );
        app.clock.advance(Duration::from_secs(22 * 3_600));
        app.until(&campaign, |read| read["counts"]["dialing"] == 1)
            .await;
        step(&app, &campaign, "cancel").await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_left_one_message_however_often_it_is_called() {
    let app = on(TestDatabase::sqlite()).await;
    let turns = json!({"turns": {"voicemail": "leave_message"}});
    let agent = app.agent_with("en", config("say: Hello.", turns)).await;
    let retries = json!({"voicemail": 1, "most_attempts": 3});
    let settings = json!({"calls_per_minute": 6000, "retries": retries});
    let campaign = draft_of(&app, &agent, settings).await;
    add(&app, &campaign, json!([{"to": "+15005550004"}])).await;
    app.dial();
    step(&app, &campaign, "start").await.assert(200);
    let done = eventually(async || {
        let read = app.read(&campaign).await;
        app.clock.advance(Duration::from_secs(2));
        (read["status"] == "completed").then_some(read)
    })
    .await;
    assert_eq!(done["outcomes"], json!({"voicemail": 3}));
    let calls = app.read("/v1/calls").await;
    let mut said = Vec::new();
    for call in data(&calls) {
        let handle = text(&call["id"]);
        let read = app
            .read(&format!(
                "/v1/conversations/{}",
                handle.trim_start_matches("call_")
            ))
            .await;
        said.push(read["transcript"].to_string().matches("\"agent\"").count());
    }
    said.sort_unstable();
    assert_eq!(said, [0, 0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_tells_of_its_pauses_and_its_end() {
    for database in databases().await {
        let app = on(database).await;
        let campaign = draft(&app, json!({"calls_per_minute": 6000})).await;
        add(&app, &campaign, json!([{"to": CUSTOMER}])).await;
        let events = ["campaign.paused", "campaign.completed"];
        let endpoint = json!({"url": "https://example.com/hook", "events": events});
        app.post("/v1/webhooks", endpoint).await.assert(201);
        step(&app, &campaign, "start").await.assert(200);
        step(&app, &campaign, "pause").await.assert(200);
        step(&app, &campaign, "resume").await.assert(200);
        app.dial();
        let done = counts(&app, &campaign, [0, 0, 1, 0, 0]).await;
        assert_eq!(
            (&done["status"], &done["outcomes"]),
            (&json!("completed"), &json!({"answered_human": 1}))
        );
        assert!(done["talk_seconds"].as_i64() > Some(0), "{done}");
        let deliveries = app.read("/v1/webhooks/deliveries").await;
        let events: Vec<&Value> = data(&deliveries).iter().map(|one| &one["type"]).collect();
        assert_eq!(events, ["campaign.completed", "campaign.paused"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_is_followed_until_it_is_over() {
    let app = on(TestDatabase::sqlite()).await;
    let campaign = draft(&app, json!({})).await;
    add(&app, &campaign, json!([{"to": CUSTOMER}])).await;
    let target = format!("{campaign}/events");
    let stream = app.get(&target).header("Connection", "close").open().await;
    let following = tokio::spawn(whole(stream));
    step(&app, &campaign, "start").await.assert(200);
    app.dial();
    let done = counts(&app, &campaign, [0, 0, 1, 0, 0]).await;
    let followed = must(following.await);
    assert!(
        followed.contains("content-type: text/event-stream"),
        "{followed}"
    );
    let last = followed.rsplit("data: ").next().unwrap_or_default();
    let last = last.lines().next().unwrap_or_default();
    assert_eq!(must(serde_json::from_str::<Value>(last)), done);
    // Who asks later is told the end, and that is all.
    let late = app.get(&target).await;
    let said = String::from_utf8_lossy(&late.body);
    assert_eq!((late.status, said.matches("data: ").count()), (200, 1));
}

/// An agent that speaks by a script.
fn config(script: &str, conversation: Value) -> Value {
    let llm = json!({"provider": "scripted", "model": "scripted"});
    json!({"system_prompt": script, "first_message": "Hello.", "llm": llm, "conversation": conversation})
}

/// Reads a stream to its end.
async fn whole(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    must(must(timeout(Duration::from_secs(20), read).await));
    String::from_utf8_lossy(&bytes).into_owned()
}
