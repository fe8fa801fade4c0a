//! Tools in a call of the real binary, and several editors at one agent (decision 6.2).

use offhook_tests::{Account, Options, Server, both, must, text};
use serde_json::{Value, json};

async fn tool(account: &Account, tool: Value) -> Value {
    account
        .post("/v1/agents/tools", tool)
        .send()
        .await
        .assert(201)
}

/// What the agent and its tools did in a call, as `role: text`.
async fn transcript(account: &Account, call: &Value) -> Vec<String> {
    let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
    let conversation = account.read(&target).await;
    let turns = conversation["transcript"].as_array().into_iter().flatten();
    turns
        .filter(|turn| turn["role"] != "user")
        .map(|turn| format!("{}: {}", text(&turn["role"]), text(&turn["text"])))
        .collect()
}

both! {
    async fn an_agent_dials_digits_and_hands_the_customer_over(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let keys = tool(&account, json!({"name": "keys", "description": "Tones.", "kind": "dtmf"})).await;
        let desk = tool(
            &account,
            json!({
                "name": "desk", "description": "A person.", "kind": "transfer",
                "transfer": {"targets": [{"name": "front", "to": "+5215598765432"}]},
            }),
        )
        .await;
        let agent = account
            .agent_with(json!({
                "system_prompt": "say: One moment.\ncall: keys {\"digits\":\"1\"}\nthen: I will put you through.\n\
                                  call: desk {\"target\":\"front\"}",
                "first_message": "Hello.",
                "llm": {"provider": "scripted", "model": "scripted"},
                "conversation": {"turns": {"silence_timeout_s": 120}},
                "tool_ids": [keys["id"], desk["id"]],
            }))
            .await;
        for id in [&keys["id"], &desk["id"]] {
            let target = format!("/v1/agents/tools/{}", text(id));
            account.delete(&target).send().await.assert(200);
        }
        let handle = account.call(&agent, "+5215512345678").await;
        let call = account.ended(&handle).await;
        assert_eq!(call["termination_reason"], "transferred", "{call}");
        assert_eq!(
            transcript(&account, &call).await,
            [
                "agent: Hello.",
                "agent: One moment.",
                "tool: keys({\"digits\":\"1\"}) → The digits were sent.",
                "agent: I will put you through.",
                "tool: desk({\"target\":\"front\"}) → Transferred to front.",
            ]
        );
    }

    async fn a_headers_value_is_in_no_answer_and_a_private_target_is_refused(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let http = |url: &str| {
            json!({
                "name": "look", "description": "Looks.", "kind": "http",
                "http": {"method": "POST", "url": url, "headers": {"X-Key": "s3cret-value"}},
            })
        };
        let made = tool(&account, http("https://example.com/orders")).await;
        let target = format!("/v1/agents/tools/{}", text(&made["id"]));
        let patched = account.patch(&target, json!({"description": "Sees."})).send().await.assert(200);
        for answer in [&made, &patched, &account.read("/v1/agents/tools").await, &account.read(&target).await] {
            assert!(!answer.to_string().contains("s3cret-value"), "{answer}");
            assert!(answer.to_string().contains("***"), "{answer}");
        }
        for url in ["http://example.com/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/"] {
            let refused = account.post("/v1/agents/tools", http(url)).send().await;
            let message = refused.assert_error(400, "invalid_body");
            assert!(message.starts_with("`http.url`"), "{url}: {message}");
        }
    }

    async fn patches_of_several_editors_add_up(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let target = format!("/v1/agents/{}", account.agent().await);
        let changes = [
            json!({"config": {"llm": {"temperature": 0.1}}}),
            json!({"config": {"conversation": {"max_duration_s": 99}}}),
            json!({"config": {"dynamic_variables": {"a": {"default": 1}}}}),
        ];
        let racing: Vec<_> = changes
            .iter()
            .map(|change| tokio::spawn(account.patch(&target, change).send()))
            .collect();
        for answer in racing {
            must("an answer", answer.await).assert(200);
        }
        let read = account.read(&target).await;
        assert_eq!(read["current_version"], 4);
        let config = &read["config"];
        assert_eq!(config["llm"]["temperature"], 0.1);
        assert_eq!(config["conversation"]["max_duration_s"], 99);
        assert_eq!(config["dynamic_variables"], json!({"a": {"default": 1}}));
    }
}
