//! Reading a list page by page: which voices have come, and whether the list goes anywhere.

use std::collections::HashSet;

use offhook_domain::{Voice, VoiceList};
use offhook_engine::ports::VoiceLibraryError;

/// Pages of one list at most: a list that never ends is none.
const MAX_PAGES: usize = 1_000;

/// The list has more pages than any list has.
const ENDLESS: VoiceLibraryError = VoiceLibraryError::Malformed("the list does not end");

/// A page says that more follow, and has nothing that is not known.
const ROUND: VoiceLibraryError = VoiceLibraryError::Malformed("the list goes round in a circle");

/// A page of which nothing can be read, or a full one, does not say whether it is the last.
pub(super) const UNCLEAR: VoiceLibraryError =
    VoiceLibraryError::Malformed("a page does not say whether more follow");

/// A page says that more follow, and not how to ask for them: what has come is half a list.
const CUT: VoiceLibraryError =
    VoiceLibraryError::Malformed("the list goes on and does not say where");

/// A voice of a page by its id; one that is not to be kept is known by that alone.
pub(super) type Listed = (String, Option<Voice>);

/// The voices of a list so far, each once.
#[derive(Default)]
pub(super) struct Reading {
    voices: VoiceList,
    ids: HashSet<String>,
    pages: usize,
}

impl Reading {
    /// Of a list whose voices come behind these.
    pub(super) fn behind(voices: VoiceList) -> Self {
        Self {
            voices,
            ..Self::default()
        }
    }

    /// Takes a page; whether there is another one behind it, as the page says, or if it does not, as long as pages have
    /// something new. A list moves on while it is read, so a page may repeat what another had; one that has nothing else and
    /// goes on is the same page again. `None` stands for a voice without an id that can be read.
    ///
    /// # Errors
    /// The list does not end, goes round, or nobody can tell whether it ends here.
    pub(super) fn page(
        &mut self,
        listed: impl IntoIterator<Item = Option<Listed>>,
        goes_on: Option<bool>,
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
        match goes_on {
            Some(true) if !is_empty && !has_news => Err(ROUND),
            None if is_empty && !is_readable => Err(UNCLEAR),
            goes_on => match goes_on.unwrap_or(has_news) {
                true if self.pages >= MAX_PAGES => Err(ENDLESS),
                goes_on => Ok(goes_on),
            },
        }
    }

    /// The voices of the whole list.
    pub(super) fn whole(self) -> VoiceList {
        self.voices
    }
}

/// Where the next page begins, if there is one; `this` is where the one began that was read.
///
/// # Errors
/// More voices follow, and the page does not say where, or that they begin where it began itself.
pub(super) fn following(
    goes_on: bool,
    next: Option<String>,
    this: Option<&str>,
) -> Result<Option<String>, VoiceLibraryError> {
    match next {
        _ if !goes_on => Ok(None),
        None => Err(CUT),
        Some(next) if Some(next.as_str()) == this => Err(ROUND),
        next => Ok(next),
    }
}
