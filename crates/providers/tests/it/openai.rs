//! The contract of the OpenAI-compatible adapter.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::ports::{
    Endpoint, Message, ModelDelta, ModelError, ModelRequest, Models, Purpose, Role, Tokens,
    ToolCall, ToolDefinition,
};
use offhook_providers::{ModelRegistry, ProviderSettings};
use tokio::time::timeout;

use crate::it::server::{Act, Server};

type Deltas = BoxStream<'static, Result<ModelDelta, ModelError>>;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub(super) fn chunk(text: &str) -> Act {
    Act::Send(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

pub(super) fn head() -> Act {
    Act::Send(HEAD.into())
}

pub(super) fn end() -> Act {
    Act::Send("0\r\n\r\n".into())
}

fn piece(text: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn registry(server: &Server, key: Option<&str>) -> ModelRegistry {
    let settings = ProviderSettings {
        base_url: server.base_url.clone(),
        api_key: key.map(str::to_owned),
    };
    ModelRegistry::new([("local".to_owned(), settings)]).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(registry: &ModelRegistry, provider: &str, endpoint: Option<&str>) -> Deltas {
    let endpoint = endpoint.map(|url| Endpoint {
        url: url.to_owned(),
        key: None,
    });
    ask_at(registry, provider, endpoint.as_ref())
}

fn ask_at(registry: &ModelRegistry, provider: &str, endpoint: Option<&Endpoint>) -> Deltas {
    let model = registry
        .find(provider, "m", endpoint)
        .unwrap_or_else(|error| panic!("{error}"));
    model.stream(ModelRequest {
        model: "m".to_owned(),
        messages: vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::User, "Hi \"you\""),
        ],
        temperature: 0.5,
        purpose: Purpose::Reply,
        tools: Arc::default(),
        may_call: false,
    })
}

/// The text, and the error that ended it, if any.
async fn gather(mut deltas: Deltas) -> (String, Option<ModelError>) {
    let (mut text, mut finished) = (String::new(), false);
    while let Some(delta) = deltas.next().await {
        assert!(!finished, "nothing comes after the end");
        match delta {
            Ok(ModelDelta::Text(more)) => text.push_str(&more),
            Ok(ModelDelta::Used(_)) => {}
            Ok(_) => finished = true,
            Err(error) => {
                assert!(
                    deltas.next().await.is_none(),
                    "nothing comes after an error"
                );
                return (text, Some(error));
            }
        }
    }
    assert!(finished, "a stream ends with a finish or an error");
    (text, None)
}

async fn answer(acts: Vec<Act>) -> (String, Option<ModelError>) {
    let server = Server::start(acts)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    gather(ask(&registry(&server, None), "local", None)).await
}

#[tokio::test]
async fn a_text_arrives_piece_by_piece_and_the_connection_is_used_again() {
    let acts = vec![
        head(),
        chunk(&piece("Hel")),
        chunk(&piece("lo.")),
        chunk(STOP),
        chunk(DONE),
        end(),
    ];
    let server = Server::start(acts).await.unwrap();
    let registry = registry(&server, Some("sk-1"));
    for _ in 0..3 {
        let got = gather(ask(&registry, "local", None)).await;
        assert_eq!(got, ("Hello.".to_owned(), None));
    }
    assert_eq!(server.connections(), 1);
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.to_lowercase()
            .contains("\r\nauthorization: bearer sk-1"),
        "{head}"
    );
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(body).unwrap(),
        serde_json::json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi \"you\""}
            ],
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true}
        })
    );
}

#[tokio::test]
async fn tools_are_told_of_and_called_in_parts() {
    let part = |json: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{json}]}}}}]}}\n\n")
    };
    let acts = vec![
        head(),
        chunk(&piece("One moment.")),
        chunk(&part(
            r#"{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}"#,
        )),
        chunk(&part(r#"{"index":0,"function":{"arguments":"{\"id\""}}"#)),
        chunk(&part(r#"{"index":1,"id":"b","function":{"name":"ring"}}"#)),
        chunk(&part(
            r#"{"index":1,"function":{"arguments":""}},{"index":0,"function":{"arguments":":7}"}}"#,
        )),
        chunk("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"),
        chunk(DONE),
        end(),
    ];
    let server = Server::start(acts).await.unwrap();
    let model = registry(&server, None).find("local", "m", None).unwrap();
    let earlier = ToolCall {
        id: "x".to_owned(),
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        vendor: None,
    };
    let request = |may_call| ModelRequest {
        model: "m".to_owned(),
        messages: vec![
            Message::new(Role::User, "Where?"),
            Message::calling("", vec![earlier.clone()]),
            Message::answering(&earlier, "unknown"),
        ],
        temperature: 0.5,
        purpose: Purpose::Reply,
        tools: Arc::new([ToolDefinition {
            name: "look".into(),
            description: "Looks things up.".into(),
            parameters: r#"{"type":"object"}"#.into(),
            acts: true,
        }]),
        may_call,
    };
    let deltas: Vec<_> = model.stream(request(true)).collect().await;
    let call = |id: &str, name: &str, arguments: &str| {
        Ok(ModelDelta::Call(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            vendor: None,
        }))
    };
    let mut expected = vec![Ok(ModelDelta::Text("One moment.".to_owned()))];
    expected.extend(vec![Ok(ModelDelta::Working); 5]);
    expected.extend([
        call("a", "look", "{\"id\":7}"),
        call("b", "ring", "{}"),
        Ok(ModelDelta::Finish),
    ]);
    assert_eq!(deltas, expected);

    let _: Vec<_> = model.stream(request(false)).collect().await;
    let bodies: Vec<serde_json::Value> = server
        .requests()
        .iter()
        .map(|request| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap())
        .collect();
    let function = serde_json::json!({
        "name": "look", "description": "Looks things up.", "parameters": {"type": "object"}
    });
    let called = serde_json::json!({
        "id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}
    });
    assert_eq!(
        bodies[0],
        serde_json::json!({
            "model": "m",
            "messages": [
                {"role": "user", "content": "Where?"},
                {"role": "assistant", "content": null, "tool_calls": [called]},
                {"role": "tool", "content": "unknown", "tool_call_id": "x"}
            ],
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "auto"
        })
    );
    assert_eq!(bodies[1]["tool_choice"], "none");
}

#[tokio::test]
async fn an_answer_that_breaks_off_in_a_call_calls_nothing() {
    let half = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\"}}]}}]}\n\n";
    let server = Server::start(vec![head(), chunk(half), end()])
        .await
        .unwrap();
    let deltas: Vec<_> = ask(&registry(&server, None), "local", None).collect().await;
    let broken = Err(ModelError::Protocol("it broke off"));
    assert_eq!(deltas, [Ok(ModelDelta::Working), broken]);
}

#[tokio::test]
async fn what_compatible_services_do_differently_is_understood() {
    let odd = concat!(
        ": keep-alive\r\n\r\n",
        "event: message\r\ndata: {\"choices\":[]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"¿Qué\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\" tal?\"},\"finish_reason\":\"length\"}],\"usage\":null}\r\n\r\n",
        "data: {\"choices\":[],\"usage\":{\"total_tokens\":3}}\r\n\r\n",
    );
    let expected = ("¿Qué tal?".to_owned(), None);
    assert_eq!(
        answer(vec![head(), chunk(odd), end()]).await,
        expected,
        "no [DONE]"
    );

    let mut framed = Vec::new();
    for byte in odd.bytes() {
        framed.extend_from_slice(b"1\r\n");
        framed.push(byte);
        framed.extend_from_slice(b"\r\n");
    }
    let split = answer(vec![head(), Act::Send(framed), end()]).await;
    assert_eq!(split, expected, "byte by byte");

    let only_done = format!("{}data: [DONE]", piece("Yes."));
    assert_eq!(
        answer(vec![head(), chunk(&only_done), end()]).await,
        ("Yes.".to_owned(), None)
    );
}

#[tokio::test]
async fn a_character_that_two_pieces_share_costs_them_and_not_the_answer() {
    let pieces = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\" \\ud83d\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\ude00\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\" you.\"}}]}\r\n\r\n",
    );
    assert_eq!(
        answer(vec![head(), chunk(pieces), chunk(DONE), end()]).await,
        ("Hello you.".to_owned(), None)
    );
}

#[tokio::test]
async fn a_text_loses_its_nul() {
    let pieces = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\\u0000b\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\u0000\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"refusal\":\" c\\u0000\"}}]}\n\n",
    );
    let server = Server::start(vec![head(), chunk(pieces), chunk(DONE), end()])
        .await
        .unwrap();
    let deltas: Vec<_> = ask(&registry(&server, None), "local", None).collect().await;
    let text = |text: &str| Ok::<_, ModelError>(ModelDelta::Text(text.to_owned()));
    assert_eq!(deltas, [text("ab"), text(" c"), Ok(ModelDelta::Finish)]);
}

#[tokio::test]
async fn a_slow_first_byte_is_waited_for() {
    let acts = vec![
        Act::Pause,
        head(),
        chunk(&piece("Late.")),
        chunk(DONE),
        end(),
    ];
    let server = Server::start(acts).await.unwrap();
    let mut deltas = ask(&registry(&server, None), "local", None);
    tokio::select! {
        biased;
        delta = deltas.next() => panic!("{delta:?} before the first byte"),
        () = server.waits.notified() => {}
    }
    server.go_on.notify_one();
    assert_eq!(gather(deltas).await, ("Late.".to_owned(), None));
}

#[tokio::test]
async fn a_stream_that_is_closed_in_the_middle_is_an_error_after_its_text() {
    let broken = Some(ModelError::Protocol("it broke off"));
    let reset = answer(vec![head(), chunk(&piece("Half")), Act::Close]).await;
    assert_eq!(reset, ("Half".to_owned(), broken.clone()));
    let ended = answer(vec![head(), chunk(&piece("Half")), end()]).await;
    assert_eq!(ended, ("Half".to_owned(), broken));
}

#[tokio::test]
async fn a_malformed_frame_is_an_error() {
    let got = answer(vec![head(), chunk("data: {\"choices\":[\n\n"), end()]).await;
    assert_eq!(
        got,
        (
            String::new(),
            Some(ModelError::Protocol("a piece of it is malformed"))
        )
    );
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n<html>Hi</html>";
    let got = answer(vec![Act::Send(page.into())]).await;
    let expected = (String::new(), Some(ModelError::Protocol("it broke off")));
    assert_eq!(got, expected);
}

#[tokio::test]
async fn a_refusal_is_told_by_its_status_and_never_by_its_body() {
    for status in [401, 404, 429, 500] {
        let text = format!("HTTP/1.1 {status} No\r\ncontent-length: 9\r\n\r\nsk-secret");
        let (_, error) = answer(vec![Act::Send(text.into())]).await;
        assert_eq!(error, Some(ModelError::Refused(status)));
    }
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
    let (_, error) = answer(vec![Act::Send(redirect.into())]).await;
    assert_eq!(error, Some(ModelError::Refused(302)));
}

#[tokio::test]
async fn a_service_that_refuses_an_optional_member_is_asked_without_it() {
    for (status, member) in [(400, "temperature"), (422, "stream_options")] {
        let body = format!(r#"{{"error":{{"message":"Unsupported","param":"{member}"}}}}"#);
        let length = body.len();
        let refusal = format!("HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{body}");
        let server = Server::start(vec![Act::Send(refusal.into())])
            .await
            .unwrap();
        let registry = registry(&server, None);
        for _ in 0..2 {
            let (_, error) = gather(ask(&registry, "local", None)).await;
            assert_eq!(error, Some(ModelError::Refused(status)));
        }
        let requests = server.requests();
        let told: Vec<bool> = requests
            .iter()
            .map(|request| request.contains(member))
            .collect();
        assert_eq!(told, [true, false, false], "{member}");
    }
}

#[tokio::test]
async fn the_count_of_tokens_comes_before_the_finish_wherever_it_is() {
    let used = "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,\"total_tokens\":15}";
    let stop = "\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]";
    let with_the_end = format!("data: {{{stop},{used}}}\n\n{DONE}");
    let after_it = format!("{STOP}data: {{\"choices\":[],{used}}}\n\n{DONE}");
    for (pieces, tokens) in [
        (vec![with_the_end], Some((12, 3))),
        (vec![after_it], Some((12, 3))),
        (
            vec![
                STOP.to_owned(),
                format!("data: {{\"choices\":[],{used}}}\n\n"),
            ],
            Some((12, 3)),
        ),
        (
            vec![
                STOP.to_owned(),
                "data: {\"usage\":{\"prompt_tokens\":-1}}\n\n".to_owned(),
            ],
            None,
        ),
        (vec![STOP.to_owned(), DONE.to_owned()], None),
    ] {
        let mut acts = vec![head(), chunk(&piece("Yes."))];
        acts.extend(pieces.iter().map(|piece| chunk(piece)));
        acts.push(end());
        let server = Server::start(acts).await.unwrap();
        let deltas: Vec<_> = ask(&registry(&server, None), "local", None).collect().await;
        let used = tokens.map(|(input, output)| ModelDelta::Used(Tokens { input, output }));
        let text = ModelDelta::Text("Yes.".to_owned());
        let expected = [Some(text), used, Some(ModelDelta::Finish)];
        let expected: Vec<_> = expected.into_iter().flatten().map(Ok).collect();
        assert_eq!(deltas, expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_an_error() {
    for (event, error) in [
        (
            "data: {\"error\":{\"message\":\"secret\",\"code\":429}}\n\n",
            ModelError::Refused(429),
        ),
        (
            "data: {\"error\":{\"message\":\"secret\",\"type\":\"server_error\",\"code\":\"x\"}}\n\n",
            ModelError::Protocol("it holds an error instead"),
        ),
        (
            "event: error\ndata: {\"error\":\"secret\"}\n\n",
            ModelError::Protocol("it holds an error instead"),
        ),
    ] {
        let got = answer(vec![head(), chunk(&piece("Well")), chunk(event), end()]).await;
        assert!(!error.to_string().contains("secret"));
        assert_eq!(got, ("Well".to_owned(), Some(error)));
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let line = format!(
        "data: {{\"choices\":[],\"pad\":\"{}\"}}\n\n",
        "x".repeat(200_000)
    );
    let acts = std::iter::once(head())
        .chain((0..30).map(|_| chunk(&line)))
        .collect();
    let expected = Some(ModelError::Protocol("it is too long"));
    assert_eq!(answer(acts).await.1, expected);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start(vec![head(), chunk(&piece("Well")), Act::Pause])
        .await
        .unwrap();
    let mut deltas = ask(&registry(&server, None), "local", None);
    let expected = Some(Ok(ModelDelta::Text("Well".to_owned())));
    assert_eq!(deltas.next().await, expected);
    drop(deltas);
    timeout(Duration::from_secs(5), server.client_gone.notified())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unreachable() {
    let server = Server::start(vec![Act::Close]).await.unwrap();
    let (_, error) = gather(ask(&registry(&server, None), "local", None)).await;
    assert_eq!(
        error,
        Some(ModelError::Unreachable),
        "closed without an answer"
    );

    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = ProviderSettings {
        base_url: format!("http://{}/v1", free.local_addr().unwrap()),
        api_key: None,
    };
    drop(free);
    let registry = ModelRegistry::new([("gone".to_owned(), settings)]).unwrap();
    let (_, error) = gather(ask(&registry, "gone", None)).await;
    assert_eq!(error, Some(ModelError::Unreachable));
}

#[tokio::test]
async fn a_custom_endpoint_is_asked_with_the_accounts_credential_or_none() {
    let server = Server::start(vec![head(), chunk(&piece("Mine.")), chunk(DONE), end()])
        .await
        .unwrap();
    let client = GuardedClient::new(Policy {
        allow_private: true,
    })
    .unwrap();
    let registry = registry(&server, Some("sk-1")).with_custom_client(client);
    for endpoint in [
        server.base_url.clone(),
        format!("{}/chat/completions", server.base_url),
    ] {
        let got = gather(ask(&registry, "custom", Some(&endpoint))).await;
        assert_eq!(got, ("Mine.".to_owned(), None));
    }
    let own = Endpoint {
        url: server.base_url.clone(),
        key: Some("k-2".into()),
    };
    let got = gather(ask_at(&registry, "custom", Some(&own))).await;
    assert_eq!(got, ("Mine.".to_owned(), None));
    assert!(!format!("{own:?}").contains("k-2"));
    let mut requests = server.requests();
    let with_key = requests.pop().unwrap_or_default();
    assert!(
        with_key.contains("Authorization: Bearer k-2\r\n"),
        "{with_key}"
    );
    for request in requests {
        assert!(
            request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            !request.to_lowercase().contains("authorization"),
            "{request}"
        );
    }
}
