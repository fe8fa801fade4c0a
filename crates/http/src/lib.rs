//! Offhook's REST adapter: routes, extractors, wire types, error table, OpenAPI.
//!
//! A request passes, in this order: request id, rate limit of its address, route, then one [`Ask`](ask::Ask)
//! extractor: key, account limit, read-only, scope, plan, path, query, body. A handler's signature names what it
//! takes; its response is a wire type. Every failure is an [`ApiError`] of the closed table [`Code`], and leaves in
//! the error envelope.

mod ask;
mod batch_body;
mod body;
mod budget;
mod callbacks;
mod chat_stream;
mod connection;
mod cursor;
mod edge;
mod endpoints;
mod error;
mod fixed_file;
mod idempotency;
mod limits;
mod list;
mod log_budget;
mod log_path;
mod openapi;
mod page;
mod query;
mod recording;
mod reference;
mod reply;
mod routes;
mod server;
mod state;
mod streams;
mod upload;
mod voice_socket;
mod websocket;
mod wire;

pub use body::{BODY_TIMEOUT, announced_length, time_for as time_for_body};
pub use budget::{Room, Sender};
pub use error::{ApiError, Code};
pub use fixed_file::FixedFile;
pub use limits::{LimitSettings, RateLimits};
pub use openapi::document as openapi_document;
pub use recording::send as send_recording;
pub use server::{app, serve, serve_https};
pub use state::{HttpConfig, HttpState, Pages, address_of, admit_call};

// Unit tests and the tests in `tests/it` are one binary. The latter only use the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
