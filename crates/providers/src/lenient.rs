//! What providers write, read so that an absurd value costs the field or the element that it stands in, and never the
//! answer.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A value that is there, if it can be read. It is taken unread first, so that one that no reader takes (half a surrogate
/// pair, `1e999`, deep nesting) costs nothing around it.
fn read<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Result<Option<T>, serde_json::Error>, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    let told = serde_json::from_str(raw.get());
    // The error's own words may hold what somebody said.
    Ok(told.inspect_err(|error: &serde_json::Error| {
        if error.is_syntax() {
            tracing::warn!("a value that a provider told cannot be read, and is left out");
        } else {
            tracing::debug!("a value that a provider told is of another type, and is left out");
        }
    }))
}

/// A text of somebody else's without U+0000, which is in no text that every database keeps.
pub(crate) fn without_nul(mut text: String) -> String {
    text.retain(|character| character != '\0');
    text
}

/// A text with something in it, without U+0000; anything else is none.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match value(from)? {
        Some(Value::String(text)) => said(without_nul(text)),
        _ => None,
    })
}

/// A text by which something is asked for. Without its U+0000 it would be another one's, so with one it is none; and with
/// U+FFFD it stands for one that could not be read.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(value(from)?.and_then(id_of))
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
    Ok(read(from)?.unwrap_or_default())
}

/// Whatever it is, `null` too, where it matters whether it is there.
pub(crate) fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The elements of a list that are as they should be; of what is no list, none.
pub(crate) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let elements: Option<Vec<Element<T>>> = value(from)?;
    let elements = elements.into_iter().flatten();
    Ok(elements.filter_map(|element| element.0).collect())
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
pub(crate) struct Element<T>(pub(crate) Option<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        value(from).map(Self)
    }
}

/// A value of its type and no other; where it cannot be read, none.
pub(crate) fn readable<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    match read(from)? {
        Err(error) if !error.is_syntax() => Err(D::Error::custom(error)),
        told => Ok(told.ok().flatten().unwrap_or_default()),
    }
}

/// An object; of what is none, one without members.
pub(crate) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(value(from)?.unwrap_or_default())
}

/// Whether more follows, where a list need not say it; what it says must be `true` or `false`, or nobody can tell.
pub(crate) fn more<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(from).map(Some)
}

/// `true`, or anything else.
pub(crate) fn yes<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(value(from)? == Some(true))
}

/// A text without space around it, if it has something in it.
pub(crate) fn said(text: String) -> Option<String> {
    match text.trim() {
        "" => None,
        trimmed if trimmed.len() == text.len() => Some(text),
        trimmed => Some(trimmed.to_owned()),
    }
}
