//! The words on the screen, in the languages of the pages.

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    /// Mexican Spanish.
    Spanish,
}

impl Language {
    /// The browser's `Accept-Language`.
    pub(super) const fn wished(self) -> &'static str {
        match self {
            Self::English => "en-US,en",
            Self::Spanish => "es-MX,es",
        }
    }
}

/// Words on the screen. A `&str`, such as a name or data, is the same in both languages. A text of the page is a
/// pair, English first.
pub trait Words {
    /// The words on a page in this language.
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
