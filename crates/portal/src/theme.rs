//! Light or dark pages: the system's choice unless the visitor makes one.

use actix_web::HttpRequest;

/// The cookie that holds the chosen theme.
pub(crate) const COOKIE: &str = "offhook_theme";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// Its name in forms, the cookie and `data-theme`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme named by a form or a cookie.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.as_str() == name)
    }

    /// The chosen theme.
    pub(crate) fn of(req: &HttpRequest) -> Self {
        let chosen = req
            .cookie(COOKIE)
            .and_then(|kept| Self::named(kept.value()));
        chosen.unwrap_or(Self::System)
    }

    /// The value of `<meta name="color-scheme">`.
    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::System => "light dark",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}
