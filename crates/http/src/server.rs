//! The composition that the binary and the tests share, and the server around it.

use std::net::TcpListener;
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, HttpServer, web};

use crate::edge::edge;
use crate::{HttpState, routes};

/// How long a connection waits for its next request.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How long a graceful stop waits for requests that have begun.
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
    App::new()
        .app_data(web::Data::new(state))
        .configure(routes::add)
        .wrap(from_fn(edge))
}

/// Serves on a listening socket with so many threads, until the server is stopped or dropped. It needs a running tokio
/// runtime, and leaves signals to the caller.
///
/// # Errors
/// The operating system's, if the socket cannot be used.
pub fn serve(listener: TcpListener, state: HttpState, workers: usize) -> std::io::Result<Server> {
    run(listener, None, state, workers)
}

/// As [`serve`], with HTTPS.
///
/// # Errors
/// As [`serve`].
pub fn serve_https(
    listener: TcpListener,
    tls: rustls::ServerConfig,
    state: HttpState,
    workers: usize,
) -> std::io::Result<Server> {
    run(listener, Some(tls), state, workers)
}

fn run(
    listener: TcpListener,
    tls: Option<rustls::ServerConfig>,
    state: HttpState,
    workers: usize,
) -> std::io::Result<Server> {
    let head_timeout = state.config.head_timeout;
    let server = HttpServer::new(move || app(state.clone()))
        .workers(workers)
        .client_request_timeout(head_timeout)
        .tls_handshake_timeout(head_timeout)
        // A client that is gone is noticed at once, and its event stream makes room for another.
        .h1_allow_half_closed(false)
        .keep_alive(KEEP_ALIVE)
        .shutdown_timeout(STOP_SECONDS)
        .disable_signals();
    let server = match tls {
        Some(tls) => server.listen_rustls_0_23(listener, tls)?,
        None => server.listen(listener)?,
    };
    Ok(server.run())
}
