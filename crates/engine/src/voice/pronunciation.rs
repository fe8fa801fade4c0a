//! Pronunciation rules (`conversation.pronunciation`): they change the synthesizer's text, not the transcript.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PronunciationRule {
    /// The term as written.
    pub term: String,
    /// The text that the synthesizer reads instead.
    pub say: String,
    /// Whether matching is case-sensitive.
    pub match_case: bool,
}

/// The pronunciation rules of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pronunciation(Vec<PronunciationRule>);

impl Pronunciation {
    /// Longer terms take precedence over shorter ones; among equals the first one does. Blank terms are ignored.
    pub fn new(mut terms: Vec<PronunciationRule>) -> Self {
        terms.retain(|rule| !rule.term.trim().is_empty());
        terms.sort_by_key(|rule| std::cmp::Reverse(rule.term.trim().chars().count()));
        Self(terms)
    }

    /// Applies the rules to a text. Only whole words match, and replacements are not searched again.
    pub fn apply(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let mut spoken = String::with_capacity(text.len());
        let mut rest = text;
        let mut in_word = false;
        while let Some(first) = rest.chars().next() {
            let found = self
                .0
                .iter()
                .filter(|rule| !(in_word && begins_in_word(&rule.term)))
                .find_map(|rule| Some((rule, rule.matched(rest)?)));
            let taken = if let Some((rule, end)) = found {
                spoken.push_str(&rule.say);
                end
            } else {
                spoken.push(first);
                first.len_utf8()
            };
            in_word = rest[..taken].ends_with(char::is_alphanumeric);
            rest = &rest[taken..];
        }
        spoken
    }
}

fn begins_in_word(term: &str) -> bool {
    term.trim().starts_with(char::is_alphanumeric)
}

impl PronunciationRule {
    /// Where the term ends, if the text begins with it as a whole word.
    fn matched(&self, text: &str) -> Option<usize> {
        let term = self.term.trim();
        let mut chars = text.char_indices();
        for wanted in term.chars() {
            let (_, found) = chars.next()?;
            let same = found == wanted
                || (!self.match_case && found.to_lowercase().eq(wanted.to_lowercase()));
            if !same {
                return None;
            }
        }
        let rest = chars.as_str();
        let goes_on =
            term.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
        (!goes_on).then(|| text.len() - rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rules: &[(&str, &str, bool)], text: &str) -> String {
        let rules = rules
            .iter()
            .map(|(term, say, match_case)| PronunciationRule {
                term: (*term).to_owned(),
                say: (*say).to_owned(),
                match_case: *match_case,
            });
        Pronunciation::new(rules.collect()).apply(text)
    }

    #[test]
    fn whole_words_are_said_as_the_agent_wants_it() {
        let rules = [("SQL", "sequel", false), ("Dr. Ruiz", "doctor Ruiz", true)];
        assert_eq!(
            said(
                &rules,
                "Ask dr. Ruiz or Dr. Ruiz for sql, MySQL or SQLite. (SQL)"
            ),
            "Ask dr. Ruiz or doctor Ruiz for sequel, MySQL or SQLite. (sequel)"
        );
    }

    #[test]
    fn longer_terms_go_first_and_what_was_put_in_stays() {
        let rules = [("New", "old", false), ("New York", "New Amsterdam", false)];
        assert_eq!(said(&rules, "new york, New"), "New Amsterdam, old");
    }

    #[test]
    fn terms_beyond_ascii_and_blank_ones_do_no_harm() {
        let rules = [
            ("", "x", false),
            ("ñandú", "nyandoo", false),
            ("€", " euros", false),
        ];
        assert_eq!(said(&rules, "Un ÑANDÚ: 5€"), "Un nyandoo: 5 euros");
        assert_eq!(said(&[], "as it is"), "as it is");
    }
}
