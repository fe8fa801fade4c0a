//! What an account sets for itself: its time zone, and what its request log keeps.

use offhook_domain::MemberRole;

use crate::it::world::{World, must};

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_shows_its_message_and_its_shape_where_the_account_asks_for_it() {
    let world = World::start().await;
    let ada = world.browser(MemberRole::Admin).await;
    let key = world.key().await;
    let refused = async || {
        let body = "{\"agent_id\":\"Ana\",\"to\":\"5512345678\"}";
        let answer = world.api(&key, "POST", "/v1/calls", body).await.assert(400);
        must(world.services.request_logs().flush().await);
        format!("/logs/{}", answer.header("x-request-id").expect("an id"))
    };
    let told = "`to`: must begin with `+` and the country code";
    let page = ada.sees(&refused().await, &[told]).await;
    assert!(
        !page.body.contains("10 characters"),
        "the account has not asked for it"
    );
    ada.sends("/settings/error-bodies", &[("keep", "on")], "/settings")
        .await;
    let path = refused().await;
    let page = ada
        .sees(
            &path,
            &[
                told,
                "&quot;to&quot;</span>: ",
                "&quot;string, 10 characters&quot;",
            ],
        )
        .await;
    assert!(!page.body.contains("5512345678"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_reads_times_where_it_is() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    let ada = world.browser(MemberRole::Admin).await;
    let path = "/settings/time-zone";
    let zone = [("time_zone", "America/New_York")];
    ana.post(path, &zone).await.assert(403);
    ada.refused(
        path,
        &[("time_zone", "Mars/Olympus")],
        &["Choose a time zone"],
    )
    .await;
    ada.sees(
        "/settings",
        &[
            "<optgroup label=\"Europe\">",
            ">New York</option>",
            " UTC</time>",
        ],
    )
    .await;
    ada.sends(path, &zone, "/settings").await;
    // Every member's pages follow, their filters too; other accounts' do not.
    ana.sees(
        "/settings",
        &["data-zone=\"America/New_York\"", "America/New_York"],
    )
    .await;
    ana.sees("/logs", &["From (America/New_York)"]).await;
    let eve = world.stranger().await;
    eve.sees("/settings", &[" UTC</time>"]).await;
}
