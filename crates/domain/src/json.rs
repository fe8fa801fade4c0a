//! JSON as the client wrote it: members in the client's order, numbers as literals.

mod canonical;
mod fault;
mod fields;
mod foreign;
mod parse;
mod text;

#[cfg(test)]
pub(crate) mod strategies;

use std::collections::HashMap;
use std::fmt;

use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::messages::{Message, Spanish};

pub use fault::{Fault, Misread, RowFault, UrlFault};
pub use fields::Fields;
pub(crate) use fields::check_string;
pub use foreign::read_foreign;

/// The deepest nesting that is parsed: an object in an object is 2 deep.
pub const MAX_DEPTH: usize = 64;

/// Characters of a member's name that a path shows.
const SHOWN_NAME_CHARS: usize = 64;

/// A JSON value. Two values are equal if they were written the same, except for white space and escapes;
/// [`Json::canonical`] compares by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The number's literal.
    Number(Box<str>),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object; the parser rejects duplicate members.
    Object(Vec<(String, Json)>),
}

/// Why bytes could not be parsed as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Invalid syntax, invalid UTF-8, or text after the value.
    #[error("not JSON")]
    NotJson,
    /// JSON with a fault that no field may have: a duplicate member, U+0000, half a surrogate pair, or more than
    /// [`MAX_DEPTH`] levels.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// An error in one field; its text is the message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path: `metadata.lead_name`, `config.llm.fallback[0].model`; empty for the whole body.
    pub path: String,
    /// What is wrong, such as `longer than 2000 characters`.
    pub fault: Fault,
}

pub(crate) type Result<T, E = FieldError> = std::result::Result<T, E>;

impl FieldError {
    /// Creates an error of the field at `path`.
    pub fn new(path: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self {
            path: path.into(),
            fault: fault.into(),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "the body: {}", self.fault)
        } else {
            write!(f, "`{}`: {}", self.path, self.fault)
        }
    }
}

impl Message for FieldError {
    fn fmt_spanish(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = Spanish(&self.fault);
        if self.path.is_empty() {
            write!(f, "El formulario: {fault}")
        } else {
            write!(f, "`{}`: {fault}", self.path)
        }
    }
}

impl std::error::Error for FieldError {}

/// Returns the path of the member `name` of the object at `path`. A name is cut to 64 characters.
#[must_use]
pub fn member_path(path: &str, name: &str) -> String {
    let mut shown = String::from(path);
    if !path.is_empty() {
        shown.push('.');
    }
    match name.char_indices().nth(SHOWN_NAME_CHARS) {
        Some((end, _)) => {
            shown.push_str(&name[..end]);
            shown.push('…');
        }
        None => shown.push_str(name),
    }
    shown
}

/// Returns the path of an item of the array at `path`, from index 0.
#[must_use]
pub fn item_path(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

impl Json {
    /// Parses one JSON value, in time linear in its size. A syntax error anywhere takes precedence; of the other
    /// faults, the first in the text is returned.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        parse::parse(bytes)
    }

    /// Creates an object with these members.
    pub fn object<N: Into<String>>(members: impl IntoIterator<Item = (N, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(n, v)| (n.into(), v)).collect())
    }

    /// Returns the object's member; `None` also if this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v)
    }

    /// Returns the members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the items of an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a number whose value is an integer: `5`, `5.0` and `0.5e1` are 5.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(literal) => canonical::integer(literal),
            _ => None,
        }
    }

    /// Returns a number, rounded to the nearest finite `f64`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(literal) => literal.parse().ok().filter(|n: &f64| n.is_finite()),
            _ => None,
        }
    }

    /// Returns compact UTF-8 text with the client's member order and number literals.
    #[must_use]
    pub fn to_compact(&self) -> String {
        text::compact(self)
    }

    /// Returns the same text for all equal values: members sorted by name, numbers by their exact decimal value (1 =
    /// 1.0 = 1e0, -0 = 0). The text is valid JSON. A number whose exponent needs more than 127 bits is left unchanged.
    #[must_use]
    pub fn canonical(&self) -> String {
        canonical::canonical(self)
    }

    /// Returns [`Json::canonical`], in which an absent, null or `{}` `member` of the outermost object is the same.
    #[must_use]
    pub fn canonical_without_empty(&self, member: &str) -> String {
        canonical::without_empty(self, member)
    }

    /// Applies the JSON merge patch `patch` (RFC 7396). Members keep their positions; new ones follow.
    #[must_use]
    pub fn merge_patch(self, patch: &Self) -> Self {
        self.merge(patch, Nulls::Remove)
    }

    /// Applies the merge patch `patch` but keeps its nulls, so that unknown names in it are detected.
    pub(crate) fn merge_patch_keeping_nulls(self, patch: &Self) -> Self {
        self.merge(patch, Nulls::Keep)
    }

    fn merge(self, patch: &Self, nulls: Nulls) -> Self {
        let Self::Object(changes) = patch else {
            return patch.clone();
        };
        let mut members: Vec<(String, Option<Self>)> = match self {
            Self::Object(members) => members.into_iter().map(|(n, v)| (n, Some(v))).collect(),
            _ => Vec::new(),
        };
        let mut places: HashMap<String, usize> = members
            .iter()
            .enumerate()
            .map(|(place, (name, _))| (name.clone(), place))
            .collect();
        for (name, change) in changes {
            let place = *places.entry(name.clone()).or_insert_with(|| {
                members.push((name.clone(), None));
                members.len() - 1
            });
            let value = &mut members[place].1;
            *value = match (change, nulls) {
                (Self::Null, Nulls::Remove) => None,
                _ => Some(value.take().unwrap_or(Self::Null).merge(change, nulls)),
            };
        }
        Self::object(members.into_iter().filter_map(|(n, v)| Some((n, v?))))
    }
}

#[derive(Clone, Copy)]
enum Nulls {
    Remove,
    Keep,
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value.to_string().into())
    }
}

/// Infinities and NaN become null.
impl From<f64> for Json {
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Number(value.to_string().into())
        } else {
            Self::Null
        }
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(items: I) -> Self {
        Self::Array(items.into_iter().collect())
    }
}

/// Keeps number literals if the serializer is `serde_json`'s.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(literal) => serde_json::from_str::<&RawValue>(literal)
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::strategies::json;
    use super::*;

    fn parsed(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_examples_of_rfc_7396_hold() {
        let cases = [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ];
        for (target, patch, result) in cases {
            let merged = parsed(target).merge_patch(&parsed(patch));
            assert_eq!(merged.to_compact(), result, "{target} with {patch}");
        }
    }

    #[test]
    fn a_merge_keeps_the_places_of_members() {
        let merged = parsed(r#"{"a":1,"b":2,"c":3}"#).merge_patch(&parsed(r#"{"d":4,"b":9}"#));
        assert_eq!(merged.to_compact(), r#"{"a":1,"b":9,"c":3,"d":4}"#);
    }

    #[test]
    fn an_error_shows_its_path_in_backquotes() {
        let error = FieldError::new("metadata.lead_name", Fault::TooLong(2_000));
        assert_eq!(
            error.to_string(),
            "`metadata.lead_name`: longer than 2000 characters"
        );
        assert_eq!(
            FieldError::new("", Fault::NotObject).to_string(),
            "the body: must be an object"
        );
        assert_eq!(
            member_path("a", &"ñ".repeat(65)),
            format!("a.{}…", "ñ".repeat(64))
        );
    }

    #[test]
    fn an_integer_is_a_value_not_a_spelling() {
        let cases = [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("0.5e1", Some(5)),
            ("-0", Some(0)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("1e999999999", None),
            ("5.5", None),
            ("\"5\"", None),
        ];
        for (text, value) in cases {
            assert_eq!(parsed(text).as_i64(), value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_value_merged_with_itself_without_nulls_is_itself(value in json()) {
            let clean = Json::Null.merge_patch(&value);
            prop_assert_eq!(clean.clone().merge_patch(&clean), clean);
        }
    }
}
