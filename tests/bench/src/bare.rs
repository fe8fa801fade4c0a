//! The baselines: the cost of the same work without the service. Each is short, in its own file.

pub(crate) mod deliver;
pub(crate) mod fixed;
pub(crate) mod list;
pub(crate) mod post;
pub(crate) mod posting;

use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::{App, HttpServer, web};
use offhook_storage::Store;

/// Serves the bare handlers.
pub(crate) fn serve(
    listener: TcpListener,
    store: Store,
    writer: post::Writer,
    workers: usize,
) -> std::io::Result<Server> {
    let writer = web::Data::new(writer);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(store.clone()))
            .app_data(writer.clone())
            .route("/refused", web::get().to(fixed::refuse))
            .route("/list/{account}", web::get().to(list::list))
            .route(
                "/calls/{account}/{agent}/{key}",
                web::post().to(post::place),
            )
    });
    Ok(server
        .workers(workers)
        .disable_signals()
        .listen(listener)?
        .run())
}
