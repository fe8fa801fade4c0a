//! JSON from other services.

use serde::de::DeserializeOwned;

/// Parses JSON from another service: invalid UTF-8 becomes U+FFFD. Fails if the text is no JSON, or does not fit the
/// type.
pub fn read_foreign<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(&String::from_utf8_lossy(body))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn bytes_that_are_no_text_cost_themselves_and_what_is_no_json_is_none() {
        let told: Value = read_foreign(b"{\"text\":\"Hi \xff\",\"good\":1}").unwrap();
        assert_eq!(told, json!({"text": "Hi \u{fffd}", "good": 1}));
        for body in ["", "{", "junk", "[1,]", "\"\\"] {
            read_foreign::<Value>(body.as_bytes()).unwrap_err();
        }
    }
}
