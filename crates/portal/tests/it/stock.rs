//! Phone numbers, batch calls, integrations, billing and logs.

use std::time::Duration;

use offhook_domain::{Clock as _, CredentialProvider, MemberRole};
use serde_json::{Value, json};

use crate::it::form::saved;
use crate::it::world::{Browser, Page, World, must};

const SCRIPT: &str = "<script>alert(1)</script>";
const ESCAPED: &str = "&lt;script&gt;alert(1)&lt;/script&gt;";

/// A signed-in developer.
async fn developer(world: &World) -> Browser {
    world.browser(MemberRole::Developer).await
}

/// Sends a list of recipients for the preview.
async fn look(browser: &Browser, agent: &str, scheduled_at: &str, list: &str) -> Page {
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent),
        ("scheduled_at", scheduled_at),
        ("offset", "-06:00"),
    ];
    let file = Some(("people.csv", list.as_bytes()));
    browser.upload("/batch-calls/new", &fields, file).await
}

/// The value of a hidden field.
#[track_caller]
fn hidden(page: &Page, name: &str) -> String {
    let field = format!("name=\"{name}\" value=\"");
    let (_, rest) = page
        .body
        .split_once(&field)
        .unwrap_or_else(|| panic!("no {name}: {}", page.body));
    let (value, _) = rest.split_once('"').unwrap_or_default();
    value.to_owned()
}

/// The id of a legacy agent of the account.
async fn legacy_agent(world: &World) -> String {
    let credentials = world.services.credentials();
    let provider = CredentialProvider::Legacy;
    must(credentials.set(world.account, provider, "sim_acme").await);
    must(world.services.legacy().sync(world.account).await);
    let key = world.key().await;
    let list = world
        .api(&key, "GET", "/v1/agents?runtime=legacy&q=reception", "")
        .await;
    let list: Value = must(serde_json::from_str(&list.body));
    list["data"][0]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_taken_labelled_and_given_back() {
    let world = World::start().await;
    let ana = developer(&world).await;
    ana.sees("/phone-numbers", &["No numbers"]).await;
    let wrong = [("phone_number", "5550123"), ("label", "Kept label")];
    let refused = ana.post("/phone-numbers/new", &wrong).await.assert(422);
    refused.shows(&[
        "Number: must begin with",
        "value=\"Kept label\"",
        "value=\"5550123\"",
    ]);
    let fields = [("phone_number", "+15005550123"), ("label", SCRIPT)];
    ana.sends("/phone-numbers/new", &fields, "/phone-numbers")
        .await;
    let list = ana.sees("/phone-numbers", &["+15005550123", ESCAPED]).await;
    assert!(!list.body.contains(SCRIPT));
    let (_, rest) = list
        .body
        .split_once("/portal/phone-numbers/0")
        .unwrap_or_default();
    let path = format!(
        "/phone-numbers/0{}",
        rest.split('"').next().unwrap_or_default()
    );
    let label = [("label", "Front desk")];
    assert_eq!(saved(&ana, &path, &label).await.leads(), path);
    ana.sees(&path, &["Front desk"]).await;
    let import = ana.post("/phone-numbers/import", &[]).await.assert(422);
    import.shows(&["no carrier credential", "Settings, Provider credentials"]);
    ana.sends(&format!("{path}/delete"), &[], "/phone-numbers")
        .await;
    ana.get(&path).await.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_people_is_looked_at_and_then_called() {
    let world = World::start().await;
    let agent = legacy_agent(&world).await;
    let ana = developer(&world).await;
    let list = "Nombre;Tel\n=cmd();+52 155 1234 5678\nBea;12\n";
    let seen = look(&ana, &agent, "", list).await.assert(200);
    let seen = seen.shows(&["including row 3", "=cmd()", "Call now (2)"]);
    let (once, text) = (hidden(&seen, "once"), hidden(&seen, "file_text"));
    assert_eq!(text, list);
    let fields = |text: &'static str, column: &'static str| {
        vec![
            ("name", "Spring".to_owned()),
            ("agent_id", agent.clone()),
            ("once", once.clone()),
            ("column", column.to_owned()),
            ("keep", "0".to_owned()),
            ("file_text", text.to_owned()),
        ]
    };
    let send = async |fields: Vec<(&'static str, String)>| {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        ana.upload("/batch-calls/send", &fields, None).await
    };
    // One invalid row stops the whole batch, and the list is kept.
    let refused = send(fields(list, "1")).await.assert(422);
    refused.shows(&["row 3", "=cmd();+52 155 1234 5678"]);
    ana.sees("/batch-calls", &["No batches yet"]).await;

    let mended = "Nombre;Tel\n=cmd();+52 155 1234 5678\n";
    let path = send(fields(mended, "1")).await.leads();
    assert_eq!(
        send(fields(mended, "1")).await.leads(),
        path,
        "sent twice, taken once"
    );
    let mut changed = fields(mended, "1");
    changed[0].1 = "Summer".to_owned();
    let refused = send(changed).await.assert(422);
    refused.shows(&["This form was already submitted, with other data."]);
    ana.sees(&path, &["+5215512345678", "=cmd()", "Pause", "0 of 1"])
        .await;
    let part = ana.get(&format!("{path}/progress?was=running")).await;
    let part = part.assert(200);
    assert_eq!(part.header("hx-refresh"), None);
    ana.sends(&format!("{path}/pause"), &[], &path).await;
    ana.refused(&format!("{path}/pause"), &[], &["cannot be paused"])
        .await;
    let part = ana.get(&format!("{path}/progress?was=running")).await;
    let part = part.assert(200);
    assert_eq!(part.header("hx-refresh"), Some("true"));
    ana.sends(&format!("{path}/resume"), &[], &path).await;
    world.dial();
    world.until(&ana, &path, "1 of 1").await;
    let results = ana.get(&format!("{path}/results")).await.assert(200);
    results.shows(&[
        "to,status,attempt,failure_reason,call_id,Nombre",
        "'+5215512345678,",
        "'=cmd()",
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_batch_would_not_take_is_said_when_the_list_is_looked_at() {
    let world = World::start().await;
    let agent = legacy_agent(&world).await;
    let ana = developer(&world).await;
    let people = |count: usize| format!("to\n{}", "+5215512345678\n".repeat(count));
    let refused = look(&ana, &agent, "", &people(10_001)).await.assert(422);
    refused.shows(&["more than 10,000 people", "value=\"Spring\""]);
    let spanish = world.browser_elsewhere(MemberRole::Developer).await;
    let spanish = spanish.in_spanish();
    let refused = look(&spanish, &agent, "", &people(10_001)).await;
    let refused = refused.assert(422);
    refused.shows(&["más de 10,000 personas"]);

    let list = "tel,name,,name\n+5215512345678,a,b,c\n\n12,a,b,c\n";
    let seen = look(&ana, &agent, "", list).await.assert(200);
    let seen = seen.shows(&["in the first row: 3, 4.", "including row 4."]);
    let offered = |at: u8| {
        seen.body
            .contains(&format!("name=\"keep\" value=\"{at}\" checked"))
    };
    assert_eq!([0, 1, 2, 3].map(offered), [true, true, false, false]);
    // The selection that the page offered is accepted.
    let once = hidden(&seen, "once");
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent.as_str()),
        ("once", once.as_str()),
        ("column", "0"),
        ("keep", "1"),
        ("keep", "0"),
        ("file_text", "tel,name,,name\n+5215512345678,a,b,c\n"),
    ];
    let path = ana.upload("/batch-calls/send", &fields, None).await.leads();
    ana.sees(&path, &["+5215512345678"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_batch_begins_when_it_was_said() {
    let world = World::start().await;
    let agent = legacy_agent(&world).await;
    let ana = developer(&world).await;
    let wrong = look(&ana, &agent, "tomorrow", "to\n+5215512345678\n").await;
    let wrong = wrong.assert(422);
    wrong.shows(&["must be a date and time", "value=\"Spring\""]);
    let seen = look(&ana, &agent, "2199-11-22T09:00", "to\n+5215512345678\n").await;
    let seen = seen.assert(200).shows(&["Schedule (1)"]);
    let once = hidden(&seen, "once");
    // A browser sends each line break of a text as two characters: a file of 3 MiB comes back as 6 MiB.
    let list = format!("to\r\n+5215512345678\r\n{}", "\r\n".repeat(3 << 20));
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent.as_str()),
        ("scheduled_at", "2199-11-22T09:00"),
        ("offset", "-06:00"),
        ("once", once.as_str()),
        ("file_text", list.as_str()),
    ];
    let path = ana.upload("/batch-calls/send", &fields, None).await.leads();
    ana.sees(&path, &["Scheduled", "2199-11-22T15:00:00.000Z"])
        .await;
    ana.sends(&format!("{path}/cancel"), &[], &path).await;
    ana.sees(&path, &["Canceled", "Retry failed and canceled calls"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_the_past_is_refused_and_what_is_about_to_happen_is_told() {
    let world = World::start().await;
    let agent = legacy_agent(&world).await;
    let ana = developer(&world).await;
    let list = "to\n+5215512345678\n+5215512345679\n";
    // It is 2026-04-30 12:32 in Mexico City.
    let past = look(&ana, &agent, "2026-04-30T12:30", list).await;
    past.assert(422).shows(&[
        "is in the past: 2026-04-30 12:30, UTC-06:00 Mexico City",
        "value=\"Spring\"",
        "value=\"2026-04-30T12:30\"",
    ]);
    let spanish = world.browser_elsewhere(MemberRole::Developer).await;
    let spanish = spanish.in_spanish();
    let past = look(&spanish, &agent, "2026-04-30T12:30", list).await;
    past.assert(422)
        .shows(&["ya pasó: 2026-04-30 12:30, UTC-06:00 Ciudad de México"]);

    let now = look(&ana, &agent, "", list).await.assert(200);
    now.shows(&["Reception", "Agent's number", "<dd>2</dd>", "<dd>Now</dd>"]);
    let seen = look(&ana, &agent, "2026-04-30T12:40", list).await;
    let seen = seen.assert(200);
    let seen = seen.shows(&[
        "<dd>2026-04-30 12:40, UTC-06:00 Mexico City, Monterrey</dd>",
        "Schedule (2)",
    ]);
    // An expired preview has to be repeated.
    let once = hidden(&seen, "once");
    world.clock.advance(Duration::from_secs(600));
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent.as_str()),
        ("scheduled_at", "2026-04-30T12:40"),
        ("offset", "-06:00"),
        ("once", once.as_str()),
        ("file_text", list),
    ];
    let late = ana.upload("/batch-calls/send", &fields, None).await;
    late.assert(422)
        .shows(&["is in the past", "value=\"2026-04-30T12:40\""]);
    ana.sees("/batch-calls", &["No batches yet"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requests_story_tells_its_conversation_and_what_was_sent_of_it() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    let key = world.key().await;
    let hook = json!({"url": "https://example.com/hook"}).to_string();
    let answer = world.api(&key, "POST", "/v1/webhooks", &hook).await;
    answer.assert(201);
    let agent = json!({
        "name": SCRIPT,
        "language": "en-US",
        "config": {
            "system_prompt": "You confirm appointments.",
            "first_message": "Hello.",
            "llm": {"provider": "scripted", "model": "scripted"},
        },
    });
    let agent = world
        .api(&key, "POST", "/v1/agents", &agent.to_string())
        .await
        .assert(201);
    let created = agent.header("x-request-id").unwrap_or_default().to_owned();
    let agent: Value = must(serde_json::from_str(&agent.body));
    let id = agent["id"].as_str().unwrap_or_default();
    world
        .api(&key, "POST", &format!("/v1/agents/{id}/publish"), "{}")
        .await
        .assert(200);
    let call = json!({"agent_id": id, "to": "+5215512345678"}).to_string();
    let placed = world.api(&key, "POST", "/v1/calls", &call).await;
    let placed = placed.assert(201);
    let request = placed.header("x-request-id").unwrap_or_default().to_owned();
    let call: Value = must(serde_json::from_str(&placed.body));
    let handle = call["call_id"]
        .as_str()
        .or(call["id"].as_str())
        .unwrap_or_default();
    let answer = world.api(&key, "GET", "/v1/agents/undefined", "").await;
    answer.assert(404);
    must(world.services.request_logs().flush().await);

    ana.sees("/logs", &["POST /v1/calls", "404 not_found", "4xx: 1"])
        .await;
    let some = ana.get("/logs?status=4xx").await.assert(200);
    assert!(!some.body.contains("POST /v1/calls"), "{}", some.body);
    ana.sees("/logs?status=abc", &["Write a status as 404"])
        .await;
    let story = ana.get(&format!("/logs/{request}")).await.assert(200);
    let story = story.shows(&[
        handle,
        ESCAPED,
        "call.initiated",
        "/portal/webhooks/deliveries/",
    ]);
    assert!(!story.body.contains(SCRIPT));
    // From the call back to its request, and from an agent's creation to the agent.
    let conversation = handle.trim_start_matches("call_");
    ana.get(&format!("/conversations/{conversation}"))
        .await
        .assert(200)
        .shows(&["Placed by", &format!("/portal/logs/{request}")]);
    ana.get(&format!("/logs/{created}"))
        .await
        .assert(200)
        .shows(&["POST /v1/agents", &format!("/portal/agents/{id}")]);
    world
        .stranger()
        .await
        .get(&format!("/logs/{request}"))
        .await
        .assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn billing_and_integrations_are_told_as_they_are() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    let billing = ana.get("/billing").await.assert(200);
    billing.shows(&[
        "100,000",
        "Scale",
        "Auto-refill",
        "Off",
        "Usage, last 30 days",
    ]);
    let ada = world.browser(MemberRole::Admin).await;
    for wrong in ["0", "-5", "many"] {
        ada.refused(
            "/billing/alert",
            &[("alert_credits", wrong)],
            &["Write whole numbers of credits"],
        )
        .await;
    }
    let alerts = [
        ("alert_credits", "500"),
        ("alert_credits_2", "900"),
        ("alert_balance", "100001"),
    ];
    ada.sends("/billing/alert", &alerts, "/billing").await;
    ada.sees(
        "/billing",
        &["value=\"900\"", "below your alert of 100,001"],
    )
    .await;
    ada.sees(
        "/settings/audit",
        &["<dt>alert_balance</dt>", "<dt>alert_credits_2</dt>"],
    )
    .await;
    let long = "x".repeat(121);
    ada.refused(
        "/billing/buyer",
        &[("address", "1\n2\n3\n4\n5")],
        &["at most 4 lines"],
    )
    .await;
    ada.refused(
        "/billing/buyer",
        &[("name", &long)],
        &["at most 120 characters"],
    )
    .await;
    let buyer = [
        ("name", "Acme S.A."),
        ("address", "Reforma 1\r\nCDMX"),
        ("tax_id", "ACM010101AAA"),
    ];
    ada.sends("/billing/buyer", &buyer, "/billing").await;
    ada.sees(
        "/billing",
        &["value=\"Acme S.A.\"", "Reforma 1\nCDMX", "ACM010101AAA"],
    )
    .await;
    ana.post("/billing/alert", &[("alert_credits", "1")])
        .await
        .assert(403);
    let page = ana
        .sees("/billing", &["This month (UTC)", "Forecast at this pace"])
        .await;
    assert!(
        !page.body.contains("your alert is set to"),
        "nothing is spent"
    );
    ana.sees("/billing/ledger", &["Credit", "100,000"]).await;
    ana.sees("/billing/ledger?type=debit", &["No transactions"])
        .await;
    let wrong = ana
        .get("/billing/ledger?from=2026-02-02&to=2026-01-01")
        .await
        .assert(200);
    wrong.shows(&["The start date is after the end date."]);
    ana.get("/billing/invoices").await.assert(200);

    ana.sees("/integrations", &["By your operator", "Google Calendar"])
        .await;
    let (store, toolkit) = (world.services.store(), "google_calendar".to_owned());
    let now = world.clock.now();
    must(
        store
            .connecting_failed(world.account, toolkit, SCRIPT.to_owned(), now)
            .await,
    );
    let page = ana.sees("/integrations", &[ESCAPED, "Error"]).await;
    assert!(!page.body.contains(SCRIPT));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_changes_nothing_and_a_stranger_finds_nothing() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let text = [("name", SCRIPT), ("text", SCRIPT)];
    let document = ana.post("/knowledge/text", &text).await.leads();
    ana.post("/phone-numbers/new", &[("phone_number", "+15005550123")])
        .await
        .leads();
    let list = ana.sees("/knowledge", &[ESCAPED]).await;
    assert!(!list.body.contains(SCRIPT));

    let eva = world.browser(MemberRole::Viewer).await;
    eva.get(&document).await.assert(200);
    for page in [
        "/knowledge",
        "/phone-numbers",
        "/batch-calls",
        "/knowledge/folders",
    ] {
        let page = eva.get(page).await.assert(200);
        for offered in ["/upload\"", "/new\"", "/import\""] {
            assert!(!page.body.contains(offered), "{offered}: {}", page.body);
        }
    }
    for form in [
        "/knowledge/text",
        "/knowledge/folders",
        "/phone-numbers/new",
        "/phone-numbers/import",
    ] {
        eva.post(form, &text).await.assert(403);
    }
    let answer = eva.post(&format!("{document}/delete"), &[]).await;
    answer.assert(403);
    eva.upload(
        "/batch-calls/new",
        &[("name", "x")],
        Some(("a.csv", b"to\n")),
    )
    .await
    .assert(403);

    let other = world.stranger().await;
    other.get(&document).await.assert(404);
    other.get(&format!("{document}/text")).await.assert(404);
    let answer = other.post(&format!("{document}/delete"), &[]).await;
    answer.assert(404);
    other.post(&document, &[("name", "mine")]).await.assert(404);
    let nothing = "01890000-0000-7000-8000-000000000001";
    for path in [
        format!("/phone-numbers/{nothing}"),
        format!("/batch-calls/{nothing}"),
        format!("/batch-calls/{nothing}/results"),
        format!("/billing/invoices/{nothing}/pdf"),
        format!("/logs/{nothing}"),
        "/knowledge/folders/undefined".to_owned(),
    ] {
        other.get(&path).await.assert(404);
    }
    ana.get(&document).await.assert(200);
}
