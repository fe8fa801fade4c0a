//! Whom an account calls: the suppression list, its rules, and who would be called.

use std::time::Duration;

use offhook_domain::{Clock as _, Plan, Scopes, Timestamp};
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, data, text};
use crate::it::client::Answer;

const LIST: &str = "/v1/suppressions";
const RULES: &str = "/v1/dialing-rules";
const CHECK: &str = "/v1/dial-checks";

async fn rules(app: &TestApp, rules: Value) -> Value {
    let put = app.request("PUT", RULES).json(rules);
    put.await.assert(200)
}

async fn place(app: &TestApp, agent: &str, to: &str) -> Answer {
    let body = json!({"agent_id": agent, "to": to});
    app.post("/v1/calls", body).await
}

fn refused(answer: &Answer, rule: &str, after: Option<u64>) {
    let error = answer.assert_error(409, "conflict");
    assert!(error.contains(&format!("`{rule}`")), "{error}");
    let retry = answer.header("retry-after").map(str::to_owned);
    assert_eq!(retry, after.map(|after| after.to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suppressed_number_is_refused_until_it_is_taken_off_the_list() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    place(&app, &agent, CUSTOMER).await.assert(201);
    let until = "2026-05-01T18:32:11.123Z";
    let row = json!({"number": CUSTOMER, "reason": "asked by letter", "until": until});
    let made = app.post(LIST, row).await.assert(201);
    assert_eq!(
        (&made["source"], &made["until"]),
        (&json!("api"), &json!(until))
    );
    refused(
        &place(&app, &agent, CUSTOMER).await,
        "suppression_list",
        Some(24 * 3_600),
    );
    let forever = app
        .post(LIST, json!({"number": CUSTOMER}))
        .await
        .assert(201);
    assert_eq!(
        (&forever["id"], &forever["until"]),
        (&made["id"], &Value::Null)
    );
    refused(
        &place(&app, &agent, CUSTOMER).await,
        "suppression_list",
        None,
    );
    place(&app, &agent, "+15005550102").await.assert(201);

    let found = app
        .read(&format!("{LIST}?number={}", CUSTOMER.replace('+', "%2B")))
        .await;
    assert_eq!(data(&found), std::slice::from_ref(&forever));
    let one = format!("{LIST}/{}", text(&made["id"]));
    assert_eq!(app.read(&one).await, forever);
    app.delete(&one).await.assert(200);
    app.delete(&one).await.assert_error(404, "not_found");
    place(&app, &agent, CUSTOMER).await.assert(201);
    app.refuses_bodies(
        LIST,
        &[
            (json!({}), "`number`"),
            (json!({"number": "5512345678"}), "`number`"),
            (json!({"number": CUSTOMER, "until": "soon"}), "`until`"),
            (json!({"number": CUSTOMER, "why": "x"}), "`why`"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_numbers_comes_in_and_goes_out() {
    let app = TestApp::start().await;
    let upload = async |file: &str| {
        let request = app.request("POST", LIST).header("Content-Type", "text/csv");
        request.body(file.as_bytes().to_vec()).await
    };
    let file = "number,reason,until\n+525511111111,=1+1,\n+525522222222,\"a, b\",2030-01-01\n+525511111111,later,\n";
    let made = upload(file).await.assert(201);
    assert_eq!(made, json!({"suppressed": 2}));
    upload(file).await.assert(201);
    let export = app.get(&format!("{LIST}/export")).await;
    assert_eq!(
        export.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    // The client does not undo the transfer's chunks.
    let written = String::from_utf8(export.body.clone()).unwrap_or_default();
    let lines = written.lines().filter(|line| line.contains(','));
    let written = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(written.lines().count(), 3, "{written}");
    assert!(
        written.contains("\n'+525511111111,later,import,"),
        "{written}"
    );
    assert!(
        written.contains("\"a, b\",import,2030-01-01T00:00:00.000Z"),
        "{written}"
    );
    // What went out comes in again.
    let again = upload(&written).await.assert(201);
    assert_eq!(again, json!({"suppressed": 2}));
    for (file, fault) in [
        ("", "one of them `number`"),
        ("number\n", "must not be empty"),
        ("number\n5512345678\n", "row 2"),
        ("number\n+99\n", "row 2"),
        ("number,until\n+525511111111,soon\n", "`until`"),
        ("number\n\u{0}\n", "U+0000"),
    ] {
        let error = upload(file).await.assert_error(400, "invalid_body");
        assert!(error.contains(fault), "{file:?}: {error}");
    }
    let latin = app.request("POST", LIST).header("Content-Type", "text/csv");
    let answer = latin
        .body(b"number,reason\n+525511111111,a\xf1o\n".to_vec())
        .await;
    assert!(
        answer
            .assert_error(400, "invalid_body")
            .contains("not UTF-8")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_refuses_by_itself_and_says_when_it_heals() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    // It is Thursday, 12:32 in Mexico City.
    let number = "+525512345678";
    let all_day = json!({"days": [1, 2, 3, 4, 5, 6, 7], "start": "00:00", "end": "00:00"});
    for (set, rule, after) in [
        (
            json!({"window": {"days": [4], "start": "14:00", "end": "15:00"}}),
            "window",
            Some(5_269),
        ),
        (
            json!({"window": {"days": [4], "start": "09:00", "end": "12:00"}}),
            "window",
            Some(7 * 86_400 - 12_731),
        ),
        (
            json!({"window": {"days": [4], "start": "09:00", "end": "18:00", "holidays": ["2026-04-30"]}}),
            "window",
            Some(7 * 86_400 - 12_731),
        ),
        (json!({"consent_required": true}), "consent", None),
        (
            json!({"allowed_prefixes": ["+1", "+549"]}),
            "allowed_prefixes",
            None,
        ),
    ] {
        let read = rules(&app, set.clone()).await;
        assert_eq!(app.read(RULES).await, read);
        refused(&place(&app, &agent, number).await, rule, after);
        let check = app
            .post(CHECK, json!({"to": number, "agent_id": agent}))
            .await
            .assert(200);
        let check = &check["data"][0];
        assert_eq!(
            (&check["allowed"], &check["rule"]),
            (&json!(false), &json!(rule)),
            "{set}"
        );
        assert_eq!(check["allowed_at"].is_null(), after.is_none(), "{check}");
    }
    rules(&app, json!({"window": all_day})).await;
    refused(&place(&app, &agent, "+9991234567").await, "time_zone", None);
    place(&app, &agent, number).await.assert(201);
    // No hour is within nine and five in every zone of the country.
    rules(
        &app,
        json!({"window": {"days": [1, 2, 3, 4, 5, 6, 7], "start": "09:00", "end": "17:00"}}),
    )
    .await;
    refused(&place(&app, &agent, "+18005550100").await, "window", None);
    rules(&app, json!({"consent_required": true})).await;
    let consent =
        json!({"basis": "express_written", "at": "2026-01-01T00:00:00Z", "evidence": "form 7"});
    let body = json!({"agent_id": agent, "to": number, "consent": consent});
    let placed = app.post("/v1/calls", body).await.assert(201);
    let read = app
        .read(&format!("/v1/calls/{}", text(&placed["id"])))
        .await;
    assert_eq!(read["consent"]["evidence"], "form 7");
    assert_eq!(read["opted_out"], false);
    // Without rules nothing is refused.
    rules(&app, json!({})).await;
    place(&app, &agent, "+9991234567").await.assert(201);
    for (body, field) in [
        (
            json!({"window": {"days": [8], "start": "09:00", "end": "10:00"}}),
            "`window.days[0]`",
        ),
        (
            json!({"window": {"days": [1], "start": "9", "end": "10:00"}}),
            "`window.start`",
        ),
        (json!({"attempts_per_day": 0}), "`attempts_per_day`"),
        (json!({"allowed_prefixes": ["52"]}), "`allowed_prefixes[0]`"),
        (json!({"windows": []}), "`windows`"),
    ] {
        let answer = app.request("PUT", RULES).json(body).await;
        let message = answer.assert_error(400, "invalid_body");
        assert!(message.starts_with(field), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_and_the_pause_between_them_count_the_dialed_calls_of_every_agent() {
    let app = TestApp::start().await;
    let (first, second) = (app.agent().await, app.agent().await);
    rules(
        &app,
        json!({"attempts_per_day": 2, "attempts_per_week": 3, "minimum_pause_minutes": 60}),
    )
    .await;
    app.dial();
    let call = async |agent: &str| {
        let at = app.clock.now();
        let placed = place(&app, agent, CUSTOMER).await.assert(201);
        app.ended(&text(&placed["id"])).await;
        at
    };
    // Seconds from now to a time after another.
    let left = |since: Timestamp, seconds: u64| {
        let until = since.plus(Duration::from_secs(seconds));
        let millis = until.since(app.clock.now()).as_millis();
        u64::try_from(millis.div_ceil(1_000)).ok()
    };
    let hour = Duration::from_secs(3_600);
    let one = call(&first).await;
    refused(
        &place(&app, &second, CUSTOMER).await,
        "minimum_pause",
        left(one, 3_600),
    );
    app.clock.advance(hour);
    call(&second).await;
    app.clock.advance(hour);
    refused(
        &place(&app, &first, CUSTOMER).await,
        "attempts_per_day",
        left(one, 86_400),
    );
    app.clock.advance(22 * hour);
    call(&first).await;
    app.clock.advance(3 * 24 * hour);
    refused(
        &place(&app, &first, CUSTOMER).await,
        "attempts_per_week",
        left(one, 7 * 86_400),
    );
    place(&app, &first, "+15005550103").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_accepted_is_judged_again_when_it_is_claimed() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres().await] {
        let app = TestApp::on(database).await;
        let agent = app.agent().await;
        let hook = json!({"url": "https://example.com/"});
        app.post("/v1/webhooks", hook).await.assert(201);
        let placed = place(&app, &agent, CUSTOMER).await.assert(201);
        let other = place(&app, &agent, "+15005550103").await.assert(201);
        app.post(LIST, json!({"number": CUSTOMER}))
            .await
            .assert(201);
        app.dial();
        let ended = app.ended(&text(&placed["id"])).await;
        assert_eq!(ended["status"], "failed");
        assert_eq!(ended["failure_reason"], "compliance_blocked");
        assert_eq!(ended["compliance_rule"], "suppression_list");
        assert_eq!(
            (&ended["outcome"], &ended["credits"]),
            (&json!("blocked"), &json!(0))
        );
        assert_ne!(
            app.ended(&text(&other["id"])).await["failure_reason"],
            "compliance_blocked"
        );
        let failed = app.read("/v1/webhooks/deliveries?type=call.failed").await;
        assert!(!data(&failed).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_judged_in_order_and_leaves_no_trace() {
    let app = TestApp::start().await;
    rules(
        &app,
        json!({"attempts_per_day": 1, "window": {"days": [4], "start": "09:00", "end": "20:00"}}),
    )
    .await;
    let numbers = json!(["+525512345678", "+525512345678", "+33612345678"]);
    let checks = app.post(CHECK, json!({"to": numbers})).await.assert(200);
    let rules: Vec<&Value> = data(&checks).iter().map(|check| &check["rule"]).collect();
    assert_eq!(
        rules,
        [&Value::Null, &json!("attempts_per_day"), &json!("window")]
    );
    // A week later, on the next Thursday at nine in Paris.
    assert_eq!(data(&checks)[2]["allowed_at"], "2026-05-07T07:00:00.000Z");
    assert_eq!(data(&checks)[2]["time_zones"], json!(["Europe/Paris"]));
    let at = json!({"to": "+33612345678", "at": "2026-05-07T07:00:00Z"});
    assert_eq!(
        app.post(CHECK, at).await.assert(200)["data"][0]["allowed"],
        true
    );
    assert_eq!(data(&app.read("/v1/calls").await).len(), 0);
    app.refuses_bodies(
        CHECK,
        &[
            (json!({}), "`to`"),
            (json!({"to": []}), "`to`"),
            (json!({"to": ["+525512345678", "12"]}), "`to[1]`"),
            (json!({"to": vec![CUSTOMER; 10_001]}), "`to`"),
        ],
    )
    .await;
    let nobody = app
        .post(CHECK, json!({"to": CUSTOMER, "agent_id": "x"}))
        .await;
    nobody.assert_error(403, "agent_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_accounts_list_refuses_nobody_here() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let stranger = app.stranger(Plan::Scale).await;
    let row = json!({"number": CUSTOMER});
    let theirs = app
        .bare("POST", LIST)
        .key(&stranger)
        .json(row)
        .await
        .assert(201);
    place(&app, &agent, CUSTOMER).await.assert(201);
    assert_eq!(data(&app.read(LIST).await).len(), 0);
    let one = format!("{LIST}/{}", text(&theirs["id"]));
    app.get(&one).await.assert_error(404, "not_found");
    app.delete(&one).await.assert_error(404, "not_found");
    let reads = app.key(app.account, Scopes::all(), true, None).await;
    let row = json!({"number": CUSTOMER});
    let write = app.bare("POST", LIST).key(&reads).json(row).await;
    assert_eq!(write.status, 403);
}
