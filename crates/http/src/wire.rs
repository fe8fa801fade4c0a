//! What answers look like: fields in the interface's order, null where one does not apply.

pub(crate) mod account;
pub(crate) mod agent;
pub(crate) mod analysis;
pub(crate) mod batch;
pub(crate) mod billing;
pub(crate) mod conversation;
pub(crate) mod integration;
pub(crate) mod knowledge;
pub(crate) mod log;
pub(crate) mod model;
pub(crate) mod number;
pub(crate) mod team;
pub(crate) mod tool;
pub(crate) mod voice;
pub(crate) mod webhook;
pub(crate) mod widget;

use serde_json::value::RawValue;

use crate::ApiError;

/// JSON text of ours or of the client's, to be printed as it is.
pub(crate) fn raw(text: &str) -> Result<&RawValue, ApiError> {
    serde_json::from_str(text).map_err(|_| ApiError::internal("stored JSON text is not JSON"))
}
