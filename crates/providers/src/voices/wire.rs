//! What providers write, read so that an absurd value costs the field that it stands in, and never the list.

use std::collections::HashSet;

use offhook_domain::config::is_bcp47_shape;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text with something in it; anything else is none.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => said(text),
        _ => None,
    })
}

/// The elements of a list that are as they should be; of what is no list, none.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Array(elements) => elements
            .into_iter()
            .filter_map(|element| serde_json::from_value(element).ok())
            .collect(),
        _ => Vec::new(),
    })
}

/// An object; of what is none, one without members.
pub(super) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// `true`, or anything else.
pub(super) fn yes<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(from)? == Value::Bool(true))
}

/// A text without space around it, if it has something in it.
pub(super) fn said(text: String) -> Option<String> {
    match text.trim() {
        "" => None,
        trimmed if trimmed.len() == text.len() => Some(text),
        trimmed => Some(trimmed.to_owned()),
    }
}

/// The languages and locales of a voice, each once, the main one first.
#[derive(Default)]
pub(super) struct Spoken {
    pub(super) languages: Vec<String>,
    pub(super) locales: Vec<String>,
}

impl Spoken {
    /// Adds what a tag says: `es` a language, `es-MX` (or `es_MX`) a language with its region. What is no tag adds nothing.
    pub(super) fn add(&mut self, tag: Option<&str>) {
        let tag = tag.map(|tag| tag.trim().replace('_', "-"));
        let Some(tag) = tag.filter(|tag| is_bcp47_shape(tag)) else {
            return;
        };
        let language = tag.split('-').next().unwrap_or(&tag).to_ascii_lowercase();
        // `und` says that nobody knows.
        if !(2..=3).contains(&language.len()) || language == "und" {
            return;
        }
        if language.len() < tag.len() {
            add(&mut self.locales, Some(tag));
        }
        add(&mut self.languages, Some(language));
    }

    /// The main language, where it has a code of two letters (interface, Voice).
    pub(super) fn main(&self) -> Option<String> {
        let first = self.languages.first();
        first.filter(|language| language.len() == 2).cloned()
    }
}

/// Adds a text that is not there yet.
pub(super) fn add(list: &mut Vec<String>, text: Option<String>) {
    if let Some(text) = text
        && !list.contains(&text)
    {
        list.push(text);
    }
}

/// Texts, each once, in their order.
pub(super) fn once(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    let texts = texts.into_iter().filter_map(said);
    texts.filter(|text| known.insert(text.clone())).collect()
}
