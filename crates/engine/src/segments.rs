//! Splits a model's output into sentences, so that the first is spoken while the rest is being written.

/// From this length on the first segment may end at a comma, because the caller is waiting for it.
const EARLY_CHARS: usize = 40;

/// A longer segment is cut at a space.
const MAX_BYTES: usize = 600;

/// Abbreviations whose full stop ends no sentence, in the languages of [`phrases`](crate::phrases).
pub(crate) const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "dra", "prof", "sr", "sra", "srta", "st", "no", "núm", "nr", "hr",
    "fr", "e.g", "i.e", "p.ej", "z.b", "vs", "etc", "approx", "ca", "usw", "ud", "uds", "av",
];

/// Collects pieces of text and returns whole sentences.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    text: String,
    given_out: bool,
    /// Returns text as it comes.
    unbroken: bool,
    /// Returns sentences with the space around them.
    spaced: bool,
}

impl Segments {
    /// Returns text as it comes; only blank text at the beginning is dropped.
    pub(crate) const fn unbroken() -> Self {
        Self {
            text: String::new(),
            given_out: false,
            unbroken: true,
            spaced: false,
        }
    }

    /// Returns whole sentences with the space before them; only blank text at the beginning and end is dropped.
    pub(crate) const fn spaced() -> Self {
        Self {
            text: String::new(),
            given_out: false,
            unbroken: false,
            spaced: true,
        }
    }

    /// Drops the text that was not returned yet.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Whether no text was returned yet.
    pub(crate) const fn is_untouched(&self) -> bool {
        !self.given_out
    }

    /// Takes the next sentence that is certainly complete.
    pub(crate) fn next(&mut self) -> Option<String> {
        if self.unbroken {
            return self.as_it_came();
        }
        loop {
            let end = self.end()?;
            let segment = self.text.drain(..end).collect::<String>();
            if let Some(segment) = self.given(&segment) {
                return Some(segment);
            }
        }
    }

    fn as_it_came(&mut self) -> Option<String> {
        let text = match self.given_out {
            true => self.text.as_str(),
            false => self.text.trim_start(),
        };
        if text.is_empty() {
            return None;
        }
        let text = text.to_owned();
        self.text.clear();
        self.given_out = true;
        Some(text)
    }

    /// Takes the remaining text, once the model is done.
    pub(crate) fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.text);
        self.given(&rest)
    }

    fn given(&mut self, segment: &str) -> Option<String> {
        let bare = segment.trim();
        let segment = match (self.spaced, self.given_out) {
            (true, true) => segment,
            (true, false) => segment.trim_start(),
            (false, _) => bare,
        };
        self.given_out |= !bare.is_empty();
        (!bare.is_empty()).then(|| segment.to_owned())
    }

    fn end(&self) -> Option<usize> {
        let mut chars = self.text.char_indices().enumerate().peekable();
        while let Some((count, (at, c))) = chars.next() {
            let end = at + c.len_utf8();
            if c == '\n' && !self.text[..at].trim().is_empty() {
                return Some(end);
            }
            if matches!(c, '。' | '！' | '？') {
                return Some(end);
            }
            // A mark at the end of the text may continue (`3.` of `3.5`, `?` of `?!`): wait for the next character.
            let before_space = chars
                .peek()
                .is_some_and(|(_, (_, next))| next.is_whitespace());
            if before_space && self.ends_here(count, at, c) {
                return Some(end);
            }
            if end > MAX_BYTES && c.is_whitespace() {
                return Some(end);
            }
        }
        None
    }

    fn ends_here(&self, count: usize, at: usize, c: char) -> bool {
        match c {
            '!' | '?' | '…' => true,
            '.' => !self.is_abbreviation(at),
            '"' | '”' | '»' | ')' => self.text[..at].ends_with(['.', '!', '?', '…']),
            ',' | ';' | ':' | '–' | '—' => {
                !self.given_out && !self.spaced && count >= EARLY_CHARS
            }
            _ => false,
        }
    }

    /// Whether the full stop at `at` belongs to the word before it: `Dr.`, an initial, or an ordinal such as `3.`.
    fn is_abbreviation(&self, at: usize) -> bool {
        let word = self.text[..at]
            .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '"' | '¿' | '¡'))
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let mut chars = word.chars();
        let is_initial =
            matches!((chars.next(), chars.next()), (Some(c), None) if c.is_alphabetic());
        // `1. Call me` is a list; `in 2026. Then` ends a sentence.
        let is_ordinal = word.len() == 1 && word.bytes().all(|b| b.is_ascii_digit());
        is_initial || is_ordinal || ABBREVIATIONS.contains(&word.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(pieces: &[&str]) -> Vec<String> {
        let mut segments = Segments::default();
        let mut all = Vec::new();
        for piece in pieces {
            segments.push(piece);
            while let Some(segment) = segments.next() {
                all.push(segment);
            }
        }
        all.extend(segments.rest());
        all
    }

    #[test]
    fn sentences_come_out_whole_however_they_arrive() {
        let text =
            "Hello there! How are you? I am calling about room 3.5 of Dr. Ruiz. ¿Le queda bien?";
        let expected = [
            "Hello there!",
            "How are you?",
            "I am calling about room 3.5 of Dr. Ruiz.",
            "¿Le queda bien?",
        ];
        assert_eq!(segments(&[text]), expected);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(segments(&letters), expected);
    }

    #[test]
    fn a_sentence_is_given_out_as_soon_as_it_is_complete() {
        let mut segments = Segments::default();
        segments.push("One moment.");
        assert_eq!(segments.next(), None);
        segments.push(" I");
        assert_eq!(segments.next().as_deref(), Some("One moment."));
        assert_eq!(segments.next(), None);
        assert_eq!(segments.rest().as_deref(), Some("I"));
        assert_eq!(segments.rest(), None);
    }

    #[test]
    fn only_the_first_segment_ends_at_a_comma_and_only_when_long() {
        let long = "Well, I have looked through the whole calendar of next week, and I found two, perhaps \
                    three, dates that would be possible for the two of us, if you like.";
        assert_eq!(
            segments(&[long]),
            [
                "Well, I have looked through the whole calendar of next week,",
                "and I found two, perhaps three, dates that would be possible for the two of us, if you like."
            ]
        );
    }

    #[test]
    fn text_without_an_end_is_cut_at_a_space() {
        let endless = "word ".repeat(1_000);
        let all = segments(&[&endless]);
        assert!(all.iter().all(|segment| segment.len() <= MAX_BYTES + 8));
        assert_eq!(all.join(" "), endless.trim());
    }

    #[test]
    fn unbroken_text_comes_as_it_is_written() {
        let mut segments = Segments::unbroken();
        segments.push(" \n");
        assert_eq!(segments.next(), None);
        segments.push(" One");
        assert_eq!(segments.next().as_deref(), Some("One"));
        segments.push(" mo");
        segments.push("ment.\n");
        assert_eq!(segments.next().as_deref(), Some(" moment.\n"));
        assert_eq!((segments.next(), segments.rest()), (None, None));
    }

    #[test]
    fn spaced_sentences_make_up_the_text() {
        let mut segments = Segments::spaced();
        segments.push("\n Yes, I can look that up for you right now, Maria.\n- One\n\n- Two.  Bye");
        let mut all = Vec::new();
        while let Some(segment) = segments.next() {
            all.push(segment);
        }
        all.extend(segments.rest());
        assert_eq!(
            all,
            [
                "Yes, I can look that up for you right now, Maria.",
                "\n- One\n",
                "\n- Two.",
                "  Bye"
            ]
        );
        segments.push(" \n");
        assert_eq!(segments.rest(), None);
    }

    #[test]
    fn blank_text_holds_no_sentence() {
        assert_eq!(segments(&["  \n\n ", "\n"]), Vec::<String>::new());
    }
}
