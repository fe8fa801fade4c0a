//! Splits a long answer into several messages.

/// Splits a text into parts of at most `most` characters, at the end of a sentence, or else between words, if possible.
/// Counts characters as UTF-16 does: an emoji is two.
pub(crate) fn split(text: &str, most: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(end_of_part(rest, most));
        parts.push(part.trim_end().to_owned());
        rest = behind.trim_start();
    }
    parts
}

/// Where the first part ends, in bytes: after at least one character.
fn end_of_part(text: &str, most: usize) -> usize {
    let (mut units, mut sentence, mut word) = (0, None, None);
    let mut before = '\0';
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > most {
            let hard = if at == 0 { character.len_utf8() } else { at };
            return sentence.or(word).unwrap_or(hard);
        }
        if character.is_whitespace() && at > 0 {
            word = Some(at);
            if character == '\n' || ends_sentence(before) {
                sentence = Some(at);
            }
        }
        if matches!(character, '。' | '！' | '？') {
            sentence = Some(at + character.len_utf8());
        }
        before = character;
    }
    text.len()
}

const fn ends_sentence(character: char) -> bool {
    matches!(character, '.' | '!' | '?' | '…' | ':' | ';')
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_text_that_fits_is_one_part_and_an_empty_one_is_none() {
        assert_eq!(split("Hi. There.", 10), ["Hi. There."]);
        assert_eq!(split("  \n ", 10), Vec::<String>::new());
    }

    #[test]
    fn parts_end_with_sentences_then_with_words_then_anywhere() {
        assert_eq!(split("One. Two is. Three", 13), ["One. Two is.", "Three"]);
        assert_eq!(split("One two three", 8), ["One two", "three"]);
        assert_eq!(split("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(split("Sí! ¿Qué? Ño", 10), ["Sí! ¿Qué?", "Ño"]);
        assert_eq!(split("你好。再见。", 4), ["你好。", "再见。"]);
    }

    #[test]
    fn an_emoji_counts_twice_and_is_never_cut() {
        assert_eq!(split("😀😀😀", 4), ["😀😀", "😀"]);
        assert_eq!(split("😀😀", 1), ["😀", "😀"]);
    }
}
