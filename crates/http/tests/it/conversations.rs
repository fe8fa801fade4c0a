//! Reading conversations.

use serde_json::json;

use crate::it::app::{CUSTOMER, TestApp, members, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_reads_with_its_transcript() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    app.dial();
    let call = app.ended(&handle).await;
    let id = text(&call["id"]);
    let target = format!("/v1/conversations/{id}");
    let conversation = app.read(&target).await;
    let reason = "termination_reason";
    let fields = members(&call).replace(reason, &format!("{reason} messages_count"));
    let expected = format!("{fields} recording_url analysis transcript");
    assert_eq!(members(&conversation), expected);
    assert_eq!(conversation["recording_url"], json!(null));
    assert_eq!(conversation["analysis"], json!(null));
    let transcript = conversation["transcript"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!(transcript.len() > 1, "{conversation}");
    let expected = "role text started_at duration_ms interrupted";
    assert_eq!(members(&transcript[0]), expected);
    assert_eq!(transcript[0]["role"], "agent");
    assert_eq!(transcript[0]["text"], "Hola, habla Sofía.");
    assert_eq!(conversation["messages_count"], transcript.len());

    let turns = app.pages(&format!("{target}/turns?limit=1")).await;
    assert_eq!(turns, transcript);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_lists_take_the_documented_filters() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    app.call(&agent, CUSTOMER).await;
    let count = |list: &serde_json::Value| list["data"].as_array().map_or(0, Vec::len);
    let matching = [
        "from=2026-04-30",
        "to=2026-04-30",
        "from=2026-04-30T18:32:11.123Z&to=2026-04-30T18:32:11.123Z",
        "from=2026-04-30T20:32:11%2B02:00",
        &format!("agent_id={agent}"),
        "status=unknown",
        "channel=phone",
        "phone=%2B5215512345678",
    ];
    let other = [
        "from=2026-05-01",
        "to=2026-04-29",
        "to=2026-04-30T18:32:11.122Z",
        "agent_id=0190163d-8694-739b-aea5-966c26f8ad91",
        "status=completed",
        "channel=widget_voice",
        "phone=%2B5215500000000",
    ];
    let bad = [
        ("from=x&to=x", "`from`"),
        ("from=2026-05-01&to=2026-04-30", "`from`"),
        ("to=2026-04-31", "`to`"),
        (
            "from=2026-04-30T18:32:11+02:00",
            "`from`: the `+` arrived as a space",
        ),
        ("agent_id=x", "`agent_id`"),
        ("status=initiated", "`status`"),
        ("channel=fax", "`channel`"),
        (
            "phone=+5215512345678",
            "`phone`: the `+` arrived as a space",
        ),
        ("phone=5215512345678", "`phone`"),
        ("agent=x", "`agent`"),
    ];
    for list in ["/v1/calls", "/v1/conversations"] {
        for query in matching {
            let page = app.read(&format!("{list}?{query}")).await;
            assert_eq!(count(&page), 1, "{list}?{query}");
        }
        for query in other {
            let page = app.read(&format!("{list}?{query}")).await;
            assert_eq!(count(&page), 0, "{list}?{query}");
        }
        app.refuses_queries(list, &bad).await;
    }
    let chat = app.read("/v1/conversations?channel=chat").await;
    assert_eq!(count(&chat), 0);
    let chat = app.get("/v1/calls?channel=chat").await;
    let message = chat.assert_error(400, "invalid_query");
    let expected = "`channel`: must be `phone`, `widget_voice` or `unknown`";
    assert_eq!(message, expected);
}
