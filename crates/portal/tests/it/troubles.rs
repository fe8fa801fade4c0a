//! Addresses at which there is nothing to see.

use offhook_domain::MemberRole;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_is_told_within_the_portal_and_a_forms_address_leads_back() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Viewer).await;
    let navigation = "<nav id=\"nav\"";
    ana.get("/nothing-here")
        .await
        .assert(404)
        .shows(&["Not found", navigation]);
    ana.get("/agents/x")
        .await
        .assert(404)
        .shows(&["Not found", navigation]);
    ana.post("/agents/new", &[])
        .await
        .assert(403)
        .shows(&["This needs the role developer", navigation]);
    // Whoever reloads what answered a form asks for its address.
    let alone = ana.get("/profile/password").await.assert(405);
    assert_eq!(alone.header("allow"), Some("POST"));
    alone.shows(&[
        "This address takes a form and cannot be opened by itself.",
        navigation,
    ]);
    let sent = ana.post("/logs", &[]).await.assert(405);
    assert_eq!(sent.header("allow"), Some("GET, HEAD"));
    world.close().await;
}
