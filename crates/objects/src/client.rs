//! The HTTP client below the S3 one: no proxy and nothing else from the environment, TLS as everywhere here.

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

/// How long a connection may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// How long a connection may be silent.
const SILENCE_LIMIT: Duration = Duration::from_secs(5);

/// The one client of a store.
#[derive(Debug, Clone)]
pub(crate) struct Client(reqwest::Client);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Client(#[from] reqwest::Error),
}

impl Client {
    pub(crate) fn new() -> Result<Self, ClientError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(offhook_egress::client_config()?)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT);
        Ok(Self(client.build()?))
    }
}

impl HttpConnector for Client {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string();
        let url =
            url::Url::parse(&url).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(reqwest::Body::wrap(body));
        let response = self.0.execute(request).await.map_err(kind)?;
        let (parts, body) = reqwest_parts(response);
        Ok(HttpResponse::from_parts(
            parts,
            HttpResponseBody::new(body.map_err(kind)),
        ))
    }
}

fn reqwest_parts(response: reqwest::Response) -> (http::response::Parts, reqwest::Body) {
    http::Response::from(response).into_parts()
}

/// What the retries above go by. The URL is left out: it is in the error above, as far as it may be shown.
fn kind(error: reqwest::Error) -> HttpError {
    let broken = |error: &reqwest::Error| {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                return error.kind() != std::io::ErrorKind::TimedOut;
            }
            cause = error.source();
        }
        error.is_request()
    };
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else if broken(&error) {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    };
    HttpError::new(kind, error.without_url())
}
