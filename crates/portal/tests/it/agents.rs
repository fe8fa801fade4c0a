//! Agents and their tools: created, every field edited, published, rolled back.

use offhook_domain::{AgentId, Json, MemberRole};
use offhook_services::PageRequest;
use offhook_services::store::AgentFilter;

use crate::it::form::{Form, plain, saved};
use crate::it::world::{Browser, Page, World, must};

const SCRIPT: &str = "<script>alert(1)</script>";
const ESCAPED: &str = "&lt;script&gt;alert(1)&lt;/script&gt;";

async fn developer(world: &World) -> Browser {
    world.browser(MemberRole::Developer).await
}

/// Creates an agent; returns its path.
async fn made(browser: &Browser, name: &str) -> String {
    let fields = [("name", name), ("language", "es-MX")];
    browser.post("/agents/new", &fields).await.leads()
}

/// The newest configuration of an agent.
async fn config(world: &World, path: &str) -> Json {
    let id: AgentId = must(path.trim_start_matches("/agents/").parse());
    let view = must(world.services.agents().get(world.account, id).await);
    view.config.unwrap_or(Json::Null)
}

fn at(json: &Json, path: &str) -> String {
    let found = path.split('.').try_fold(json, |json, name| json.get(name));
    found.map(Json::to_compact).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_name_who_saved_and_who_published_them() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Eva").await;
    let key = world.key().await;
    let id = path.trim_start_matches("/agents/");
    let change = r#"{"config":{"first_message":"Good evening."}}"#;
    let agent = format!("/v1/agents/{id}");
    let changed = world.api(&key, "PATCH", &agent, change);
    changed.await.assert(200);
    let versions = format!("{path}/versions");
    ana.sends(&format!("{versions}/1/publish"), &[], &path)
        .await;
    ana.sees(&versions, &[">Ana</td>", ">API key test</td>", "by Ana"])
        .await;
    ana.sees(
        &format!("{path}/diff?from=1&to=2"),
        &["Ana, ", "API key test, "],
    )
    .await;
    ana.sees(
        "/settings/audit",
        &["<dt>published_version</dt>", "<code dir=\"auto\">1</code>"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_made_edited_published_and_rolled_back() {
    let world = World::start().await;
    let ana = developer(&world).await;
    ana.sees("/agents", &["No agents yet", "Create your first agent"])
        .await;
    let path = made(&ana, "Front desk").await;
    ana.sees(&path, &["Draft", "Publish version 1", "scripted"])
        .await;
    let publish = |version: u8| format!("{path}/versions/{version}/publish");
    ana.sends(&publish(1), &[("note", "first")], &path).await;
    ana.sees(&path, &["Active"]).await;

    let edit = format!("{path}/edit");
    let page = ana.get(&edit).await.assert(200);
    let form = Form::of(&page, &edit)
        .with("llm.temperature", "0.25")
        .with("first_message", "One\r\ntwo")
        .with("conversation.recording.enabled", "on");
    let form = form
        .with("dynamic_variables[0].name", "name")
        .with("dynamic_variables[0].default", "friend");
    assert_eq!(form.send(&ana, &edit).await.leads(), path);
    let saved = config(&world, &path).await;
    let said = [
        "version",
        "llm.temperature",
        "first_message",
        "dynamic_variables",
        "system_prompt",
    ];
    let said = said.map(|name| at(&saved, name));
    assert_eq!(
        said[..4],
        [
            "2",
            "0.25",
            "\"One\\ntwo\"",
            r#"{"name":{"default":"friend"}}"#
        ]
    );
    assert!(
        said[4].contains("asistente"),
        "what was not touched stays: {}",
        said[4]
    );

    ana.sees(
        &format!("{path}/versions"),
        &["first", "Live", "diff?from=1&amp;to=2"],
    )
    .await;
    let diff = ana.get(&format!("{path}/diff?from=1&to=2")).await;
    let diff = diff.assert(200);
    diff.shows(&[
        "<ins>+ One</ins>",
        "<ins>+ two</ins>",
        "temperature",
        "<del>",
    ]);
    ana.sends(&publish(2), &[], &path).await;
    ana.get(&format!("{path}/versions/1"))
        .await
        .shows(&["Roll back to version 1", "Restore this version"]);
    ana.sends(&publish(1), &[], &path).await;
    ana.sees(&path, &["Version 1 is live; version 2 is the latest"])
        .await;
    let restore = format!("{path}/versions/1/restore");
    ana.sends(&restore, &[("expected_version", "2")], &path)
        .await;
    let restored = config(&world, &path).await;
    assert_eq!(at(&restored, "version"), "3".to_owned());
    assert_eq!(at(&restored, "llm.temperature"), "0.7".to_owned());

    for (status, shown) in [("paused", "Activate"), ("active", "Pause")] {
        ana.sends(&format!("{path}/status"), &[("status", status)], &path)
            .await;
        ana.get(&path).await.shows(&[shown]);
    }
    ana.sends(&format!("{path}/archive"), &[], &path).await;
    ana.get(&path).await.shows(&["Archived", "Restore"]);
    ana.sends(&format!("{path}/status"), &[("status", "paused")], &path)
        .await;
    ana.get("/agents?q=FRONT&status=paused&runtime=engine")
        .await
        .shows(&["Front desk", "Paused"]);
    ana.get("/agents?q=back").await.shows(&["No matching"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_nobody_changed_saves_nothing() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/edit");
    let page = ana.get(&edit).await.assert(200);
    assert_eq!(Form::of(&page, &edit).send(&ana, &edit).await.leads(), path);
    assert_eq!(at(&config(&world, &path).await, "version"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_edit_names_its_field_and_keeps_what_was_typed() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/edit");
    let form = || async {
        Form::of(&ana.get(&edit).await, &edit).with("system_prompt", "Typed <b>text</b>")
    };
    for (name, wrong, said) in [
        (
            "llm.temperature",
            "warm",
            "Model, Temperature: must be a number",
        ),
        ("llm.model", "no-such-model", "has no such model"),
        (
            "conversation.turns.endpointing_ms",
            "5",
            "Conversation, End-of-turn pause: must be an integer from 200 to 3000",
        ),
        ("stt.settings", "{\r\n\"a\"", "not valid JSON"),
        (
            "llm.fallback[0].provider",
            "nobody",
            "Model, Fallback models (1), Model: must not be empty",
        ),
    ] {
        let page = form()
            .await
            .with(name, wrong)
            .send(&ana, &edit)
            .await
            .assert(422);
        let field = plain(&page.body);
        assert!(field.contains(&format!("name=\"{name}\"")), "{name}");
        page.shows(&[
            said,
            "class=\"fault\"",
            "aria-invalid=\"true\"",
            "Typed &lt;b&gt;text&lt;/b&gt;",
        ]);
    }
    assert_eq!(at(&config(&world, &path).await, "version"), "1");

    // All of it at once, each with a link; and a refused publication leaves no version.
    let form = form()
        .await
        .with("system_prompt", " ")
        .with("llm.provider", "")
        .with("llm.temperature", "warm")
        .with("conversation.turns.endpointing_ms", "5")
        .with("publish", "on");
    let page = form.send(&ana, &edit).await.assert(422);
    page.shows(&[
        "4 things to fix:",
        "href=\"#field-system_prompt\">General, Instructions (system prompt): is required to publish",
        "href=\"#field-llm.temperature\">Model, Temperature: must be a number",
        "href=\"#field-llm.provider\">Model, Provider: is required to publish",
        "href=\"#field-conversation.turns.endpointing_ms\">Conversation, End-of-turn pause: must be",
    ]);
    assert_eq!(at(&config(&world, &path).await, "version"), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn calling_hours_without_their_tick_are_not_lost_in_silence() {
    const HOURS: &str = "conversation.calling_hours";
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/edit");
    let form = async |browser: &Browser| Form::of(&browser.get(&edit).await, &edit);
    let stored = async || at(&config(&world, &path).await, HOURS);
    for (name, label, value) in [
        ("timezone", "Time zone", "America/Mexico_City"),
        ("start", "From", "09:00"),
        ("end", "Until", "18:00"),
    ] {
        let field = format!("{HOURS}.{name}");
        let typed = form(&ana).await.with(&field, value);
        let page = typed.send(&ana, &edit).await.assert(422);
        page.shows(&[
            &format!("Calling hours, {label}: the calling hours are filled in"),
            "filled in but not turned on",
            &format!("value=\"{value}\""),
            "aria-invalid=\"true\"",
        ]);
    }
    assert_eq!(stored().await, "null");
    let spanish = world.browser_elsewhere(MemberRole::Developer).await;
    let spanish = spanish.in_spanish();
    let typed = form(&spanish)
        .await
        .with("conversation.calling_hours.start", "09:00");
    let page = typed.send(&spanish, &edit).await.assert(422);
    page.shows(&["Horario de llamadas, Desde: ", "pero no está activado"]);

    let filled = form(&ana).await.with(HOURS, "on");
    let filled = filled
        .with("conversation.calling_hours.timezone", "America/Mexico_City")
        .with("conversation.calling_hours.days", "1")
        .with("conversation.calling_hours.start", "09:00")
        .with("conversation.calling_hours.end", "18:00");
    assert_eq!(filled.send(&ana, &edit).await.leads(), path);
    assert!(stored().await.contains("18:00"));
    // Without the check mark, stored hours are removed.
    let cleared = form(&ana).await.with(HOURS, "");
    assert_eq!(cleared.send(&ana, &edit).await.leads(), path);
    assert_eq!(stored().await, "null");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_browsers_on_one_agent_the_second_is_told_and_loses_nothing() {
    let world = World::start().await;
    let (ana, ben) = (
        developer(&world).await,
        world.browser(MemberRole::Admin).await,
    );
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/edit");
    let (first, second) = (ana.get(&edit).await, ben.get(&edit).await);
    let first = Form::of(&first, &edit).with("first_message", "Ana was here");
    assert_eq!(first.send(&ana, &edit).await.leads(), path);

    let second = Form::of(&second, &edit).with("system_prompt", "What Ben typed");
    let page = second.send(&ben, &edit).await.assert(422);
    let page = page.shows(&[
        "Someone saved version 2 while you were editing version 1",
        "What Ben typed",
        "diff?from=1&amp;to=2",
        "Apply my changes to version 2",
    ]);
    let again = Form::of(&page, &edit).with("onto", "2");
    assert_eq!(again.send(&ben, &edit).await.leads(), path);
    let both = config(&world, &path).await;
    let said = ["version", "first_message", "system_prompt"].map(|name| at(&both, name));
    assert_eq!(said, ["3", "\"Ana was here\"", "\"What Ben typed\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_added_and_voices_found_without_a_script() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/edit");
    let form = || async { Form::of(&ana.get(&edit).await, &edit) };
    let page = form()
        .await
        .with("add", "llm.fallback")
        .send(&ana, &edit)
        .await
        .assert(200);
    page.shows(&["name=\"llm.fallback[2].model\""]);
    let page = form()
        .await
        .with("voices-q", "a")
        .with("add", "voice.search")
        .send(&ana, &edit)
        .await;
    let page = page.assert(200).shows(&["name=\"voice.pick\""]);
    let picked = page
        .body
        .split("name=\"voice.pick\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let picked = plain(picked.unwrap_or_default());
    let sent = Form::of(&page, &edit)
        .with("voice.pick", &picked)
        .send(&ana, &edit)
        .await;
    assert_eq!(sent.leads(), path);
    let saved = config(&world, &path).await;
    let (provider, voice) = picked.split_once('|').unwrap_or_default();
    assert_eq!(at(&saved, "voice.provider"), format!("\"{provider}\""));
    assert_eq!(at(&saved, "voice.voice_id"), format!("\"{voice}\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agents_state_forbids_is_said_by_the_buttons_of_the_portal() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let active = [("status", "active")];
    let refused = ana.post(&format!("{path}/status"), &active).await;
    let refused = refused.assert(422);
    let refused = refused.shows(&[
        "An agent with status &quot;Draft&quot; cannot become &quot;Active&quot;: publish it.",
    ]);
    assert!(!refused.body.contains("POST "), "{}", refused.body);
    let edit = format!("{path}/edit");
    let form = Form::of(&ana.get(&edit).await, &edit).with("system_prompt", "Anew");
    ana.post(&format!("{path}/archive"), &[]).await.leads();
    let refused = form.send(&ana, &edit).await.assert(422);
    let refused = refused.shows(&["The agent is archived. Restore it first (it is then paused)."]);
    assert!(!refused.body.contains("PATCH"), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_configuration_is_edited_as_json() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let edit = format!("{path}/json");
    let page = ana.get(&edit).await.assert(200);
    let form = Form::of(&page, &edit);
    let broken = form
        .with("config", "{\"system_prompt\": }")
        .send(&ana, &edit)
        .await
        .assert(422);
    let broken = broken.shows(&[
        "not valid JSON at line 1, column 19<",
        "{&quot;system_prompt&quot;: }",
    ]);
    let empty = Form::of(&broken, &edit).with("config", " ");
    let empty = empty.send(&ana, &edit).await.assert(422);
    let empty = empty.shows(&["must not be empty"]);
    assert!(!empty.body.contains("EOF"), "{}", empty.body);
    let unknown = Form::of(&broken, &edit).with("config", "{\"colour\": 1}");
    unknown
        .send(&ana, &edit)
        .await
        .assert(422)
        .shows(&["<code>config.colour</code>: unknown field"]);
    let small = Form::of(&broken, &edit).with("config", "{\"system_prompt\": \"Short\"}");
    assert_eq!(small.send(&ana, &edit).await.leads(), path);
    let saved = config(&world, &path).await;
    let said = ["system_prompt", "first_message", "llm.model"].map(|name| at(&saved, name));
    assert_eq!(said, ["\"Short\"", "\"\"", "null"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_widget_is_set_up_and_its_code_carries_the_agent() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, "Front desk").await;
    let (widget, id) = (
        format!("{path}/widget"),
        path.trim_start_matches("/agents/"),
    );
    let code = format!(
        "&lt;script src=&quot;http://localhost:8080/widget/v1/offhook.js&quot; data-agent=&quot;{id}&quot; async&gt;"
    );
    ana.sees(&widget, &[&code, "Publish the agent before"])
        .await;
    let dressed = format!("{widget}?color=%23ffcc00&label=Ask+%22us%22");
    let looks = "data-color=&quot;#ffcc00&quot; data-label=&quot;Ask &amp;quot;us&amp;quot;&quot; async&gt;";
    ana.sees(&dressed, &[looks, "fill=\"#ffcc00\""]).await;
    let wrong = [
        ("enabled", "on"),
        ("allowed_origins", "https://a.example/path"),
        ("max_sessions_per_minute", "7"),
    ];
    let page = saved(&ana, &widget, &wrong).await.assert(422);
    page.shows(&[
        "Allowed origins (1): ",
        "https://a.example/path",
        "value=\"7\"",
    ]);
    ana.post(&format!("{path}/versions/1/publish"), &[])
        .await
        .leads();
    let right = [
        ("enabled", "on"),
        (
            "allowed_origins",
            "https://a.example\r\n\r\nhttps://b.example",
        ),
        ("daily_credit_cap", "50"),
    ];
    assert_eq!(saved(&ana, &widget, &right).await.leads(), widget);
    let set = must(
        world
            .services
            .widgets()
            .get(world.account, must(id.parse()))
            .await,
    );
    assert_eq!(set.origins, ["https://a.example", "https://b.example"]);
    assert!(set.enabled);
    assert_eq!(set.max_sessions_per_minute, 10);
    assert_eq!(set.daily_credit_cap, Some(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_keeps_its_secret_headers_and_says_what_is_wrong() {
    let world = World::start().await;
    let ana = developer(&world).await;
    ana.sees("/tools", &["No tools yet"]).await;
    ana.sees("/tools/new", &["Transfer call", "kind=http"])
        .await;
    let page = ana.get("/tools/new?kind=http").await.assert(200);
    let form = |page: &Page| {
        let form = Form::of(page, "/tools/new")
            .with("name", "find_order")
            .with("description", SCRIPT);
        let form = form
            .with("http.method", "GET")
            .with("http.url", "https://orders.example.com/find");
        form.with("http.headers[0].name", "X-Key")
            .with("http.headers[0].value", "s3cret-of-ours")
    };
    let wrong = form(&page).with("parameters", "{\"type\":\"nothing\"}");
    wrong.send(&ana, "/tools/new").await.assert(422).shows(&[
        "Arguments (JSON Schema): must have the <code>type</code> <code>object</code>",
        "find_order",
    ]);
    let made = form(&page).send(&ana, "/tools/new").await;
    assert_eq!(made.leads(), "/tools");
    let page = ana.sees("/tools", &["find_order", ESCAPED]).await;
    assert!(!page.body.contains(SCRIPT));
    let (_, rest) = page
        .body
        .split_once("href=\"/portal/tools/0")
        .unwrap_or_default();
    let path = format!("/tools/0{}", rest.split('"').next().unwrap_or_default());
    let page = ana.sees(&path, &["X-Key", "leave empty to keep"]).await;
    assert!(
        !page.body.contains("s3cret-of-ours"),
        "the header's value is shown again"
    );

    let changed = Form::of(&page, &path).with("http.url", "https://orders.example.com/other");
    assert_eq!(changed.send(&ana, &path).await.leads(), path);
    let page = ana
        .sees(&path, &["https://orders.example.com/other", "X-Key"])
        .await;
    let removed = Form::of(&page, &path).with("http.headers[0].remove", "on");
    assert_eq!(removed.send(&ana, &path).await.leads(), path);
    let page = ana.get(&path).await.assert(200);
    assert!(!page.body.contains("X-Key"));
    let stranger = world.stranger().await;
    stranger.get(&path).await.assert(404);
    stranger.post(&path, &[("name", "mine")]).await.assert(404);
    let answer = stranger.post(&format!("{path}/delete"), &[]).await;
    answer.assert(404);
    ana.sends(&format!("{path}/delete"), &[], "/tools").await;
    ana.get(&path).await.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_agent_shows_its_summary_says_where_it_lives_and_is_renamed() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let provider = offhook_domain::CredentialProvider::Legacy;
    must(
        world
            .services
            .credentials()
            .set(world.account, provider, "sim_acme")
            .await,
    );
    must(world.services.legacy().sync(world.account).await);
    let first = PageRequest {
        after: None,
        limit: 100,
    };
    let agents = must(
        world
            .services
            .agents()
            .list(world.account, AgentFilter::default(), first)
            .await,
    );
    let path = format!(
        "/agents/{}",
        agents
            .items
            .first()
            .map(|agent| agent.id.to_string())
            .unwrap_or_default()
    );
    let page = ana.get(&path).await.assert(200);
    let page = page.shows(&["configured at ElevenLabs", "ElevenLabs ID", "Rename"]);
    assert!(!page.body.contains("/edit\""), "it is not edited here");
    let name = format!("{path}/name");
    let renamed = Form::of(&page, &name).with("name", "Night desk");
    assert_eq!(renamed.send(&ana, &name).await.leads(), path);
    ana.get(&path).await.shows(&["Night desk"]);
    for page in ["edit", "json", "widget"] {
        ana.get(&format!("{path}/{page}")).await.assert(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_looks_and_changes_nothing_and_a_stranger_finds_nothing() {
    let world = World::start().await;
    let ana = developer(&world).await;
    let path = made(&ana, SCRIPT).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    for page in [
        "/agents",
        &path,
        &format!("{path}/versions"),
        &format!("{path}/versions/1"),
        &format!("{path}/widget"),
    ] {
        let page = viewer.sees(page, &[ESCAPED]).await;
        assert!(!page.body.contains(SCRIPT));
        assert!(
            !page.body.contains("/edit\""),
            "what the role cannot do is not offered"
        );
    }
    for page in [
        "/agents/new",
        &format!("{path}/edit"),
        &format!("{path}/json"),
        "/tools/new",
    ] {
        viewer.get(page).await.assert(403);
    }
    let posts = [
        "edit",
        "json",
        "name",
        "status",
        "archive",
        "widget",
        "versions/1/publish",
        "versions/1/restore",
    ];
    let stranger = world.stranger().await;
    for post in posts {
        let form = [
            ("expected_version", "1"),
            ("name", "mine"),
            ("status", "paused"),
        ];
        let answer = viewer.post(&format!("{path}/{post}"), &form).await;
        answer.assert(403);
        let answer = stranger.post(&format!("{path}/{post}"), &form).await;
        answer.assert(404);
    }
    for page in [
        "",
        "/edit",
        "/json",
        "/versions",
        "/versions/1",
        "/diff",
        "/widget",
    ] {
        stranger.get(&format!("{path}{page}")).await.assert(404);
    }
    stranger.sees("/agents", &["No agents yet"]).await;
}
