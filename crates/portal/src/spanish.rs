//! Errors in Spanish: field faults, refusals and codes by their kind. Rules of a single field and sentences that the service
//! has stored are matched by their English words.

mod refusals;
mod rules;
mod sentences;

use std::borrow::Cow;

use offhook_domain::json::{Fault, FieldError};
use offhook_http::{ApiError, Code};

use crate::lang::Lang;

/// A sentence that the service has stored, such as why a document has no text or what a transaction is for, in this
/// language. Other texts are returned as they are.
pub(crate) fn written(text: &str, lang: Lang) -> Cow<'_, str> {
    match lang {
        Lang::En => text.into(),
        Lang::Es => sentences::said(text).map_or(text.into(), Cow::Owned),
    }
}

/// The sentence for the error's kind.
pub(crate) fn sentence(error: &ApiError) -> Option<String> {
    if let Some(fault) = error.fault() {
        return Some(field(fault));
    }
    if let Some(refusal) = error.refusal() {
        return Some(refusals::sentence(refusal).into_owned());
    }
    let of_code = of_code(error.code()).map(str::to_owned);
    match error.code() {
        // An upstream error's message says what helps.
        Code::UpstreamError => sentences::said(error.message()).or(of_code),
        _ => of_code.or_else(|| sentences::said(error.message())),
    }
}

/// A field's fault; in English if the words are not the service's own.
fn field(field: &FieldError) -> String {
    let Some(said) = fault(&field.fault) else {
        return field.to_string();
    };
    match field.path.as_str() {
        "" => format!("El formulario: {said}"),
        path => format!("`{path}`: {said}"),
    }
}

fn fault(fault: &Fault) -> Option<String> {
    Some(match fault {
        Fault::Required => "es obligatorio".to_owned(),
        Fault::Empty => "no puede estar vacío".to_owned(),
        Fault::NotText => "debe ser un texto".to_owned(),
        Fault::NotBool => "debe ser true o false".to_owned(),
        Fault::NotObject => "debe ser un objeto".to_owned(),
        Fault::NotArray => "debe ser una lista".to_owned(),
        Fault::NotInteger { low, high } => format!("debe ser un número entero de {low} a {high}"),
        Fault::NotNumber { low, high } => format!("debe ser un número de {low} a {high}"),
        Fault::TooLong(most) => format!("tiene más de {most} caracteres"),
        Fault::TooShort(least) => format!("tiene menos de {least} caracteres"),
        Fault::TooMany(most) => format!("tiene más de {most} elementos"),
        Fault::TooFew(least) => format!("tiene menos de {least} elementos"),
        Fault::Unknown => "no existe ese campo".to_owned(),
        Fault::Rule(rule) => rules::said(rule).into_owned(),
        Fault::Own(text) => return sentences::said(text),
    })
}

/// The sentence for a code alone.
const fn of_code(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::NotFound => "No existe, o es de otra cuenta.",
        Code::AgentNotFound => "`agent_id`: ningún agente de esta cuenta tiene este id",
        Code::PaymentRequired => "Los créditos de la cuenta no alcanzan.",
        Code::IdempotencyConflict => {
            "Este formulario ya se envió, con otros datos. Abre su página de nuevo y llénalo."
        }
        Code::UpstreamUnreachable => {
            "La red telefónica no está disponible por ahora. No se marcó nada."
        }
        Code::UpstreamError => "Falló otro servicio. No se cambió nada. Inténtalo más tarde.",
        Code::InternalError => {
            "Algo salió mal de nuestro lado. El operador del servicio lo encuentra en su registro."
        }
        Code::ServiceUnavailable | Code::RateLimitUnavailable => {
            "El servicio no pudo responder por ahora. Inténtalo en un momento. Si cambiabas algo, revisa antes si ya se hizo."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use offhook_domain::E164Error;
    use offhook_domain::json::Rule;

    use super::*;

    #[test]
    fn a_fault_within_another_sentence_is_said_as_it_is_by_itself() {
        for fault in [
            Fault::Required,
            Fault::Empty,
            Fault::NotText,
            Fault::NotBool,
            Fault::NotObject,
            Fault::NotArray,
            Fault::NotInteger { low: 1, high: 9 },
            Fault::NotNumber {
                low: "0.5".to_owned(),
                high: "2".to_owned(),
            },
            Fault::TooLong(64),
            Fault::TooShort(2),
            Fault::TooMany(20),
            Fault::TooFew(1),
            Fault::Unknown,
            Rule::Twice.into(),
            Rule::Prefixes("+52, +1".to_owned()).into(),
            E164Error::NoPlus.into(),
            E164Error::PlusLost.into(),
            E164Error::Malformed.into(),
        ] {
            assert_eq!(sentences::said(&fault.to_string()), super::fault(&fault));
        }
    }

    #[test]
    fn choices_are_said_in_spanish_and_what_is_chosen_as_it_is() {
        for (choices, expected) in [
            ("`a` or `b`", "debe ser `a` o `b`"),
            (
                "one of `a`, `b or c` or `one of d`",
                "debe ser uno de `a`, `b or c` o `one of d`",
            ),
        ] {
            assert_eq!(rules::said(&Rule::Choice(choices.to_owned())), expected);
        }
    }

    #[test]
    fn what_was_written_down_is_said_in_the_readers_language() {
        let entry = "Call of 61 s";
        assert_eq!(written(entry, Lang::En), entry);
        assert_eq!(written(entry, Lang::Es), "Llamada de 61 s");
        assert_eq!(written("Enero", Lang::Es), "Enero");
    }

    #[test]
    fn what_a_code_says_is_said_in_spanish() {
        let missing = sentence(&ApiError::not_found());
        assert_eq!(missing.as_deref(), Some("No existe, o es de otra cuenta."));
        let conflict = Code::Conflict.error("The agent is archived.");
        assert_eq!(sentence(&conflict), None);
    }
}
