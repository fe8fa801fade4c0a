//! What a conversation's answers were made of, and what they cost.

use offhook_domain::{AgentId, Json, MemberRole};

use crate::it::world::{Browser, World, must};

/// A published agent of the scripted model, with these documents.
async fn agent(world: &World, documents: &[&str]) -> String {
    let documents: Vec<_> = documents.iter().map(|id| format!("\"{id}\"")).collect();
    let body = format!(
        r#"{{
            "name": "Sofia",
            "language": "en",
            "config": {{
                "system_prompt": "say: We open at nine.",
                "first_message": "Hello, this is Sofia.",
                "llm": {{"provider": "scripted", "model": "scripted"}},
                "knowledge_base": {{"mode": "auto", "doc_ids": [{}]}}
            }}
        }}"#,
        documents.join(", ")
    );
    let body = must(Json::parse(body.as_bytes()));
    let agents = world.services.agents();
    let id: AgentId = must(agents.create(world.account, &body).await).agent.id;
    let nothing = Json::object::<String>([]);
    must(agents.publish(world.account, id, &nothing).await);
    id.to_string()
}

/// A chat in which the customer has asked this; the paths of the chat and of its page.
async fn asked(browser: &Browser, agent: &str, text: &str) -> (String, String) {
    let chat = browser.post("/try/chat", &[("agent", agent)]).await.leads();
    let message = [("message_id", "a"), ("after", "0"), ("text", text)];
    let say = format!("{chat}/messages");
    browser.post(&say, &message).await.leads();
    let path = chat.replace("/try/chat/", "/conversations/");
    (chat, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_shows_its_model_tokens_and_passages_in_the_portal_alone() {
    let world = World::start().await;
    let developer = world.browser(MemberRole::Developer).await;
    world.read_documents();
    let text = format!(
        "We <b>open</b> at nine. {}",
        "Closed on Sundays. ".repeat(20)
    );
    let fields = [("name", "Hours <i>"), ("text", text.as_str())];
    let document = developer.post("/knowledge/text", &fields).await.leads();
    world.until(&developer, &document, "Ready").await;
    let id = document.rsplit('/').next().unwrap_or_default();
    let agent = agent(&world, &[id]).await;
    let (_, path) = asked(&developer, &agent, "When do you open?").await;

    let page = developer.get(&path).await.assert(200);
    let page = page.shows(&[
        "<code>scripted</code> · tokens: ",
        " in, 4 out",
        "Passages used: 1",
        "Hours &lt;i&gt;",
        "We &lt;b&gt;open&lt;/b&gt; at nine.",
    ]);
    let shown = page.body.matches("class=\"made-by\"").count();
    assert_eq!(shown, 1, "no model wrote the greeting and the question");

    let file = developer.get(&format!("{path}/transcript.json")).await;
    let file = must(Json::parse(file.assert(200).body.as_bytes()));
    let turns = file.get("turns").and_then(Json::as_array);
    let turns = turns.unwrap_or_default();
    let sources: Vec<_> = turns.iter().filter_map(|turn| turn.get("source")).collect();
    assert_eq!(sources[..2], [&Json::Null, &Json::Null]);
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    assert_eq!(text(sources[2], "provider").as_deref(), Some("scripted"));
    assert_eq!(text(sources[2], "model").as_deref(), Some("scripted"));
    assert_eq!(
        sources[2]
            .get("tokens_out")
            .map(Json::to_compact)
            .as_deref(),
        Some("4")
    );
    let passages = sources[2].get("passages").and_then(Json::as_array);
    let [passage] = passages.unwrap_or_default() else {
        panic!("{file:?}")
    };
    let excerpt = text(passage, "excerpt").unwrap_or_default();
    assert_eq!(text(passage, "document").as_deref(), Some("Hours <i>"));
    assert_eq!(excerpt.chars().count(), 200, "{excerpt}");
    assert!(excerpt.ends_with('…'), "{excerpt}");

    // The API's transcript is as its contract has it.
    let key = world.key().await;
    let id = path.rsplit('/').next().unwrap_or_default();
    for path in [
        format!("/v1/conversations/{id}"),
        format!("/v1/conversations/{id}/turns"),
    ] {
        let answer = world.api(&key, "GET", &path, "").await.assert(200);
        let answer = answer.shows(&["We open at nine."]);
        for word in ["source", "tokens", "passages", "Sundays"] {
            assert!(!answer.body.contains(word), "{word}: {}", answer.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cost_is_shown_part_by_part_with_what_is_not_charged() {
    let world = World::start_priced(1_200).await;
    let developer = world.browser(MemberRole::Developer).await;
    let agent = agent(&world, &[]).await;
    let silent = developer
        .post("/try/chat", &[("agent", &agent)])
        .await
        .leads();
    let (chat, path) = asked(&developer, &agent, "When do you open?").await;
    developer
        .sees(&path, &["Split into its parts when the conversation ends."])
        .await;
    for chat in [&chat, &silent] {
        developer.post(&format!("{chat}/end"), &[]).await.leads();
    }
    // A quarter of a minute.
    let page = world.until(&developer, &path, "Charged</td>").await;
    page.shows(&[
        "Language model",
        "<code>scripted / scripted</code> · 1.200 per minute",
        ">0.300</td>",
        "Rounding",
        ">0.700</td>",
        "For 0:15: 15 seconds for each answer",
        "Not charged",
        "It was written, without a phone line.",
    ]);
    let silent = silent.replace("/try/chat/", "/conversations/");
    let nothing = "Nothing was charged: the agent answered no message.";
    world.until(&developer, &silent, nothing).await;
}
