//! A fake of an OpenAI-style embeddings service that knows the meaning of a few words.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::wait::must;

/// Words with the same meaning.
const MEANINGS: [&[&str]; 3] = [
    &["pool", "swim", "bathe"],
    &["breakfast", "eat", "hungry"],
    &["towel", "dry"],
];

#[derive(Debug, Default)]
struct State {
    refused: Vec<String>,
    requests: Vec<(Option<String>, Value)>,
}

/// The fake service. It listens as long as the test's runtime lives.
#[derive(Debug, Clone)]
pub struct EmbeddingsServer {
    /// The value of `knowledge.embeddings.base_url`.
    pub base_url: String,
    state: Arc<Mutex<State>>,
}

impl EmbeddingsServer {
    pub async fn start() -> Self {
        let listener = must("a listener", TcpListener::bind("127.0.0.1:0").await);
        let address = must("its address", listener.local_addr());
        let server = Self {
            base_url: format!("http://{address}/v1"),
            state: Arc::default(),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let server = accepting.clone();
                tokio::spawn(async move {
                    let service = service_fn(|request| server.answer(request));
                    let connection = http1::Builder::new();
                    // The client may disconnect at any time.
                    let _ = connection
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        server
    }

    /// Responds with 503 for this model from now on.
    pub fn fail(&self, model: &str) {
        self.state().refused.push(model.to_owned());
    }

    /// Serves every model again.
    pub fn recover(&self) {
        self.state().refused.clear();
    }

    /// The credential and the body of each request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<(Option<String>, Value)> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let credential = request.headers().get(AUTHORIZATION);
        let credential = credential.and_then(|value| Some(value.to_str().ok()?.to_owned()));
        let is_known = request.uri().path() == "/v1/embeddings" && request.method() == "POST";
        let body = request.into_body().collect().await;
        let body = must("a body", body).to_bytes();
        let body: Value = must("a JSON body", serde_json::from_slice(&body));
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let input = body["input"].as_array().cloned().unwrap_or_default();
        let is_refused = {
            let mut state = self.state();
            state.requests.push((credential, body));
            state.refused.contains(&model)
        };
        if is_refused || !is_known {
            let mut response = Response::new(Full::default());
            *response.status_mut() = match is_known {
                true => StatusCode::SERVICE_UNAVAILABLE,
                false => StatusCode::NOT_FOUND,
            };
            return Ok(response);
        }
        // In reverse order: the index assigns each vector to its text.
        let data = input.iter().enumerate().rev().map(|(index, text)| {
            let vector = vector(text.as_str().unwrap_or_default(), &model);
            json!({"object": "embedding", "index": index, "embedding": vector})
        });
        let usage = json!({"prompt_tokens": 1, "total_tokens": 1});
        let answer = json!({
            "object": "list", "data": data.collect::<Value>(), "model": model, "usage": usage,
        });
        let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
        let kind = HeaderValue::from_static("application/json");
        response
            .headers_mut()
            .insert(hyper::header::CONTENT_TYPE, kind);
        Ok(response)
    }
}

/// One direction for each meaning, and one for everything else. The model `other` gives the meanings other
/// directions.
fn vector(text: &str, model: &str) -> Vec<f64> {
    let text = text.to_lowercase();
    let turn = usize::from(model == "other");
    let mut vector = vec![0.0; MEANINGS.len() + 1];
    for (at, words) in MEANINGS.iter().enumerate() {
        if words.iter().any(|word| text.contains(word)) {
            vector[(at + turn) % MEANINGS.len()] = 2.0;
        }
    }
    if vector.iter().all(|part| *part == 0.0) {
        vector[MEANINGS.len()] = 1.0;
    }
    vector
}
