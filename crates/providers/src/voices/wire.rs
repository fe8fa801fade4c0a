//! Shared parsing of voice lists: fields and languages.

use std::collections::HashSet;

use offhook_domain::config::is_bcp47_shape;

use crate::lenient::non_empty;

/// The languages and locales of a voice, without duplicates, main one first.
#[derive(Default)]
pub(crate) struct Languages {
    pub(crate) languages: Vec<String>,
    pub(crate) locales: Vec<String>,
}

impl Languages {
    /// Adds a language tag: `es` is a language, `es-MX` (or `es_MX`) a language with its region. Invalid tags are
    /// ignored.
    pub(crate) fn add(&mut self, tag: Option<&str>) {
        let tag = tag.map(|tag| tag.trim().replace('_', "-"));
        let Some(tag) = tag.filter(|tag| is_bcp47_shape(tag)) else {
            return;
        };
        let language = tag.split('-').next().unwrap_or(&tag).to_ascii_lowercase();
        // `und` means an undetermined language.
        if !(2..=3).contains(&language.len()) || language == "und" {
            return;
        }
        if language.len() < tag.len() {
            add(&mut self.locales, Some(tag));
        }
        add(&mut self.languages, Some(language));
    }

    /// The main language, if its code has two letters.
    pub(crate) fn main(&self) -> Option<String> {
        let first = self.languages.first();
        first.filter(|language| language.len() == 2).cloned()
    }
}

/// Adds a text unless the list contains it.
pub(crate) fn add(list: &mut Vec<String>, text: Option<String>) {
    if let Some(text) = text
        && !list.contains(&text)
    {
        list.push(text);
    }
}

/// Removes duplicates, and keeps the order.
pub(crate) fn deduplicated(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    let texts = texts.into_iter().filter_map(non_empty);
    texts.filter(|text| known.insert(text.clone())).collect()
}
