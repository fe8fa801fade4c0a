//! Offhook's REST adapter: routes, extractors, wire types, error table, OpenAPI.
//!
//! A request passes, in this order: request id, rate limit of its address, route, then one [`Ask`](request::ask::Ask)
//! extractor: key, account limit, read-only, scope, plan, path, query, body. A handler's signature names what it
//! takes; its response is a wire type. Every failure is an [`ApiError`] of the closed table [`Code`], and leaves in
//! the error envelope.

mod callbacks;
mod chat_stream;
mod edge;
mod endpoint;
mod endpoints;
mod error;
mod fixed_file;
mod mcp;
mod openapi;
mod prelude;
mod readiness;
mod recording;
mod reference;
mod reply;
mod request;
mod routes;
mod server;
mod state;
mod streams;
mod voice_socket;
mod websocket;
mod wire;

pub use edge::limits::{LimitSettings, RateLimits};
pub use error::{ApiError, Code};
pub use fixed_file::FixedFile;
pub use openapi::document as openapi_document;
pub use recording::send as send_recording;
pub use request::bodies::{Room, Sender};
pub use request::body::{BODY_TIMEOUT, announced_length, time_for as time_for_body};
pub use server::{app, serve, serve_https};
pub use voice_socket::{Start, open_trial};

pub use state::{HttpConfig, HttpState, Pages, address_of, admit_call};

/// The service's mark, an SVG image.
pub const MARK: &str = include_str!("mark.svg");

// Unit tests and the tests in `tests/it` are one binary. The latter only use the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
