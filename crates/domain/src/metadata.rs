//! Call metadata: the variables that a client sends with a call.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::json::{Fault, FieldError, Json, JsonError, Result, check_string, member_path};

/// The longest metadata in bytes, as compact UTF-8 JSON.
const MAX_BYTES: usize = 5_120;
/// The longest key in characters.
const KEY_CHARS: usize = 64;
/// The longest string value in characters.
const VALUE_CHARS: usize = 2_000;

/// A call's metadata: an object of strings, numbers, booleans and nulls, kept in the client's own text (member order
/// and number literals).
#[derive(Clone, PartialEq, Eq)]
pub struct Metadata {
    /// An object.
    json: Json,
    /// Its compact text.
    text: Box<str>,
}

impl Metadata {
    /// Creates empty metadata, which is written as `{}`.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Json::Object(Vec::new()))
    }

    /// Parses the client's field at `path`. Returns an error if it is no object, then for the first bad member in the
    /// client's order, then for the size of the whole.
    pub fn from_json(json: &Json, path: &str) -> Result<Self> {
        let members = json
            .as_object()
            .ok_or_else(|| FieldError::new(path, Fault::NotObject))?;
        for (name, value) in members {
            let fault = |fault: Fault| FieldError::new(member_path(path, name), fault);
            if name.chars().count() > KEY_CHARS {
                return Err(fault(Fault::KeyTooLong(KEY_CHARS)));
            }
            check_scalar(value).map_err(fault)?;
        }
        let metadata = Self::of(json.clone());
        if metadata.text.len() > MAX_BYTES {
            return Err(FieldError::new(path, Fault::JsonBytes(MAX_BYTES)));
        }
        Ok(metadata)
    }

    /// Parses the text from [`Metadata::as_json_text`]; current limits do not apply to stored text. Fails if the text
    /// is no JSON object.
    pub fn from_stored(text: &str) -> Result<Self, JsonError> {
        match Json::parse(text.as_bytes())? {
            json @ Json::Object(_) => Ok(Self::of(json)),
            _ => Err(FieldError::new("metadata", Fault::NotObject).into()),
        }
    }

    fn of(json: Json) -> Self {
        let text = json.to_compact().into();
        Self { json, text }
    }

    fn members(&self) -> &[(String, Json)] {
        self.json.as_object().unwrap_or_default()
    }

    /// Returns compact JSON with the client's member order and number literals.
    #[must_use]
    pub fn as_json_text(&self) -> &str {
        &self.text
    }

    /// Returns whether there is no metadata.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Returns a variable as text; `None` if the client did not send it.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.members().iter().find(|(n, _)| n == name)?;
        Some(scalar_text(value))
    }

    /// Returns this metadata with the members of `newer`, which win.
    #[must_use]
    pub fn with(&self, newer: &Self) -> Self {
        let is_kept = |name: &str| !newer.members().iter().any(|(newer, _)| newer == name);
        let kept = self.members().iter().filter(|(name, _)| is_kept(name));
        Self::of(Json::Object(kept.chain(newer.members()).cloned().collect()))
    }

    /// Returns all variables as text: strings unchanged, numbers as literals, `true` or `false`, and null as an empty
    /// text.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let pairs = self.members().iter();
        pairs.map(|(n, v)| (n.clone(), scalar_text(v))).collect()
    }
}

/// Checks that a value is allowed for a variable.
pub(crate) fn check_scalar(value: &Json) -> Result<(), Fault> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
        Json::String(_) => check_string(value, &(0..=VALUE_CHARS)).map(drop),
        Json::Array(_) | Json::Object(_) => Err(Fault::NotScalar),
    }
}

/// A variable's value as text.
pub(crate) fn scalar_text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self::empty()
    }
}

/// Redacted, because metadata describes people.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metadata(…)")
    }
}

/// Keeps the order and, with `serde_json`, number literals.
impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::json::strategies::{object_of, scalar, text};

    fn read(text: &str) -> Result<Metadata, String> {
        let json = Json::parse(text.as_bytes()).unwrap();
        Metadata::from_json(&json, "metadata").map_err(|e| e.to_string())
    }

    #[test]
    fn order_and_literals_come_back_as_sent() {
        let metadata = read(r#"{ "z": 1.50, "año": "J\u00f3se", "a": 1E3, "n": null, "t": true }"#);
        let metadata = metadata.unwrap();
        let compact = r#"{"z":1.50,"año":"Jóse","a":1E3,"n":null,"t":true}"#;
        assert_eq!(metadata.as_json_text(), compact);
        assert_eq!(serde_json::to_string(&metadata).unwrap(), compact);
        assert_eq!(Metadata::from_stored(compact), Ok(metadata.clone()));
        let variables = metadata.variables();
        let variables: Vec<_> = variables.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(
            variables,
            [
                ("z", "1.50"),
                ("año", "Jóse"),
                ("a", "1E3"),
                ("n", ""),
                ("t", "true")
            ]
        );
        assert_eq!(format!("{metadata:?}"), "Metadata(…)");
    }

    #[test]
    fn each_limit_is_exact() {
        let value = "ñ".repeat(2_000);
        assert!(read(&format!(r#"{{"lead_name":"{value}"}}"#)).is_ok());
        assert_eq!(
            read(&format!(r#"{{"lead_name":"{value}x"}}"#)).unwrap_err(),
            "`metadata.lead_name`: longer than 2000 characters"
        );
        let key = "ñ".repeat(64);
        assert!(read(&format!(r#"{{"{key}":1}}"#)).is_ok());
        assert_eq!(
            read(&format!(r#"{{"{key}x":1}}"#)).unwrap_err(),
            format!("`metadata.{key}…`: the key is longer than 64 characters")
        );
        let full = |bytes: usize| {
            let (a, b) = ("a".repeat(2_000), "b".repeat(2_000));
            let c = "c".repeat(bytes - 4_000 - r#"{"a":"","b":"","c":""}"#.len());
            format!(r#"{{ "a":"{a}", "b":"{b}", "c":"{c}" }}"#)
        };
        assert_eq!(read(&full(5_120)).unwrap().as_json_text().len(), 5_120);
        assert_eq!(
            read(&full(5_121)).unwrap_err(),
            "`metadata`: larger than 5120 bytes of compact JSON"
        );
    }

    #[test]
    fn of_several_faults_the_first_member_s_is_reported_and_size_comes_last() {
        let nested = "must be a string, a number, true, false or null";
        assert_eq!(
            read(r#"{"ok":1,"a":{"x":1},"b":[]}"#).unwrap_err(),
            format!("`metadata.a`: {nested}")
        );
        let long = "x".repeat(6_000);
        assert_eq!(
            read(&format!(r#"{{"a":"{long}","b":[]}}"#)).unwrap_err(),
            "`metadata.a`: longer than 2000 characters"
        );
        assert_eq!(read("[]").unwrap_err(), "`metadata`: must be an object");
    }

    proptest! {
        #[test]
        fn what_was_sent_comes_back(members in vec((text(), scalar()), 0..6)) {
            let sent = object_of(members);
            if let Ok(metadata) = Metadata::from_json(&sent, "metadata") {
                prop_assert_eq!(metadata.as_json_text(), sent.to_compact());
                prop_assert_eq!(Metadata::from_stored(metadata.as_json_text()), Ok(metadata));
            }
        }
    }
}
