//! The application that the binary and the tests share, and the server around it.

use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_http::{HttpService, Protocol};
use actix_server::GracefulShutdownSignal;
use actix_service::{IntoServiceFactory as _, ServiceFactoryExt as _, fn_service, map_config};
use actix_tls::accept::TlsError;
use actix_tls::accept::rustls_0_23::{Acceptor, TlsStream};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::rt::net::TcpStream;
use actix_web::{App, Error, web};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::edge::connection::{Connection, Placed};
use crate::edge::edge;
use crate::{HttpState, mcp, routes};

/// How long a connection waits for its next request.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How long a client may take to read the end of a response and close.
const DISCONNECT: Duration = Duration::from_secs(1);

/// How long a graceful stop waits for requests in progress.
const STOP_SECONDS: u64 = 30;

/// The whole REST adapter as an application.
pub fn app(
    state: HttpState,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    let pages = state.pages.clone();
    App::new()
        .app_data(web::Data::new(state))
        .configure(|config| {
            if let Some(pages) = pages {
                pages(config);
            }
        })
        .configure(routes::add)
        .wrap(from_fn(mcp::translating))
        .wrap(from_fn(edge))
        .wrap(from_fn(mcp::answering))
}

/// Serves on a listening socket with `workers` threads, until the server is stopped or dropped. It needs a running
/// tokio runtime, and does not handle signals.
pub fn serve(listener: TcpListener, state: HttpState, workers: usize) -> std::io::Result<Server> {
    let limits = (state.config.head_timeout, state.config.answer_timeout);
    let server = builder(workers);
    let stopping = server.graceful_shutdown_signal();
    let server = server.listen("http", listener, move || {
        let admitting = state.clone();
        fn_service(move |io: TcpStream| {
            let placed = Placed::admit(io, &admitting.places, &admitting.limits);
            async move {
                let io = placed?;
                let peer = io.peer();
                Ok((Connection::new(io, limits), Protocol::Http1, peer))
            }
        })
        .and_then(http(state.clone(), stopping.clone()))
    })?;
    Ok(server.run())
}

/// As [`serve`], with HTTPS.
pub fn serve_https(
    listener: TcpListener,
    mut tls: rustls::ServerConfig,
    state: HttpState,
    workers: usize,
) -> std::io::Result<Server> {
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let limits = (state.config.head_timeout, state.config.answer_timeout);
    let server = builder(workers);
    let stopping = server.graceful_shutdown_signal();
    let server = server.listen("https", listener, move || {
        let mut acceptor = Acceptor::new(tls.clone());
        acceptor.set_handshake_timeout(limits.0);
        let admitting = state.clone();
        fn_service(move |io: TcpStream| {
            let placed = Placed::admit(io, &admitting.places, &admitting.limits);
            ready(placed.map_err(TlsError::Tls))
        })
        .and_then(acceptor)
        .map_err(TlsError::into_service_error)
        .map(move |io: TlsStream<Placed>| {
            let peer = io.get_ref().0.peer();
            (Connection::new(io, limits), Protocol::Http1, peer)
        })
        .and_then(http(state.clone(), stopping.clone()).map_err(TlsError::Service))
    })?;
    Ok(server.run())
}

fn builder(workers: usize) -> actix_server::ServerBuilder {
    Server::build()
        .workers(workers)
        .shutdown_timeout(STOP_SECONDS)
        .disable_signals()
}

/// HTTP/1.1 on accepted connections.
fn http<S>(
    state: HttpState,
    stopping: GracefulShutdownSignal,
) -> impl ServiceFactory<
    (Connection<S>, Protocol, Option<SocketAddr>),
    Config = (),
    Response = (),
    Error = actix_http::error::DispatchError,
    InitError = (),
>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let app = app(state.clone())
        .into_factory()
        .map_err(|error: Error| error.error_response());
    HttpService::build()
        .graceful_shutdown_signal(move || {
            let stopping = stopping.clone();
            async move { stopping.notified().await }
        })
        .keep_alive(KEEP_ALIVE)
        .client_request_timeout(state.config.head_timeout)
        .client_disconnect_timeout(DISCONNECT)
        // The server notices a disconnected client at once, and its event stream frees its slot.
        .h1_allow_half_closed(false)
        .on_connect_ext(|connection: &Connection<S>, data| {
            data.insert(connection.turn().clone());
        })
        .finish(map_config(app, |()| AppConfig::default()))
}
