//! The portal's languages. Every text is written in all of them where it is used, so a missing one does not compile.

use actix_web::HttpRequest;
use actix_web::http::header::{AcceptLanguage, Header as _};
use offhook_domain::messages::Message;

/// The cookie that holds the chosen language.
pub(crate) const COOKIE: &str = "offhook_lang";

/// A formatted sentence in English and Spanish, with the same arguments.
macro_rules! text {
    ($lang:expr, $english:literal, $spanish:literal $(, $argument:expr)* $(,)?) => {
        match $lang {
            $crate::lang::Lang::En => format!($english $(, $argument)*),
            $crate::lang::Lang::Es => format!($spanish $(, $argument)*),
        }
    };
}
pub(crate) use text;

/// A function that says each value of an enumeration in English and Spanish, one per line.
macro_rules! wording {
    ($(#[$doc:meta])* $vis:vis $name:ident($of:ident) {
        $($($case:ident)|+ => $english:literal, $spanish:literal;)+
    }) => {
        $(#[$doc])*
        $vis const fn $name(value: $of, lang: $crate::lang::Lang) -> &'static str {
            match value {
                $($($of::$case)|+ => lang.t($english, $spanish),)+
            }
        }
    };
}
pub(crate) use wording;

/// A language of the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    /// English.
    En,
    /// Spanish of Mexico.
    Es,
}

impl Lang {
    /// The text in this language.
    pub(crate) const fn t<T: Copy>(self, en: T, es: T) -> T {
        match self {
            Self::En => en,
            Self::Es => es,
        }
    }

    /// The message in this language.
    pub(crate) fn text(self, message: &impl Message) -> String {
        match self {
            Self::En => message.to_string(),
            Self::Es => message.spanish(),
        }
    }

    /// The value of `lang` in HTML (BCP 47).
    pub(crate) const fn tag(self) -> &'static str {
        self.t("en", "es-MX")
    }

    /// The language named by a form or a cookie.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "en" => Some(Self::En),
            "es" => Some(Self::Es),
            _ => None,
        }
    }

    /// The chosen language, or the browser's preferred one.
    pub(crate) fn of(req: &HttpRequest) -> Self {
        let chosen = req
            .cookie(COOKIE)
            .and_then(|kept| Self::named(kept.value()));
        chosen.unwrap_or_else(|| {
            let wished = AcceptLanguage::parse(req).map(|wished| wished.ranked());
            let known = wished.unwrap_or_default().into_iter().find_map(|tag| {
                let tag = tag.into_item()?;
                Self::named(&tag.primary_language().to_ascii_lowercase())
            });
            known.unwrap_or(Self::En)
        })
    }
}
