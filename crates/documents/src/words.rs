//! The words of the search index, and their weights.

use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Characters of a word that count. A longer string is no real search term, and is cut off.
const MAX_CHARS: usize = 40;

/// BM25's saturation: how fast repetitions of a word stop adding weight.
const K1: f64 = 1.2;

/// BM25's weight of a passage's length.
const B: f64 = 0.75;

/// The words of an average passage. Passages have a fixed target length, so BM25's average is a constant here, and a
/// word's weight in a passage does not change when other documents are added or removed.
const USUAL_WORDS: f64 = 150.0;

/// The impact for a BM25 weight of 1.
pub const IMPACT_ONE: f64 = 1_000.0;

/// The words of a text, in order: split at Unicode word boundaries, in any language, lower-cased and normalized. The
/// accents of Latin, Greek and Cyrillic letters are removed, because callers' words often lack them.
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

/// The BM25 weight of a word with this many occurrences in a passage of this many words, times [`IMPACT_ONE`], without
/// the word's inverse document frequency.
pub fn impact(occurrences: u32, words: u32) -> u16 {
    let (tf, length) = (f64::from(occurrences), f64::from(words));
    let weight = tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / USUAL_WORDS));
    // At most 2200, and at least 1 for a word that occurs.
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
