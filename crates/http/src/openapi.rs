//! The OpenAPI document.

use serde_json::{Value, json};

/// The interface as an OpenAPI 3.1 document.
#[must_use]
pub fn document() -> Value {
    json!({"openapi": "3.1.0", "info": {"title": "Offhook", "version": "1.0.0"}, "paths": {}})
}
