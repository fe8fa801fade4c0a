//! Data extraction from conversations: the schema's editor, and the data on the conversation's page.

use offhook_domain::MemberRole;

use crate::it::form::saved;
use crate::it::world::World;

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"mood": {"enum": ["<b>calm", "angry"]}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_set_in_the_portal_and_what_it_asks_for_is_on_the_conversations_page() {
    let world = World::start().await;
    let ana = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = [("name", "Front desk"), ("language", "en")];
    let agent = ana.post("/agents/new", &agent).await.leads();
    let publish = format!("{agent}/versions/1/publish");
    ana.post(&publish, &[("note", "")]).await.leads();
    let path = format!("{agent}/analysis");
    ana.sees(&path, &["Analysis is off.", "Example", "name=\"schema\""])
        .await;

    for (typed, said) in [
        (
            "{\"type\":",
            "JSON Schema: not valid JSON at line 1, column 8",
        ),
        (
            "{\"type\": \"array\"}",
            "JSON Schema: must have the <code>type</code> <code>object</code>",
        ),
        ("<i>", "&lt;i&gt;"),
    ] {
        let refused = saved(&ana, &path, &[("schema", typed)]).await.assert(422);
        // The typed text is still there.
        let typed = typed
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;");
        assert!(refused.body.contains(&typed), "{}", refused.body);
        refused.shows(&["role=\"alert\"", said]);
    }
    let foreign = world.stranger().await;
    foreign.get(&path).await.assert(404);
    viewer.post(&path, &[("schema", SCHEMA)]).await.assert(403);

    let schema = [("schema", SCHEMA)];
    assert_eq!(saved(&ana, &path, &schema).await.leads(), path);
    ana.get(&path).await.assert(200).shows(&[
        "Applies to conversations",
        "Turn off analysis",
        "&quot;&lt;b&gt;calm&quot;",
    ]);
    viewer.sees(&path, &["<pre class=\"document\""]).await;

    let id = agent.rsplit('/').next().unwrap_or_default();
    let chat = ana.post("/try/chat", &[("agent", id)]).await.leads();
    let words = [
        ("message_id", "a"),
        ("after", "0"),
        ("text", "A room for two."),
    ];
    ana.post(&format!("{chat}/messages"), &words).await.leads();
    let chat = ana.post(&format!("{chat}/end"), &[]).await.leads();
    world.until(&viewer, &chat, "Ended by the customer").await;
    viewer
        .get(&chat)
        .await
        .shows(&["In progress", "hx-trigger=\"every 2s\""]);
    world.dial();
    let made = "<pre class=\"document\" tabindex=\"0\">{\n  <span class=\"json-name\">&quot;mood&quot;</span>: <span class=\"json-text\">&quot;&lt;b&gt;calm&quot;</span>\n}</pre>";
    let page = world.until(&viewer, &chat, made).await;
    let part = viewer.get(&format!("{chat}/analysis")).await.assert(200);
    assert!(
        part.body.contains(made) && !part.body.contains("hx-get"),
        "{}",
        part.body
    );
    assert!(
        page.body.contains(part.body.trim()),
        "the part is the page's"
    );

    ana.sends(&format!("{path}/clear"), &[], &path).await;
    ana.sees(&path, &["Analysis is off."]).await;
    viewer.sees(&chat, &[made]).await;
    ana.sees("/settings/audit", &["Analysis: set", id]).await;
}
