//! Words by which a customer asks not to be called again. They act whatever the model makes of them, and end the call: so
//! only those are here that mean nothing else. "Take me off the list" may be a table's, and is left to the model's tool.

/// By language, in lower case, without accents and punctuation.
const PHRASES: [(&str, &[&str]); 6] = [
    (
        "en",
        &[
            "stop calling me",
            "stop calling this number",
            "stop calling us",
            "quit calling me",
            "do not call me again",
            "dont call me again",
            "do not call me any more",
            "do not call me anymore",
            "dont call me any more",
            "dont call me anymore",
            "do not call here again",
            "dont call here again",
            "do not call this number again",
            "dont call this number again",
            "never call me again",
            "never call this number again",
            "do not call list",
            "dont call list",
            "take me off your list",
            "take me off your calling list",
            "remove me from your list",
            "remove me from your calling list",
            "i want to opt out",
        ],
    ),
    (
        "es",
        &[
            "no me llame mas",
            "no me llamen mas",
            "no me llames mas",
            "no me vuelva a llamar",
            "no me vuelvan a llamar",
            "no me vuelvas a llamar",
            "no vuelva a llamarme",
            "no vuelvan a llamarme",
            "deje de llamarme",
            "dejen de llamarme",
            "deja de llamarme",
            "ya no me llame",
            "ya no me llamen",
            "ya no me llames",
            "no quiero que me llamen",
            "no quiero que me vuelvan a llamar",
            "no quiero recibir mas llamadas",
            "quiteme de su lista",
            "quitenme de su lista",
            "saqueme de su lista",
            "saquenme de su lista",
        ],
    ),
    (
        "de",
        &[
            "rufen sie mich nicht mehr an",
            "rufen sie nicht mehr an",
            "rufen sie hier nicht mehr an",
            "rufen sie mich nie wieder an",
            "ruf mich nicht mehr an",
            "ruf mich nie wieder an",
            "nicht mehr angerufen werden",
            "horen sie auf mich anzurufen",
            "hor auf mich anzurufen",
            "nehmen sie mich von ihrer liste",
            "streichen sie mich von ihrer liste",
            "keine anrufe mehr",
        ],
    ),
    (
        "fr",
        &[
            "ne m appelez plus",
            "ne m appelle plus",
            "ne me rappelez plus",
            "ne me rappelle plus",
            "n appelez plus ce numero",
            "arretez de m appeler",
            "cessez de m appeler",
            "arrete de m appeler",
            "ne plus etre appele",
            "ne plus etre appelee",
            "retirez moi de votre liste",
            "enlevez moi de votre liste",
        ],
    ),
    (
        "it",
        &[
            "non mi chiami piu",
            "non mi chiamate piu",
            "non chiamatemi piu",
            "non mi chiamare piu",
            "non mi richiami piu",
            "smetta di chiamarmi",
            "smettete di chiamarmi",
            "smettila di chiamarmi",
            "mi tolga dalla vostra lista",
            "toglietemi dalla vostra lista",
        ],
    ),
    (
        "pt",
        &[
            "nao me ligue mais",
            "nao me liguem mais",
            "nao me liga mais",
            "nao me ligue de novo",
            "pare de me ligar",
            "parem de me ligar",
            "para de me ligar",
            "deixem de me ligar",
            "me tire da sua lista",
            "me tirem da sua lista",
            "tire me da sua lista",
        ],
    ),
];

/// Whether these words of a customer ask not to be called again. Customers change languages, so all are tried.
pub(crate) fn is_asked_for(words: &str) -> bool {
    let words = format!(" {} ", plain(words));
    let phrases = PHRASES.iter().flat_map(|(_, phrases)| *phrases);
    phrases.into_iter().any(|phrase| {
        let at = words.find(phrase);
        at.is_some_and(|at| {
            let is_space = |byte: Option<&u8>| byte == Some(&b' ');
            let bytes = words.as_bytes();
            is_space(at.checked_sub(1).and_then(|before| bytes.get(before)))
                && is_space(bytes.get(at + phrase.len()))
        })
    })
}

/// The words in lower case, without accents and punctuation, with one space between them.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        let letter = match letter {
            'á' | 'à' | 'â' | 'ä' | 'ã' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'í' | 'ì' | 'î' | 'ï' => 'i',
            'ó' | 'ò' | 'ô' | 'ö' | 'õ' => 'o',
            'ú' | 'ù' | 'û' | 'ü' => 'u',
            'ñ' => 'n',
            'ç' => 'c',
            // A combining accent, or the apostrophe of "don't". French keeps the words apart.
            '\u{300}'..='\u{36f}' => continue,
            letter if letter.is_alphanumeric() => letter,
            '\'' | '\u{2019}' if plain.ends_with("don") => continue,
            _ => ' ',
        };
        if letter != ' ' || !plain.ends_with(' ') {
            plain.push(letter);
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_customer_is_understood_in_each_language() {
        for words in [
            "Please, STOP calling me!",
            "Don’t call me again.",
            "Put me on the do-not-call list, please",
            "Take me off your list",
            "Ya no me llamen, por favor.",
            "¡Quítenme de su lista!",
            "No me vuelva a llamar",
            "Bitte rufen Sie mich nicht mehr an.",
            "Hören Sie auf, mich anzurufen",
            "Ne m'appelez plus, merci",
            "Non mi chiamate più!",
            "Na\u{303}o me ligue mais",
        ] {
            assert!(is_asked_for(words), "{words}");
        }
    }

    #[test]
    fn other_words_ask_for_nothing() {
        for words in [
            "",
            "Can you call me again tomorrow?",
            "My daughter keeps calling men in suits",
            "Nobody stops calling my shop, business is great",
            "Llámeme más tarde",
            "Ya no me llamo Ana",
            "Take me off the list for tonight, please",
            "Please remove my number from the order",
            "Denme de baja del seguro",
            "Rufen Sie mich morgen an",
            "Vous pouvez m'appeler plus tard",
            "Pode me ligar mais tarde",
        ] {
            assert!(!is_asked_for(words), "{words}");
        }
    }

    #[test]
    fn every_phrase_is_plain_and_found() {
        for (language, phrases) in PHRASES {
            for phrase in phrases {
                assert_eq!(plain(phrase), *phrase, "{language}");
                assert!(is_asked_for(phrase), "{language}: {phrase}");
            }
        }
    }
}
