//! A webhook receiver that records deliveries and responds as configured.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::wait::{eventually, must};

/// How long a delivery may take to arrive.
const LIMIT: Duration = Duration::from_secs(30);

/// A received delivery.
#[derive(Debug, Clone)]
pub struct Received {
    /// The path of the request.
    pub path: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// When it arrived.
    pub at: Instant,
}

impl Received {
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        must("the body of a delivery", serde_json::from_slice(&self.body))
    }

    /// The type of the event.
    #[must_use]
    pub fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap_or_default().to_owned()
    }

    /// The handle of the event's call.
    #[must_use]
    pub fn call(&self) -> String {
        self.json()["data"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

type Script = Box<dyn Fn(&Received, usize) -> u16 + Send + Sync>;

struct Log {
    received: Mutex<Vec<Received>>,
    script: Script,
    says: &'static str,
}

/// A receiver; it listens as long as the test's runtime lives.
#[derive(Clone)]
pub struct Receiver {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Receiver {
    /// Responds with 200 to everything.
    pub async fn start() -> Self {
        Self::scripted(|_, _| 200).await
    }

    /// Responds with the status code that `script` returns for a delivery and the number of earlier ones.
    pub async fn scripted(
        script: impl Fn(&Received, usize) -> u16 + Send + Sync + 'static,
    ) -> Self {
        Self::with(Box::new(script), "noted").await
    }

    /// Responds with this status code and body to everything.
    pub async fn saying(status: u16, body: &'static str) -> Self {
        Self::with(Box::new(move |_, _| status), body).await
    }

    async fn with(script: Script, says: &'static str) -> Self {
        let listener = must("a listener", TcpListener::bind("127.0.0.1:0").await);
        let address = must("its address", listener.local_addr());
        let log = Arc::new(Log {
            received: Mutex::default(),
            script,
            says,
        });
        tokio::spawn(accept(listener, log.clone()));
        Self { address, log }
    }

    /// The URL of an endpoint: with a host name, because literal addresses are refused.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.address.port())
    }

    /// The deliveries so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.log
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the deliveries satisfy `enough`, and returns them.
    pub async fn wait(&self, what: &str, enough: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        self.wait_within(LIMIT, what, enough).await
    }

    /// As [`Receiver::wait`], with a time limit.
    pub async fn wait_within(
        &self,
        limit: Duration,
        what: &str,
        enough: impl Fn(&[Received]) -> bool,
    ) -> Vec<Received> {
        eventually(what, limit, || async {
            Some(self.received()).filter(|all| enough(all))
        })
        .await
    }

    /// Waits for `count` deliveries.
    pub async fn count(&self, count: usize) -> Vec<Received> {
        self.wait(&format!("{count} deliveries"), |all| all.len() >= count)
            .await
    }
}

async fn accept(listener: TcpListener, log: Arc<Log>) {
    while let Ok((socket, _)) = listener.accept().await {
        let log = log.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, log.clone()));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            // The sender may disconnect at any time.
            let _ = connection.await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    log: Arc<Log>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let headers = request.headers().iter().map(|(name, value)| {
        (
            name.as_str().to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    });
    let headers = headers.collect();
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes().to_vec(),
        // Cut off: the sender died while writing.
        Err(_) => return Ok(Response::new(Full::default())),
    };
    let received = Received {
        path,
        headers,
        body,
        at: Instant::now(),
    };
    let status = {
        let mut all = log.received.lock().unwrap_or_else(PoisonError::into_inner);
        let status = (log.script)(&received, all.len());
        all.push(received);
        status
    };
    let mut response = Response::new(Full::new(Bytes::from_static(log.says.as_bytes())));
    *response.status_mut() = must("a status", hyper::StatusCode::from_u16(status));
    Ok(response)
}
