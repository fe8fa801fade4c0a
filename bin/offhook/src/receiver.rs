//! A receiver of webhooks on this machine: it checks each signature, answers, and hands the events on.

use futures_util::FutureExt as _;
use std::convert::Infallible;
use std::sync::OnceLock;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use offhook_services::SystemClock;
use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SIGNATURE_HEADER, SigningSecret, verify};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::prelude::*;

/// The largest body: an event has at most 64 KiB.
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Events that may wait to be read.
const WAITING: usize = 1024;

/// A request that came in.
#[derive(Debug, Clone)]
pub(crate) struct Delivered {
    /// `X-Service-Event`.
    pub(crate) event: String,
    /// `X-Service-Event-Id`.
    pub(crate) event_id: String,
    /// `X-Service-Delivery`.
    pub(crate) delivery_id: String,
    /// Whether the signature is good, or why not.
    pub(crate) verdict: Result<(), String>,
    /// The body as it came.
    pub(crate) body: Bytes,
}

/// A listener of its own. It ends with the value.
pub(crate) struct Receiver {
    address: SocketAddr,
    secret: Arc<OnceLock<SigningSecret>>,
    delivered: mpsc::Receiver<Delivered>,
    _server: AbortOnDropHandle<()>,
}

impl Receiver {
    /// Listens at `address`; port 0 picks one.
    pub(crate) async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("{address} cannot be listened on"))?;
        let address = listener.local_addr()?;
        let secret = Arc::<OnceLock<_>>::default();
        let (outbox, delivered) = mpsc::channel(WAITING);
        let door = Door {
            secret: Arc::clone(&secret),
            outbox,
        };
        let server = AbortOnDropHandle::new(tokio::spawn(accept(listener, door).boxed()));
        Ok(Self {
            address,
            secret,
            delivered,
            _server: server,
        })
    }

    /// Where events are to be sent.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// From now on signatures by this secret are good. Until then none is.
    pub(crate) fn trust(&self, secret: SigningSecret) {
        // The first secret stays; there is one endpoint behind a receiver.
        let _ = self.secret.set(secret);
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Option<Delivered> {
        self.delivered.recv().await
    }

    /// Waits for both events of a call that goes well, and shows what comes.
    pub(crate) async fn both(&mut self, show: impl Fn(&Delivered)) -> anyhow::Result<()> {
        let mut missing = vec!["call.initiated", "call.completed"];
        while !missing.is_empty() {
            let delivered = self.next().await.context("the receiver ended")?;
            show(&delivered);
            if let Err(why) = &delivered.verdict {
                bail!("the signature of {} is wrong: {why}", delivered.event);
            }
            ensure!(delivered.event != "call.failed", "the call failed");
            missing.retain(|event| *event != delivered.event);
        }
        Ok(())
    }
}

#[derive(Clone)]
struct Door {
    secret: Arc<OnceLock<SigningSecret>>,
    outbox: mpsc::Sender<Delivered>,
}

async fn accept(listener: TcpListener, door: Door) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // No file descriptors, most likely: they come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let door = door.clone();
        tokio::spawn(
            async move {
                let service = service_fn(|request| door.clone().answer(request));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended");
                }
            }
            .boxed(),
        );
    }
}

impl Door {
    /// 200 for an event that is good, 400 for one that is not: the sender shows it among its attempts.
    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, Infallible> {
        if request.method() != Method::POST {
            return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
        }
        let header = |name: &str| {
            let value = request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (event, event_id) = (header("X-Service-Event"), header("X-Service-Event-Id"));
        let (delivery_id, signature) = (header("X-Service-Delivery"), header(SIGNATURE_HEADER));
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY_BYTES)
            .collect()
            .await
        else {
            return Ok(empty(StatusCode::PAYLOAD_TOO_LARGE));
        };
        let body = body.to_bytes();
        let verdict = self.judge(&signature, &body);
        let status = if verdict.is_ok() {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        };
        let delivered = Delivered {
            event,
            event_id,
            delivery_id,
            verdict,
            body,
        };
        // The sender comes again for what nobody had room for.
        let taken = self.outbox.try_send(delivered).is_ok();
        Ok(empty(if taken {
            status
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }))
    }

    fn judge(&self, signature: &str, body: &[u8]) -> Result<(), String> {
        let secret = self.secret.get().ok_or("the secret is not known yet")?;
        let now = SystemClock.now().unix_seconds();
        verify(signature, body, secret, now, DEFAULT_TOLERANCE_SECONDS)
            .map_err(|why| why.to_string())
    }
}

fn empty(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

    async fn receiver() -> Receiver {
        Receiver::start("127.0.0.1:0".parse().unwrap())
            .await
            .unwrap()
    }

    async fn post(receiver: &Receiver, signature: &str, body: &'static str) -> u16 {
        let client = crate::parts::http_client().unwrap();
        let request = client
            .post(receiver.url())
            .header(SIGNATURE_HEADER, signature)
            .header("X-Service-Event", "call.completed")
            .body(body);
        request.send().await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn a_signed_event_is_taken_and_any_other_is_refused() {
        let mut receiver = receiver().await;
        let secret: SigningSecret = SECRET.parse().unwrap();
        receiver.trust(secret.clone());
        let now = SystemClock.now().unix_seconds();
        let good = offhook_signing::sign(&[secret], now, b"{}");
        assert_eq!(post(&receiver, &good, "{}").await, 200);
        let delivered = receiver.next().await.unwrap();
        assert_eq!(delivered.event, "call.completed");
        assert_eq!(delivered.verdict, Ok(()));
        assert_eq!(delivered.body, "{}");
        assert_eq!(post(&receiver, &good, "{ }").await, 400);
        assert!(receiver.next().await.unwrap().verdict.is_err());
        assert_eq!(post(&receiver, "", "{}").await, 400);
    }

    #[tokio::test]
    async fn without_a_secret_nothing_is_good() {
        let receiver = receiver().await;
        assert_eq!(post(&receiver, "t=1,v1=00", "{}").await, 400);
    }

    #[tokio::test]
    async fn a_body_without_end_is_cut_off() {
        let receiver = receiver().await;
        let body = Box::leak(vec![b'x'; MAX_BODY_BYTES + 1].into_boxed_slice());
        let text = std::str::from_utf8(body).unwrap();
        assert_eq!(post(&receiver, "t=1,v1=00", text).await, 413);
    }
}
