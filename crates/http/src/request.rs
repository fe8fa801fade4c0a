//! What a handler reads from its request: the caller and its permission, path, query and body.

pub(crate) mod ask;
pub(crate) mod batch_body;
pub(crate) mod bodies;
pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod idempotency;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod upload;
