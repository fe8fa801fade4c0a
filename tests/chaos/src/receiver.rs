//! The customer's side: webhook receivers that sometimes fail, and a language model that costs credits.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SIGNATURE_HEADER, SigningSecret};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::chance::Chance;
use crate::evidence::Receipt;

/// The model's response to everything.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All right.\"},\"finish_reason\":null}]}\n\n\
                      data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
                      data: [DONE]\n\n";

struct Endpoint {
    id: String,
    secret: SigningSecret,
}

struct Book {
    endpoints: HashMap<String, Endpoint>,
    receipts: Vec<Receipt>,
    /// How often an event reached an endpoint.
    times: HashMap<(String, String), u32>,
    chance: Chance,
    fails: bool,
}

/// Receives for every endpoint.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    book: Arc<Mutex<Book>>,
    under_way: Arc<AtomicU64>,
}

impl Receiver {
    /// Listens; `seed` decides which deliveries fail.
    pub(crate) async fn start(seed: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let receiver = Self {
            address: listener.local_addr()?,
            book: Arc::new(Mutex::new(Book {
                endpoints: HashMap::new(),
                receipts: Vec::new(),
                times: HashMap::new(),
                chance: Chance::new(seed, 77),
                fails: true,
            })),
            under_way: Arc::default(),
        };
        let inner = receiver.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let receiver = inner.clone();
                tokio::spawn(async move {
                    let service = service_fn(|request| receiver.clone().answer(request));
                    // The sender may disconnect at any time.
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Ok(receiver)
    }

    /// The URL of an endpoint that is not registered yet.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.address.port())
    }

    /// Registers the endpoint of a path.
    pub(crate) fn register(&self, path: &str, id: &str, secret: &str) -> anyhow::Result<()> {
        let secret = secret
            .parse()
            .map_err(|_| anyhow::anyhow!("the secret of {path}"))?;
        let id = id.replace('-', "");
        self.book
            .lock()
            .endpoints
            .insert(path.to_owned(), Endpoint { id, secret });
        Ok(())
    }

    /// From now on no delivery fails.
    pub(crate) fn behave(&self) {
        self.book.lock().fails = false;
    }

    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        self.book.lock().receipts.clone()
    }

    /// The deliveries in flight, including those that ended just now.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, std::io::Error> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(self.under_way.clone());
        let answer = self.take(request).await;
        tokio::spawn(async move {
            tokio::time::sleep(RECORDED_WITHIN).await;
            drop(under_way);
        });
        answer
    }

    async fn take(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, std::io::Error> {
        let path = request.uri().path().to_owned();
        let header = |name: &str| {
            let value = request.headers().get(name);
            let text = value.and_then(|value| value.to_str().ok());
            text.unwrap_or_default().to_owned()
        };
        let (event, attempt) = (
            header("x-service-event-id").replace('-', ""),
            header("x-service-delivery"),
        );
        let signature = header(SIGNATURE_HEADER);
        // Cut off: the sender died while writing.
        let Ok(body) = request.into_body().collect().await else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        let body = body.to_bytes();
        let (answered, wait) = {
            let mut book = self.book.lock();
            let now = unix_micros() / 1_000_000;
            let Some(endpoint) = book.endpoints.get(&path) else {
                return Ok(reply(StatusCode::NOT_FOUND));
            };
            let verified = offhook_signing::verify(
                &signature,
                &body,
                &endpoint.secret,
                now,
                DEFAULT_TOLERANCE_SECONDS,
            );
            let endpoint = endpoint.id.clone();
            let times = book
                .times
                .entry((event.clone(), endpoint.clone()))
                .or_default();
            *times += 1;
            let first = *times == 1;
            // Only the first time, so that no delivery is ever given up for it.
            let (answered, wait) = match (book.fails && first).then(|| book.chance.below(100)) {
                Some(0..6) => (500, Duration::ZERO),
                Some(6..9) => (0, Duration::ZERO),
                Some(9) => (0, Duration::from_secs(12)),
                Some(10..14) => (200, book.chance.millis(100, 1_500)),
                _ => (200, Duration::ZERO),
            };
            book.receipts.push(Receipt {
                endpoint,
                event,
                attempt,
                body: hex::encode(&body),
                is_signed: verified.is_ok(),
                answered,
            });
            (answered, wait)
        };
        tokio::time::sleep(wait).await;
        match answered {
            0 => Err(std::io::ErrorKind::ConnectionReset.into()),
            200 => Ok(reply(StatusCode::OK)),
            _ => Ok(reply(StatusCode::INTERNAL_SERVER_ERROR)),
        }
    }
}

/// How long a node may take to record a response: on a slow disk some hundred wait for each commit.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);

/// A delivery without a response, or whose response may not be recorded yet. The sender may die before it is.
struct UnderWay(Arc<AtomicU64>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn reply(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service under test runs by the real clock"
)]
pub(crate) fn unix_micros() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_micros()).unwrap_or(0))
}

/// Starts a model with OpenAI's chat completions API; returns its base URL.
pub(crate) async fn model() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(speak));
                // The client may disconnect at any time.
                let _ = connection.await;
            });
        }
    });
    Ok(format!("http://{address}/v1"))
}

async fn speak(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}
