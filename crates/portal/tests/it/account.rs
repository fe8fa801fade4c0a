//! What an account sets for itself: its time zone.

use offhook_domain::MemberRole;

use crate::it::world::World;

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
