//! JSON bodies: duplicate members, U+0000, depth, numbers as literals; compared with serde_json.

use offhook_domain::json::{Json, JsonError};
use serde_json::Value;

pub(crate) fn run(data: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(data);
    match Json::parse(data) {
        Ok(json) => {
            let text = json.to_compact();
            assert_eq!(Json::parse(text.as_bytes()).as_ref(), Ok(&json), "{text}");
            match theirs {
                Ok(theirs) => {
                    let again: Value = serde_json::from_str(&text).expect("wrote what is not JSON");
                    assert_eq!(again, theirs, "{text}");
                }
                // serde_json only keeps numbers as written if configured to.
                Err(error) => assert!(
                    error.to_string().contains("number out of range"),
                    "{error}: {text}"
                ),
            }
            let canonical = json.canonical();
            let parsed = Json::parse(canonical.as_bytes()).expect("the canonical form is JSON");
            assert_eq!(
                parsed.canonical(),
                canonical,
                "the canonical form is its own"
            );
            let patched = Json::object([("a", Json::Null)]).merge_patch(&json);
            Json::parse(patched.to_compact().as_bytes()).expect("a merged patch is JSON");
        }
        Err(JsonError::NotJson) => assert!(theirs.is_err(), "refused JSON"),
        // JSON with a fault that no field may have.
        Err(JsonError::Field(fault)) => assert!(!fault.to_string().is_empty()),
    }
}
