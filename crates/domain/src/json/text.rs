//! Compact text.

use super::Json;

pub(super) fn compact(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(literal) => out.push_str(literal),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => write_list(out, ['[', ']'], items, write),
        Json::Object(members) => {
            write_list(out, ['{', '}'], members, |out, (name, value)| {
                write_string(out, name);
                out.push(':');
                write(out, value);
            });
        }
    }
}

/// Writes the items between the brackets, commas between them.
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

/// Writes a string literal; only what must be escaped is.
pub(super) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if short.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::strategies::json;
    use super::*;

    proptest! {
        #[test]
        fn compact_text_reads_back_as_the_same_tree(value in json()) {
            prop_assert_eq!(Json::parse(value.to_compact().as_bytes()), Ok(value));
        }

        #[test]
        fn strings_are_escaped_as_serde_json_does(text in any::<String>()) {
            prop_assert_eq!(
                Json::String(text.clone()).to_compact(),
                serde_json::to_string(&text).unwrap()
            );
        }
    }
}
