//! `metadata` of a call: at most 5,120 bytes of flat JSON, kept as the client's own text.

use offhook_domain::{Json, Metadata};

const MAX_BYTES: usize = 5_120;

pub(crate) fn run(data: &[u8]) {
    let Ok(json) = Json::parse(data) else {
        return;
    };
    let Ok(metadata) = Metadata::from_json(&json, "metadata") else {
        return;
    };
    let text = metadata.as_json_text();
    assert!(text.len() <= MAX_BYTES, "{} bytes", text.len());
    assert_eq!(text, json.to_compact(), "not the client's own text");
    let stored = Metadata::from_stored(text).expect("what was stored is read");
    assert_eq!(stored.as_json_text(), text);
    assert_eq!(stored.variables(), metadata.variables());
    for (name, value) in metadata.variables() {
        assert_eq!(metadata.variable(&name), Some(value));
    }
}
