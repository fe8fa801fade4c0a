//! `{{name}}` in prompts.

use std::cell::RefCell;
use std::fmt;

use super::AgentConfig;
use crate::Metadata;
use crate::json::Json;
use crate::metadata::scalar_text;

/// Replaces each `{{name}}` (spaces inside the braces are allowed) by the result of `lookup`. An identifier unknown to
/// `lookup` is removed; braces with any other unknown content stay. Replacements are not expanded again.
pub fn render(template: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        let inside = &rest[open + 2..];
        let end = inside.find(['{', '}']).unwrap_or(inside.len());
        let name = inside[..end].trim();
        let closed = inside[end..].starts_with("}}") && !name.is_empty();
        let value = closed
            .then(|| lookup(name).or_else(|| is_identifier(name).then(String::new)))
            .flatten();
        match value {
            Some(value) => {
                out.push_str(&rest[..open]);
                out.push_str(&value);
                rest = &inside[end + 2..];
            }
            // Advance by one brace: in `{{{name}}}` the inner two form the pair.
            None => {
                out.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The names in braces that are variables even if they are unknown, in the order in which they first appear.
#[must_use]
pub fn variables_in(template: &str) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let _ = render(template, |name| {
        let mut found = found.borrow_mut();
        if is_identifier(name) && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
        None
    });
    found.into_inner()
}

/// Whether `{{name}}` can be a variable: any metadata key that fits between braces.
pub(super) fn is_variable_name(name: &str) -> bool {
    (1..=64).contains(&name.chars().count()) && name.trim() == name && !name.contains(['{', '}'])
}

/// `^[A-Za-z_][A-Za-z0-9_]{0,63}$`: such a name is a variable even if it is unknown.
fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The names that a conversation can fill in by itself.
pub const BUILT_IN: [&str; 12] = [
    "now",
    "date",
    "time",
    "weekday",
    "time_zone",
    "channel",
    "direction",
    "customer_number",
    "agent_number",
    "customer_name",
    "agent_name",
    "call_id",
];

/// The values of one conversation's `{{names}}`: its metadata, else the built-in ones.
#[derive(Clone, Default)]
pub struct Variables {
    metadata: Metadata,
    built_in: Vec<(&'static str, String)>,
}

impl Variables {
    /// Creates the variables of a conversation with this metadata.
    #[must_use]
    pub const fn new(metadata: Metadata, built_in: Vec<(&'static str, String)>) -> Self {
        Self { metadata, built_in }
    }

    /// Returns a variable as text; `None` if the conversation has none of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        self.metadata.variable(name).or_else(|| {
            let mut known = self.built_in.iter();
            known
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.clone())
        })
    }

    /// Replaces the names that have a value; others stay.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        render(text, |name| {
            Some(self.get(name).unwrap_or_else(|| format!("{{{{{name}}}}}")))
        })
    }
}

impl From<Metadata> for Variables {
    fn from(metadata: Metadata) -> Self {
        Self::new(metadata, Vec::new())
    }
}

/// Redacted, because it describes people.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables(…)")
    }
}

/// The prompt and the greeting of one call.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The instructions for the model.
    pub system_prompt: String,
    /// The agent's greeting; if empty, the other side speaks first.
    pub first_message: String,
}

/// Redacted, because it contains the call's metadata.
impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rendered(…)")
    }
}

impl AgentConfig {
    /// Renders the prompt and the first message of one call. Each variable is replaced by the call's value, or else its
    /// `default`, or else nothing.
    #[must_use]
    pub fn rendered(&self, variables: &Variables) -> Rendered {
        Rendered {
            system_prompt: self.render_text(&self.system_prompt, variables),
            first_message: self.render_text(&self.first_message, variables),
        }
    }

    /// Renders the recording notice of one call; empty if the call is not recorded, or there is no notice.
    #[must_use]
    pub fn rendered_consent(&self, variables: &Variables) -> String {
        let recording = &self.conversation.recording;
        let text = recording.consent_text.as_ref();
        text.filter(|_| recording.enabled)
            .map(|text| self.render_text(text, variables))
            .unwrap_or_default()
    }

    /// The variables of the texts that are not built in and have no default: without metadata they are read as nothing.
    #[must_use]
    pub fn unset_variables(&self) -> Vec<String> {
        let consent = self.conversation.recording.consent_text.as_deref();
        let texts = [&self.system_prompt, &self.first_message];
        let texts = texts.map(String::as_str).into_iter().chain(consent);
        let mut found = variables_in(&texts.collect::<Vec<_>>().join("\n"));
        let is_set = |name: &str| {
            let mut known = self.dynamic_variables.iter();
            BUILT_IN.contains(&name)
                || known.any(|known| known.name == name && known.default != Json::Null)
        };
        found.retain(|name| !is_set(name));
        found
    }

    fn render_text(&self, text: &str, variables: &Variables) -> String {
        render(text, |name| {
            variables.get(name).or_else(|| {
                let variable = self.dynamic_variables.iter().find(|v| v.name == name)?;
                Some(scalar_text(&variable.default))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Recording;

    fn rendered(template: &str) -> String {
        render(template, |name| match name {
            "name" => Some("Ana".to_owned()),
            "código postal" => Some("06700".to_owned()),
            "braces" => Some("{{name}}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn names_in_braces_are_replaced_once() {
        let cases = [
            ("Hola {{name}}!", "Hola Ana!"),
            ("{{ name }}{{\tname\n}}", "AnaAna"),
            ("{{código postal}}", "06700"),
            ("[{{nobody}}]", "[]"),
            ("{{braces}}", "{{name}}"),
            ("{{{name}}}", "{Ana}"),
            ("{{ a {{name}}", "{{ a Ana"),
        ];
        for (template, text) in cases {
            assert_eq!(rendered(template), text, "{template}");
        }
    }

    #[test]
    fn malformed_braces_stay_as_they_are() {
        for template in [
            "",
            "{",
            "{{",
            "{{name",
            "{{name}",
            "{name}",
            "{{}}",
            "{{ }}",
            "{{#if x}}",
            "{{a b}}",
            "{{1a}}",
            "}}{{",
        ] {
            assert_eq!(rendered(template), template);
        }
        assert_eq!(rendered(&"{".repeat(100_000)).len(), 100_000);
    }

    #[test]
    fn metadata_wins_over_the_default_and_null_is_empty() {
        let config = AgentConfig::from_json(
            &Json::parse(
                br#"{"system_prompt": "{{a}}|{{b}}|{{c}}|{{d}}", "first_message": "{{ a }}",
                     "dynamic_variables": {"a": {"default": "A"}, "b": {"default": 7.0}, "c": {}, "d": {"default": "D"}}}"#,
            )
            .unwrap(),
            "config",
            "es",
        )
        .unwrap();
        let metadata = Metadata::from_stored(r#"{"a":"x","d":null}"#).unwrap();
        let rendered = config.rendered(&metadata.into());
        assert_eq!(rendered.system_prompt, "x|7.0||");
        assert_eq!(rendered.first_message, "x");
        assert_eq!(
            config.rendered(&Variables::default()).system_prompt,
            "A|7.0||D"
        );
        assert_eq!(format!("{rendered:?}"), "Rendered(…)");
    }

    #[test]
    fn metadata_wins_over_a_built_in_variable_and_that_over_the_default() {
        let config = AgentConfig::from_json(
            &Json::parse(
                br#"{"system_prompt": "{{date}} {{time}} {{customer_name}}",
                     "dynamic_variables": {"time": {"default": "noon"}, "customer_name": {"default": "friend"}}}"#,
            )
            .unwrap(),
            "config",
            "en",
        )
        .unwrap();
        let metadata = Metadata::from_stored(r#"{"date":"any day"}"#).unwrap();
        let built_in = vec![("date", "today".to_owned()), ("time", "09:00".to_owned())];
        let variables = Variables::new(metadata, built_in);
        let rendered = config.rendered(&variables);
        assert_eq!(rendered.system_prompt, "any day 09:00 friend");
        assert_eq!(variables.fill("{{ time }} {{nobody}}"), "09:00 {{nobody}}");
    }

    #[test]
    fn the_variables_of_the_texts_that_have_no_default_are_named() {
        let config = AgentConfig::from_json(
            &Json::parse(
                br#"{"system_prompt": "{{b}} {{a}} {{#if x}} {{b}} {{set}} {{weekday}}", "first_message": "{{{ c }}}",
                     "dynamic_variables": {"a": {}, "set": {"default": ""}},
                     "conversation": {"recording": {"consent_text": "{{d}}"}}}"#,
            )
            .unwrap(),
            "config",
            "es",
        )
        .unwrap();
        assert_eq!(config.unset_variables(), ["b", "a", "c", "d"]);
    }

    #[test]
    fn consent_is_asked_where_calls_are_recorded() {
        let consent = |enabled: bool, text: &str| {
            let mut config = AgentConfig::new("es");
            config.conversation.recording = Recording {
                enabled,
                consent_text: Some(text.to_owned()),
            };
            let metadata = Metadata::from_stored(r#"{"name":"Ana"}"#).unwrap();
            config.rendered_consent(&metadata.into())
        };
        assert_eq!(consent(true, "{{name}}, grabamos."), "Ana, grabamos.");
        assert_eq!(consent(false, "Grabamos."), "");
        let silent = AgentConfig::new("es").rendered_consent(&Variables::default());
        assert_eq!(silent, "");
    }

    proptest! {
        #[test]
        fn text_without_braces_is_untouched(text in "[^{}]*") {
            prop_assert_eq!(rendered(&text), text);
        }

        #[test]
        fn any_template_renders(text in "[{} a-z]{0,40}") {
            let _ = rendered(&text);
        }
    }
}
