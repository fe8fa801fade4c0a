//! A third-party website: one page, on its own origin.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::wait::must;

/// A website; it is served as long as the test's runtime lives.
#[derive(Clone)]
pub struct Site {
    address: SocketAddr,
    page: Arc<Mutex<String>>,
}

impl Site {
    /// Serves an empty page at every path.
    pub async fn start() -> Self {
        let listener = must("a listener", TcpListener::bind("127.0.0.1:0").await);
        let address = must("its address", listener.local_addr());
        let page: Arc<Mutex<String>> = Arc::default();
        tokio::spawn(accept(listener, page.clone()));
        Self { address, page }
    }

    /// Serves this HTML from now on.
    pub fn shows(&self, html: impl Into<String>) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = html.into();
    }

    /// Its origin: this machine's host name, so that it is another host than the address.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }
}

async fn accept(listener: TcpListener, page: Arc<Mutex<String>>) {
    while let Ok((socket, _)) = listener.accept().await {
        let page = page.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, &page));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            // The browser may disconnect at any time.
            let _ = connection.await;
        });
    }
}

async fn answer(
    _: Request<Incoming>,
    page: &Mutex<String>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let page = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut response = Response::new(Full::new(Bytes::from(page)));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    Ok(response)
}
