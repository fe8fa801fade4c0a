//! What people see of their conversations: outcomes, searches, files, notes and saved views.

use offhook_domain::{AgentId, Json, MemberRole};

use crate::it::world::{Browser, World, must};

/// Slow enough for callees to listen to the end.
const SPEED: f64 = 100.0;

/// A number that answers and talks.
const TALKS: &str = "+5215512345678";

/// A number that is busy.
const BUSY: &str = "+15005550001";

async fn agent(world: &World) -> String {
    let body = must(Json::parse(
        br#"{
            "name": "Sofia",
            "language": "en",
            "config": {
                "system_prompt": "You confirm appointments.",
                "first_message": "Hello, this is Sofia.",
                "llm": {"provider": "scripted", "model": "scripted"}
            }
        }"#,
    ));
    let agents = world.services.agents();
    let made = must(agents.create(world.account, &body).await);
    let id: AgentId = made.agent.id;
    let nothing = Json::object::<String>([]);
    must(agents.publish(world.account, id, &nothing).await);
    id.to_string()
}

async fn place(browser: &Browser, agent: &str, once: &str, to: &str) -> String {
    let fields = [
        ("once", once),
        ("agent", agent),
        ("to", to),
        ("metadata", "city=Lima\nnote==SUM(A1)"),
    ];
    browser.post("/try/call", &fields).await.leads()
}

/// A call that was answered, and one to a busy number.
async fn two_calls(world: &World, developer: &Browser) -> (String, String) {
    let agent = agent(world).await;
    let talked = place(developer, &agent, "0a", TALKS).await;
    let busy = place(developer, &agent, "0b", BUSY).await;
    world.dial();
    for (path, outcome) in [
        (&talked, "Answered by a person"),
        (&busy, "The line was busy"),
    ] {
        let page = world.until(developer, path, outcome).await;
        page.shows(&["<strong>Settled</strong>"]);
    }
    (talked, busy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_seen_step_by_step_and_taken_along() {
    let world = World::start_at(SPEED, Vec::new()).await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let (talked, busy) = two_calls(&world, &developer).await;
    let page = developer.get(&talked).await.assert(200).shows(&[
        "<strong>Queued</strong>",
        "<strong>Dialing</strong>",
        "<strong>Ringing</strong>",
        "<strong>Answered</strong>",
        "<strong>Ended</strong>",
        "<strong>Settled</strong>",
        "scripted / scripted",
        "<div class=\"made-by\"><code>scripted</code> · tokens: ",
        "Copy link",
    ]);
    // Another call like it begins with the same form.
    let again = page
        .body
        .split("href=\"/portal/try/call?")
        .nth(1)
        .unwrap_or_default();
    let again = again
        .split('"')
        .next()
        .unwrap_or_default()
        .replace("&amp;", "&");
    developer
        .sees(&format!("/try/call?{again}"), &[TALKS, "city=Lima"])
        .await;
    developer
        .sees(
            &busy,
            &[
                "<span class=\"badge\">Busy</span>",
                "<strong>Ended</strong>",
            ],
        )
        .await;
    let page = viewer.get(&talked).await.assert(200);
    assert!(
        !page.body.contains("/try/call?"),
        "a viewer places no calls"
    );

    let json = viewer
        .get(&format!("{talked}/transcript.json"))
        .await
        .assert(200);
    let json = must(Json::parse(json.body.as_bytes()));
    let outcome = json.get("outcome").and_then(Json::as_str);
    assert_eq!(outcome, Some("answered_human"));
    let city = json
        .get("metadata")
        .and_then(|sent| sent.get("city")?.as_str());
    assert_eq!(city, Some("Lima"));
    let text = viewer
        .get(&format!("{talked}/transcript.txt"))
        .await
        .assert(200);
    text.shows(&["Agent: Hello, this is Sofia.", "[0:0"]);
    let subtitles = viewer
        .get(&format!("{talked}/transcript.srt"))
        .await
        .assert(200);
    let subtitles = subtitles.shows(&["1\n00:00:0", " --> ", "Agent: Hello, this is Sofia."]);
    let kept = subtitles.header("content-disposition").unwrap_or_default();
    assert!(
        kept.starts_with("attachment;") && kept.ends_with(".srt\""),
        "{kept}"
    );
    let stranger = world.stranger().await;
    for file in [
        "transcript.json",
        "transcript.txt",
        "transcript.srt",
        "waveform",
    ] {
        stranger.get(&format!("{talked}/{file}")).await.assert(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_have_an_author_and_are_deleted_by_them_or_an_admin() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let (admin, viewer) = (
        world.browser(MemberRole::Admin).await,
        world.browser(MemberRole::Viewer).await,
    );
    let agent = agent(&world).await;
    let path = place(&developer, &agent, "0a", TALKS).await;
    let notes = format!("{path}/notes");
    developer
        .sends(&notes, &[("text", "Call <b>back</b> on Monday.")], &path)
        .await;
    viewer.post(&notes, &[("text", "No")]).await.assert(403);
    developer.sends(&notes, &[("text", " ")], &path).await;
    let shown = "<p class=\"said\" dir=\"auto\">Call &lt;b&gt;back&lt;/b&gt; on Monday.</p>";
    let page = viewer.sees(&path, &[shown, "<strong>Ana</strong>"]).await;
    assert!(!page.body.contains("/notes/"), "a viewer deletes none");
    let page = developer.get(&path).await;
    assert_eq!(
        page.body.matches("class=\"note\"").count(),
        1,
        "a blank one is none"
    );
    let action = page.body.split("action=\"/portal").find_map(|rest| {
        let action = rest.split('"').next()?;
        action.ends_with("/delete").then(|| action.to_owned())
    });
    let action = action.unwrap_or_default();
    let stranger = world.stranger().await;
    stranger.post(&notes, &[("text", "Mine")]).await.assert(404);
    stranger.post(&action, &[]).await.assert(404);
    admin.sends(&action, &[], &path).await;
    let page = viewer.get(&path).await;
    assert!(!page.body.contains(shown), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_set_by_developers_and_find_conversations_again() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = agent(&world).await;
    let tagged = place(&developer, &agent, "0a", TALKS).await;
    let other = place(&developer, &agent, "0b", BUSY).await;
    let tags = format!("{tagged}/tags");
    let add = async |text: &str| {
        developer.sends(&tags, &[("tag", text)], &tagged).await;
        developer.get(&tagged).await
    };
    add(" VIP,  Call   <b>back</b> ").await.shows(&[
        "<a href=\"/portal/conversations?tag=vip\"><bdi>vip</bdi></a>",
        "<bdi>call &lt;b&gt;back&lt;/b&gt;</bdi>",
        "<option value=\"vip\">",
    ]);
    // One that it has, one that is too long, too many, and none.
    let many: Vec<String> = (0..19).map(|tag| format!("tag {tag}")).collect();
    for other in ["vip", &"x".repeat(41), &many.join(","), " , "] {
        let page = add(other).await;
        let count = page.body.matches("class=\"tag\"").count();
        assert_eq!(count, 2, "{other}");
    }

    // Whoever may read the conversation sees them; who may write notes sets them.
    viewer.post(&tags, &[("tag", "no")]).await.assert(403);
    let remove = format!("{tags}/delete");
    viewer.post(&remove, &[("tag", "vip")]).await.assert(403);
    let page = viewer.sees(&tagged, &["<bdi>vip</bdi>"]).await;
    assert!(!page.body.contains("/tags\""), "{}", page.body);
    let stranger = world.stranger().await;
    stranger.post(&tags, &[("tag", "mine")]).await.assert(404);
    stranger.post(&remove, &[("tag", "vip")]).await.assert(404);
    let theirs = stranger.get("/conversations?tag=vip").await.assert(200);
    assert!(
        !theirs.body.contains("<option value=\"vip\">"),
        "{}",
        theirs.body
    );

    let row = |path: &str| format!("id=\"row-{}\"", path.trim_start_matches("/conversations/"));
    let list = viewer
        .sees(
            "/conversations?tag=+Vip+",
            &[&row(&tagged), "<bdi>vip</bdi>"],
        )
        .await;
    assert!(!list.body.contains(&row(&other)), "{}", list.body);
    list.shows(&["value=\"tag=Vip\"", "Save this view"]);
    viewer
        .sees("/conversations?tag=none", &["No matching conversations"])
        .await;
    let file = viewer.get("/conversations/file?tag=vip").await.assert(200);
    let file = file.shows(&["summary,tags", "\"call <b>back</b>, vip\""]);
    assert_eq!(file.body.matches("Sofia").count(), 1, "{}", file.body);

    developer.sends(&remove, &[("tag", "VIP")], &tagged).await;
    developer.post(&remove, &[("tag", "vip")]).await.assert(404);
    viewer
        .sees("/conversations?tag=vip", &["No matching conversations"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_call_opens_its_running_transcript() {
    // As slow as real callees.
    let world = World::start_at(1.0, Vec::new()).await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = agent(&world).await;
    let path = place(&developer, &agent, "0a", TALKS).await;
    world.dial();
    let followed = format!(
        "/conversations/live?call={}",
        path.trim_start_matches("/conversations/")
    );
    let page = world.until(&developer, &followed, "On the line").await;
    let polled = format!("hx-get=\"/portal{path}/turns?after=");
    page.shows(&[
        &format!("href=\"/portal{followed}\""),
        &polled,
        "&amp;live=on\"",
        "id=\"last-latency\"",
        "id=\"turns\"",
        "Hang up",
    ]);
    let page = viewer.sees(&followed, &[&polled]).await;
    assert!(!page.body.contains("Hang up"), "{}", page.body);
    let part = viewer.get(&format!("{path}/turns?after=0&live=on")).await;
    let part = part
        .assert(200)
        .shows(&["&amp;live=on\"", "<div id=\"state\" hx-swap-oob"]);
    assert!(!part.body.contains("timeline"), "{}", part.body);
    world.stranger().await.get(&followed).await.assert(404);
    developer
        .get("/conversations/live?call=x")
        .await
        .assert(404);

    developer
        .post(&format!("{path}/hang-up"), &[])
        .await
        .leads();
    let page = world
        .until(&developer, &followed, "<strong>Settled</strong>")
        .await;
    assert!(!page.body.contains(&polled), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_found_by_outcome_words_reason_length_and_variable() {
    let world = World::start_at(SPEED, Vec::new()).await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let (talked, busy) = two_calls(&world, &developer).await;
    let link = |path: &str| format!("id=\"row-{}\"", path.trim_start_matches("/conversations/"));
    for (query, shown) in [
        ("outcome=answered_human", &[&talked][..]),
        ("outcome=busy", &[&busy]),
        ("outcome=voicemail", &[]),
        ("q=THIS+IS+SOFIA", &[&talked]),
        ("q=nobody+said+this", &[]),
        ("reason=busy", &[&busy]),
        ("reason=no_answer", &[]),
        ("min=1", &[&talked]),
        ("min=9999", &[]),
        ("variable=city", &[&talked, &busy]),
        ("variable=city%3Dlima", &[&talked, &busy]),
        ("variable=city%3DRoma", &[]),
        ("variable=city&outcome=busy", &[&busy]),
    ] {
        let page = viewer
            .get(&format!("/conversations?{query}"))
            .await
            .assert(200);
        for path in [&talked, &busy] {
            let is_shown = page.body.contains(&link(path));
            assert_eq!(is_shown, shown.contains(&path), "{query}: {path}");
        }
        if shown.is_empty() {
            page.shows(&["No matching conversations"]);
        }
    }
    viewer
        .sees(
            "/conversations?q=sofia",
            &["Matches", "Hello, this is Sofia."],
        )
        .await;
    for wrong in ["outcome=won", "min=x", "reason=x"] {
        viewer
            .get(&format!("/conversations?{wrong}"))
            .await
            .assert(422);
    }

    // The rows update by themselves, if they changed.
    let page = viewer.get("/conversations").await.assert(200);
    let part = page
        .body
        .split("hx-get=\"/portal")
        .nth(1)
        .unwrap_or_default();
    let part = part
        .split('"')
        .next()
        .unwrap_or_default()
        .replace("&amp;", "&");
    assert!(part.starts_with("/conversations/rows?"), "{part}");
    viewer.get(&part).await.assert(204);
    let rows = viewer
        .get("/conversations/rows?outcome=busy")
        .await
        .assert(200);
    rows.shows(&[&link(&busy), "every 5s"]);
    let found = viewer.get("/conversations?q=sofia").await;
    assert!(!found.body.contains("every 5s"), "a search is not repeated");

    let file = viewer
        .get("/conversations/file?outcome=answered_human")
        .await
        .assert(200);
    assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
    let file = file.shows(&["id,call_id,agent", "answered_human", "'+5215512345678"]);
    assert!(!file.body.contains("busy"), "{}", file.body);
    let theirs = world
        .stranger()
        .await
        .get("/conversations/file")
        .await
        .assert(200);
    assert!(!theirs.body.contains("Sofia"), "{}", theirs.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_saved_for_its_member_alone() {
    let world = World::start().await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let developer = world.browser(MemberRole::Developer).await;
    viewer
        .sees(
            "/conversations?outcome=busy&min=",
            &["Save this view", "value=\"outcome=busy\""],
        )
        .await;
    let view = [
        ("name", "Busy <i>"),
        ("query", "outcome=busy&after=1_x&next=//evil"),
    ];
    viewer
        .sends("/conversations/views", &view, "/conversations?outcome=busy")
        .await;
    let page = viewer.sees("/conversations", &["Busy &lt;i&gt;"]).await;
    let page_of_other = developer.get("/conversations").await;
    assert!(
        !page_of_other.body.contains("Busy &lt;i&gt;"),
        "it is not theirs"
    );
    let delete = page
        .body
        .split("action=\"/portal/conversations/views/")
        .nth(1);
    let delete = delete
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default();
    let delete = format!("/conversations/views/{delete}");
    developer.post(&delete, &[]).await.assert(404);
    viewer.sends(&delete, &[], "/conversations").await;
    let page = viewer.get("/conversations").await;
    assert!(!page.body.contains("Busy &lt;i&gt;"), "{}", page.body);
}
