//! Spoken conversations of web pages, within one process.

use futures_util::future::join_all;
use offhook_domain::AgentId;
use offhook_services::{CallSettings, Refusal, Talk, UseCaseError};
use offhook_testkit::{TestDatabase, contract};
use serde_json::json;

use crate::it::app::{PAGE, Setup, TestApp};
use crate::it::client::{eventually, must};
use crate::it::websocket::Socket;

/// A published agent with speech, with its widget enabled.
async fn agent(app: &TestApp) -> AgentId {
    let config = json!({
        "system_prompt": "say: At nine.",
        "first_message": "Hello.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted"},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
    });
    let id = app.agent_with("en-US", config).await;
    app.widget(&id, json!({})).await;
    must(id.parse())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_pages_that_begin_at_once_no_more_talk_than_the_process_holds() {
    let calls = CallSettings {
        sessions_at_most: 2,
        ..CallSettings::default()
    };
    let app = TestApp::with(Setup {
        calls,
        ..Setup::default()
    })
    .await;
    let agent = agent(&app).await;
    let talks = app.services.talks();
    let begun = join_all((0..8).map(|_| talks.begin(PAGE, agent, None, None))).await;
    let mut held: Vec<Talk> = Vec::new();
    for one in begun {
        match one {
            Ok(talk) => held.push(talk),
            Err(error) => assert!(matches!(error, UseCaseError::Full), "{error:?}"),
        }
    }
    assert_eq!(held.len(), 2);
    let listed = app.read("/v1/calls").await;
    assert_eq!(
        listed["data"].as_array().map(Vec::len),
        Some(2),
        "nothing is written of the others"
    );
    // A hang-up frees a place, and a request refused for another reason takes none.
    drop(held.pop());
    let next = eventually(async || {
        let elsewhere = talks.begin("https://evil.example", agent, None, None).await;
        assert!(elsewhere.is_err());
        let next = talks.begin(PAGE, agent, None, None).await;
        if let Err(error) = &next {
            assert!(matches!(error, UseCaseError::Full), "{error:?}");
        }
        next.ok()
    });
    held.push(next.await);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_hangs_up_is_told_how_its_conversation_ended() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    let end = json!({"type": "end"});
    // During the conversation, and before it has begun.
    for is_early in [false, true] {
        let mut page = connect(&app, agent).await;
        page.send(&json!({"type": "start"})).await;
        if is_early {
            page.send(&end).await;
        }
        let started = page.text().await;
        assert_eq!(started["type"], "started", "{started}");
        if !is_early {
            page.send(&end).await;
        }
        let mut over = page.text().await;
        while over["type"] == "turn" {
            over = page.text().await;
        }
        let told = json!({"type": "ended", "status": "completed", "reason": "customer_hangup"});
        assert_eq!(over, told);
        assert_eq!(page.closed().await, (1000, "customer_hangup".to_owned()));
    }
    // No conversation began, so none ended.
    let mut page = connect(&app, agent).await;
    page.send(&end).await;
    assert_eq!(page.closed().await, (1000, "ended by the page".to_owned()));
}

async fn connect(app: &TestApp, agent: AgentId) -> Socket {
    let request = app.bare("GET", &format!("/widget/v1/agents/{agent}/voice"));
    let request = request.header("Origin", PAGE);
    Socket::open(request.header("Sec-WebSocket-Protocol", "offhook.voice.v1")).await
}

contract! {
    async fn pages_talk_on_their_share_of_an_accounts_lines(database: TestDatabase) {
        let calls = CallSettings { page_share: 1, ..CallSettings::default() };
        let app = TestApp::with(Setup { calls, database: Some(database), ..Setup::default() }).await;
        let agent = agent(&app).await;
        let talks = app.services.talks();
        let begun = join_all((0..4).map(|_| talks.begin(PAGE, agent, None, None))).await;
        let (held, refused): (Vec<_>, Vec<_>) = begun.into_iter().partition(Result::is_ok);
        assert_eq!(held.len(), 1);
        for error in refused.into_iter().filter_map(Result::err) {
            assert!(matches!(error, UseCaseError::Conflict(Refusal::LinesBusy)), "{error:?}");
        }
        let listed = app.read("/v1/calls").await;
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
        drop(held);
    }
}
