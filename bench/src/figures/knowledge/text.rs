//! Text as people write it, as far as a search can tell: few words are common, and most are rare.

/// Different words.
const WORDS: f64 = 30_000.0;

const CONSONANTS: [&str; 15] = [
    "b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "br", "st",
];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];

/// Writes documents; the same ones for the same seed.
pub(super) struct Writer {
    state: u64,
}

impl Writer {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Sentences of so many bytes.
    pub(super) fn document(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 200);
        while text.len() < bytes {
            let words = 6 + self.below(12);
            for number in 0..words {
                let word = self.word();
                if number == 0 {
                    text.push_str(&word[..1].to_uppercase());
                    text.push_str(&word[1..]);
                } else {
                    text.push(' ');
                    text.push_str(&word);
                }
            }
            text.push_str(". ");
        }
        text
    }

    /// 2 to 8 words of a text, as they follow each other.
    pub(super) fn cut(&mut self, text: &str) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let count = 2 + self.below(7);
        let first = self.below(words.len().saturating_sub(count).max(1));
        words[first..(first + count).min(words.len())].join(" ")
    }

    /// A word, each as often as its rank says (Zipf).
    fn word(&mut self) -> String {
        let share = self.below(1 << 30) as f64 / f64::from(1 << 30);
        let mut rank = WORDS.powf(share) as usize;
        let mut word = String::new();
        // At least two syllables, and no two ranks alike.
        rank += CONSONANTS.len() * VOWELS.len();
        while rank > 0 {
            let (consonant, rest) = (rank % CONSONANTS.len(), rank / CONSONANTS.len());
            word.push_str(CONSONANTS[consonant]);
            word.push_str(VOWELS[rest % VOWELS.len()]);
            rank = rest / VOWELS.len();
        }
        word
    }

    /// A number below `end` (SplitMix64).
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % end as u64) as usize
    }
}
