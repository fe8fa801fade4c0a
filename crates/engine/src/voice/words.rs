//! What words reveal about a turn: whether they are more than a murmur, whether a sentence is complete, whether a
//! machine speaks. The word lists cover all languages of [`phrases`](crate::phrases) together, because callers mix
//! languages.

/// Backchannel words of listeners, and fillers of speakers who think.
const FILLERS: &[&str] = &[
    "ah", "aha", "ahá", "ajá", "eh", "ehm", "em", "er", "euh", "ha", "hm", "hmm", "hum", "mhm",
    "mm", "mmm", "oh", "uh", "uhm", "uhuh", "um", "umm", "yeah", "yep", "okay", "ok", "right",
    "sure", "claro", "ya", "vale", "ja", "genau", "doch", "ouais", "bah", "ben", "certo", "già",
    "pois", "tá", "huh", "äh", "ähm", "öh",
];

/// Words that interrupt at once.
const STOPS: &[&str] = &[
    "stop", "wait", "halt", "espera", "espere", "para", "pare", "alto", "basta", "momento",
    "warte", "warten", "moment", "attends", "attendez", "arrête", "arrêtez", "stopp", "aspetta",
    "aspetti", "fermo", "fermi", "calma",
];

/// Words that leave a sentence incomplete.
const OPEN_ENDS: &[&str] = &[
    // Fillers.
    "eh", "ehm", "em", "er", "euh", "hm", "hmm", "uh", "uhm", "um", "umm", "äh", "ähm", "öh",
    "este", "pues", "allora", // Joining words.
    "and", "or", "but", "because", "so", "the", "a", "an", "my", "to", "of", "y", "e", "o", "u",
    "pero", "porque", "que", "el", "la", "los", "las", "un", "una", "mi", "de", "und", "oder",
    "aber", "weil", "dass", "der", "die", "das", "mein", "meine", "et", "ou", "mais", "parce",
    "le", "les", "une", "mon", "ma", "des", "ed", "perché", "che", "il", "lo", "gli", "mio", "mia",
    "di", "mas", "os", "as", "uma", "meu", "minha",
];

/// Digits as words.
const DIGITS: &[&str] = &[
    "zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "cero",
    "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "null", "eins",
    "zwei", "zwo", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zéro", "un", "deux",
    "trois", "quatre", "cinq", "sept", "huit", "neuf", "due", "tre", "quattro", "cinque", "sei",
    "sette", "otto", "nove", "um", "dois", "três", "quatro", "sete", "oito",
];

/// This many digits in a row are a dictated number; fewer are an answer, such as "two".
const DICTATED: usize = 3;

/// Phrases of answering machines, in lower case.
const MACHINES: &[&str] = &[
    "voicemail",
    "voice mail",
    "leave a message",
    "leave your message",
    "after the tone",
    "after the beep",
    "not available",
    "cannot take your call",
    "can't take your call",
    "buzón",
    "deje su mensaje",
    "deja tu mensaje",
    "después de la señal",
    "después del tono",
    "no se encuentra disponible",
    "mailbox",
    "nachricht nach dem",
    "nach dem signalton",
    "nach dem ton",
    "messagerie",
    "laissez un message",
    "après le bip",
    "après le signal",
    "segreteria",
    "lasciare un messaggio",
    "dopo il segnale",
    "correio de voz",
    "caixa postal",
    "deixe a sua mensagem",
    "deixe sua mensagem",
    "após o sinal",
];

/// The words of a text, in lower case and without punctuation.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(str::to_lowercase)
}

/// The number of words that are not fillers.
pub(super) fn telling(text: &str) -> usize {
    words(text)
        .filter(|word| !FILLERS.contains(&word.as_str()))
        .count()
}

/// Whether a text interrupts at once: one of its first three words, fillers aside, is a stop word.
pub(super) fn stops(text: &str) -> bool {
    words(text)
        .filter(|word| !FILLERS.contains(&word.as_str()))
        .take(3)
        .any(|word| STOPS.contains(&word.as_str()))
}

/// Whether a text is incomplete by its end: a comma, a filler, a joining word, or a dictated number.
pub(super) fn goes_on(text: &str) -> bool {
    let text = text.trim_end();
    if text.ends_with([',', ';', ':', '-', '–', '—', '…']) || text.ends_with("...") {
        return true;
    }
    if text.ends_with(['.', '!', '?']) {
        return false;
    }
    let all: Vec<String> = words(text).collect();
    let Some(last) = all.last() else {
        return false;
    };
    let trailing = all.iter().rev().map_while(|word| digits(word));
    OPEN_ENDS.contains(&last.as_str()) || trailing.sum::<usize>() >= DICTATED
}

/// Whether a text contains an answering machine's phrase.
pub(super) fn is_machine(text: &str) -> bool {
    let folded = text.to_lowercase();
    MACHINES.iter().any(|phrase| folded.contains(phrase))
}

/// How many digits a word stands for; `None` if it is no number.
fn digits(word: &str) -> Option<usize> {
    if word.chars().all(|c| c.is_ascii_digit()) {
        Some(word.len())
    } else {
        DIGITS.contains(&word).then_some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmurs_are_no_words_that_want_the_floor() {
        assert_eq!(telling("Uh-huh, mm."), 0);
        assert_eq!(telling("Mhm."), 0);
        assert_eq!(telling("Ok, claro, ya"), 0);
        assert_eq!(telling("Okay but listen"), 2);
        assert_eq!(telling("¿Qué precio?"), 2);
        assert_eq!(telling(""), 0);
    }

    #[test]
    fn a_stop_word_near_the_beginning_takes_the_floor() {
        for text in [
            "Stop.",
            "no, wait",
            "oh, espera",
            "Un momento",
            "attendez !",
        ] {
            assert!(stops(text), "{text}");
        }
        for text in ["I cannot go on, please do stop", "yes", "", "stopped"] {
            assert!(!stops(text), "{text}");
        }
    }

    #[test]
    fn a_comma_a_thinking_word_and_a_dictated_number_go_on() {
        for text in [
            "Yes,",
            "I would like um",
            "quiero una habitación y",
            "my number is five five one",
            "mi número es 5512",
            "it is the...",
            "weil",
        ] {
            assert!(goes_on(text), "{text}");
        }
        for text in [
            "Yes",
            "Two",
            "twenty two",
            "I am 42",
            "That is all.",
            "My number is 5512.",
            "um?",
            "",
        ] {
            assert!(!goes_on(text), "{text}");
        }
    }

    #[test]
    fn a_machine_is_known_by_its_greeting() {
        assert!(is_machine("You have reached my Voicemail"));
        assert!(is_machine("Por favor deje su mensaje después de la señal"));
        assert!(!is_machine("Hello, this is Ana speaking"));
    }
}
