//! A fake language model with OpenAI's chat completions API, for tests that cost credits.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::wait::must;

/// Its response to everything.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All right.\"},\"finish_reason\":null}]}\n\n\
                      data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                      data: [DONE]\n\n";

/// The models that it lists.
const MODELS: &str = "{\"object\":\"list\",\"data\":[]}";

/// Starts the model; returns the value of `models.<provider>.base_url`. It listens as long as the test's runtime
/// lives.
pub async fn model_server() -> String {
    let listener = must("a listener", TcpListener::bind("127.0.0.1:0").await);
    let address = must("its address", listener.local_addr());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let connection = http1::Builder::new()
                    .serve_connection(TokioIo::new(socket), service_fn(answer));
                // The client may disconnect at any time.
                let _ = connection.await;
            });
        }
    });
    format!("http://{address}/v1")
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (said, kind) = match *request.method() {
        Method::GET => (MODELS, "application/json"),
        _ => (ANSWER, "text/event-stream"),
    };
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(said.as_bytes())));
    let kind = hyper::header::HeaderValue::from_static(kind);
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, kind);
    Ok(response)
}
