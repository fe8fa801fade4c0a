/// Replaces each `{{name}}` by its `value`, or by nothing if it has none. Names may have spaces around them; braces
/// without a valid name stay. Values are not expanded again.
pub fn fill<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let (before, after) = rest.split_at(open);
        filled.push_str(before);
        let inner = after[2..].split_once("}}");
        match inner {
            Some((name, tail)) if is_name(name.trim()) => {
                filled.push_str(value(name.trim()).unwrap_or_default());
                rest = tail;
            }
            _ => {
                filled.push('{');
                rest = &after[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['{', '}', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        fill(text, |name| match name {
            "lead_name" => Some("Ana"),
            "trick" => Some("{{lead_name}}"),
            _ => None,
        })
    }

    #[test]
    fn a_known_name_is_filled_in_and_an_unknown_one_is_empty() {
        assert_eq!(filled("Hi {{lead_name}}{{other}}!"), "Hi Ana!");
        assert_eq!(filled("Hi {{ lead_name }}!"), "Hi Ana!");
    }

    #[test]
    fn values_are_not_searched_again() {
        assert_eq!(filled("{{trick}}"), "{{lead_name}}");
    }

    #[test]
    fn braces_without_a_name_stay() {
        for text in ["{{", "{{}}", "a { b } c", "{{ }}", "}}{{", "{{a\nb}}"] {
            assert_eq!(filled(text), text);
        }
        assert_eq!(filled("{{{lead_name}}}"), "{Ana}");
    }
}
