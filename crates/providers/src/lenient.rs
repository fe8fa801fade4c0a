//! What providers write, read so that an absurd value costs the field that it stands in, and never the answer.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text of somebody else's without U+0000, which is in no text that every database keeps.
pub(crate) fn without_nul(mut text: String) -> String {
    text.retain(|character| character != '\0');
    text
}

/// A text with something in it, without U+0000; anything else is none.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => said(without_nul(text)),
        _ => None,
    })
}

/// A text by which something is asked for. Without its U+0000 it would be another one's, so with one it is none; and with
/// U+FFFD it stands for one that could not be read.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Value::deserialize(from).map(id_of)
}

/// The same of a value.
pub(crate) fn id_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.contains(['\0', char::REPLACEMENT_CHARACTER]) => said(text),
        _ => None,
    }
}

/// A value of its type; anything else is none.
pub(crate) fn value<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

/// Whatever it is, `null` too, where it matters whether it is there.
pub(crate) fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The elements of a list that are as they should be; of what is no list, none.
pub(crate) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Array(elements) => readable(elements),
        _ => Vec::new(),
    })
}

/// The same of what must be a list: without one nobody can tell what is on it.
pub(crate) fn elements<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    places(from).map(|places| places.into_iter().flatten().collect())
}

/// The places of what must be a list, those too whose elements are not as they should be.
pub(crate) fn places<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<Option<T>>, D::Error> {
    let places: Vec<Element<T>> = Vec::deserialize(from)?;
    Ok(places.into_iter().map(|element| element.0).collect())
}

/// An element of a list, if it is as it should be.
struct Element<T>(Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        value(from).map(Self)
    }
}

/// Those of a list's elements that are as they should be.
pub(crate) fn readable<T: DeserializeOwned>(elements: Vec<Value>) -> Vec<T> {
    elements
        .into_iter()
        .filter_map(|element| serde_json::from_value(element).ok())
        .collect()
}

/// An object; of what is none, one without members.
pub(crate) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Whether more follows, where a list need not say it; what it says must be `true` or `false`, or nobody can tell.
pub(crate) fn more<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(from).map(Some)
}

/// `true`, or anything else.
pub(crate) fn yes<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(from)? == Value::Bool(true))
}

/// A text without space around it, if it has something in it.
pub(crate) fn said(text: String) -> Option<String> {
    match text.trim() {
        "" => None,
        trimmed if trimmed.len() == text.len() => Some(text),
        trimmed => Some(trimmed.to_owned()),
    }
}
