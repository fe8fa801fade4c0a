//! What looks like a credential.

use serde_json::Value;

/// Parts of names of members that hold credentials.
const NAMES: &str = "apikey accesskey passphrase pwd cookie jwt secret password passwd credential authorization bearer privatekey encryptedkey signingkey";

/// How keys and tokens of well-known services begin.
const BEGINNINGS: &str = "sk- sk_ pk_ rk_ key_ key- ghp_ gho_ github_pat_ glpat- xoxb- xoxp- xapp- AKIA AIza eyJ whsec_ service_live_ SG. pat-";

/// Whether a member's name says that it holds a credential, and it holds any text.
pub(super) fn is_named(name: &str, value: &Value) -> bool {
    let name = name.to_lowercase().replace(['_', '-', ' '], "");
    let says = NAMES.split(' ').any(|part| name.contains(part));
    let is_token = name.ends_with("token") || name == "auth";
    (says || is_token) && !matches!(value, Value::Null | Value::Bool(_) | Value::Number(_))
}

/// A text without what looks like a credential, and whether it had any.
pub(super) fn removed(text: &str) -> (String, bool) {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    let (mut is_after_bearer, mut had_any) = (false, false);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        let (gap, next) = behind.split_at(behind.find(is_part).unwrap_or(behind.len()));
        let is_secret = is_credential(word) || is_after_bearer && word.len() >= 8;
        let lower = word.to_ascii_lowercase();
        is_after_bearer = lower == "bearer" || lower == "basic";
        had_any |= is_secret;
        kept += if is_secret {
            "[credential removed]"
        } else {
            word
        };
        kept += gap;
        rest = next;
    }
    (kept, had_any)
}

/// The same for each text of a value, names included.
pub(super) fn scrubbed(value: Value) -> (Value, bool) {
    let mut had_any = false;
    let value = scrub(value, &mut had_any);
    (value, had_any)
}

fn scrub(value: Value, had_any: &mut bool) -> Value {
    let mut clean = |text: &str| {
        let (text, had) = removed(text);
        *had_any |= had;
        text
    };
    match value {
        Value::String(text) => clean(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| scrub(item, had_any)).collect(),
        Value::Object(members) => {
            let cleaned = members
                .into_iter()
                .map(|(name, value)| (clean(&name), value));
            let cleaned: Vec<(String, Value)> = cleaned.collect();
            cleaned
                .into_iter()
                .map(|(name, value)| (name, scrub(value, had_any)))
                .collect()
        }
        value => value,
    }
}

fn is_credential(word: &str) -> bool {
    let parts = word.split(['=', '/', '.', '~', '+']);
    std::iter::once(word).chain(parts).any(is_key)
}

fn is_key(word: &str) -> bool {
    let count = |test: fn(&char) -> bool| word.chars().filter(test).count();
    let digits = count(char::is_ascii_digit);
    let letters = count(char::is_ascii_uppercase).max(count(char::is_ascii_lowercase));
    let is_plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_+=".contains(c));
    let begins = BEGINNINGS
        .split(' ')
        .any(|beginning| word.starts_with(beginning));
    begins && word.len() >= 16 && digits > 0
        || word.len() >= 32 && is_plain && digits.min(letters) >= 4
}
