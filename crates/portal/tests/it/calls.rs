//! Overview, conversations and test calls.

use std::time::Duration;

use offhook_domain::{AgentId, Clock as _, Json, MemberRole};
use offhook_services::store::{ChatAnswered, NewChatMessage, NewTurn, mint};

use crate::it::world::{Browser, Page, World, must};

/// A number that answers and talks.
const CUSTOMER: &str = "+5215512345678";

/// Slow enough that the customer speaks.
const LISTENS: f64 = 100.0;

/// A published agent, whose first message contains markup.
async fn agent(world: &World) -> String {
    let body = must(Json::parse(
        br#"{
            "name": "Sofia <i>",
            "language": "en",
            "config": {
                "system_prompt": "You confirm appointments.",
                "first_message": "Hello {{name}}, <script>alert(1)</script> here.",
                "llm": {"provider": "scripted", "model": "scripted"},
                "dynamic_variables": {"name": {"default": "you"}, "city": {"default": "Lima"}}
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

/// The hidden field of a form.
fn hidden(page: &str, name: &str) -> String {
    let from = format!("name=\"{name}\" value=\"");
    let value = page
        .split(&from)
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    value
        .unwrap_or_else(|| panic!("no {name} in {page}"))
        .to_owned()
}

async fn place(browser: &Browser, agent: &str, once: &str) -> String {
    let fields = [
        ("once", once),
        ("agent", agent),
        ("to", CUSTOMER),
        ("metadata", "name=Zoe"),
    ];
    browser.post("/try/call", &fields).await.leads()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_call_is_placed_once_and_read_from_its_first_word_to_its_end() {
    let world = World::start_at(LISTENS, Vec::new()).await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = agent(&world).await;
    let form = developer.get("/try/call").await.assert(200);
    let once = hidden(&form.body, "once");
    let path = place(&developer, &agent, &once).await;
    assert_eq!(place(&developer, &agent, &once).await, path, "sent twice");
    viewer
        .sees(&path, &["Waiting", "hx-trigger=\"every 1s\""])
        .await;
    viewer.sees("/", &["0 / 100"]).await;

    world.dial();
    let ended = world.until(&viewer, &path, "Completed").await;
    let ended = ended.shows(&[
        "Hello Zoe, &lt;script&gt;alert(1)&lt;/script&gt; here.",
        "Sofia &lt;i&gt;",
        "<code>name</code></td><td data-label=\"Value\">Zoe",
        "<code>city</code></td><td data-label=\"Value\">Lima",
        "agent default",
    ]);
    assert!(
        !ended.body.contains("<script>alert") && !ended.body.contains("hx-trigger"),
        "{}",
        ended.body
    );
    let last = viewer.get(&format!("{path}/turns?after=1")).await;
    assert_eq!(last.status, 286, "it is asked no more");
    last.shows(&["id=\"conversation\" hx-swap-oob=\"true\"", "Hello Zoe"]);
    viewer.get(&format!("{path}/audio")).await.assert(404);

    let list = viewer
        .get("/conversations?status=completed&phone=%2B52+155-1234-5678")
        .await;
    let list = list.assert(200).shows(&[CUSTOMER, "Answered by a person"]);
    assert_eq!(list.body.matches("<a class=\"row\"").count(), 1, "one call");
    viewer
        .get("/conversations?channel=whatsapp")
        .await
        .shows(&["No matching conversations"]);
    viewer
        .get("/")
        .await
        .shows(&["100.0%", "calls: 1, failed: 0", "Recent conversations"]);
    overview_of_periods(&world, &viewer, &agent).await;
}

/// The overview after one completed call of this agent.
async fn overview_of_periods(world: &World, viewer: &Browser, agent: &str) {
    let today = world.clock.now().utc_date();
    let one = "calls: 1, failed: 0";
    for query in [
        "range=7d",
        "range=30d",
        &format!("range=custom&from={today}&to={today}"),
        &format!("range=24h&agent={agent}"),
    ] {
        let page = viewer.sees(&format!("/?{query}"), &[one, "100.0%"]).await;
        assert_eq!(page.body.matches("class=\"plot\"").count(), 4, "{query}");
        assert!(!page.body.contains("<text"), "{query}");
    }
    for query in [
        "range=24h&agent=01a20009-5ac2-7194-8ddf-8a34ea98b23e",
        "range=custom&from=2001-01-01&to=2001-01-31",
    ] {
        let page = viewer
            .sees(&format!("/?{query}"), &["no calls measured"])
            .await;
        assert!(!page.body.contains(one), "{query}");
    }
    for query in ["range=custom", "range=custom&from=2001-01-01&to=2001-12-31"] {
        let page = viewer.get(&format!("/?{query}")).await.assert(200);
        page.shows(&["role=\"alert\"", "at most 92 days apart", one]);
    }
    // The call is on the bill, by its agent.
    viewer
        .sees(
            "/billing",
            &["By agent", "Sofia &lt;i&gt;", "Without a key"],
        )
        .await;
    let figures = ["Last 30 days", "calls: 1, failed: 0", "Average length"];
    viewer.sees(&format!("/agents/{agent}"), &figures).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_grows_and_is_hung_up() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let agent = agent(&world).await;
    let path = place(&developer, &agent, "0a").await;
    let part = developer.get(&format!("{path}/turns?after=0")).await;
    let part = part.assert(200);
    part.shows(&[
        "turns?after=0",
        "id=\"state\" hx-swap-oob=\"true\"",
        "Waiting",
    ]);
    viewer
        .sees("/conversations/live", &["No calls in progress", "every 2s"])
        .await;

    developer.get(&path).await.shows(&["hang-up"]);
    assert!(
        !viewer.get(&path).await.body.contains("hang-up"),
        "not offered to a viewer"
    );
    let answer = viewer.post(&format!("{path}/hang-up"), &[]).await;
    answer.assert(403);
    let back = developer
        .post(&format!("{path}/hang-up"), &[])
        .await
        .leads();
    assert_eq!(back, path);
    let page = developer.get(&path).await;
    page.shows(&["Failed", "Canceled before it was dialed"]);
    let again = developer
        .post(&format!("{path}/hang-up"), &[])
        .await
        .leads();
    assert_eq!(again, path, "it has ended already");
    viewer
        .get("/conversations")
        .await
        .shows(&["Canceled before it was dialed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_keeps_what_was_typed() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    developer.sees("/try/call", &["No agent to try yet"]).await;
    let agent = agent(&world).await;
    let typed = [
        ("once", "0a"),
        ("agent", agent.as_str()),
        ("to", "12 <b>"),
        ("metadata", "name=Zoe\ncity"),
    ];
    let page = developer.post("/try/call", &typed).await.assert(422);
    page.shows(&[
        "Variables, line 2: write it as name=value.",
        "12 &lt;b&gt;",
        "name=Zoe\ncity",
    ]);
    let typed = [("once", "0a"), ("agent", agent.as_str()), ("to", "12")];
    let page = developer.post("/try/call", &typed).await.assert(422);
    let page = page.shows(&["Call this number: must begin with", "value=\"12\""]);
    assert_eq!(
        hidden(&page.body, "once"),
        "0a",
        "sent again, it is the same call: whatever became of the first, none is placed twice"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_chat_is_answered_shown_and_ended() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world).await;
    let fields = [("agent", agent.as_str()), ("metadata", "name=Zoe")];
    let path = developer.post("/try/chat", &fields).await.leads();
    let page = developer.sees(&path, &["Hello Zoe, &lt;script&gt;"]).await;
    let id = hidden(&page.body, "message_id");
    let say = format!("{path}/messages");
    let message = [
        ("message_id", id.as_str()),
        ("after", "0"),
        ("text", "<b>Yes</b>"),
    ];
    for _ in 0..2 {
        assert_eq!(
            developer.post(&say, &message).await.leads(),
            path,
            "without script the page again"
        );
    }
    let page = developer
        .get(&path)
        .await
        .shows(&["&lt;b&gt;Yes&lt;/b&gt;"]);
    assert_eq!(
        page.body.matches("<li class=\"user\">").count(),
        1,
        "sent twice is said once"
    );
    assert!(
        page.body.matches("<li class=\"agent\">").count() >= 2,
        "{}",
        page.body
    );

    let part = [
        ("message_id", "c"),
        ("after", "0"),
        ("text", "And <i>now</i>?"),
    ];
    let part = developer.post_part(&say, &part).await.assert(200);
    let part = part.shows(&[
        "<ol hx-swap-oob=\"beforeend:#turns\">",
        "And &lt;i&gt;now&lt;/i&gt;?",
        "id=\"message\"",
    ]);
    assert!(!part.body.contains("<html"), "a part: {}", part.body);
    let after = hidden(&part.body, "after");
    let empty = [
        ("message_id", "d"),
        ("after", after.as_str()),
        ("text", "  "),
    ];
    let refused = developer.post_part(&say, &empty).await.assert(200);
    refused.shows(&["role=\"alert\"", "Your message: must not be empty"]);
    // Without script the page shows the reason, and keeps the typed text.
    let much = "é".repeat(3_000);
    let long = [
        ("message_id", "e"),
        ("after", after.as_str()),
        ("text", much.as_str()),
    ];
    let refused = developer.post(&say, &long).await.assert(422);
    refused.shows(&[
        "role=\"alert\"",
        &format!("value=\"{much}\""),
        "And &lt;i&gt;now",
    ]);

    let conversation = developer.post(&format!("{path}/end"), &[]).await.leads();
    world
        .until(&developer, &conversation, "Ended by the customer")
        .await
        .shows(&["Chat"]);
    developer.get(&path).await.shows(&["This chat has ended."]);
    let late = [
        ("message_id", "b"),
        ("after", "0"),
        ("text", "Still there?"),
    ];
    let refused = developer.post(&say, &late).await.assert(422);
    refused.shows(&["role=\"alert\"", "The chat has ended", "Still there?"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_facts_of_a_conversation_are_redrawn_while_it_is_watched() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world).await;
    let chat = developer
        .post("/try/chat", &[("agent", &agent)])
        .await
        .leads();
    let path = chat.replace("/try/chat/", "/conversations/");
    let page = developer.get(&path).await.assert(200);
    page.shows(&[
        "<span id=\"fact-turns\">1</span>",
        "<span id=\"fact-length\">0:00</span>",
        "<span id=\"fact-credits\">0</span>",
    ]);
    world.clock.advance(Duration::from_secs(65));
    let say = format!("{chat}/messages");
    let message = [("message_id", "a"), ("after", "0"), ("text", "Yes")];
    developer.post(&say, &message).await.leads();
    let part = developer.get(&format!("{path}/turns?after=9")).await;
    part.assert(200).shows(&[
        "<span id=\"fact-turns\" hx-swap-oob=\"true\">3</span>",
        "<span id=\"fact-length\" hx-swap-oob=\"true\">1:05</span>",
        "<span id=\"fact-credits\" hx-swap-oob=\"true\">0</span>",
    ]);
    // A call failed before it was answered.
    let call = place(&developer, &agent, "0a").await;
    world.clock.advance(Duration::from_secs(30));
    let part = developer.get(&format!("{call}/turns?after=0")).await;
    part.assert(200).shows(&[
        "<span id=\"fact-answered\" hx-swap-oob=\"true\"><span class=\"none\">–</span></span>",
        "<span id=\"fact-length\" hx-swap-oob=\"true\">–</span>",
        "<span id=\"fact-credits\" hx-swap-oob=\"true\">–</span>",
    ]);
}

/// Adds this many turns to an open chat; each turn's text is its number.
async fn say(world: &World, chat: &str, turns: usize) {
    let id = must(chat.trim_start_matches("/try/chat/").parse());
    let store = world.services.store();
    let at = world.clock.now();
    let message = NewChatMessage {
        conversation: id,
        message_id: None,
        digest: vec![1],
        text: "0".to_owned(),
        node: mint(at),
        at,
    };
    let claim = mint(at);
    let claimed = store.transaction(move |mut tx| {
        Box::pin(async move {
            let (now, day) = (tx.lease_clock().await?, at.utc_day());
            tx.write_chat_message(&message).await?;
            tx.claim_chat(&message, claim, now, day).await
        })
    });
    must(claimed.await);
    let turn = |at_turn: usize| NewTurn::written("agent", format!("turn {at_turn}"), at);
    let answered = ChatAnswered {
        turns: (1..=turns).map(turn).collect(),
        last: None,
        is_charged: false,
        is_final: true,
        at,
    };
    let answered = store.finish_chat_answer(id, claim, answered).await;
    assert!(must(answered).is_some());
}

/// The numbers of the turns on a page.
fn turns_on(page: &Page) -> Vec<usize> {
    let shown = page.body.split(">turn ").skip(1);
    shown
        .map(|rest| must(rest.split('<').next().unwrap_or_default().parse()))
        .collect()
}

/// The target of the link with this `rel`.
fn link(page: &Page, rel: &str) -> Option<String> {
    let (_, rest) = page
        .body
        .split_once(&format!("rel=\"{rel}\" href=\"/portal"))?;
    let (href, _) = rest.split_once('"')?;
    href.split('#').next().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_of_a_long_conversation_is_on_one_of_its_pages() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world).await;
    let chat = developer.post("/try/chat", &[("agent", &agent)]).await;
    let chat = chat.leads();
    let path = chat.replace("/try/chat/", "/conversations/");
    let short = developer.get(&path).await.assert(200);
    assert_eq!((link(&short, "prev"), link(&short, "next")), (None, None));
    say(&world, &chat, 2_100).await;
    let newest: Vec<usize> = (1_101..=2_100).collect();

    // While the chat is open, the page shows the latest turns and links back to earlier ones.
    let page = developer.get(&chat).await.assert(200);
    assert_eq!(turns_on(&page), newest, "where it is written in");
    assert!(
        link(&page, "prev").is_some_and(|to| to.starts_with(&path)),
        "{}",
        page.body
    );
    let page = developer
        .sees(&path, &["hx-trigger=\"every 1s\"", "First turns"])
        .await;
    assert_eq!(turns_on(&page), newest);
    assert_eq!(link(&page, "next"), None);
    let mut seen = turns_on(&page);
    let mut back = link(&page, "prev");
    while let Some(to) = back {
        let page = developer.get(&to).await.assert(200);
        assert!(
            !page.body.contains("every 1s"),
            "what is said is not put behind old turns"
        );
        seen.splice(0..0, turns_on(&page));
        back = link(&page, "prev");
    }
    assert_eq!(seen, (1..=2_100).collect::<Vec<_>>());

    // A chat page that is far behind gets only the newest turns, and a link to the others.
    let message = [
        ("message_id", "a"),
        ("after", "1"),
        ("text", "Still there?"),
    ];
    let part = developer
        .post_part(&format!("{chat}/messages"), &message)
        .await;
    let part = part.assert(200).shows(&[
        "<ol hx-swap-oob=\"innerHTML:#turns\">",
        "<div id=\"earlier\" hx-swap-oob=\"true\">",
        "Still there?",
    ]);
    assert!(link(&part, "prev").is_some());

    // An ended chat is shown from its beginning.
    developer.post(&format!("{chat}/end"), &[]).await.leads();
    // Until then it is being closed, with its reason shown already.
    world.until(&developer, &path, "Completed").await;
    let watched = developer.get(&format!("{path}/turns?after=9")).await;
    assert!(
        turns_on(&watched).contains(&2_100),
        "whoever watched stays at the end"
    );
    let mut seen = Vec::new();
    let mut on = Some(path.clone());
    while let Some(to) = on {
        let page = developer.get(&to).await.assert(200);
        seen.extend(turns_on(&page));
        on = link(&page, "next");
    }
    assert_eq!(seen, (1..=2_100).collect::<Vec<_>>());
    let last = developer.get(&format!("{path}?before=2147483647")).await;
    assert!(turns_on(&last).contains(&2_100));
    assert!(!last.body.contains("every 1s"));
    for odd in ["?after=x", "?before=0", "?after=2147483647", "?before=-9"] {
        developer.get(&format!("{path}{odd}")).await.assert(200);
    }
    let stranger = world.stranger().await;
    let answer = stranger.get(&format!("{path}?before=1000")).await;
    answer.assert(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_are_not_for_viewers_and_nothing_is_for_strangers() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let viewer = world.browser(MemberRole::Viewer).await;
    let stranger = world.stranger().await;
    let agent = agent(&world).await;
    for path in ["/try/call", "/try/chat"] {
        viewer.get(path).await.assert(403);
        viewer.post(path, &[("agent", &agent)]).await.assert(403);
    }
    assert!(
        !viewer.get("/conversations").await.body.contains("/try/"),
        "not offered"
    );
    let call = place(&developer, &agent, "0a").await;
    let chat = developer
        .post("/try/chat", &[("agent", &agent)])
        .await
        .leads();
    for path in [&call, &format!("{call}/audio"), &chat] {
        stranger.get(path).await.assert(404);
    }
    // The polling part of the page is only told to stop.
    let turns = stranger.get(&format!("{call}/turns")).await.assert(286);
    assert_eq!(turns.body, "");
    let answer = stranger.post(&format!("{call}/hang-up"), &[]).await;
    answer.assert(404);
    let message = [("message_id", "a"), ("text", "Hello")];
    let answer = stranger.post(&format!("{chat}/messages"), &message).await;
    answer.assert(404);
    stranger.post(&format!("{chat}/end"), &[]).await.assert(404);
    let answer = stranger.post("/try/chat", &[("agent", &agent)]).await;
    answer.assert(404);
    let unknown = [("once", "0a"), ("agent", agent.as_str()), ("to", CUSTOMER)];
    stranger.post("/try/call", &unknown).await.assert(422);
    stranger
        .sees("/conversations", &["No conversations yet"])
        .await;
    stranger
        .get("/")
        .await
        .shows(&["Get started", "/portal/developers"]);
    developer.get("/conversations/x").await.assert(404);
    let answer = developer.get("/conversations?from=yesterday").await;
    answer.assert(422).shows(&["Write dates as"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_has_placed_its_call_places_another_once_it_is_changed() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world).await;
    let first = place(&developer, &agent, "0a").await;
    let changed = [
        ("agent", agent.as_str()),
        ("to", CUSTOMER),
        ("metadata", "name=Leo"),
    ];
    let again = [[("once", "0a")].as_slice(), changed.as_slice()].concat();
    let page = developer.post("/try/call", &again).await.assert(422);
    let page = page.shows(&["This form already placed a call", "name=Leo", CUSTOMER]);
    let once = hidden(&page.body, "once");
    assert_ne!(once, "0a");
    let another = [[("once", once.as_str())].as_slice(), changed.as_slice()].concat();
    let second = developer.post("/try/call", &another).await.leads();
    assert_ne!(second, first);
}

/// The header of a recording, as saved before any audio.
const HEADER: [u8; 44] =
    *b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\0\0\0\0";

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_stands_beside_its_turns() {
    let world = World::start().await;
    let spool = must(tempfile::tempdir());
    let services = world.services.clone().with_spool(spool.path().to_owned());
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world).await;
    let path = place(&developer, &agent, "0a").await;
    world.dial();
    let page = world.until(&developer, &path, "Completed").await;
    assert!(
        !page.body.contains("<audio") && !page.body.contains("data-seek"),
        "{}",
        page.body
    );
    // As a dying process leaves it.
    let id = path.trim_start_matches("/conversations/");
    let mut recording = HEADER.to_vec();
    recording.extend([1; 400]);
    let file = format!("{}_{id}.part", world.account);
    must(std::fs::write(spool.path().join(file), recording));
    must(services.recording_keeper().sweep().await);

    let audio = format!("{path}/audio");
    let player = format!("<audio controls preload=\"metadata\" src=\"/portal{audio}\">");
    developer
        .get(&path)
        .await
        .shows(&[&player, "data-seek=\"", "Play from 0:0"]);
    // Also on later pages of turns.
    developer.get(&format!("{path}?after=3")).await.shows(&[
        &player,
        "data-seek=\"",
        "?after=0#transcript",
    ]);
    let waveform = developer.get(&format!("{path}/waveform")).await.assert(200);
    let waveform = waveform.shows(&["<figure class=\"waveform\"", "class=\"playhead\""]);
    assert_eq!(
        waveform.header("cache-control"),
        Some("private, max-age=86400")
    );
    let sound = developer.get(&audio).await.assert(200);
    assert_eq!(sound.header("content-type"), Some("audio/wav"));
    assert_eq!(sound.header("content-length"), Some("444"));
    assert_eq!(sound.header("accept-ranges"), Some("bytes"));
    world.stranger().await.get(&audio).await.assert(404);
}
