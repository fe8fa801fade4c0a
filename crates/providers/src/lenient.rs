//! Lenient parsing of providers' answers: an invalid value costs its field or list element, never the whole answer. A
//! structure of such fields is `#[serde(default)]`, because a field may also be missing.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A value that falls back to its default if it has another type or cannot be parsed. It is read raw first, so that an
/// unparsable value (half a surrogate pair, `1e999`, deep nesting) does not affect its surroundings.
#[derive(Debug, Default)]
pub(crate) struct Lenient<T>(pub(crate) T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let parsed: Result<Option<T>, _> = serde_json::from_str(raw.get());
        // The error message may contain what a person said.
        let parsed = parsed.inspect_err(|error| {
            if error.is_syntax() {
                tracing::warn!("a value that a provider told cannot be read, and is left out");
            } else {
                tracing::debug!("a value that a provider told is of another type, and is left out");
            }
        });
        Ok(Self(parsed.unwrap_or_default().unwrap_or_default()))
    }
}

/// A non-empty text without U+0000; anything else is `None`.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(text) = Lenient::<Option<String>>::deserialize(from)?;
        Ok(Self(text.and_then(|text| non_empty(without_nul(text)))))
    }
}

/// An id that later requests use. With U+0000 removed it would be another resource's id, so it is `None`.
#[derive(Debug, Default)]
pub(crate) struct Id(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(id) = Lenient::<Option<String>>::deserialize(from)?;
        Ok(Self(id.filter(|id| !id.contains('\0')).and_then(non_empty)))
    }
}

/// The valid elements of a list; empty for anything but a list.
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

/// The elements of a value that must be a list, including invalid ones. Anything but a list is an error, because its
/// content would be unknown.
pub(crate) type Places<T> = Vec<Lenient<Option<T>>>;

/// The valid elements.
pub(crate) fn readable<T>(places: Places<T>) -> impl Iterator<Item = T> {
    places.into_iter().filter_map(|place| place.0)
}

/// Removes U+0000 from a foreign text, because not every database can store it.
pub(crate) fn without_nul(mut text: String) -> String {
    text.retain(|character| character != '\0');
    text
}

/// Trims a text; `None` if it is empty.
pub(crate) fn non_empty(text: String) -> Option<String> {
    match text.trim() {
        "" => None,
        trimmed if trimmed.len() == text.len() => Some(text),
        trimmed => Some(trimmed.to_owned()),
    }
}
