//! Addresses without a page.

use offhook_domain::MemberRole;

use crate::it::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_is_told_within_the_portal_and_a_forms_address_leads_back() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    let navigation = "<nav id=\"nav\"";
    let answer = ana.get("/nothing-here").await;
    answer.assert(404).shows(&["Not found", navigation]);
    let answer = ana.get("/agents/x").await;
    answer.assert(404).shows(&["Not found", navigation]);
    ana.post("/agents/new", &[])
        .await
        .assert(403)
        .shows(&["This needs the Developer role", navigation]);
    // Reloading the response to a form sends a GET to the form's address.
    let alone = ana.get("/profile/password").await.assert(405);
    assert_eq!(alone.header("allow"), Some("POST"));
    alone.shows(&[
        "This URL only accepts a form and cannot be opened directly.",
        navigation,
    ]);
    let sent = ana.post("/logs", &[]).await.assert(405);
    assert_eq!(sent.header("allow"), Some("GET, HEAD"));
    let refused = ana.in_spanish().post("/agents/new", &[]).await;
    refused
        .assert(403)
        .shows(&["Esto requiere el rol Desarrollador o uno superior."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_takes_long_texts_of_any_script_and_says_when_it_is_too_large() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    let faces = format!("We smile: {}", "😀".repeat(100_000));
    let fields = [("name", "Faces"), ("text", faces.as_str())];
    ana.post("/knowledge/text", &fields).await.leads();
    let endless = "a".repeat(4 * 1024 * 1024);
    let fields = [("name", "Endless"), ("text", endless.as_str())];
    let refused = ana.post("/knowledge/text", &fields).await;
    refused.assert(413).shows(&["Form too large"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_the_head_alone_is_answered_as_whoever_looks() {
    let world = World::start().await;
    let page = world
        .ask("GET", "/portal/sign-in", "Accept: text/html")
        .await;
    let style = page
        .body
        .split('"')
        .find(|text| text.starts_with("/portal/assets/") && text.ends_with(".css"));
    let style = style.unwrap_or_default();
    for (path, status) in [(style, 200), ("/", 303), ("/developers", 303)] {
        let lines = "Accept: text/html";
        let looked = world.ask("GET", path, lines).await.assert(status);
        let head = world.ask("HEAD", path, lines).await.assert(status);
        assert_eq!(head.body, "", "{path}");
        for name in ["content-type", "location", "cache-control"] {
            assert_eq!(head.header(name), looked.header(name), "{path}: {name}");
        }
    }
}
