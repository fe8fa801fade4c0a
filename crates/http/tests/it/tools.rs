//! `/v1/agents/tools`, an agent's versions, and tools in a call.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use offhook_testkit::fakes::mcp::FakeMcp;

use crate::it::app::{CUSTOMER, TestApp, members, text};
use crate::it::client::must;

const TOOL: &str = "id name description kind parameters http transfer mcp created_at updated_at";

fn look(url: &str) -> Value {
    json!({
        "name": "look",
        "description": "Finds an order.",
        "kind": "http",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "integer", "maximum": 1.0e3}},
            "required": ["id"],
        },
        "http": {
            "method": "GET",
            "url": url,
            "headers": {"Authorization": "Bearer s3cret"},
            "timeout_ms": 2000,
        },
    })
}

async fn make(app: &TestApp, tool: Value) -> Value {
    app.post("/v1/agents/tools", tool).await.assert(201)
}

fn one(tool: &Value) -> String {
    format!("/v1/agents/tools/{}", text(&tool["id"]))
}

async fn patch(app: &TestApp, target: &str, change: Value) -> Value {
    app.patch(target, change).await.assert(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_made_read_changed_and_deleted_and_its_header_values_never_show() {
    let app = TestApp::start().await;
    let made = make(&app, look("https://Example.com")).await;
    assert_eq!(members(&made), TOOL);
    let mut expected = look("https://example.com/");
    expected["http"]["headers"]["Authorization"] = json!("***");
    expected["id"] = made["id"].clone();
    expected["transfer"] = Value::Null;
    expected["mcp"] = Value::Null;
    expected["created_at"] = made["created_at"].clone();
    expected["updated_at"] = made["created_at"].clone();
    assert_eq!(made, expected);
    let target = one(&made);
    assert_eq!(app.read(&target).await, made);

    app.clock.advance(Duration::from_secs(1));
    let change = json!({"http": {"timeout_ms": 900, "headers": {"Authorization": "***"}}});
    let changed = patch(&app, &target, change.clone()).await;
    expected["http"]["timeout_ms"] = json!(900);
    expected["updated_at"] = changed["updated_at"].clone();
    assert_eq!(changed, expected);
    assert_ne!(changed["updated_at"], made["updated_at"]);
    app.clock.advance(Duration::from_secs(1));
    assert_eq!(patch(&app, &target, change).await, changed, "no change");

    let deleted = app.delete(&target).await.assert(200);
    assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
    app.get(&target).await.assert_error(404, "not_found");
    app.delete(&target).await.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_header_goes_to_no_other_server_than_it_was_given_for() {
    let app = TestApp::start().await;
    let target = one(&make(&app, look("https://example.com/a")).await);
    let moved = |url: &str| json!({"http": {"url": url}});
    let stays = patch(&app, &target, moved("https://example.com/b?x=1")).await;
    assert_eq!(stays["http"]["headers"], json!({"Authorization": "***"}));
    for url in [
        "https://example.com.evil.example/b",
        "https://example.com:8443/b",
        "https://example.net/b",
    ] {
        let kept = json!({"http": {"url": url, "headers": {"Authorization": "***"}}});
        let answer = app.patch(&target, kept).await;
        let message = answer.assert_error(400, "invalid_body");
        assert!(message.contains("send the value"), "{message}");
    }
    let anew = json!({"http": {"url": "https://example.org/", "headers": {"Authorization": "Bearer new"}}});
    let sent = patch(&app, &target, anew).await;
    assert_eq!(sent["http"]["headers"], json!({"Authorization": "***"}));
    let bare = patch(&app, &target, moved("https://example.net/b")).await;
    assert_eq!(bare["http"]["headers"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_newest_first_and_a_name_is_taken_once() {
    let app = TestApp::start().await;
    for name in ["a", "b", "c"] {
        make(&app, end_call(name)).await;
        app.clock.advance(Duration::from_millis(1));
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["data"].as_array().into_iter().flatten();
        items.map(|tool| text(&tool["name"])).collect()
    };
    let first = app.read("/v1/agents/tools?limit=2").await;
    assert_eq!(names(&first), ["c", "b"]);
    let cursor = text(&first["next_cursor"]);
    let rest = app.get(&format!("/v1/agents/tools?cursor={cursor}"));
    assert_eq!(names(&rest.await.assert(200)), ["a"]);
    let taken = end_call("a");
    let refused = app.post("/v1/agents/tools", taken).await;
    let message = refused.assert_error(409, "conflict");
    assert!(message.contains("`name`"), "{message}");
    let target = one(&first["data"][0]);
    let renamed = app.patch(&target, json!({"name": "b"}));
    renamed.await.assert_error(409, "conflict");
    for at in 3..64 {
        let name = format!("t{at}");
        make(&app, end_call(&name)).await;
    }
    let one_more = end_call("more");
    let refused = app.post("/v1/agents/tools", one_more).await;
    let message = refused.assert_error(409, "conflict");
    assert!(message.contains("64"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_tool_is_refused_with_its_field() {
    let app = TestApp::start().await;
    let with = |change: Value| {
        let mut tool = look("https://example.com/");
        for (name, value) in change.as_object().into_iter().flatten() {
            tool[name] = value.clone();
        }
        tool
    };
    let http = |url: &str| with(json!({"http": {"method": "GET", "url": url}}));
    let cases = [
        (with(json!({"name": "Look"})), "`name`"),
        (with(json!({"kind": "shell"})), "`kind`"),
        (
            with(json!({"parameters": {"$ref": "https://example.com/s.json"}})),
            "`parameters`: has a `$ref` that is not local",
        ),
        (
            with(json!({"parameters": {"properties": {"a": {"$ref": "#"}}}})),
            "`parameters`: has a `$ref` that leads back to itself",
        ),
        (
            with(json!({"parameters": {"properties": {"a": {"type": "strnig"}}}})),
            "`parameters`: is no valid JSON Schema",
        ),
        (
            http("https://example.com/?a=1&%69d=2"),
            "`parameters`: names `id`",
        ),
        (http("ftp://example.com/"), "`http.url`"),
        (http("https://user:pass@example.com/"), "`http.url`"),
        (
            with(
                json!({"http": {"method": "GET", "url": "https://example.com/", "timeout_ms": 60000}}),
            ),
            "`http.timeout_ms`",
        ),
        (with(json!({"transfer": {"targets": []}})), "`transfer`"),
        (
            json!({"name": "shop", "description": "The shop.", "kind": "mcp",
                   "mcp": {"url": "http://user@example.com/", "functions": ["a"]}}),
            "`mcp.url`",
        ),
        (with(json!({"more": 1})), "`more`: unknown field"),
    ];
    app.refuses_bodies("/v1/agents/tools", &cases).await;
}

/// A configuration with these tools.
fn config(tools: &[&Value], prompt: &str) -> Value {
    let ids: Vec<&Value> = tools.iter().map(|tool| &tool["id"]).collect();
    json!({
        "system_prompt": prompt,
        "first_message": "Hola, habla Sofía.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "conversation": {"turns": {"silence_timeout_s": 120}},
        "tool_ids": ids,
    })
}

fn agent(tools: &[&Value], prompt: &str) -> Value {
    json!({"name": "Sofía", "language": "es-MX", "config": config(tools, prompt)})
}

async fn publish(app: &TestApp, id: &str, body: Value) -> Value {
    let target = format!("/v1/agents/{id}/publish");
    app.post(&target, body).await.assert(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_listed_highest_first_and_one_serves() {
    let app = TestApp::start().await;
    let made = app.post("/v1/agents", agent(&[], "One.")).await.assert(201);
    let id = text(&made["id"]);
    let target = format!("/v1/agents/{id}");
    for prompt in ["Two.", "Three."] {
        app.clock.advance(Duration::from_secs(1));
        patch(&app, &target, json!({"config": {"system_prompt": prompt}})).await;
    }
    let versions = format!("{target}/versions");
    let list = app.read(&versions).await;
    assert_eq!(
        members(&list["data"][0]),
        "version created_at published_at is_published note"
    );
    let shown = |list: &Value| -> Vec<(i64, bool)> {
        let items = list["data"].as_array().into_iter().flatten();
        items
            .map(|item| {
                (
                    item["version"].as_i64().unwrap(),
                    item["is_published"] == true,
                )
            })
            .collect()
    };
    assert_eq!(shown(&list), [(3, false), (2, false), (1, false)]);
    publish(&app, &id, json!({"version": 2, "note": "Better."})).await;
    publish(&app, &id, json!({"version": 3})).await;
    let back = publish(&app, &id, json!({"version": 2})).await;
    assert_eq!(back["current_version"], 3);
    assert_eq!(back["published_version"], 2);
    let first = app.read(&format!("{versions}?limit=2")).await;
    assert_eq!(shown(&first), [(3, false), (2, true)]);
    let cursor = text(&first["next_cursor"]);
    let rest = app
        .get(&format!("{versions}?limit=2&cursor={cursor}"))
        .await;
    assert_eq!(shown(&rest.assert(200)), [(1, false)]);
    let two = app.read(&format!("{versions}/2")).await;
    assert_eq!(
        members(&two),
        "version created_at published_at is_published note config"
    );
    assert_eq!(two["note"], "Better.");
    assert_eq!(two["is_published"], true);
    assert_eq!(two["config"]["version"], 2);
    assert_eq!(two["config"]["system_prompt"], "Two.");
    for absent in ["0", "4", "02", "+2", "x", "99999999999"] {
        let answer = app.get(&format!("{versions}/{absent}")).await;
        answer.assert_error(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_agent_keeps_its_place_and_comes_back_paused() {
    let app = TestApp::start().await;
    let id = app.agent().await;
    let target = format!("/v1/agents/{id}");
    for _ in 0..2 {
        let archived = app.delete(&target).await.assert(200);
        assert_eq!(archived, json!({"id": id, "archived": true}));
    }
    let read = app.read(&target).await;
    assert_eq!(read["status"], "archived");
    let body = json!({"agent_id": id, "to": CUSTOMER});
    let refused = app.post("/v1/calls", body).await;
    refused.assert_error(403, "agent_disabled");
    let publish = app.post(&format!("{target}/publish"), "{}").await;
    publish.assert_error(409, "conflict");
    let active = app.patch(&target, json!({"status": "active"}));
    active.await.assert_error(409, "conflict");
    let back = patch(&app, &target, json!({"status": "paused"})).await;
    assert_eq!(back["status"], "paused");
    let back = patch(&app, &target, json!({"status": "active"})).await;
    assert_eq!(back["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_that_names_a_missing_tool_is_refused_at_save_and_at_publish() {
    let app = TestApp::start().await;
    let tool = make(&app, look("https://example.com/")).await;
    let missing = json!({"id": "0190163d-8694-739b-aea5-966c26f8ad91"});
    let refused = app
        .post("/v1/agents", agent(&[&tool, &missing], "Hi."))
        .await;
    let message = refused.assert_error(400, "invalid_body");
    assert!(message.starts_with("`config.tool_ids[1]`"), "{message}");
    let made = app.post("/v1/agents", agent(&[&tool], "Hi.")).await;
    let made = made.assert(201);
    let id = text(&made["id"]);
    app.delete(&one(&tool)).await.assert(200);
    let refused = app.post(&format!("/v1/agents/{id}/publish"), "{}").await;
    let message = refused.assert_error(409, "conflict");
    assert!(message.contains("`config.tool_ids[0]`"), "{message}");
}

/// A server that answers every request with the requested order.
async fn orders() -> String {
    let listener = must(TcpListener::bind("127.0.0.1:0").await);
    let url = format!("http://{}/orders", must(listener.local_addr()));
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 8_192];
            let length = must(socket.read(&mut request).await);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let knows = request
                .to_lowercase()
                .contains("authorization: bearer s3cret");
            let query = request
                .split([' ', '?'])
                .nth(2)
                .unwrap_or_default()
                .to_owned();
            let body = format!("{query} is {}", if knows { "shipped" } else { "secret" });
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            drop(socket.write_all(format!("{head}{body}").as_bytes()).await);
        }
    });
    url
}

/// Calls the customer and waits for the end.
async fn held(app: &TestApp, id: &str) -> Value {
    let call = app.call(id, CUSTOMER).await;
    let target = format!("/v1/calls/{}", text(&call["id"]));
    app.until(&target, |call| call["status"] != "initiated")
        .await
}

/// A tool that ends the call.
fn end_call(name: &str) -> Value {
    json!({"name": name, "description": "Ends the call.", "kind": "end_call"})
}

/// The transcript of a call as `role: text`, without the customer.
async fn transcript(app: &TestApp, call: &Value) -> Vec<String> {
    let id = text(&call["conversation_id"]);
    let read = app.read(&format!("/v1/conversations/{id}")).await;
    let turns = read["transcript"].as_array().into_iter().flatten();
    turns
        .filter(|turn| turn["role"] != "user")
        .map(|turn| format!("{}: {}", text(&turn["role"]), text(&turn["text"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_a_server_and_ends_the_call_as_its_version_pinned_it() {
    let app = TestApp::at_speed(3.0).await;
    app.dial();
    let url = orders().await;
    let look = make(&app, look(&url)).await;
    let bye = make(&app, end_call("bye")).await;
    let prompt = "say: One moment.\ncall: look {\"id\":\"x\"}\nthen: Again.\ncall: look {\"id\":7}\nthen: {result}.\n\
                  say: Goodbye!\ncall: bye {}";
    let id = app
        .agent_with("es-MX", config(&[&look, &bye], prompt))
        .await;
    let expected = [
        "agent: Hola, habla Sofía.",
        "agent: One moment.",
        "tool: look({\"id\":\"x\"}) → The arguments do not fit the tool's schema (/id: \"x\" is not of type \
         \"integer\"). Call the tool again with arguments that do.",
        "agent: Again.",
        "tool: look({\"id\":7}) → id=7 is shipped",
        "agent: id=7 is shipped.",
        "agent: Goodbye!",
        "tool: bye({}) → Done.",
    ];
    let call = held(&app, &id).await;
    assert_eq!(call["termination_reason"], "agent_hangup");
    assert_eq!(transcript(&app, &call).await, expected);

    let elsewhere = json!({"http": {"url": "https://example.invalid/", "headers": null}});
    patch(&app, &one(&look), elsewhere).await;
    app.delete(&one(&bye)).await.assert(200);
    publish(&app, &id, json!({"version": 1})).await;
    let call = held(&app, &id).await;
    assert_eq!(
        transcript(&app, &call).await,
        expected,
        "a published version is immutable"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sends_digits_and_hands_the_customer_over() {
    let app = TestApp::at_speed(3.0).await;
    app.dial();
    let keys = make(
        &app,
        json!({"name": "keys", "description": "Sends tones.", "kind": "dtmf"}),
    )
    .await;
    let desk = make(
        &app,
        json!({
            "name": "desk", "description": "A person.", "kind": "transfer",
            "transfer": {"targets": [{"name": "front", "to": "+5215598765432"}]},
        }),
    )
    .await;
    let prompt =
        "say: One moment.\ncall: keys {\"digits\":\"1w2#\"}\ncall: desk {\"target\":\"front\"}";
    let id = app
        .agent_with("es-MX", config(&[&keys, &desk], prompt))
        .await;
    let call = held(&app, &id).await;
    assert_eq!(call["status"], "completed");
    assert_eq!(call["termination_reason"], "transferred");
    assert_eq!(
        transcript(&app, &call).await[2..],
        [
            "tool: keys({\"digits\":\"1w2#\"}) → The digits were sent.",
            "tool: desk({\"target\":\"front\"}) → Transferred to front."
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_pins_what_a_servers_functions_take_and_calls_no_other() {
    let app = TestApp::at_speed(3.0).await;
    app.dial();
    let fake = FakeMcp::start().await;
    let server = json!({"url": fake.url(), "functions": ["find.order"], "headers": {"Authorization": "Bearer s3cret"}});
    let shop = json!({"name": "shop", "description": "The shop.", "kind": "mcp", "mcp": server});
    let shop = make(&app, shop).await;
    let expected = json!({"url": fake.url(), "headers": {"Authorization": "***"}, "timeout_ms": 5000, "functions": ["find.order"]});
    assert_eq!(shop["mcp"], expected);
    assert!(
        fake.upstream.asked().is_empty(),
        "until a version is published"
    );

    let target = one(&shop);
    patch(
        &app,
        &target,
        json!({"mcp": {"functions": ["find.order", "lost"]}}),
    )
    .await;
    let bye = make(&app, end_call("bye")).await;
    let prompt = "say: One moment.\ncall: shop__find_order {\"number\":7}\nthen: {result}.\nsay: Goodbye!\ncall: bye {}";
    let made = app.post("/v1/agents", agent(&[&shop, &bye], prompt)).await;
    let id = text(&made.assert(201)["id"]);
    let publishing = format!("/v1/agents/{id}/publish");
    let refused = app.post(&publishing, "{}").await;
    let message = refused.assert_error(409, "conflict");
    assert!(
        message
            .contains("`config.tool_ids[0]`: the server of the tool `shop` has no function `lost`"),
        "{message}"
    );
    patch(&app, &target, json!({"mcp": {"functions": ["find.order"]}})).await;

    let namesake = make(&app, end_call("shop__find_order")).await;
    let both = app
        .post("/v1/agents", agent(&[&shop, &namesake], prompt))
        .await;
    let both = text(&both.assert(201)["id"]);
    let refused = app.post(&format!("/v1/agents/{both}/publish"), "{}").await;
    let message = refused.assert_error(409, "conflict");
    assert!(
        message.contains("`config.tool_ids[1]`: two functions of the agent would be called"),
        "{message}"
    );

    publish(&app, &id, json!({})).await;
    let call = held(&app, &id).await;
    let lines = transcript(&app, &call).await;
    assert_eq!(
        lines[2],
        "tool: shop__find_order({\"number\":7}) → {\"number\":7}"
    );
    app.delete(&target).await.assert(200);
    fake.change("inputSchema", json!({"type": "object"}));
    let call = held(&app, &id).await;
    let lines = transcript(&app, &call).await;
    assert!(
        lines[2].contains("The function is no longer as it was when the agent was published"),
        "{lines:?}"
    );
    assert_eq!(fake.calls().len(), 1);
}
