//! Reads a list page by page: collects the voices and checks that the list makes progress.

use std::collections::HashSet;

use offhook_domain::{Voice, VoiceList};
use offhook_engine::ports::VoiceLibraryError;

/// Pages per list at most; a list with more counts as endless.
const MAX_PAGES: usize = 1_000;

/// The list exceeds the page limit.
const ENDLESS: VoiceLibraryError = VoiceLibraryError::Malformed("the list does not end");

/// A page says that more follow, but has nothing new.
const ROUND: VoiceLibraryError = VoiceLibraryError::Malformed("the list goes round in a circle");

/// A full or unreadable page does not say whether it is the last.
pub(crate) const UNCLEAR: VoiceLibraryError =
    VoiceLibraryError::Malformed("a page does not say whether more follow");

/// A page says that more follow, but not how to request them: the list is incomplete.
const CUT: VoiceLibraryError =
    VoiceLibraryError::Malformed("the list goes on and does not say where");

/// A voice of a page with its id; `None` for a voice that is left out.
pub(crate) type Listed = (String, Option<Voice>);

/// The voices of a list so far, without duplicates.
#[derive(Default)]
pub(crate) struct Reading {
    voices: VoiceList,
    ids: HashSet<String>,
    pages: usize,
}

impl Reading {
    /// Starts with the voices of a preceding list.
    pub(crate) fn after(voices: VoiceList) -> Self {
        Self {
            voices,
            ..Self::default()
        }
    }

    /// Adds a page and returns whether another one follows: as the page says, or else as long as pages have new voices.
    /// The list may change while it is read, so a page may repeat voices; a page of repeats only that says more follow
    /// is an error. `None` stands for a voice with an unreadable id. Fails if the list is endless, repeats itself, or
    /// its end is unclear.
    pub(crate) fn page(
        &mut self,
        listed: impl IntoIterator<Item = Option<Listed>>,
        has_more: Option<bool>,
    ) -> Result<bool, VoiceLibraryError> {
        let (mut is_empty, mut has_news, mut is_readable) = (true, false, true);
        for listed in listed {
            let Some((id, voice)) = listed else {
                is_readable = false;
                continue;
            };
            is_empty = false;
            if self.ids.insert(id) {
                has_news = true;
                voice.into_iter().for_each(|voice| self.voices.push(voice));
            }
        }
        self.pages += 1;
        match has_more {
            Some(true) if !is_empty && !has_news => Err(ROUND),
            None if is_empty && !is_readable => Err(UNCLEAR),
            has_more => match has_more.unwrap_or(has_news) {
                true if self.pages >= MAX_PAGES => Err(ENDLESS),
                has_more => Ok(has_more),
            },
        }
    }

    pub(crate) fn whole(self) -> VoiceList {
        self.voices
    }
}

/// The start of the next page, if there is one; `this` is the start of the current page. Fails if more voices follow
/// but the next start is missing, or is the same as `this`.
pub(crate) fn following(
    has_more: bool,
    next: Option<String>,
    this: Option<&str>,
) -> Result<Option<String>, VoiceLibraryError> {
    match next {
        _ if !has_more => Ok(None),
        None => Err(CUT),
        Some(next) if Some(next.as_str()) == this => Err(ROUND),
        next => Ok(next),
    }
}
