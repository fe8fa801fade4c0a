//! The frame of every page: search, theme, notices, empty lists.

use offhook_domain::MemberRole;

use crate::it::world::{Page, World};

/// Made as a part of a page, which the palette shows.
const PART: &str = "\r\nHX-Request: true";

#[track_caller]
fn id(made: &Page) -> String {
    let made: serde_json::Value = serde_json::from_str(&made.body).unwrap_or_default();
    made["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{made}"))
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_finds_pages_agents_numbers_and_conversations_of_the_account() {
    let world = World::start().await;
    let key = world.key().await;
    let make = async |path: &str, body: &str| {
        let made = world.api(&key, "POST", path, body).await;
        assert!(made.status < 300, "{path}: {}", made.body);
        id(&made)
    };
    let agent = r#"{"name": "Zoë <i>", "language": "en", "config": {
        "system_prompt": "You confirm.", "llm": {"provider": "scripted", "model": "scripted"}}}"#;
    let agent = make("/v1/agents", agent).await;
    let publish = format!("/v1/agents/{agent}/publish");
    world.api(&key, "POST", &publish, "{}").await.assert(200);
    let number = r#"{"phone_number": "+15005550123", "label": "Recepción"}"#;
    let number = make("/v1/phone-numbers", number).await;
    let call = format!(r#"{{"agent_id": "{agent}", "to": "+5215512345678"}}"#);
    let call = make("/v1/calls", &call).await;
    let conversation = call.trim_start_matches("call_");
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await.saying(PART);

    let all = developer.sees("/find", &["<h1>Search</h1>"]).await;
    all.shows(&["<dialog", "href=\"/portal/agents/new\"", "Batch calls"]);
    // Both languages, with and without accents.
    let spanish = "href=\"/portal/settings\"";
    viewer.sees("/find?q=configuracion", &[spanish]).await;
    let agent = format!("href=\"/portal/agents/{agent}\"");
    let found = viewer
        .sees("/find?q=zo%C3%AB", &[&agent, "Zoë &lt;i&gt;"])
        .await;
    assert!(!found.body.contains("<html"), "a part: {}", found.body);
    let number = format!("href=\"/portal/phone-numbers/{number}\"");
    viewer.sees("/find?q=recepcion", &[&number]).await;
    viewer.sees("/find?q=555-0123", &[&number]).await;
    let conversation = format!("href=\"/portal/conversations/{conversation}\"");
    for q in [&call, call.trim_start_matches("call_"), "%2B5215512345678"] {
        viewer.sees(&format!("/find?q={q}"), &[&conversation]).await;
    }
    // Pages only of roles that may open them, and nothing of other accounts.
    let none = viewer
        .sees("/find?q=create+agent", &["Nothing found."])
        .await;
    assert!(!none.body.contains("/agents/new"), "{}", none.body);
    let stranger = world.stranger().await.saying(PART);
    for q in [call.as_str(), "zo", "555-0123"] {
        let found = stranger.get(&format!("/find?q={q}")).await.assert(200);
        let leaks = [&agent, &number, &conversation];
        assert!(!leaks.iter().any(|leak| found.body.contains(*leak)), "{q}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_theme_stays_and_leads_back_to_the_page() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    ana.sees(
        "/agents",
        &["data-theme=\"system\"", "content=\"light dark\""],
    )
    .await;
    let fields = [("theme", "dark"), ("back", "/portal/agents?q=eva")];
    let chosen = ana.post("/theme", &fields).await;
    let cookie = chosen.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("offhook_theme=dark;"), "{cookie}");
    assert_eq!(chosen.leads(), "/agents?q=eva");
    let unknown = ana.post("/theme", &[("theme", "pink")]).await;
    assert_eq!(unknown.header("set-cookie"), None);

    let dark = ana.saying("\r\nCookie: offhook_theme=dark");
    dark.sees("/agents", &["data-theme=\"dark\"", "content=\"dark\""])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_name_their_columns_and_pages_lead_back_to_their_section() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Owner).await;
    ana.sees("/team", &["<td data-label=\"Email\">"]).await;
    ana.in_spanish()
        .sees(
            "/billing/ledger",
            &["<nav class=\"crumb\"", "aria-label=\"Ruta\""],
        )
        .await;
}
