//! Requests to and responses from an OpenAI-style embeddings service, field by field.
use std::sync::Arc;
use std::time::{Duration, Instant};

use offhook_domain::ports::{EmbeddingError, Embeddings};
use offhook_providers::{EmbeddingsSettings, embeddings};
use serde_json::{Value, json};

use crate::it::server::{Act, Server};

fn service(server: &Server, change: impl FnOnce(&mut EmbeddingsSettings)) -> Arc<dyn Embeddings> {
    let mut settings = EmbeddingsSettings {
        base_url: server.base_url.clone(),
        model: "small".to_owned(),
        api_key: Some("sk-secret".to_owned()),
        dimensions: None,
    };
    change(&mut settings);
    embeddings(&settings).unwrap()
}

fn answer(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}"
    );
    Act::Send(format!("{head}\r\n{body}").into_bytes())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn body_of(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

const TWO: &str = r#"{"object":"list","model":"small","data":[
    {"object":"embedding","index":1,"embedding":[0,1.5]},{"object":"embedding","index":0,"embedding":[-1,0]}],
    "usage":{"prompt_tokens":2,"total_tokens":2}}"#;

#[tokio::test]
async fn texts_go_out_in_one_request_and_vectors_come_back_in_their_order() {
    let server = Server::start(vec![answer("200 OK", "", TWO)])
        .await
        .unwrap();
    let small = service(&server, |_| {});
    assert_eq!(small.model(), "small");
    let vectors = small.embed(&texts(&["one", "two"])).await.unwrap();
    assert_eq!(vectors, [[-1.0, 0.0], [0.0, 1.5]]);
    let request = server.requests().remove(0);
    assert!(
        request.starts_with("POST /v1/embeddings HTTP/1.1\r\n"),
        "{request}"
    );
    let head = request.to_lowercase();
    assert!(
        head.contains("\r\nauthorization: bearer sk-secret\r\n"),
        "{request}"
    );
    assert!(
        head.contains("\r\ncontent-type: application/json\r\n"),
        "{request}"
    );
    let expected = json!({"model": "small", "input": ["one", "two"], "encoding_format": "float"});
    assert_eq!(body_of(&request), expected);
}

#[tokio::test]
async fn a_length_may_be_asked_for_and_a_key_left_out() {
    let one = r#"{"data":[{"embedding":[3,4]}]}"#;
    let server = Server::start(vec![answer("200 OK", "", one)])
        .await
        .unwrap();
    let small = service(&server, |settings| {
        settings.api_key = None;
        settings.dimensions = Some(2);
        settings.base_url.push('/');
    });
    assert_eq!(
        small.model(),
        "small@2",
        "vectors of another length are another model's"
    );
    assert_eq!(small.embed_question("one?").await.unwrap(), [3.0, 4.0]);
    let request = server.requests().remove(0);
    assert!(
        !request.to_lowercase().contains("authorization"),
        "{request}"
    );
    assert_eq!(
        body_of(&request),
        json!({"model": "small", "input": ["one?"], "encoding_format": "float", "dimensions": 2})
    );
}

#[tokio::test]
async fn what_may_pass_is_tried_three_times_and_a_question_once() {
    for (status, headers, waited) in [
        ("503 Service Unavailable", "", Duration::from_millis(2_500)),
        (
            "429 Too Many Requests",
            "Retry-After: 0\r\n",
            Duration::ZERO,
        ),
    ] {
        let server = Server::start(vec![answer(status, headers, "{}")])
            .await
            .unwrap();
        let small = service(&server, |_| {});
        let began = Instant::now();
        let code = status[..3].parse().unwrap();
        let failed = small.embed(&texts(&["one"])).await;
        assert_eq!(failed, Err(EmbeddingError::Refused(code)));
        assert_eq!(server.requests().len(), 3);
        let took = began.elapsed();
        assert!(
            took >= waited && took < waited + Duration::from_secs(8),
            "{took:?}"
        );
        let failed = small.embed_question("one?").await;
        assert_eq!(failed, Err(EmbeddingError::Refused(code)));
        assert_eq!(server.requests().len(), 4);
    }
}

#[tokio::test]
async fn what_will_not_pass_is_tried_once() {
    for (status, is_about_texts) in [
        (400, true),
        (401, false),
        (404, false),
        (413, true),
        (422, true),
    ] {
        let server = Server::start(vec![answer(&format!("{status} No"), "", "{}")])
            .await
            .unwrap();
        let error = service(&server, |_| {})
            .embed(&texts(&["one"]))
            .await
            .unwrap_err();
        assert_eq!(error, EmbeddingError::Refused(status));
        assert_eq!(error.is_about_texts(), is_about_texts);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn answers_that_are_none_are_refused() {
    for (body, why) in [
        ("no json", "it is not the JSON that it should be"),
        (
            r#"{"data":[]}"#,
            "it holds another number of vectors than texts",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1]}]}"#,
            "it holds another number of vectors than texts",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            "its indexes are not those of the texts",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            "its indexes are not those of the texts",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}"#,
            "its vectors are not of one length, or not finite",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[0]}]}"#,
            "its vectors are not of one length, or not finite",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}"#,
            "its vectors are not of one length, or not finite",
        ),
        (
            r#"{"data":[{"embedding":["x"]},{"embedding":[1]}]}"#,
            "it is not the JSON that it should be",
        ),
    ] {
        let server = Server::start(vec![answer("200 OK", "", body)])
            .await
            .unwrap();
        let failed = service(&server, |_| {})
            .embed(&texts(&["one", "two"]))
            .await;
        assert_eq!(failed, Err(EmbeddingError::Malformed(why)), "{body}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_question_does_not_wait_longer_than_a_conversation_can() {
    let server = Server::start(vec![Act::Pause]).await.unwrap();
    let small = service(&server, |_| {});
    let began = Instant::now();
    let expected = Err(EmbeddingError::Timeout);
    assert_eq!(small.embed_question("one?").await, expected);
    // A batch of texts may take twelve seconds.
    assert!(began.elapsed() < Duration::from_secs(6));
    // The client has stopped waiting for the response.
    server.client_gone.notified().await;
}

#[tokio::test]
async fn a_service_that_breaks_off_or_is_not_there_cannot_be_reached() {
    let server = Server::start(vec![
        Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec()),
        Act::Close,
    ])
    .await
    .unwrap();
    let failed = service(&server, |_| {}).embed_question("one?").await;
    assert_eq!(failed, Err(EmbeddingError::Unreachable));
    let gone = service(&server, |settings| {
        settings.base_url = "http://127.0.0.1:9/v1".to_owned()
    });
    let expected = Err(EmbeddingError::Unreachable);
    assert_eq!(gone.embed_question("one?").await, expected);
}

#[tokio::test]
async fn wrong_settings_are_told_and_the_key_is_not_shown() {
    let server = Server::start(vec![]).await.unwrap();
    let mut settings = EmbeddingsSettings {
        base_url: "embeddings.example.com".to_owned(),
        model: "small".to_owned(),
        api_key: Some("sk-secret".to_owned()),
        dimensions: None,
    };
    assert!(!format!("{settings:?}").contains("secret"));
    let said =
        |settings: &EmbeddingsSettings| embeddings(settings).err().map(|error| error.to_string());
    assert_eq!(
        said(&settings).as_deref(),
        Some(
            "provider `knowledge.embeddings`: base_url must be a whole http or https URL without query or fragment"
        )
    );
    settings.base_url.clone_from(&server.base_url);
    settings.api_key = Some("a\nb".to_owned());
    assert_eq!(
        said(&settings).as_deref(),
        Some(
            "provider `knowledge.embeddings`: api_key holds characters that no HTTP header can carry"
        )
    );
}
