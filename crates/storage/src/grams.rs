//! Names in pieces, by which a text within them is found: every one, two and three characters that stand together.

/// Characters of the longest piece. A text that is no longer is a piece itself; of a longer one, the names with its rarest
/// piece are looked at.
const LONGEST: usize = 3;

/// Three code points of 21 bits in one number, from the highest; the same as in migration 24.
fn gram(characters: &[char]) -> i64 {
    (0..LONGEST).fold(0, |gram, place| {
        let character = characters.get(place).copied().map_or(0, u32::from);
        gram << 21 | i64::from(character)
    })
}

/// The pieces of this length, in order and each once.
fn of_length(characters: &[char], length: usize) -> Vec<i64> {
    let mut grams: Vec<i64> = characters.windows(length).map(gram).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// All pieces of a folded name.
pub(crate) fn of_name(folded: &str) -> Vec<i64> {
    let characters: Vec<char> = folded.chars().collect();
    (1..=LONGEST)
        .flat_map(|length| of_length(&characters, length))
        .collect()
}

/// The pieces that a name has if it holds this folded text; one that is the text itself if there is such. None of an empty
/// text, which every name holds.
pub(crate) fn of_text(folded: &str) -> Vec<i64> {
    let characters: Vec<char> = folded.chars().collect();
    match characters.len().min(LONGEST) {
        0 => Vec::new(),
        length => of_length(&characters, length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> i64 {
        let mut codes = text.chars().map(|c| i64::from(u32::from(c)));
        let mut next = || codes.next().unwrap_or(0);
        next() * 4_398_046_511_104 + next() * 2_097_152 + next()
    }

    #[test]
    fn a_name_has_each_piece_once() {
        let mut expected = ["a", "n", "😀", "an", "na", "n😀", "ana", "nan", "an😀"].map(packed);
        expected.sort_unstable();
        let mut grams = of_name("anan😀");
        grams.sort_unstable();
        assert_eq!(grams, expected);
        assert!(of_name("").is_empty());
        assert!(packed("\u{10ffff}") > 0);
    }

    #[test]
    fn a_text_is_entered_by_its_longest_pieces() {
        assert!(of_text("").is_empty());
        assert_eq!(of_text("x"), [packed("x")]);
        assert_eq!(of_text("ab"), [packed("ab")]);
        assert_eq!(of_text("abc"), [packed("abc")]);
        assert_eq!(of_text("aaaa"), [packed("aaa")]);
        assert_eq!(of_text("abcd"), [packed("abc"), packed("bcd")]);
    }
}
