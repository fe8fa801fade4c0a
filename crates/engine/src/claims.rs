//! Sentences that claim a completed action: "I have booked it", "your appointment is confirmed". A list of patterns decides
//! for each language, so that the same sentence always has the same answer, within microseconds.
//!
//! What changes nothing is no claim: "I have checked", "I have understood", and "I have noted", because the transcript is
//! the note; only a note in a record ("noted in your file") is one. Neither are questions, conditions, plans, negations and
//! what others did.

mod forms;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::segments::ABBREVIATIONS;

/// Kinds of action, as bits. A claim of a kind that was vouched for may be repeated.
pub(crate) const ARRANGE: u8 = 1;
pub(crate) const CANCEL: u8 = 2;
pub(crate) const SEND: u8 = 4;
pub(crate) const PAY: u8 = 8;
pub(crate) const TELL: u8 = 16;
/// "Done."
pub(crate) const ANY: u8 = 32;

/// Characters of a text that are looked at. Sentences are shorter.
const MAX_CHARS: usize = 16 * 1024;

/// Words that a gap of a pattern spans at most.
const MAX_GAP: usize = 6;

/// The kinds' names in the lists.
const KINDS: [(&str, u8); 6] = [
    ("arrange", ARRANGE),
    ("cancel", CANCEL),
    ("send", SEND),
    ("pay", PAY),
    ("tell", TELL),
    ("any", ANY),
];

/// A language's words and patterns.
struct Grammar {
    tag: &'static str,
    /// `CLASS kind: words`, the kind being that of the action for which the words stand; `verbs kind: words`, from which
    /// `forms` makes words and their classes; and patterns after `> `.
    ///
    /// A pattern has one after the other: a class or a word, or several with `|`; `~`, any words of class `FILL`; `*`, up to
    /// six words of neither `NOT` nor `IF`; `!`, no such word follows; `^` and `$`, the clause's begin and end. No word of
    /// `IF` may stand before it in its clause; with `-` in front, none of `NOT`; with `=`, neither may the clause before it
    /// begin with `IF`.
    lists: &'static str,
    forms: fn(&str) -> Vec<(&'static str, String)>,
    /// Whether a word in no list looks like a participle: class `OPEN`. Harmless ones are listed, as class `MILD`.
    is_participle: fn(&str) -> bool,
}

const GRAMMARS: [Grammar; 5] = [
    Grammar {
        tag: "en",
        lists: include_str!("claims/en.txt"),
        forms: |_| Vec::new(),
        is_participle: |word| word.len() > 4 && word.ends_with("ed"),
    },
    Grammar {
        tag: "es",
        lists: include_str!("claims/es.txt"),
        forms: forms::spanish,
        is_participle: |word| word.len() > 4 && (word.ends_with("ado") || word.ends_with("ido")),
    },
    Grammar {
        tag: "de",
        lists: include_str!("claims/de.txt"),
        forms: |_| Vec::new(),
        is_participle: |word| {
            word.starts_with("ge") && word.ends_with('t') || word.ends_with("iert")
        },
    },
    Grammar {
        tag: "fr",
        lists: include_str!("claims/fr.txt"),
        forms: forms::french,
        is_participle: |word| word.len() > 4 && word.ends_with('é'),
    },
    Grammar {
        tag: "pt",
        lists: include_str!("claims/pt.txt"),
        forms: forms::portuguese,
        is_participle: |_| false,
    },
];

enum Step {
    Word(u128),
    Unless(u128),
    Fill,
    Gap,
    Begin,
    End,
}

struct Pattern {
    steps: Vec<Step>,
    /// No negation may stand before it.
    is_strict: bool,
    /// No condition may stand in the clause before.
    is_stative: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Word {
    classes: u128,
    actions: u8,
}

/// A grammar, ready to use.
struct Language {
    tag: &'static str,
    words: HashMap<String, Word>,
    is_participle: fn(&str) -> bool,
    open: u128,
    patterns: Vec<Pattern>,
    fill: u128,
    not: u128,
    condition: u128,
    /// Words that end what a negation governs, unless it is one of `denial`: "I am happy to tell you that …".
    reset: u128,
    denial: u128,
    tags: u128,
}

static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| GRAMMARS.iter().map(Language::new).collect());

/// Which kinds of completed action a text claims; 0: none. Customers change languages, so the one with the most known words
/// decides, and the agent's if others have no more. An agent of an unknown language claims nothing: the patterns of another
/// would find what they do not mean.
pub(crate) fn claimed(text: &str, language: &str) -> u8 {
    let primary = language.split(['-', '_']).next().unwrap_or_default();
    let is_own = |language: &Language| language.tag.eq_ignore_ascii_case(primary);
    if !LANGUAGES.iter().any(is_own) {
        return 0;
    }
    let clauses = clauses(text);
    let spoken = LANGUAGES.iter().max_by_key(|language| {
        let words = clauses.iter().flat_map(|clause| &clause.words);
        let known = words.filter(|word| language.words.contains_key(*word));
        (known.count(), is_own(language))
    });
    spoken.map_or(0, |language| language.claimed(&clauses))
}

/// The words between two marks.
#[derive(Default)]
struct Clause {
    words: Vec<String>,
    asks: bool,
    /// The sentence ends with the clause.
    is_last: bool,
}

fn clauses(text: &str) -> Vec<Clause> {
    let (mut clauses, mut clause, mut word) = (Vec::new(), Clause::default(), String::new());
    let mut opened = None;
    let chars = text.chars().take(MAX_CHARS);
    let mut chars = chars.flat_map(char::to_lowercase).peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        // `5.30` and `3,5` are one word.
        if word.ends_with(|last: char| last.is_ascii_digit())
            && chars.peek().is_some_and(char::is_ascii_digit)
        {
            continue;
        }
        let goes_on = c == '.' && (word.len() == 1 || ABBREVIATIONS.contains(&&*word));
        if !word.is_empty() {
            clause.words.push(std::mem::take(&mut word));
        }
        if goes_on || matches!(c, ' ' | '\'' | '\u{2019}' | '-') {
            continue;
        }
        let is_last = matches!(c, '.' | '!' | '?' | '\n' | '…');
        if c == '?' {
            clause.asks = true;
            let from = std::mem::take(&mut opened).unwrap_or(clauses.len());
            let asked: &mut [Clause] = &mut clauses;
            for earlier in asked.iter_mut().skip(from) {
                earlier.asks = true;
            }
        }
        clause.is_last = is_last;
        if !clause.words.is_empty() {
            clauses.push(std::mem::take(&mut clause));
        }
        if c == '¿' {
            opened = Some(clauses.len());
        }
    }
    clause.words.extend((!word.is_empty()).then_some(word));
    clause.is_last = true;
    clauses.push(clause);
    clauses
}

impl Language {
    fn new(grammar: &Grammar) -> Self {
        let mut classes: HashMap<&str, u128> = HashMap::new();
        let mut words: HashMap<String, Word> = HashMap::new();
        let mut next = 1;
        let mut bit = |class| {
            *classes.entry(class).or_insert_with(|| {
                next <<= 1;
                next >> 1
            })
        };
        let mut add = |word: String, classes, actions| {
            let word = words.entry(word).or_default();
            word.classes |= classes;
            word.actions |= actions;
        };
        for (head, listed) in grammar
            .lists
            .lines()
            .filter_map(|line| line.split_once(": "))
        {
            let (class, kind) = head.split_once(' ').unwrap_or((head, ""));
            let kind = KINDS.iter().find(|(name, _)| *name == kind);
            let actions = kind.map_or(0, |(_, action)| *action);
            for word in listed.split_whitespace() {
                if class != "verbs" {
                    add(word.to_owned(), bit(class), actions);
                    continue;
                }
                for (class, word) in (grammar.forms)(word) {
                    add(word, bit(class), actions);
                }
            }
        }
        let mut of = |names: &'static str| {
            names.split('|').fold(0, |all, name| {
                let class = bit(name);
                if name.chars().all(char::is_lowercase) {
                    add(name.to_owned(), class, 0);
                }
                all | class
            })
        };
        let lines = grammar.lists.lines();
        let patterns = lines
            .filter_map(|line| line.strip_prefix("> "))
            .map(|text| {
                let steps = text.trim_start_matches(['-', '=']).split_whitespace();
                let steps = steps.map(|step| match step {
                    "~" => Step::Fill,
                    "*" => Step::Gap,
                    "^" => Step::Begin,
                    "$" => Step::End,
                    _ => match step.strip_prefix('!') {
                        Some(names) => Step::Unless(of(names)),
                        None => Step::Word(of(step)),
                    },
                });
                Pattern {
                    steps: steps.collect(),
                    is_strict: text.starts_with(['-', '=']),
                    is_stative: text.starts_with('='),
                }
            });
        let patterns = patterns.collect();
        Self {
            tag: grammar.tag,
            patterns,
            is_participle: grammar.is_participle,
            open: of("OPEN"),
            fill: of("FILL"),
            not: of("NOT"),
            condition: of("IF"),
            reset: of("RESET"),
            denial: of("NEVER"),
            tags: of("TAG"),
            words,
        }
    }

    fn claimed(&self, clauses: &[Clause]) -> u8 {
        let (mut actions, mut is_conditional) = (0, false);
        for (at, clause) in clauses.iter().enumerate() {
            let words: Vec<Word> = self.known(clause).collect();
            // "So it's booked for two, right?" asks.
            let is_asked = clauses.get(at + 1).is_some_and(|next| {
                let is_tag = |word: Word| word.classes & self.tags != 0;
                !clause.is_last
                    && next.asks
                    && next.words.len() <= 3
                    && self.known(next).any(is_tag)
            });
            if !clause.asks && !is_asked {
                actions |= self.claimed_in(&words, is_conditional);
            }
            let mut first = words.iter().take(3);
            let begins = first.any(|word| word.classes & self.condition != 0);
            is_conditional = begins && !clause.is_last;
        }
        actions
    }

    fn known<'a>(&'a self, clause: &'a Clause) -> impl Iterator<Item = Word> + 'a {
        clause.words.iter().map(|word| match self.words.get(word) {
            Some(word) => *word,
            None if (self.is_participle)(word) => Word {
                classes: self.open,
                actions: ARRANGE,
            },
            None => Word::default(),
        })
    }

    fn claimed_in(&self, words: &[Word], is_conditional: bool) -> u8 {
        let mut before = 0;
        for (at, word) in words.iter().enumerate() {
            if before & self.condition != 0 {
                return 0;
            }
            for pattern in &self.patterns {
                let is_denied = pattern.is_strict && before & self.not != 0;
                if is_denied || pattern.is_stative && is_conditional {
                    continue;
                }
                if let Some(actions) = self.matches(&pattern.steps, words, at) {
                    return if actions == 0 { ANY } else { actions };
                }
            }
            before |= word.classes;
            if word.classes & self.reset != 0 && before & self.denial == 0 {
                before = 0;
            }
        }
        0
    }

    /// The actions of the words that a pattern names, if it fits at this word.
    fn matches(&self, steps: &[Step], words: &[Word], at: usize) -> Option<u8> {
        let Some((step, rest)) = steps.split_first() else {
            return Some(0);
        };
        let word = words.get(at).copied();
        let has = |classes| word.is_some_and(|word| word.classes & classes != 0);
        match step {
            Step::Begin if at == 0 => self.matches(rest, words, at),
            Step::End if word.is_none() => self.matches(rest, words, at),
            Step::Begin | Step::End => None,
            Step::Unless(classes) => match has(*classes) {
                true => None,
                false => self.matches(rest, words, at),
            },
            Step::Word(classes) => match word.filter(|_| has(*classes)) {
                Some(word) => {
                    let actions = self.matches(rest, words, at + 1)?;
                    Some(actions | word.actions)
                }
                None => None,
            },
            Step::Fill | Step::Gap => {
                let is_gap = matches!(step, Step::Gap);
                let spans = |word: &Word| match is_gap {
                    true => word.classes & (self.not | self.condition) == 0,
                    false => word.classes & self.fill != 0,
                };
                let ahead = words.get(at..).unwrap_or_default();
                let most = ahead.iter().take(MAX_GAP).take_while(|word| spans(word));
                (0..=most.count()).find_map(|gap| self.matches(rest, words, at + gap))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::phrases::phrases;

    /// Sentences by language: `+` claims a completed action, `-` does not.
    const CORPUS: [(&str, &str); 5] = [
        ("en", include_str!("../tests/corpus/claims.en.txt")),
        ("es", include_str!("../tests/corpus/claims.es.txt")),
        ("de", include_str!("../tests/corpus/claims.de.txt")),
        ("fr", include_str!("../tests/corpus/claims.fr.txt")),
        ("pt", include_str!("../tests/corpus/claims.pt.txt")),
    ];

    /// Whether a sentence is in the half that the patterns were not tuned with. Its FNV-1a hash decides, so that more
    /// sentences move none.
    fn is_held_out(sentence: &str) -> bool {
        let hash = sentence
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        (hash >> 32) & 1 == 1
    }

    #[test]
    fn claims_are_found_in_sentences_that_were_not_tuned_with() {
        for (language, corpus) in CORPUS {
            let (mut claims, mut misses, mut others, mut alarms) = (0, 0, 0, 0);
            let (mut faults, begun) = (String::new(), Instant::now());
            for line in corpus.lines() {
                let (is_claim, sentence) = match line.split_at(2) {
                    ("+ ", sentence) => (true, sentence),
                    (_, sentence) => (false, sentence),
                };
                let is_found = claimed(sentence, language) != 0;
                if !is_held_out(sentence) {
                    continue;
                }
                claims += u32::from(is_claim);
                others += u32::from(!is_claim);
                misses += u32::from(is_claim && !is_found);
                alarms += u32::from(!is_claim && is_found);
                if is_claim != is_found {
                    faults = format!("{faults}\n{line}");
                }
            }
            let each = begun.elapsed() / u32::try_from(corpus.lines().count()).unwrap();
            println!(
                "{language}: {misses} of {claims} missed, {alarms} false alarms of {others}, {each:?} each"
            );
            assert!(claims >= 80 && others >= 80, "{language}");
            assert!(
                misses * 100 <= claims * 5,
                "{language}: {misses} of {claims}{faults}"
            );
            assert!(
                alarms * 100 <= others,
                "{language}: {alarms} of {others}{faults}"
            );
        }
    }

    #[test]
    fn what_replaces_a_claim_claims_nothing() {
        for (language, _) in CORPUS {
            assert_eq!(
                claimed(phrases(language).unproven, language),
                0,
                "{language}"
            );
        }
    }

    #[test]
    fn a_claim_has_its_kinds_in_any_language_and_a_bounded_length() {
        assert_eq!(
            claimed("I've booked it and sent you an email.", "en"),
            ARRANGE
        );
        assert_eq!(
            claimed("I've booked it. I've sent you an email.", "en"),
            ARRANGE | SEND
        );
        assert_eq!(claimed("Ya cancelé su cita.", "en-US"), CANCEL);
        assert_eq!(claimed("Done!", "en"), ANY);
        assert_eq!(claimed("Done!", "it"), 0);
        assert_eq!(claimed("", "en"), 0);
        let late = format!("{} I have booked it.", "Yes, ".repeat(MAX_CHARS));
        assert_eq!(claimed(&late, "en"), 0);
    }
}
