//! Parses `conversation.pronunciation`: each term can occur in a text, and no term makes another one unreachable.

use super::Pronunciation;
use super::read::{NAME, list};
use crate::json::{Fault, FieldError, Fields, Result, item_path, member_path};

const MOST: usize = 200;

pub(super) fn pronunciation(fields: &mut Fields<'_>, name: &str) -> Result<Vec<Pronunciation>> {
    let rules = list(fields, name, MOST, rule)?;
    for (at, rule) in rules.iter().enumerate() {
        let path = member_path(&item_path(&fields.path_of(name), at), "term");
        if rule.term.trim().is_empty() {
            return Err(FieldError::new(path, Fault::Blank));
        }
        if rules[..at].iter().any(|earlier| shadows(earlier, rule)) {
            return Err(FieldError::new(path, Fault::Shadowed));
        }
    }
    Ok(rules)
}

fn rule(mut fields: Fields<'_>) -> Result<Pronunciation> {
    let rule = Pronunciation {
        term: fields.required_string("term", NAME)?.to_owned(),
        say: fields.required_string("say", NAME)?.to_owned(),
        match_case: fields.optional_bool("match_case")?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(rule)
}

/// Whether `earlier` applies wherever `later` would.
fn shadows(earlier: &Pronunciation, later: &Pronunciation) -> bool {
    let (first, second) = (earlier.term.trim(), later.term.trim());
    if earlier.match_case {
        return later.match_case && first == second;
    }
    first.to_lowercase() == second.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn read(text: &str) -> Result<usize, String> {
        let json = Json::parse(text.as_bytes()).unwrap();
        let mut fields = Fields::of(&json, "c").unwrap();
        let rules = pronunciation(&mut fields, "pronunciation");
        rules
            .map(|rules| rules.len())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_blank_or_duplicate_term_is_refused() {
        let blank = r#"{"pronunciation":[{"term":" ","say":"x"}]}"#;
        let refused = "`c.pronunciation[0].term`: must not be blank";
        assert_eq!(read(blank), Err(refused.to_owned()));
        let again =
            "`c.pronunciation[1].term`: appears more than once: the first one would always count";
        for (first, second) in [
            (r#""SQL""#, r#""sql ""#),
            (r#""SQL""#, r#""SQL","match_case":true"#),
            (r#""SQL","match_case":true"#, r#""SQL","match_case":true"#),
        ] {
            let text = format!(
                r#"{{"pronunciation":[{{"say":"a","term":{first}}},{{"say":"b","term":{second}}}]}}"#
            );
            assert_eq!(read(&text), Err(again.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_term_may_be_said_otherwise_in_capitals() {
        let text = r#"{"pronunciation":[{"term":"US","say":"the States","match_case":true},{"term":"us","say":"uss"}]}"#;
        assert_eq!(read(text), Ok(2));
        assert_eq!(read("{}"), Ok(0));
    }
}
