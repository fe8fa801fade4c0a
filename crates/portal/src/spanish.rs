//! Errors in Spanish, and texts that the service has stored.

use std::borrow::Cow;

use offhook_domain::messages::{Message, Stored};
use offhook_http::{ApiError, Code};

use crate::lang::Lang;

/// A text that the service has stored, in this language. A text of another kind is returned as it is.
pub(crate) fn written<T: Stored + Message>(text: &str, lang: Lang) -> Cow<'_, str> {
    match lang {
        Lang::En => text.into(),
        Lang::Es => T::read(text).map_or(text.into(), |message| message.spanish().into()),
    }
}

/// The sentence for the error's kind.
pub(crate) fn sentence(error: &ApiError) -> Option<String> {
    let fault = error.fault().map(Message::spanish);
    let refusal = || error.refusal().map(Message::spanish);
    fault
        .or_else(refusal)
        .or_else(|| of_code(error.code()).map(str::to_owned))
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
    use offhook_domain::{DocumentFault, EntryText, IntegrationFault};
    use offhook_services::{CredentialFault, WhatsAppText};

    use super::*;

    #[test]
    fn stored_texts_are_shown_in_the_readers_language() {
        fn es<T: Stored + Message>(text: &str) -> Cow<'_, str> {
            written::<T>(text, Lang::Es)
        }
        let entry = "Call of 61 s";
        assert_eq!(written::<EntryText>(entry, Lang::En), entry);
        assert_eq!(es::<EntryText>(entry), "Llamada de 61 s");
        assert_eq!(
            es::<EntryText>("Monthly credits of the scale plan, 2026-04"),
            "Créditos mensuales del plan scale, 2026-04"
        );
        for other in [
            "Enero, por transferencia",
            "",
            "{}",
            "Call of 5",
            "Call of x s",
        ] {
            assert_eq!(es::<EntryText>(other), other);
        }
        for (english, spanish) in [
            (
                "The address cannot be fetched: it must begin with https://.",
                "No se puede leer la dirección: debe comenzar con https://.",
            ),
            (
                "The address cannot be fetched: it took too long.",
                "No se puede leer la dirección: tardó demasiado.",
            ),
            (
                "The address holds image/png: it must be a txt, md, html, pdf, docx or csv file.",
                "La dirección tiene image/png: debe ser un archivo txt, md, html, pdf, docx o csv.",
            ),
        ] {
            assert_eq!(es::<DocumentFault>(english), spanish);
        }
        assert_eq!(
            es::<WhatsAppText>(
                "It is not known whether WhatsApp sent this message (WhatsApp did not answer). It is not sent again."
            ),
            "No se sabe si WhatsApp envió este mensaje (WhatsApp no respondió). No se envía otra vez."
        );
        assert_eq!(
            es::<IntegrationFault>(
                "HubSpot was allowed less than what agents need: connect it again, and allow all of it"
            ),
            "A HubSpot se le permitió menos de lo que necesitan los agentes: conéctala de nuevo y permite todo"
        );
        assert_eq!(
            es::<CredentialFault>(
                "the legacy provider takes no more requests of this account for now: try again later"
            ),
            "ElevenLabs no acepta por ahora más solicitudes de esta cuenta: intenta de nuevo más tarde"
        );
    }

    #[test]
    fn what_a_code_says_is_said_in_spanish() {
        let missing = sentence(&ApiError::not_found());
        assert_eq!(missing.as_deref(), Some("No existe, o es de otra cuenta."));
        let conflict = Code::Conflict.error("The agent is archived.");
        assert_eq!(sentence(&conflict), None);
    }
}
