//! Compact text.

use serde::Serialize;

/// The text as `serde_json` writes it, with a minimum of escapes.
pub(super) fn compact(value: &(impl Serialize + ?Sized)) -> String {
    // Serializing texts, and numbers whose literals are JSON, cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Writes the items between the brackets, separated by commas.
pub(super) fn write_list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Json;
    use super::super::strategies::json;

    proptest! {
        #[test]
        fn compact_text_reads_back_as_the_same_tree(value in json()) {
            prop_assert_eq!(Json::parse(value.to_compact().as_bytes()), Ok(value));
        }
    }
}
