//! Languages to choose from, each by its own name.

/// Common ones; any other BCP 47 tag can be typed.
pub(super) const LANGUAGES: [(&str, &str); 24] = [
    ("es-MX", "Español (México)"),
    ("es-ES", "Español (España)"),
    ("es-AR", "Español (Argentina)"),
    ("es-CO", "Español (Colombia)"),
    ("es-US", "Español (Estados Unidos)"),
    ("en-US", "English (United States)"),
    ("en-GB", "English (United Kingdom)"),
    ("en-AU", "English (Australia)"),
    ("en-IN", "English (India)"),
    ("pt-BR", "Português (Brasil)"),
    ("pt-PT", "Português (Portugal)"),
    ("fr-FR", "Français (France)"),
    ("fr-CA", "Français (Canada)"),
    ("de-DE", "Deutsch"),
    ("it-IT", "Italiano"),
    ("nl-NL", "Nederlands"),
    ("pl-PL", "Polski"),
    ("sv-SE", "Svenska"),
    ("tr-TR", "Türkçe"),
    ("ar-SA", "العربية"),
    ("hi-IN", "हिन्दी"),
    ("ja-JP", "日本語"),
    ("ko-KR", "한국어"),
    ("zh-CN", "中文"),
];
