//! Tests a toolbox's handling of a model's calls, against a small server.

use std::sync::Arc;

use offhook_domain::config::Variables;
use offhook_domain::tool::Tool;
use offhook_domain::{Json, Timestamp};
use offhook_egress::{GuardedClient, Policy};
use offhook_engine::ports::{ToolAction, ToolCall, ToolOutcome, Tools};
use offhook_storage::{PinnedTool, mint};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Toolbox, headers_to};

struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Responds to each request with `answer`, byte for byte; without one it stays silent.
    async fn start(answer: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = vec![0; 64 * 1024];
                let mut length = 0;
                loop {
                    let text = String::from_utf8_lossy(&request[..length]).into_owned();
                    if is_whole(&text) {
                        seen.lock().push(text);
                        break;
                    }
                    length += socket.read(&mut request[length..]).await.unwrap();
                }
                match &answer {
                    Some(answer) => drop(socket.write_all(answer).await),
                    None => silent.push(socket),
                }
            }
        });
        Self { url, requests }
    }

    fn request(&self) -> String {
        self.requests.lock().remove(0)
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

fn answering(status: &str, body: &str) -> Option<Vec<u8>> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    Some(format!("{head}{body}").into_bytes())
}

fn toolbox(definition: &str, policy: Policy) -> Toolbox {
    toolbox_that_calls(definition, policy, &[])
}

fn toolbox_that_calls(definition: &str, policy: Policy, prefixes: &[&str]) -> Toolbox {
    let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
    let json = Json::parse(definition.as_bytes()).unwrap();
    let (tool, headers) = Tool::from_json(&json, &[]).unwrap();
    let pinned = PinnedTool {
        id: mint(Timestamp::from_micros(0)),
        definition: tool.to_stored(),
        headers: headers_to(&headers),
    };
    Toolbox::new(
        GuardedClient::new(policy).unwrap(),
        prefixes,
        vec![pinned],
        &Variables::default(),
    )
    .unwrap()
}

const PRIVATE: Policy = Policy {
    allow_private: true,
};

fn http(method: &str, url: &str) -> Toolbox {
    let definition = format!(
        r#"{{"name":"look","description":"Looks.","kind":"http",
            "parameters":{{"properties":{{"id":{{"type":"integer"}},"q":{{}},"none":{{}},"list":{{}},"a":{{}}}},"required":["id"]}},
            "http":{{"method":"{method}","url":"{url}","headers":{{"Authorization":"Bearer s3cret"}},"timeout_ms":500}}}}"#
    );
    toolbox(&definition, PRIVATE)
}

async fn call(toolbox: &Toolbox, name: &str, arguments: &str) -> ToolOutcome {
    let call = ToolCall {
        id: "c".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        vendor: None,
    };
    toolbox.call(&call).await
}

async fn outcome(toolbox: &Toolbox, arguments: &str) -> String {
    match call(toolbox, "look", arguments).await {
        ToolOutcome::Answer(text) | ToolOutcome::Failed(text) => text,
        act => panic!("{act:?}"),
    }
}

#[tokio::test]
async fn a_get_carries_its_arguments_in_the_query_and_a_post_in_its_body() {
    let server = Server::start(answering("200 OK", " {\"where\":\"drawer\"}\n")).await;
    let get = http("GET", &format!("{}/items?a=b", server.url));
    // Arguments that the schema does not name, or that the URL already has, are left out.
    let arguments = r#"{"id":7,"q":"ñ & x","none":null,"list":[1],"a":"c","admin":true}"#;
    let answer = outcome(&get, arguments).await;
    assert_eq!(answer, "{\"where\":\"drawer\"}");
    let request = server.request();
    assert!(
        request.starts_with("GET /items?a=b&id=7&q=%C3%B1+%26+x&list=%5B1%5D HTTP/1.1\r\n"),
        "{request}"
    );
    let lower = request.to_lowercase();
    assert!(
        lower.contains("\r\nauthorization: bearer s3cret\r\n"),
        "{request}"
    );
    assert!(
        lower.contains("\r\nuser-agent: service-tool/1.0\r\n"),
        "{request}"
    );
    let post = http("POST", &format!("{}/items?%61=b", server.url));
    outcome(&post, r#"{"id":7, "q":"x", "a":"c"}"#).await;
    let request = server.request();
    assert!(
        request.starts_with("POST /items?%61=b HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request
            .to_lowercase()
            .contains("\r\ncontent-type: application/json\r\n")
    );
    assert!(
        request.ends_with("\r\n\r\n{\"id\":7,\"q\":\"x\"}"),
        "{request}"
    );
}

#[tokio::test]
async fn whatever_goes_wrong_is_told_to_the_model() {
    let server = Server::start(answering("503 Busy", "try later")).await;
    let answer = outcome(&http("GET", &server.url), r#"{"id":1}"#).await;
    assert_eq!(answer, "The tool answered with HTTP status 503: try later");
    let server = Server::start(answering("204 No Content", "")).await;
    assert_eq!(
        outcome(&http("DELETE", &server.url), r#"{"id":1}"#).await,
        "Done."
    );
    let redirect =
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(Some(redirect.to_vec())).await;
    let answer = outcome(&http("GET", &server.url), r#"{"id":1}"#).await;
    assert_eq!(
        answer, "The tool answered with HTTP status 302.",
        "not followed"
    );
    let server = Server::start(None).await;
    let answer = outcome(&http("GET", &server.url), r#"{"id":1}"#).await;
    assert_eq!(answer, "The tool did not answer within 500 ms.");
    let server = Server::start(Some(Vec::new())).await;
    let answer = outcome(&http("GET", &server.url), r#"{"id":1}"#).await;
    assert_eq!(answer, "The tool could not be asked (reset).");
    let look = http("GET", &server.url);
    let answer = outcome(&look, r#"{"id":"x"}"#).await;
    assert!(
        answer.starts_with("The arguments do not fit the tool's schema (/id: "),
        "{answer}"
    );
    let unknown = call(&look, "lock", "{}").await;
    let expected = "There is no tool `lock`; there is: look.".to_owned();
    assert_eq!(unknown, ToolOutcome::Failed(expected));
    let long = format!(r#"{{"id":1,"q":"{}"}}"#, "x".repeat(3_000));
    let answer = outcome(&look, &long).await;
    assert_eq!(
        answer,
        "The arguments are too long for a query: shorten them."
    );
}

#[tokio::test]
async fn an_answer_is_cut_at_16_kib() {
    let server = Server::start(answering("200 OK", &"x".repeat(100_000))).await;
    let answer = outcome(&http("GET", &server.url), r#"{"id":1}"#).await;
    assert_eq!(answer.len(), 16 * 1024);
}

#[tokio::test]
async fn what_is_not_public_is_never_asked() {
    let definition = r#"{"name":"look","description":"Looks.","kind":"http",
        "http":{"method":"GET","url":"https://localhost.localdomain/"}}"#;
    let answer = outcome(&toolbox(definition, Policy::default()), "{}").await;
    assert!(
        answer.starts_with("The tool could not be asked ("),
        "{answer}"
    );
    let server = Server::start(answering("200 OK", "secret")).await;
    let definition = format!(
        r#"{{"name":"look","description":"Looks.","kind":"http","http":{{"method":"GET","url":"{}"}}}}"#,
        server.url
    );
    let answer = outcome(&toolbox(&definition, Policy::default()), "{}").await;
    assert!(!answer.contains("secret"), "{answer}");
    assert!(server.requests.lock().is_empty());
}

#[tokio::test]
async fn the_other_kinds_act_on_the_line() {
    let end = toolbox(
        r#"{"name":"end","description":"Ends.","kind":"end_call"}"#,
        PRIVATE,
    );
    assert_eq!(
        call(&end, "end", "{}").await,
        ToolOutcome::Act(ToolAction::EndCall)
    );
    let definition = r#"{"name":"desk","description":"To a person.","kind":"transfer",
        "transfer":{"targets":[{"name":"front","to":"+5215512345678"}]}}"#;
    let elsewhere = toolbox_that_calls(definition, PRIVATE, &["+1"]);
    let outcome = call(&elsewhere, "desk", r#"{"target":"front"}"#).await;
    let refused = "The target's number is not allowed here.".to_owned();
    assert_eq!(outcome, ToolOutcome::Failed(refused));
    let desk = toolbox_that_calls(definition, PRIVATE, &["+1", "+52"]);
    let transfer = ToolAction::Transfer {
        name: "front".to_owned(),
        to: "+5215512345678".parse().unwrap(),
    };
    let outcome = call(&desk, "desk", r#"{"target":"front"}"#).await;
    assert_eq!(outcome, ToolOutcome::Act(transfer));
    let outcome = call(&desk, "desk", r#"{"target":"+5215500000000"}"#).await;
    assert!(
        matches!(outcome, ToolOutcome::Failed(_)),
        "one of the named targets alone"
    );
    let keys = toolbox(
        r#"{"name":"keys","description":"Tones.","kind":"dtmf"}"#,
        PRIVATE,
    );
    let outcome = call(&keys, "keys", r#"{"digits":"1w2#"}"#).await;
    assert_eq!(
        outcome,
        ToolOutcome::Act(ToolAction::SendDigits("1w2#".to_owned()))
    );
    let outcome = call(&keys, "keys", r#"{"digits":"hello"}"#).await;
    assert!(matches!(outcome, ToolOutcome::Failed(_)));
    let definition = &keys.definitions()[0];
    assert!(definition.parameters.contains("\"digits\""));
    let bare = toolbox(
        r#"{"name":"bare","description":"Ends.","kind":"end_call","parameters":{}}"#,
        PRIVATE,
    );
    assert_eq!(&*bare.definitions()[0].parameters, r#"{"type":"object"}"#);
}
