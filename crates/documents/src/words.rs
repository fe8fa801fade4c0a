//! The words that passages are found by, and how much each counts.

use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Characters of a word that count: what is longer is no word that anyone types twice.
const MAX_CHARS: usize = 40;

/// BM25's saturation: how soon a word said again adds nothing.
const K1: f64 = 1.2;

/// BM25's weight of a passage's length.
const B: f64 = 0.75;

/// Words of an ordinary passage. Passages are cut to one length, so BM25's average is a constant here, and a word's
/// weight in a passage never changes when other documents come and go.
const USUAL_WORDS: f64 = 150.0;

/// The impact that BM25 would call 1.
pub const IMPACT_ONE: f64 = 1_000.0;

/// The words of a text, in order: by Unicode's word boundaries, in any language, lower-cased, composed alike, and
/// without the accents of Latin, Greek and Cyrillic letters, which callers' words often lack.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let folded: String = text
        .to_lowercase()
        .nfkd()
        .filter(|character| !matches!(character, '\u{300}'..='\u{36f}'))
        .nfc()
        .collect();
    let words: Vec<String> = folded
        .unicode_words()
        .map(|word| word.chars().take(MAX_CHARS).collect())
        .collect();
    words.into_iter()
}

/// What BM25 gives a word that occurs so often in a passage of so many words, times [`IMPACT_ONE`]; before the word's
/// rarity.
pub fn impact(occurrences: u32, words: u32) -> u16 {
    let (tf, length) = (f64::from(occurrences), f64::from(words));
    let weight = tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / USUAL_WORDS));
    // At most 2200, and never below 1 for a word that is there.
    (weight * IMPACT_ONE)
        .round()
        .clamp(1.0, f64::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).collect()
    }

    #[test]
    fn words_compare_without_case_accents_and_composition() {
        assert_eq!(of("¿La HABITACIÓN doble?"), ["la", "habitacion", "doble"]);
        assert_eq!(of("habitacio\u{301}n"), of("habitación"));
        assert_eq!(of("ﬁn Straße"), ["fin", "straße"]);
        assert_eq!(of("1,500.50 — 3G; don't"), ["1,500.50", "3g", "don't"]);
        assert_eq!(of("料金"), ["料", "金"]);
        assert_eq!(of(" … "), Vec::<String>::new());
        assert_eq!(of(&"x".repeat(100))[0].len(), MAX_CHARS);
    }

    #[test]
    fn a_word_counts_more_when_it_is_said_again_and_less_in_a_long_passage() {
        assert!(impact(2, 150) > impact(1, 150));
        assert!(impact(1, 50) > impact(1, 200));
        assert_eq!(impact(1, 150), 1_000);
        assert!(impact(1_000, 1) <= 2_200);
        assert!(impact(1, u32::MAX) >= 1);
    }
}
