//! An agent's settings: their form, the signing secret, and callers that are forgotten.

use offhook_domain::MemberRole;

use crate::it::form::saved;
use crate::it::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_saved_as_a_version_copied_with_the_agent_and_hidden_from_strangers() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = [("name", "Front desk"), ("language", "en")];
    let agent = ana.post("/agents/new", &agent).await.leads();
    let path = format!("{agent}/settings");
    ana.sees(
        &path,
        &["name=\"time_zone\"", "Context URL", "Forget a caller"],
    )
    .await;
    let edit = ana.get(&format!("{agent}/edit")).await.assert(200);
    edit.shows(&["Always available", "{{customer_number}}"]);

    let refused = saved(&ana, &path, &[("caller_memory", "9")])
        .await
        .assert(422);
    refused.shows(&["Earlier conversations to remember: must be an integer from 0 to 5"]);
    let refused = saved(&ana, &path, &[("context_url.url", "nowhere")]).await;
    refused.assert(422).shows(&["URL: "]);

    let set = [
        ("time_zone", "America/Mexico_City"),
        ("caller_memory", "2"),
        ("guard", "off"),
    ];
    assert_eq!(saved(&ana, &path, &set).await.leads(), path);
    ana.get(&path).await.assert(200).shows(&["value=\"2\""]);
    let copy = ana.post(&format!("{agent}/duplicate"), &[]).await.leads();
    ana.sees(
        &format!("{copy}/settings"),
        &[
            "value=\"America/Mexico_City\" selected",
            "value=\"off\" selected",
        ],
    )
    .await;
    viewer
        .sees(
            &path,
            &["America/Mexico_City", "Replace unproven claims", "Never"],
        )
        .await;
    viewer.post(&path, &set).await.assert(403);
    world.stranger().await.get(&path).await.assert(404);

    let context = [("context_url.url", "https://example.com/context")];
    let secret = saved(&ana, &path, &context).await.leads();
    assert_eq!(secret, format!("{path}/secret"));
    ana.get(&secret).await.assert(200).shows(&["whsec_"]);
    ana.sees(&secret, &["It was shown once"]).await;

    let forget = format!("{agent}/forget");
    let refused = ana.post(&forget, &[("phone", "12")]).await.assert(422);
    refused.shows(&["Phone number: "]);
    let number = [("phone", "+5215512345678")];
    assert_eq!(ana.post(&forget, &number).await.leads(), path);
}
