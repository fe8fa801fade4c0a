//! What providers write, read so that an absurd value costs the field or the element that it stands in, and never the
//! answer. A structure of such fields is `#[serde(default)]`, as a field may also be left out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A value of its type; what is of another one, or cannot be read, is its default. It is taken unread first, so that one
/// that no reader takes (half a surrogate pair, `1e999`, deep nesting) costs nothing around it.
#[derive(Debug, Default)]
pub(crate) struct Lenient<T>(pub(crate) T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let told: Result<Option<T>, _> = serde_json::from_str(raw.get());
        // The error's own words may hold what somebody said.
        let told = told.inspect_err(|error| {
            if error.is_syntax() {
                tracing::warn!("a value that a provider told cannot be read, and is left out");
            } else {
                tracing::debug!("a value that a provider told is of another type, and is left out");
            }
        });
        Ok(Self(told.unwrap_or_default().unwrap_or_default()))
    }
}

/// A text with something in it, without U+0000; anything else is none.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(text) = Lenient::<Option<String>>::deserialize(from)?;
        Ok(Self(text.and_then(|text| said(without_nul(text)))))
    }
}

/// A text by which something is asked for. Without its U+0000 it would be another one's, so with one it is none; and with
/// U+FFFD it stands for one that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Id(pub(crate) Option<String>);

impl Id {
    pub(crate) fn of_value(value: Value) -> Option<String> {
        match value {
            Value::String(text) if !text.contains(['\0', char::REPLACEMENT_CHARACTER]) => {
                said(text)
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(value) = Lenient::<Value>::deserialize(from)?;
        Ok(Self(Self::of_value(value)))
    }
}

/// The elements of a list that are as they should be; of what is no list, none.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(places) = Lenient::<Places<T>>::deserialize(from)?;
        Ok(Self(readable(places).collect()))
    }
}

/// The places of what must be a list, as without one nobody can tell what is on it; those too whose elements are not as
/// they should be.
pub(crate) type Places<T> = Vec<Lenient<Option<T>>>;

/// The elements that are as they should be.
pub(crate) fn readable<T>(places: Places<T>) -> impl Iterator<Item = T> {
    places.into_iter().filter_map(|place| place.0)
}

/// Whatever it is, `null` too, where it matters whether it is there.
pub(crate) fn there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// Whether more follows, where a list need not say it; what it says must be `true` or `false`, or nobody can tell.
pub(crate) fn more<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(from).map(Some)
}

/// A text of somebody else's without U+0000, which is in no text that every database keeps.
pub(crate) fn without_nul(mut text: String) -> String {
    text.retain(|character| character != '\0');
    text
}

/// A text without space around it, if it has something in it.
pub(crate) fn said(text: String) -> Option<String> {
    match text.trim() {
        "" => None,
        trimmed if trimmed.len() == text.len() => Some(text),
        trimmed => Some(trimmed.to_owned()),
    }
}
