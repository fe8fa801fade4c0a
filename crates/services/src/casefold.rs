//! How names are compared.

use unicode_normalization::UnicodeNormalization;

/// Unicode-lower-cased NFC text.
pub(crate) fn fold(text: &str) -> String {
    text.nfc()
        .collect::<String>()
        .to_lowercase()
        .nfc()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn names_compare_without_case_and_without_regard_to_composition() {
        assert_eq!(fold("ÁRBOL"), fold("a\u{301}rbol"));
        assert_eq!(fold("100%_\\"), "100%_\\");
    }
}
