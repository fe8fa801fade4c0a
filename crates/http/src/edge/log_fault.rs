//! What the request log keeps of a refused request: the service's own words, and the shape of what was sent. Nothing that
//! the client wrote is in either.

use offhook_domain::Json;

/// The longest body that is described, in bytes.
pub(super) const LONGEST_BODY: usize = 16 * 1024;

/// The longest message and the longest description, in bytes.
const LONGEST: usize = 2 * 1024;

/// Items of an array that are described.
const ITEMS: usize = 10;

/// Stands for what a client wrote.
const HIDDEN: &str = "…";

/// A field below which members have names of the client's.
const FREE: [&str; 3] = ["metadata", "dynamic_variables", "properties"];

/// A message without phone numbers, addresses, quotations, and names that a client has given.
pub(super) fn message(text: &str) -> String {
    let mut plain = String::new();
    for (place, span) in text.split('`').enumerate() {
        match place % 2 {
            0 => plain.push_str(&words(span)),
            _ => {
                plain.push('`');
                plain.push_str(&field(span));
                plain.push('`');
            }
        }
    }
    shortened(plain)
}

/// A field's path, or another literal of the service.
fn field(path: &str) -> String {
    let is_ours = |c: char| c.is_ascii_alphanumeric() || "_.[]-/:*$#+<>{} ".contains(c);
    if !path.chars().all(is_ours) || has_number(path) {
        return HIDDEN.to_owned();
    }
    for free in FREE {
        let at = path.split_inclusive('.').scan(0, |end, part| {
            *end += part.len();
            Some((*end, part))
        });
        for (end, part) in at {
            if part.strip_suffix('.') == Some(free) {
                return format!("{}{HIDDEN}", path.get(..end).unwrap_or_default());
            }
        }
    }
    path.to_owned()
}

fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut quoted = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let opens = word.contains(['“', '"', '«']);
        let closes = word.contains(['”', '»'])
            || word.matches('"').count() == 2
            || (quoted && word.contains('"'));
        if quoted || opens || word.contains('@') || has_number(word) {
            let end = word.trim_end();
            plain.push_str(HIDDEN);
            plain.push_str(word.get(end.len()..).unwrap_or_default());
        } else {
            plain.push_str(word);
        }
        quoted = (quoted || opens) && !closes;
    }
    plain
}

/// Whether a word has as many digits as a phone number, whatever stands between them.
fn has_number(word: &str) -> bool {
    word.chars().filter(char::is_ascii_digit).count() >= 6
}

/// The body with each value replaced by its type and length.
pub(super) fn shape(body: &[u8]) -> String {
    let shape = Json::parse(body).map(|json| described(&json, false));
    match shape {
        Ok(shape) => shortened(serde_json::to_string_pretty(&shape).unwrap_or_default()),
        Err(_) => format!("not JSON, {} bytes", body.len()),
    }
}

fn described(json: &Json, is_free: bool) -> Json {
    let text = |text: String| Json::String(text);
    match json {
        Json::Null => text("null".to_owned()),
        Json::Bool(_) => text("boolean".to_owned()),
        Json::Number(literal) => text(format!("number, {} characters", literal.len())),
        Json::String(value) => text(format!("string, {} characters", value.chars().count())),
        Json::Array(items) => {
            let first = items.iter().take(ITEMS).map(|item| described(item, false));
            let more = items.len().checked_sub(ITEMS).filter(|more| *more > 0);
            first
                .chain(more.map(|more| text(format!("{more} more items"))))
                .collect()
        }
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| {
                    let is_ours =
                        !is_free && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                    let shown = match is_ours {
                        true => name.clone(),
                        false => format!("name, {} characters", name.chars().count()),
                    };
                    (
                        shown,
                        described(value, is_free || FREE.contains(&name.as_str())),
                    )
                })
                .collect(),
        ),
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let mut end = LONGEST - HIDDEN.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(HIDDEN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_the_field_and_nothing_that_the_client_wrote() {
        for (told, kept) in [
            (
                "`to`: must begin with `+` and the country code",
                "`to`: must begin with `+` and the country code",
            ),
            (
                "`config.llm.fallback[0].model`: is required",
                "`config.llm.fallback[0].model`: is required",
            ),
            (
                "`metadata.maria_lopez`: longer than 2000 characters",
                "`metadata.…`: longer than 2000 characters",
            ),
            ("`María`: unknown field", "`…`: unknown field"),
            (
                "the number +52 1 (55) 1234-5678 is taken",
                "the number +52 1 (55) … is taken",
            ),
            ("+5215512345678 called", "… called"),
            ("the folder “Ana María” exists", "the folder … … exists"),
            ("ana@example.com is a member", "… is a member"),
        ] {
            assert_eq!(message(told), kept);
        }
        assert!(message(&"x ".repeat(5_000)).len() <= LONGEST);
    }

    #[test]
    fn a_body_is_described_by_types_and_lengths() {
        let body = br#"{"to":"+5215512345678","metadata":{"Ana":true,"lead":"x"},"list":[1,null],"Odd name":{"a":1}}"#;
        let shape: serde_json::Value = serde_json::from_str(&shape(body)).unwrap();
        let expected = serde_json::json!({
            "to": "string, 14 characters",
            "metadata": {"name, 3 characters": "boolean", "name, 4 characters": "string, 1 characters"},
            "list": ["number, 1 characters", "null"],
            "name, 8 characters": {"a": "number, 1 characters"},
        });
        assert_eq!(shape, expected);
        assert_eq!(super::shape(b"{"), "not JSON, 1 bytes");
        let long = format!("[{}]", vec!["{\"text\":\"x\"}"; 500].join(","));
        assert!(super::shape(long.as_bytes()).len() <= LONGEST);
    }
}
