//! The `cursor` of lists. A read cursor is exactly the one written for the same list; every other input is refused.

#[path = "../../../crates/http/src/request/cursor.rs"]
mod cursor;

use cursor::{CursorKey, KeyedCursor, SortKey, key_text, text_key};

const PATH: &str = "/v1/calls";

pub(crate) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(cursor) = KeyedCursor::<SortKey>::read(PATH, text)
        && let Some(key) = cursor.key("")
    {
        assert_eq!(KeyedCursor::write(PATH, "", &key), text);
    }
    // The bytes as a key: it comes back from its own list with its own filters, and from no other.
    if let Some(key) = SortKey::read(data) {
        let text = KeyedCursor::write(PATH, "status=failed", &key);
        let read = |path| KeyedCursor::<SortKey>::read(path, &text);
        assert_eq!(
            read(PATH).and_then(|cursor| cursor.key("status=failed")),
            Some(key)
        );
        assert_eq!(
            read(PATH).and_then(|cursor| cursor.key("status=completed")),
            None
        );
        assert_eq!(read("/v1/conversations"), None);
    }
    if let Ok(text) = std::str::from_utf8(data)
        && text.len() <= 24
        && !text.contains('\0')
    {
        assert_eq!(key_text(text_key(text)), text);
    }
}
