//! JSON that is read: its names, texts and values have their colors.

use maud::{Markup, PreEscaped, html};
use serde::de::IgnoredAny;

/// This text with colors if it is JSON, else as it is.
pub(crate) fn colored(text: &str) -> Markup {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return html! { (text) };
    }
    let (mut drawn, mut rest) = (String::new(), text);
    while let Some(first) = rest.bytes().next() {
        let (token, after) = rest.split_at(length(first, rest));
        let class = match first {
            b'"' if after.trim_start().starts_with(':') => "json-name",
            b'"' => "json-text",
            first if is_scalar(first) => "json-value",
            _ => "",
        };
        let token =
            html! { @if class.is_empty() { (token) } @else { span class=(class) { (token) } } };
        drawn.push_str(&token.0);
        rest = after;
    }
    PreEscaped(drawn)
}

/// The length of the string, of the number or word, or of what stands between these.
fn length(first: u8, text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut is_escaped = false;
    let mut ends = |byte: u8| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    };
    let end = match first {
        b'"' => bytes[1..]
            .iter()
            .position(|byte| ends(*byte))
            .map(|at| at + 2),
        first if is_scalar(first) => bytes.iter().position(|byte| !is_scalar(*byte)),
        _ => bytes
            .iter()
            .position(|byte| *byte == b'"' || is_scalar(*byte)),
    };
    end.unwrap_or(text.len())
}

/// Whether it is part of a number, `true`, `false` or `null`.
const fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::colored;

    #[test]
    fn json_has_colors_and_keeps_its_text() {
        let text = r#"{"a\"<": ["é:\\", -1.5e+3, true], "b" : {}}"#;
        assert_eq!(
            colored(text).into_string(),
            "{<span class=\"json-name\">&quot;a\\&quot;&lt;&quot;</span>: [<span class=\"json-text\">&quot;é:\\\\&quot;</span>, \
             <span class=\"json-value\">-1.5e+3</span>, <span class=\"json-value\">true</span>], \
             <span class=\"json-name\">&quot;b&quot;</span> : {}}"
        );
        assert_eq!(colored("curl \"<").into_string(), "curl &quot;&lt;");
    }
}
