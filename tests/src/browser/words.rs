//! The words on the screen, in the languages that the pages are in.

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    /// Spanish of Mexico.
    Spanish,
}

impl Language {
    /// What the browser of its reader asks for.
    pub(super) const fn wished(self) -> &'static str {
        match self {
            Self::English => "en-US,en",
            Self::Spanish => "es-MX,es",
        }
    }
}

/// Words on the screen: a `&str` is the same in both languages, as names and data are; a text of the page is a pair,
/// English first.
pub trait Words {
    /// As they stand on a page in this language.
    fn in_language(&self, language: Language) -> &str;
}

impl Words for str {
    fn in_language(&self, _: Language) -> &str {
        self
    }
}

impl Words for String {
    fn in_language(&self, _: Language) -> &str {
        self
    }
}

impl Words for (&str, &str) {
    fn in_language(&self, language: Language) -> &str {
        match language {
            Language::English => self.0,
            Language::Spanish => self.1,
        }
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn in_language(&self, language: Language) -> &str {
        (**self).in_language(language)
    }
}
