//! The figures of the process: looked at every few seconds, and told at `/metrics` on a listener of their
//! own, without key and TLS.

use futures_util::FutureExt as _;
use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use offhook_http::HttpState;
use offhook_metrics::metrics;
use offhook_services::Services;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

use crate::data_dir;
use crate::prelude::*;

/// How often queues are looked at: what is asked of the database does not depend on how often anybody reads.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// How long a reader may keep a connection.
const CONNECTION_LIMIT: Duration = Duration::from_secs(30);

/// How long a reader may take for a request's head.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// The listener and the looks; dropping it ends both.
pub(crate) struct Figures {
    _listener: AbortOnDropHandle<()>,
    _looks: AbortOnDropHandle<()>,
}

/// Serves the figures at `address`, and writes that down in the data directory.
pub(crate) async fn start(
    address: SocketAddr,
    data_dir: &Path,
    services: &Services,
    http: &HttpState,
) -> anyhow::Result<Figures> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("`metrics.listen`: {address} cannot be listened on"))?;
    let address = listener.local_addr()?;
    let looks = tokio::spawn(look(services.clone(), http.clone()).boxed());
    let listener = tokio::spawn(accept(listener).boxed());
    data_dir::write_address(data_dir, data_dir::METRICS_LISTEN, address)?;
    tracing::info!(%address, "metrics");
    Ok(Figures {
        _listener: AbortOnDropHandle::new(listener),
        _looks: AbortOnDropHandle::new(looks),
    })
}

async fn look(services: Services, http: HttpState) {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        http.note_limits();
        if let Err(error) = services.note_figures().await {
            tracing::debug!(%error, "what waits could not be counted");
        }
    }
}

async fn accept(listener: TcpListener) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // No file descriptors, most likely: they come back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(
            async move {
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_LIMIT)
                    .serve_connection(TokioIo::new(socket), service_fn(answer));
                let _ = timeout(CONNECTION_LIMIT, connection).await;
            }
            .boxed(),
        );
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    let (status, body) = match request.uri().path() {
        "/metrics" if is_get => (StatusCode::OK, metrics().text()),
        "/metrics" => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
        _ => (StatusCode::NOT_FOUND, String::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if status == StatusCode::OK {
        let kind = HeaderValue::from_static(offhook_metrics::CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    Ok(response)
}
