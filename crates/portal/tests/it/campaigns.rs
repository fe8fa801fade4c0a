//! Campaigns: an engine agent calls many recipients.

use offhook_domain::MemberRole;

use crate::it::dialing::agent;
use crate::it::form::Form;
use crate::it::world::{Browser, Page, World};

const NEW: &str = "/campaigns/new";
const LIST: &str = "to;name;order;time_zone\n+525511111111;Ana <i>;7;America/Tijuana\n5512345678;Bea;8;\n+525522222222;Eva;9;Mars\n";

/// Sends the form of a new campaign as its page shows it, with these fields changed.
async fn create(browser: &Browser, fields: &[(&str, &str)]) -> Page {
    let page = browser.get(NEW).await.assert(200);
    let form = Form::of(&page, NEW);
    let form = fields
        .iter()
        .fold(form, |form, (name, value)| form.with(name, value));
    form.send(browser, NEW).await
}

/// The path of a campaign with these recipients.
async fn campaign(browser: &Browser, agent: &str, rows: &str) -> String {
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent),
        ("settings.window.end", "09:00"),
    ];
    let path = create(browser, &fields).await.leads();
    let fields = [("seen", "on"), ("file_text", rows)];
    let added = browser.upload(&format!("{path}/add"), &fields, None).await;
    assert_eq!(added.leads(), path);
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_is_created_and_everything_wrong_with_it_is_said_at_its_field() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    ana.sees("/campaigns", &["No campaigns yet", "Create campaign"])
        .await;
    ana.sees(NEW, &["No active agent"]).await;
    let agent = agent(&world).await;
    let wrong = [
        ("name", ""),
        ("settings.calls_per_minute", "many"),
        ("settings.live_percent", "101"),
        ("settings.window.end", ""),
        ("settings.breaker.calls", "4"),
    ];
    let refused = create(&ana, &wrong).await.assert(422);
    let refused = refused.shows(&["5 things to fix:", "value=\"101\"", "value=\"many\""]);
    for name in wrong.map(|(name, _)| name) {
        let (link, fault) = (
            format!("href=\"#field-{name}\""),
            format!("id=\"field-{name}-fault\""),
        );
        assert!(
            refused.body.contains(&link) && refused.body.contains(&fault),
            "{name}: {}",
            refused.body
        );
    }
    let path = create(
        &ana,
        &[("name", "Spring <i>"), ("settings.retries.busy", "30")],
    )
    .await
    .leads();
    ana.sees(
        &path,
        &[
            "Spring &lt;i&gt;",
            "Draft",
            "No recipients yet",
            &format!("/portal/agents/{agent}"),
            "Up to 60 calls per minute and 50% of the live calls",
            "Monday, Tuesday, Wednesday, Thursday, Friday, 09:00 to 18:00",
            "After 30 minutes",
            "50% of 20 calls fail",
        ],
    )
    .await;
    ana.sees("/campaigns?status=draft", &["Spring &lt;i&gt;", "0 of 0"])
        .await;
    ana.sees("/campaigns?status=running", &["No matching campaigns"])
        .await;
    ana.refused(
        &format!("{path}/start"),
        &[],
        &["campaign has no recipients"],
    )
    .await;
    let cleared = [("name", "Always"), ("agent_id", &agent)];
    let always = ana.post(NEW, &cleared).await.leads();
    ana.sees(&always, &["As the account's calling rules say"])
        .await;
    let ana = ana.in_spanish();
    create(&ana, &[("settings.live_percent", "0")])
        .await
        .assert(422)
        .shows(&[
            "Hay 2 cosas que corregir:",
            "Parte de las llamadas en vivo: debe",
        ]);
    ana.sees("/campaigns", &["Borrador", "Crear campaña"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_looked_at_and_its_bad_rows_are_skipped() {
    let world = World::start().await;
    agent(&world).await;
    let ana = world.browser(MemberRole::Developer).await;
    let path = create(&ana, &[("name", "Spring")]).await.leads();
    let add = format!("{path}/add");
    ana.sees(&add, &["Preview", "consent_basis"]).await;
    let file = |content: &'static [u8]| Some(("people.csv", content));
    for (fields, content, fault) in [
        (&[][..], None, "Choose a file or paste rows first."),
        (&[], file(b"to\n+525511111111\xf1\n"), "not in UTF-8"),
        (&[("file_text", "name\nAna")], None, "Rows: "),
        (&[("file_text", "to\n")], None, "Rows: "),
    ] {
        let refused = ana.upload(&add, fields, content).await.assert(422);
        refused.shows(&[fault, "Preview"]);
    }
    let seen = ana
        .upload(&add, &[], file(LIST.as_bytes()))
        .await
        .assert(200);
    let seen = seen.shows(&[
        "Skip the 2 bad rows and add 1",
        "row 3: <code>to</code>: must begin with",
        "row 4: <code>time_zone</code>: must be",
        "+525511111111",
        "Ana &lt;i&gt;",
        "order: </span>7",
        "America/Tijuana",
    ]);
    ana.sees(&path, &["No recipients yet"]).await;
    // The preview carries the list.
    seen.shows(&[
        "name=\"file_text\" value=\"to;name;order",
        "name=\"seen\" value=\"on\"",
    ]);
    let sent = [("seen", "on"), ("file_text", LIST)];
    assert_eq!(ana.upload(&add, &sent, None).await.leads(), path);
    let shown = ana
        .sees(
            &path,
            &[
                "+525511111111",
                "0 of 1",
                "Estimate",
                "of 100,000 available",
                "Assumed, since",
            ],
        )
        .await;
    assert!(!shown.body.contains("+525522222222"), "{}", shown.body);
    // The same list again adds nobody, and pasted cells have tabs.
    assert_eq!(ana.upload(&add, &sent, None).await.leads(), path);
    let pasted = [("file_text", "to\tname\r\n+525533333333\tLuz\r\n")];
    let seen = ana.upload(&add, &pasted, None).await.assert(200);
    seen.shows(&["Luz", "Add 1 recipient"]);
    ana.sees(&path, &["0 of 1"]).await;
    let spanish = ana.in_spanish();
    let seen = spanish
        .upload(&add, &[], file(LIST.as_bytes()))
        .await
        .assert(200);
    seen.shows(&["Omitir las 2 filas con errores y agregar 1", "fila 4:"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_is_started_watched_paused_resumed_and_cancelled() {
    // People who can be listened to.
    let world = World::start_at(50.0, Vec::new()).await;
    let agent = agent(&world).await;
    let ana = world.browser(MemberRole::Developer).await;
    let path = campaign(
        &ana,
        &agent,
        "to,name\n+525511111111,Ana\n+15005550001,Busy\n",
    )
    .await;
    let step = |step: &str| format!("{path}/{step}");
    ana.sees(&path, &["Start", "Waiting"]).await;
    ana.sends(&step("start"), &[], &path).await;
    ana.refused(&step("start"), &[], &["cannot be started"])
        .await;
    ana.sends(&step("pause"), &[], &path).await;
    ana.sees(&path, &["Paused manually.", "Resume"]).await;
    let part = ana.get(&step("progress?was=running")).await.assert(200);
    assert_eq!(part.header("hx-refresh"), Some("true"));
    ana.sends(&step("resume"), &[], &path).await;
    world.dial();
    let shown = world.until(&ana, &path, "Outcomes of its calls").await;
    shown.shows(&["href=\"/portal/conversations/", "hx-trigger=\"every 3s\""]);
    world.until(&ana, &path, "1 of 2").await;
    let part = ana.get(&step("progress?was=running")).await.assert(200);
    assert_eq!(part.header("hx-refresh"), None);
    let waiting = step("rows?status=pending");
    let rows = world.until(&ana, &waiting, "<time").await;
    let rows = rows.shows(&["+15005550001", "Busy"]);
    assert!(!rows.body.contains("+525511111111"), "{}", rows.body);
    let (_, tag) = rows.body.split_once("seen=").unwrap_or_default();
    let tag = tag.split('"').next().unwrap_or_default();
    let same = format!("{waiting}&seen={tag}");
    ana.get(&same).await.assert(204);
    let results = ana.get(&step("results")).await.assert(200);
    results.shows(&[
        "to,name,status,outcome,rule",
        "'+525511111111,Ana,done,answered_human,,1,call_",
    ]);
    ana.sends(&step("cancel"), &[], &path).await;
    ana.sees(&path, &["Canceled", "1 of 2"]).await;
    ana.refused(&step("resume"), &[], &["cannot be resumed"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_is_seen_by_its_account_and_changed_by_those_who_may() {
    let world = World::start().await;
    let agent = agent(&world).await;
    let ana = world.browser(MemberRole::Developer).await;
    let path = campaign(&ana, &agent, "to\n+525511111111\n").await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let shown = viewer.sees(&path, &["+525511111111", "Estimate"]).await;
    assert!(!shown.body.contains("Add recipients"), "{}", shown.body);
    viewer.get(NEW).await.assert(403);
    viewer.post(NEW, &[]).await.assert(403);
    let (other, rows) = (
        world.stranger().await,
        [("file_text", "to\n+525533333333\n"), ("seen", "on")],
    );
    for of in ["", "/progress", "/rows", "/results", "/add"] {
        other.get(&format!("{path}{of}")).await.assert(404);
    }
    for (browser, status) in [(&viewer, 403), (&other, 404)] {
        browser
            .upload(&format!("{path}/add"), &rows, None)
            .await
            .assert(status);
        for step in ["start", "pause", "resume", "cancel"] {
            browser
                .post(&format!("{path}/{step}"), &[])
                .await
                .assert(status);
        }
    }
    ana.sees(&path, &["Draft", "0 of 1"]).await;
}
