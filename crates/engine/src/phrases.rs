//! Fixed sentences that need no model, in the agent's language, or in English if it has no translation.

/// The fixed sentences of one language.
#[derive(Debug)]
pub(crate) struct Phrases {
    /// Asks again after the customer was silent.
    pub(crate) reprompt: &'static str,
    /// No model could be reached.
    pub(crate) apology: &'static str,
    /// The call must end before the conversation is finished.
    pub(crate) goodbye: &'static str,
    /// The answer is delayed.
    pub(crate) filler: &'static str,
    /// The call is close to its maximum length.
    pub(crate) warning: &'static str,
    /// The customer asked not to be called again, and that is recorded.
    pub(crate) opted_out: &'static str,
    /// In place of a claim that no tool has proved. It is true of what was not done, and of what was done unseen.
    pub(crate) unproven: &'static str,
    /// In chats: the customer's message is no text.
    pub(crate) only_text: &'static str,
}

const ENGLISH: Phrases = Phrases {
    reprompt: "Are you still there?",
    apology: "I am sorry, I have a technical problem and cannot go on. Please try again later. Goodbye.",
    goodbye: "I am sorry, I have to end our call here. Thank you for your time. Goodbye.",
    filler: "One moment, please.",
    warning: "I am sorry, our call ends in a few seconds.",
    opted_out: "You are on our list now, and we will not call you again. Goodbye.",
    unproven: "I have not been able to confirm that yet.",
    only_text: "I am sorry, here I can only read text. Please write to me what it is about.",
};

const LANGUAGES: [(&str, Phrases); 6] = [
    ("en", ENGLISH),
    (
        "es",
        Phrases {
            reprompt: "¿Sigue ahí?",
            apology: "Lo siento, tengo un problema técnico y no puedo continuar. Por favor, inténtelo más tarde. Adiós.",
            goodbye: "Lo siento, tengo que terminar la llamada aquí. Gracias por su tiempo. Adiós.",
            filler: "Un momento, por favor.",
            warning: "Lo siento, nuestra llamada termina en unos segundos.",
            opted_out: "Ya está en nuestra lista y no le volveremos a llamar. Adiós.",
            unproven: "Todavía no he podido confirmarlo.",
            only_text: "Lo siento, aquí solo puedo leer texto. Por favor, escríbame de qué se trata.",
        },
    ),
    (
        "de",
        Phrases {
            reprompt: "Sind Sie noch da?",
            apology: "Es tut mir leid, ich habe eine technische Störung und kann nicht weitersprechen. Bitte versuchen Sie es später noch einmal. Auf Wiederhören.",
            goodbye: "Es tut mir leid, ich muss unser Gespräch hier beenden. Vielen Dank für Ihre Zeit. Auf Wiederhören.",
            filler: "Einen Moment, bitte.",
            warning: "Unser Gespräch endet leider in wenigen Sekunden.",
            opted_out: "Sie stehen jetzt auf unserer Liste, und wir rufen Sie nicht mehr an. Auf Wiederhören.",
            unproven: "Das konnte ich noch nicht bestätigen.",
            only_text: "Es tut mir leid, ich kann hier nur Text lesen. Bitte schreiben Sie mir, worum es geht.",
        },
    ),
    (
        "fr",
        Phrases {
            reprompt: "Vous êtes toujours là ?",
            apology: "Je suis désolé, un problème technique m'empêche de continuer. Veuillez réessayer plus tard. Au revoir.",
            goodbye: "Je suis désolé, je dois mettre fin à notre appel ici. Merci de votre temps. Au revoir.",
            filler: "Un instant, s'il vous plaît.",
            warning: "Je suis désolé, notre appel se termine dans quelques secondes.",
            opted_out: "C'est noté : nous ne vous appellerons plus. Au revoir.",
            unproven: "Je n'ai pas encore pu le confirmer.",
            only_text: "Je suis désolé, je ne peux lire que du texte ici. Veuillez m'écrire de quoi il s'agit.",
        },
    ),
    (
        "it",
        Phrases {
            reprompt: "È ancora in linea?",
            apology: "Mi dispiace, ho un problema tecnico e non posso continuare. La prego di riprovare più tardi. Arrivederci.",
            goodbye: "Mi dispiace, devo terminare qui la chiamata. Grazie per il suo tempo. Arrivederci.",
            filler: "Un momento, per favore.",
            warning: "Mi dispiace, la nostra chiamata termina tra pochi secondi.",
            opted_out: "Ho preso nota: non la chiameremo più. Arrivederci.",
            unproven: "Non ho ancora potuto confermarlo.",
            only_text: "Mi dispiace, qui posso leggere solo testo. Per favore, mi scriva di che cosa si tratta.",
        },
    ),
    (
        "pt",
        Phrases {
            reprompt: "Ainda está aí?",
            apology: "Lamento, tenho um problema técnico e não posso continuar. Por favor, tente mais tarde. Adeus.",
            goodbye: "Lamento, tenho de terminar a chamada aqui. Obrigado pelo seu tempo. Adeus.",
            filler: "Um momento, por favor.",
            warning: "Lamento, a nossa chamada termina dentro de alguns segundos.",
            opted_out: "Está anotado: não voltaremos a ligar. Adeus.",
            unproven: "Ainda não consegui confirmar isso.",
            only_text: "Lamento, aqui só consigo ler texto. Por favor, escreva-me do que se trata.",
        },
    ),
];

/// The sentences for a BCP 47 tag, by its primary subtag.
pub(crate) fn phrases(language: &str) -> &'static Phrases {
    let primary = language.split(['-', '_']).next().unwrap_or_default();
    LANGUAGES
        .iter()
        .find(|(tag, _)| tag.eq_ignore_ascii_case(primary))
        .map_or(&ENGLISH, |(_, phrases)| phrases)
}

/// The answer to a customer message that is not text, in the agent's language.
pub fn only_text(language: &str) -> &'static str {
    phrases(language).only_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regional_tag_finds_its_language_and_an_unknown_one_english() {
        assert_eq!(phrases("es-MX").reprompt, "¿Sigue ahí?");
        assert_eq!(phrases("ES").reprompt, "¿Sigue ahí?");
        assert_eq!(phrases("xx").reprompt, "Are you still there?");
        assert_eq!(phrases("").reprompt, "Are you still there?");
    }
}
