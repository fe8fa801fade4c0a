//! The denominators: what the same work costs with nothing around it. Each is at most 60 lines in a file of its own.

pub(crate) mod batch;
pub(crate) mod callback;
pub(crate) mod deliver;
pub(crate) mod fixed;
pub(crate) mod keep_alive;
pub(crate) mod list;
pub(crate) mod post;

use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::{App, HttpServer, web};
use offhook_storage::Store;

/// Serves the bare handlers.
pub(crate) fn serve(
    listener: TcpListener,
    store: Store,
    workers: usize,
) -> std::io::Result<Server> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(store.clone()))
            .route("/fixed/{bytes}", web::get().to(fixed::answer))
            .route("/refused", web::get().to(fixed::refuse))
            .route("/list/{account}", web::get().to(list::list))
            .route(
                "/calls/{account}/{agent}/{key}",
                web::post().to(post::place),
            )
            .route("/callbacks/{account}", web::post().to(callback::take))
            .route(
                "/batches/{account}/{agent}/{key}/{recipients}",
                web::post().to(batch::insert),
            )
    });
    Ok(server
        .workers(workers)
        .disable_signals()
        .listen(listener)?
        .run())
}
