//! `POST /mcp`: the API's operations as tools of the Model Context Protocol.

use offhook_domain::{Plan, Scope, Scopes};
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, Setup, TestApp, data, text};
use crate::it::client::{Answer, must};

const MCP: &str = "/mcp";

/// A JSON-RPC request.
fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

async fn send(app: &TestApp, message: Value) -> Answer {
    app.post(MCP, message).await
}

/// The result of a request that is answered.
async fn result(app: &TestApp, method: &str, params: Value) -> Value {
    let answer = send(app, message(method, params)).await.assert(200);
    assert_eq!(
        (&answer["jsonrpc"], &answer["id"]),
        (&json!("2.0"), &json!(7))
    );
    answer["result"].clone()
}

/// What a tool returns.
async fn tool(app: &TestApp, name: &str, arguments: Value) -> Value {
    let called = json!({"name": name, "arguments": arguments});
    let result = result(app, "tools/call", called).await;
    assert_eq!(result["isError"], false, "{result}");
    let written: Value = must(serde_json::from_str(&text(&result["content"][0]["text"])));
    assert_eq!(result["structuredContent"], written);
    written
}

/// Why a tool refuses.
async fn refused(app: &TestApp, name: &str, arguments: Value) -> String {
    let called = json!({"name": name, "arguments": arguments});
    let result = result(app, "tools/call", called).await;
    assert_eq!(result["isError"], true, "{result}");
    text(&result["content"][0]["text"])
}

async fn error(app: &TestApp, body: impl ToString) -> (i64, String) {
    let answer = app.post(MCP, body).await;
    let status = answer.status;
    let answer = answer.assert(status);
    // What is no request has no id to answer to.
    assert_eq!(status, if answer["id"].is_null() { 400 } else { 200 });
    let code = answer["error"]["code"].as_i64().unwrap_or_default();
    (code, text(&answer["error"]["message"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_welcomed_and_told_the_tools() {
    let app = TestApp::start().await;
    for (wanted, given) in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
        let client = json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let welcome = result(&app, "initialize", client).await;
        assert_eq!(welcome["protocolVersion"], given);
        assert_eq!(
            welcome["capabilities"],
            json!({"tools": {"listChanged": false}})
        );
        assert_eq!(welcome["serverInfo"]["name"], "offhook");
    }
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = send(&app, ready).await;
    assert_eq!((ready.status, ready.body.len()), (202, 0));
    assert_eq!(result(&app, "ping", json!({})).await, json!({}));
    let listed = result(&app, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().cloned().unwrap_or_default();
    assert_eq!(tools.len(), 25);
    for tool in &tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        assert!(!schema.to_string().contains("$ref"), "{tool}");
        must(jsonschema::validator_for(schema).map_err(|error| error.to_string()));
        assert!(text(&tool["description"]).len() > 10, "{tool}");
    }
    let place = tools.iter().find(|tool| tool["name"] == "place_call");
    let place = must(place.ok_or("no place_call"));
    assert_eq!(
        place["inputSchema"]["required"],
        json!(["idempotency_key", "agent_id", "to"])
    );
    assert_eq!(place["annotations"]["readOnlyHint"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_places_a_call_once_and_waits_for_its_end() {
    for database in [TestDatabase::sqlite(), TestDatabase::postgres().await] {
        let app = TestApp::with(Setup {
            database: Some(database),
            ..Setup::default()
        })
        .await;
        let agent = app.agent().await;
        app.dial();
        let call = json!({"agent_id": agent, "to": CUSTOMER, "idempotency_key": "order 1042"});
        let checked = tool(
            &app,
            "check_dials",
            json!({"to": CUSTOMER, "agent_id": agent}),
        )
        .await;
        assert_eq!(data(&checked)[0]["allowed"], true, "{checked}");
        let placed = tool(&app, "place_call", call.clone()).await;
        assert_eq!(placed["status"], "initiated");
        assert_eq!(tool(&app, "place_call", call).await, placed);
        let other =
            json!({"agent_id": agent, "to": "+5215512345679", "idempotency_key": "order 1042"});
        let other = refused(&app, "place_call", other).await;
        assert!(other.contains("idempotency_conflict"), "{other}");
        let id = &placed["id"];
        let ended = tool(
            &app,
            "wait_for_call",
            json!({"id": id, "timeout_seconds": 50}),
        )
        .await;
        assert_eq!(ended["status"], "completed", "{ended}");
        assert_eq!(tool(&app, "get_call", json!({"id": id})).await, ended);
        let calls = tool(&app, "list_calls", json!({"phone": CUSTOMER, "limit": 5})).await;
        assert_eq!(data(&calls).len(), 1);
        let conversation = json!({"id": ended["conversation_id"]});
        let read = tool(&app, "get_conversation", conversation).await;
        assert!(!read["transcript"].as_array().is_none_or(Vec::is_empty));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_its_operation_in_the_log_the_limits_and_the_scopes() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let before = app.get("/v1/me").await.number("x-ratelimit-remaining");
    let called = json!({"name": "get_agent", "arguments": {"id": agent}});
    let answer = send(&app, message("tools/call", called)).await;
    assert_eq!(answer.number("x-ratelimit-remaining"), before - 1);
    let request = answer.header("x-request-id").map(str::to_owned);
    assert_eq!(
        answer.assert(200)["result"]["structuredContent"]["id"],
        agent.as_str()
    );
    let nobody = "0190163d-8694-739b-aea5-966c26f8ad91";
    let missing = refused(&app, "get_agent", json!({"id": nobody})).await;
    assert!(missing.contains("not_found"), "{missing}");
    must(app.services.request_logs().flush().await);
    let entry = format!("/v1/logs?request_id={}", request.unwrap_or_default());
    let log = app.read(&entry).await;
    let read = &data(&log)[0];
    assert_eq!(
        (&read["method"], &read["path"], &read["status"]),
        (
            &json!("GET"),
            &json!(format!("/v1/agents/{agent}")),
            &json!(200)
        )
    );
    let failed = app.read("/v1/logs?status=4xx").await;
    let none = &data(&failed)[0];
    assert_eq!(
        (&none["status"], &none["error"]),
        (&json!(404), &json!("not_found"))
    );

    let reader = app
        .key(
            app.account,
            [Scope::AgentsRead].into_iter().collect::<Scopes>(),
            false,
            None,
        )
        .await;
    let call = json!({"agent_id": agent, "to": CUSTOMER, "idempotency_key": "k"});
    let called = json!({"name": "place_call", "arguments": call});
    let request = app.bare("POST", MCP).json(message("tools/call", called));
    let answer = request.key(&reader).await.assert(200);
    assert_eq!(answer["result"]["isError"], true);
    let said = text(&answer["result"]["content"][0]["text"]);
    assert!(said.contains("calls:write"), "{said}");
    let stranger = app.stranger(Plan::Pro).await;
    let called = json!({"name": "get_agent", "arguments": {"id": agent}});
    let request = app.bare("POST", MCP).json(message("tools/call", called));
    let answer = request.key(&stranger).await.assert(200);
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(data(&app.read("/v1/calls").await).len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_or_has_no_key_is_refused() {
    let app = TestApp::start().await;
    let welcome = message("initialize", json!({}));
    let bare = app.bare("POST", MCP).json(welcome.clone()).await;
    assert_eq!(bare.header("www-authenticate"), Some("Bearer"));
    bare.assert_error(401, "unauthorized");
    let tools = app.bare("POST", MCP).json(message("tools/list", json!({})));
    let tools = tools.key("service_live_0").await;
    tools.assert_error(401, "unauthorized");
    for method in ["GET", "DELETE"] {
        let answer = app.request(method, MCP).await;
        assert_eq!(answer.header("allow"), Some("POST"));
        answer.assert_error(405, "method_not_allowed");
    }
    let page = app
        .post(MCP, &welcome)
        .header("Origin", "https://evil.example");
    page.await.assert_error(403, "forbidden");
    for (page, status) in [
        ("http://localhost:9", 200),
        ("https://localhost.evil.example", 403),
    ] {
        let ping = app.post(MCP, message("ping", json!({})));
        let ping = ping.header("Origin", page).await;
        assert_eq!(ping.status, status, "{page}");
    }
    let plain = app.request("POST", MCP).body(welcome.to_string());
    plain.await.assert_error(400, "invalid_json");
    let huge = app.post(MCP, format!("\"{}\"", "x".repeat(1024 * 1024)));
    huge.await.assert_error(413, "payload_too_large");
    for (body, code) in [
        ("{", -32_700),
        ("[]", -32_600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            -32_600,
        ),
        (
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            -32_600,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}",
            -32_601,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
            -32_602,
        ),
    ] {
        assert_eq!(error(&app, body).await.0, code, "{body}");
    }
    let old = app.post(MCP, message("ping", json!({})));
    let old = old.header("MCP-Protocol-Version", "1999-01-01").await;
    let said = old.assert_error(400, "invalid_query");
    assert!(said.contains("2025-11-25"), "{said}");
    for (name, arguments, fault) in [
        ("get_agent", json!({}), "`id`: is required"),
        (
            "get_agent",
            json!({"id": "x", "y": 1}),
            "`y`: unknown argument of get_agent",
        ),
        ("get_agent", json!({"id": {}}), "`id`: must be a string"),
        (
            "place_call",
            json!({"agent_id": "x", "to": CUSTOMER}),
            "`idempotency_key`: is required",
        ),
        (
            "wait_for_call",
            json!({"id": "x", "timeout_seconds": 51}),
            "`timeout_seconds`: must be an integer from 1 to 50",
        ),
    ] {
        let said = refused(&app, name, arguments).await;
        assert!(said.starts_with(fault), "{said}");
    }
    // What the operation itself refuses is said in its words.
    let said = refused(&app, "list_calls", json!({"limit": 1_000})).await;
    assert!(said.contains("`limit`"), "{said}");
    let odd = refused(&app, "get_agent", json!({"id": "../me?x=1#"})).await;
    assert!(odd.contains("not_found"), "{odd}");
}
