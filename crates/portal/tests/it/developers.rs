//! Webhooks, API keys, settings and the developer pages.

use std::time::Duration;

use offhook_domain::{Clock as _, DeliveryId, EndpointId, MemberRole};
use offhook_services::store::{AttemptReport, ClaimSlots};

use crate::it::form::saved;
use crate::it::world::{Browser, Page, World, must};

const SCRIPT: &str = "<script>alert(1)</script>";
const ESCAPED: &str = "&lt;script&gt;alert(1)&lt;/script&gt;";
const URL: &str = "https://hooks.example.com/offhook";

async fn developer(world: &World) -> Browser {
    world.browser(MemberRole::Developer).await
}

/// The text after `before` up to the next character that neither an id nor a token contains.
#[track_caller]
fn after<'a>(page: &'a Page, before: &str) -> &'a str {
    let (_, rest) = page
        .body
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before:?}: {}", page.body));
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    rest.split(|c| !is_of_it(c)).next().unwrap_or_default()
}

/// Registers an endpoint; returns its path and its secret.
async fn endpoint(browser: &Browser) -> (String, String) {
    let fields = [
        ("url", URL),
        ("description", SCRIPT),
        ("events", "call.initiated"),
        ("events", "call.completed"),
        ("events", "call.failed"),
    ];
    let shown = browser.post("/webhooks", &fields).await.leads();
    let path = shown.strip_suffix("/secret").expect("the secret's page");
    let page = browser.get(&shown).await.assert(200);
    (
        path.to_owned(),
        format!("whsec_{}", after(&page, "id=\"secret\">whsec_")),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_shows_its_secret_once_and_is_tested_changed_rotated_and_deleted() {
    let world = World::start().await;
    let ana = developer(&world).await;
    ana.sees("/webhooks", &["No endpoints yet", "Add endpoint"])
        .await;
    let (path, secret) = endpoint(&ana).await;
    assert_eq!(secret.len(), 49, "{secret}");
    for page in [ana.get("/webhooks").await, ana.get(&path).await] {
        let page = page
            .assert(200)
            .shows(&[URL, ESCAPED, &secret[..12], "Nothing sent yet"]);
        assert!(!page.body.contains(&secret), "the secret is shown again");
        assert!(!page.body.contains(SCRIPT));
    }

    let delivery = ana
        .post(&format!("{path}/test"), &[("type", "call.failed")])
        .await
        .leads();
    ana.sees(
        &delivery,
        &[
            "call.failed",
            "Pending",
            "no_answer",
            "hx-trigger=\"every 2s\"",
        ],
    )
    .await;
    ana.sees(&format!("{delivery}/attempts"), &["0 of 4"]).await;

    let change = [
        ("url", "https://hooks.example.com/other"),
        ("events", "call.failed"),
        ("events", "billing.threshold"),
        ("description", ""),
    ];
    assert_eq!(saved(&ana, &path, &change).await.leads(), path);
    ana.get(&path)
        .await
        .shows(&["https://hooks.example.com/other"]);
    let rotated = ana
        .post(&format!("{path}/rotate-secret"), &[("overlap_hours", "24")])
        .await;
    assert_eq!(
        rotated.header("set-cookie"),
        None,
        "a secret is in no cookie"
    );
    let shown = rotated.leads();
    let rotated = ana.get(&shown).await.assert(200);
    let rotated = after(&rotated, "id=\"secret\">whsec_").to_owned();
    assert_ne!(rotated, &secret[6..]);
    // Both sign until tomorrow.
    let tomorrow = world
        .clock
        .now()
        .plus(Duration::from_secs(86_400))
        .to_string();
    let prefixes = [&secret[..12], &format!("whsec_{}", &rotated[..6])];
    let secrets = ana.sees(&path, &prefixes).await;
    secrets.shows(&[
        &tomorrow[..16].replace('T', " "),
        "Replaced by the next rotation",
    ]);
    let again = ana.sees(&shown, &["can't be shown again"]).await;
    assert!(!again.body.contains(&rotated));

    let disabled = ana
        .post(&format!("{path}/status"), &[("status", "disabled")])
        .await;
    assert_eq!(disabled.leads(), path);
    let again = ana.post(&format!("{delivery}/redeliver"), &[]).await;
    let again = again.assert(422);
    again.shows(&["The endpoint is disabled. Enable it first.", "Canceled"]);
    ana.sends(&format!("{path}/delete"), &[], "/webhooks").await;
    ana.get(&path).await.assert(404);
    ana.sees(&delivery, &["a deleted endpoint"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_gone_from_the_page_still_says_why_it_was_refused() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let (path, _) = endpoint(&ana).await;
    // Another member disables it while the page with these forms is open.
    let disabled = [("status", "disabled")];
    ana.post(&format!("{path}/status"), &disabled).await.leads();
    let since = world.clock.now().to_string();
    for (form, fields) in [
        ("test", [("type", "call.failed")]),
        ("recover", [("since", since.as_str())]),
    ] {
        let page = ana.post(&format!("{path}/{form}"), &fields).await;
        let page = page.assert(422);
        let page = page.shows(&["role=\"alert\"", "The endpoint is disabled", "Enable"]);
        assert!(!page.body.contains(&format!("{path}/{form}\"")), "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receivers_answer_is_shown_as_text() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let (path, _) = endpoint(&ana).await;
    let delivery = ana.post(&format!("{path}/test"), &[]).await.leads();
    let id: EndpointId = must(path.trim_start_matches("/webhooks/").parse());
    let slots = ClaimSlots {
        endpoint: id,
        firsts: 1,
        retries: 0,
        resends: 0,
    };
    let (store, now) = (world.services.store(), world.services.clock().now());
    let claimed = must(
        store
            .claim_deliveries(vec![slots], vec![], (now, now))
            .await,
    );
    let attempt = claimed.first().expect("a claimed attempt");
    let report = AttemptReport {
        claim_id: attempt.claim_id,
        attempt_id: attempt.attempt_id,
        delivery_id: attempt.delivery_id,
        endpoint_id: id,
        number: 1,
        at: now,
        success: false,
        status_code: Some(500),
        duration_ms: 12,
        error: None,
        response_snippet: Some(SCRIPT.to_owned()),
        ended: now,
        retry_after: Some(Duration::from_secs(300)),
    };
    must(store.finish_attempts(vec![report], now).await);

    let page = ana.get(&delivery).await.assert(200);
    let page = page.shows(&["Retrying", "Attempt 1", "500", "12 ms", "1 of 4", ESCAPED]);
    let sent = format!("X-Service-Delivery: {}", attempt.attempt_id);
    let signed = format!("X-Service-Signature: t={},v1=", now.unix_seconds());
    let page = page.shows(&[
        &sent,
        &signed,
        "X-Service-Event: call.completed",
        "\n  <span class=\"json-name\">&quot;type&quot;</span>: <span class=\"json-text\">&quot;call.completed&quot;</span>",
    ]);
    assert!(!page.body.contains(SCRIPT));
    assert!(!page.body.contains("hx-trigger"), "nothing is awaited");
    ana.get(&path).await.shows(&["Failing"]);
    let asked = ana
        .post(&format!("{delivery}/redeliver"), &[])
        .await
        .leads();
    ana.sees(&asked, &["hx-trigger=\"every 2s\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_address_stays_in_its_form() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let fields = [
        ("url", "http://10.0.0.1/\"><script>"),
        ("description", "Staging"),
    ];
    let page = ana.post("/webhooks", &fields).await.assert(422);
    let page = page.shows(&[
        "role=\"alert\"",
        "URL: ",
        "value=\"http://10.0.0.1/&quot;&gt;&lt;script&gt;\"",
        "value=\"Staging\"",
    ]);
    assert!(!page.body.contains("<script>"));
    let nothing = [("url", URL)];
    ana.refused("/webhooks", &nothing, &["Events: must not be empty"])
        .await;
    let (path, _) = endpoint(&ana).await;
    let wrong = [("url", "nowhere"), ("description", "New")];
    let page = saved(&ana, &path, &wrong).await.assert(422);
    page.shows(&["URL: ", "value=\"nowhere\"", "value=\"New\""]);
    let old = [("since", "2001-01-01T00:00")];
    let page = ana.post(&format!("{path}/recover"), &old).await.assert(422);
    page.shows(&[
        "must be within the last 14 days",
        "value=\"2001-01-01T00:00\"",
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_shows_what_its_filters_name() {
    let world = World::start().await;
    let ana = developer(&world).await;
    ana.sees("/webhooks/deliveries", &["Nothing sent yet"])
        .await;
    let (path, _) = endpoint(&ana).await;
    let id = path.trim_start_matches("/webhooks/").to_owned();
    let delivery = ana
        .post(&format!("{path}/test"), &[("type", "call.failed")])
        .await
        .leads();
    for query in [
        "".to_owned(),
        "?status=pending".to_owned(),
        "?type=call.failed".to_owned(),
        format!("?endpoint={id}&status=pending&type=call.failed"),
    ] {
        let page = ana.get(&format!("/webhooks/deliveries{query}")).await;
        let page = page.assert(200);
        page.shows(&[&delivery]);
    }
    for query in [
        "?status=exhausted".to_owned(),
        "?to=2001-01-01".to_owned(),
        format!("?endpoint={id}&type=call.completed"),
    ] {
        let page = ana.get(&format!("/webhooks/deliveries{query}")).await;
        let page = page.assert(200);
        let page = page.shows(&["No matching deliveries"]);
        assert!(!page.body.contains(&delivery), "{query}");
    }
    for (query, said) in [
        ("?status=zzz", "Unknown status."),
        ("?type=zzz", "Unknown event type."),
        ("?from=garbage", "Write dates as 2026-11-21."),
        (
            "?from=2026-05-01&to=2026-04-30",
            "The start date is after the end date.",
        ),
    ] {
        let page = ana.get(&format!("/webhooks/deliveries{query}")).await;
        page.assert(200).shows(&["role=\"alert\"", said, &delivery]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_shows_its_token_once_and_opens_the_api_until_it_is_revoked() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let fields = [
        ("name", SCRIPT),
        ("scope", "calls:read"),
        ("scope", "agents:read"),
        ("expires_at", "2099-01-31"),
        ("monthly_credit_budget", "250"),
    ];
    let made = ana.post("/developers", &fields).await;
    assert_eq!(made.header("set-cookie"), None, "a token is in no cookie");
    let path = made.leads();
    let elsewhere = world.browser_elsewhere(MemberRole::Developer).await;
    elsewhere.sees(&path, &["can't be shown again"]).await;
    let shown = ana.get(&path).await.assert(200);
    let token = format!(
        "service_live_{}",
        after(&shown, "id=\"token\">service_live_")
    );
    assert_eq!(shown.header("cache-control"), Some("no-store"));
    let reloaded = ana.sees(&path, &["can't be shown again"]).await;
    assert!(!reloaded.body.contains(&token));
    world.api(&token, "GET", "/v1/calls", "").await.assert(200);
    let answer = world.api(&token, "GET", "/v1/team/members", "").await;
    answer.assert(403);

    let list = ana.get("/developers").await.assert(200);
    let list = list.shows(&[ESCAPED, &token[..21], "calls:read", "250", "2099-01-31"]);
    assert!(!list.body.contains(&token) && !list.body.contains(SCRIPT));
    let id = after(&list, "action=\"/portal/developers/").to_owned();
    ana.sends(&format!("/developers/{id}/revoke"), &[], "/developers")
        .await;
    world.api(&token, "GET", "/v1/calls", "").await.assert(401);
    ana.get("/developers")
        .await
        .shows(&["Revoked and expired keys (1)", "No active keys"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_gives_its_scopes_whatever_is_checked_below() {
    let world = World::start().await;
    let ana = developer(&world).await;
    for (access, scopes) in [
        ("full", "all"),
        (
            "calls",
            "<code>calls:read</code> <code>calls:write</code> </span>",
        ),
        (
            "read",
            "<code>billing:read</code> <code>logs:read</code> </span>",
        ),
    ] {
        let fields = [("name", access), ("access", access), ("scope", "team:read")];
        ana.post("/developers", &fields).await.leads();
        ana.sees("/developers", &[scopes]).await;
    }
    let custom = [("name", "CRM"), ("access", "custom")];
    ana.refused("/developers", &custom, &["at least one scope"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_keeps_what_was_chosen() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let chosen = [
        ("name", "CRM"),
        ("scope", "calls:write"),
        ("read_only", "on"),
        ("expires_at", "2001-01-31"),
    ];
    let page = ana.post("/developers", &chosen).await.assert(422);
    page.shows(&[
        "is in the past",
        "value=\"CRM\"",
        "value=\"calls:write\" checked",
        "value=\"on\" checked",
        "value=\"2001-01-31\"",
    ]);
    ana.refused("/developers", &[("name", "CRM")], &["at least one scope"])
        .await;
    ana.post("/developers", &[("name", "CRM"), ("scope", "all:all")])
        .await
        .assert(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_another_accounts_is_not_found() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let (path, _) = endpoint(&ana).await;
    let delivery = ana.post(&format!("{path}/test"), &[]).await.leads();
    let token = world.key().await;
    let list = ana.get("/developers").await;
    let key = after(&list, "action=\"/portal/developers/").to_owned();

    let eve = world.stranger().await;
    for shown in [
        path.clone(),
        delivery.clone(),
        format!("{delivery}/attempts"),
    ] {
        eve.get(&shown).await.assert(404);
    }
    let id = path.trim_start_matches("/webhooks/");
    eve.get(&format!("/webhooks/deliveries?endpoint={id}"))
        .await
        .assert(404);
    for sent in [
        "",
        "/status",
        "/rotate-secret",
        "/test",
        "/recover",
        "/delete",
    ] {
        let fields = [
            ("url", URL),
            ("status", "disabled"),
            ("since", "2026-01-01"),
            ("overlap_hours", "0"),
        ];
        let page = eve.post(&format!("{path}{sent}"), &fields).await;
        assert!([404, 422].contains(&page.status), "{sent}: {}", page.status);
        assert!(
            !page.body.contains(URL) || page.body.contains("value"),
            "{sent}"
        );
    }
    let answer = eve.post(&format!("{delivery}/redeliver"), &[]).await;
    answer.assert(404);
    let answer = eve.post(&format!("/developers/{key}/revoke"), &[]).await;
    answer.assert(404);
    world.api(&token, "GET", "/v1/me", "").await.assert(200);
    ana.sees(&path, &[URL]).await;
    let unknown: DeliveryId = must("01a20009-5ac2-7194-8ddf-8a34ea98b23e".parse());
    let answer = ana.get(&format!("/webhooks/deliveries/{unknown}")).await;
    answer.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_looks_is_offered_nothing_and_refused_everything() {
    let world = World::start().await;
    let (ana, vera) = (
        developer(&world).await,
        world.browser(MemberRole::Viewer).await,
    );
    let (path, _) = endpoint(&ana).await;
    world.key().await;
    for shown in [
        "/webhooks",
        path.as_str(),
        "/developers",
        "/settings",
        "/settings/credentials",
        "/settings/audit",
        "/team",
    ] {
        let page = vera.get(shown).await.assert(200);
        let forms = page.body.matches("method=\"post\"").count();
        assert_eq!(
            forms, 3,
            "{shown}: the language, the theme and signing out alone"
        );
    }
    let fields = [
        ("url", URL),
        ("name", "CRM"),
        ("scope", "calls:read"),
        ("status", "disabled"),
    ];
    let status = format!("{path}/status");
    for sent in ["/webhooks", path.as_str(), status.as_str(), "/developers"] {
        vera.post(sent, &fields).await.assert(403);
    }
    let team = world.browser(MemberRole::Admin).await.get("/team").await;
    let member = format!("/team/{}", after(&team, "action=\"/portal/team/"));
    let fields = [
        ("provider", "legacy"),
        ("secret", "s3cret-of-ours"),
        ("email", "eve@example.com"),
        ("name", "Eve"),
        ("role", "owner"),
    ];
    for sent in [
        "/settings/credentials",
        "/settings/credentials/legacy/remove",
        "/team/invitations",
        "/team/invitations/withdraw",
        &format!("{member}/role"),
        &format!("{member}/remove"),
    ] {
        for browser in [&vera, &ana] {
            browser.post(sent, &fields).await.assert(403);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_set_replaced_and_removed_and_never_shown() {
    let world = World::start().await;
    let ada = world.browser(MemberRole::Admin).await;
    let path = "/settings/credentials";
    for secret in ["s3cret-of-ours", "an0ther-of-ours"] {
        let fields = [("provider", "legacy"), ("secret", secret)];
        let said = ada.post(path, &fields).await;
        assert!(
            !said
                .header("set-cookie")
                .unwrap_or_default()
                .contains(secret)
        );
        assert_eq!(said.leads(), path);
        let page = ada
            .sees(path, &["ElevenLabs agents", "Last replaced"])
            .await;
        assert!(!page.body.contains(secret));
    }
    let empty = ada
        .post(path, &[("provider", "simulator"), ("secret", " ")])
        .await
        .assert(422);
    empty.shows(&["1 to 4096 characters", "value=\"simulator\" selected"]);
    let long = "x".repeat(4_097);
    let refused = ada
        .post(path, &[("provider", "legacy"), ("secret", &long)])
        .await
        .assert(422);
    assert!(!refused.body.contains(&long), "a secret is not sent back");
    ada.sends(&format!("{path}/legacy/remove"), &[], path).await;
    let answer = ada.post(&format!("{path}/legacy/remove"), &[]).await;
    answer.assert(404);
    let answer = ada.post(&format!("{path}/nobody/remove"), &[]).await;
    answer.assert(404);
    ada.get(path).await.shows(&["No credentials yet"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_its_provider_does_not_accept_says_so() {
    let world = World::start().await;
    let ada = world.browser(MemberRole::Admin).await;
    let path = "/settings/credentials";
    let store = async |provider, secret| {
        let fields = [("provider", provider), ("secret", secret)];
        ada.sends(path, &fields, path).await;
    };
    store("legacy", "of-nobody").await;
    let refused = world.services.legacy().sync(world.account).await;
    assert!(refused.is_err(), "{refused:?}");
    ada.get(path).await.shows(&[
        "Failed",
        "the legacy provider refused: the credential opens no workspace. Retried automatically",
    ]);
    let eva = world.browser(MemberRole::Viewer).await.in_spanish();
    eva.get(path).await.shows(&[
        "Falló",
        "ElevenLabs rechazó la solicitud: la credencial no abre ningún espacio de trabajo. Se reintenta",
    ]);
    store("legacy", "sim_acme").await;
    world.services.legacy().sync(world.account).await.unwrap();
    let listed = ada.get(path).await.shows(&["Synced"]);
    assert!(!listed.body.contains("Failed"), "{}", listed.body);
    // A credential of a provider without a list.
    store("twilio", "AC0:of-ours").await;
    ada.get(path)
        .await
        .shows(&["<td data-label=\"Last sync\">—</td>"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_tells_who_changed_what_and_nothing_of_other_accounts() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let (path, secret) = endpoint(&ana).await;
    let fields = [("name", SCRIPT), ("scope", "calls:read")];
    let shown = ana.post("/developers", &fields).await.leads();
    let shown = ana.get(&shown).await.assert(200);
    let token = after(&shown, "id=\"token\">service_live_").to_owned();
    let log = ana.get("/settings/audit").await.assert(200);
    let log = log.shows(&[
        "webhook.create",
        "key.create",
        ESCAPED,
        "Ana",
        "Operator (command line)",
    ]);
    for hidden in [token.as_str(), secret.as_str(), SCRIPT] {
        assert!(!log.body.contains(hidden), "{hidden}");
    }
    // The endpoint by its URL, with a link, and only what was asked for.
    let linked = format!("<a href=\"/portal{path}\">{URL}</a>");
    let log = ana.sees("/settings/audit?what=webhook", &[&linked]).await;
    assert!(!log.body.contains("key.create"));
    let log = ana.sees("/settings/audit?who=cli", &["member.add"]).await;
    assert!(!log.body.contains("key.create") && !log.body.contains("webhook.create"));
    ana.sees(
        "/settings/audit?who=cli&what=webhook",
        &["No matching changes"],
    )
    .await;
    // What has changed, from what to what, and no secret.
    let fields = [("url", URL), ("events", "billing.threshold")];
    ana.sends(&path, &fields, &path).await;
    ana.post(&format!("{path}/rotate-secret"), &[("overlap_hours", "0")])
        .await
        .leads();
    let log = ana
        .sees("/settings/audit?what=webhook", &["webhook.update"])
        .await;
    let log = log.shows(&[
        "<dt>events</dt>",
        "call.initiated, call.completed, call.failed</code> → <code dir=\"auto\">billing.threshold</code>",
        "<dt>description</dt>",
        "<dt>secret</dt><dd>changed</dd>",
    ]);
    assert!(!log.body.contains("<dt>url</dt>"), "it stayed as it was");
    ana.sees(
        "/settings/audit?what=key",
        &["<dt>scopes</dt>", "calls:read</code>"],
    )
    .await;
    let eve = world.stranger().await;
    let log = eve.get("/settings/audit").await.assert(200);
    assert!(!log.body.contains(path.trim_start_matches("/webhooks/")));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_say_what_the_plan_grants_and_developer_pages_carry_the_readers_own_address() {
    let world = World::start().await;
    let vera = world.browser(MemberRole::Viewer).await;
    let page = vera.get("/settings").await.assert(200);
    page.shows(&[
        "Acme",
        "scale",
        "120 requests per minute",
        "365 days",
        "http://localhost:8080/v1",
    ]);
    vera.get("/quick-start").await.assert(200).shows(&[
        "No agents yet",
        "http://localhost:8080/v1/calls",
        "AGENT_ID",
    ]);
    let key = world.key().await;
    let body = "{\"name\":\"Front desk\",\"language\":\"en\"}";
    let agent = world.api(&key, "POST", "/v1/agents", body).await;
    let agent = agent.assert(201);
    let id = after(&agent, "\"id\":\"").to_owned();
    let page = vera.get("/quick-start").await.assert(200);
    let page = page.shows(&[
        "Front desk",
        &id,
        "Idempotency-Key",
        "href=\"/docs\"",
        "once it is published",
    ]);
    assert!(!page.body.contains("AGENT_ID") && !page.body.contains("offhook.example"));
    let page = vera.get("/quick-start/webhooks").await.assert(200);
    page.shows(&[
        "hmac.compare_digest",
        "timingSafeEqual",
        "hash_equals",
        "OpenSSL.secure_compare",
        "hmac.Equal",
    ]);
    vera.sees(
        "/webhooks/events",
        &["call.initiated", "call.completed", "call.failed"],
    )
    .await;
}
