//! How an agent speaks and listens.

use maud::{Markup, html};
use offhook_services::ModelKind;

use super::super::choices::{Choices, VOICES_Q, VOICES_SHOWN, providers};
use super::super::control::{Says, Sheet, id_of, says};
use super::super::document::{FALLBACK_VOICES, PICK};
use super::{EARS, MOUTHS};
use crate::visit::Visitor;

pub(super) fn voice(visitor: &Visitor, sheet: &Sheet<'_>, choices: &Choices, path: &str) -> Markup {
    let t = sheet.lang;
    let own = t.t("the service's own", "la propia del servicio");
    let known = providers(visitor, ModelKind::Tts, own);
    let find = id_of(VOICES_Q);
    let group = sheet.group(t.t("Voice", "Voz"), &["voice"]);
    group.with(&html! {
        (sheet.choice("voice.provider", says(t.t("Provider", "Proveedor"), ""), &known))
        (sheet.line("voice.voice_id", says(t.t("Voice id", "Id de la voz"), t.t(
            "The provider's id. Search below to find one by name.", "El id del proveedor. Busca abajo para encontrar una por nombre."))))
        div.field {
            label for=(find) { (t.t("Find a voice", "Buscar una voz")) }
            input #(find) type="search" name=(VOICES_Q) value=(sheet.fields.text(VOICES_Q)) autocomplete="off"
                hx-post={ (crate::PATH) (path) } hx-trigger="input changed delay:300ms" hx-vals="{\"add\":\"voice.search\"}"
                hx-select="#voices" hx-target="#voices" hx-swap="outerHTML";
            button type="submit" name="add" value="voice.search" formnovalidate { (t.t("Search", "Buscar")) }
        }
        div #voices aria-live="polite" {
            input type="hidden" name=(VOICES_SHOWN) value=(sheet.fields.text(VOICES_Q));
            @if !choices.voices.is_empty() {
                fieldset.plain {
                    legend { (t.t("Voices found; the chosen one replaces provider and id", "Voces encontradas; la elegida reemplaza proveedor e id")) }
                    @for (value, text, heard) in &choices.voices {
                        label.check {
                            input type="radio" name=(PICK) value=(value) checked[sheet.fields.text(PICK) == value];
                            span {
                                (text)
                                @if let Some(url) = heard {
                                    " " a href=(url) target="_blank" rel="noopener noreferrer" { (t.t("Listen", "Escuchar")) }
                                }
                            }
                        }
                    }
                }
            } @else if !sheet.fields.text(VOICES_Q).is_empty() {
                p.hint { (t.t("No voice has that in its name.", "Ninguna voz tiene eso en su nombre.")) }
            }
        }
        (sheet.line("voice.model", Says { list: Some(MOUTHS), ..says(t.t("Model", "Modelo"), t.t(
            "Empty: the provider's usual one.", "Vacío: el habitual del proveedor.")) }))
        (sheet.line("voice.language", says(t.t("Language spoken", "Idioma hablado"), t.t(
            "Empty: the agent's.", "Vacío: el del agente."))))
        (sheet.rows(FALLBACK_VOICES, t.t("Fallback voices", "Voces de respaldo"), [
            says(t.t("Provider", "Proveedor"), t.t(
                "At most one for each provider, used when the voice fails.", "Máximo una por proveedor; se usan cuando falla la voz.")),
            says(t.t("Voice id", "Id de la voz"), ""),
        ], &|_, _| html! {}))
        (settings(sheet, "voice"))
    })
}

pub(super) fn ear(visitor: &Visitor, sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let only = t.t("the only one of the service", "el único del servicio");
    let known = providers(visitor, ModelKind::Stt, only);
    let group = sheet.group(t.t("Listening", "Escucha"), &["stt"]);
    group.with(&html! {
        (sheet.choice("stt.provider", says(t.t("Provider", "Proveedor"), t.t(
            "Who turns speech into text.", "Quién convierte la voz en texto.")), &known))
        (sheet.line("stt.model", Says { list: Some(EARS), ..says(t.t("Model", "Modelo"), t.t(
            "Empty: the provider's usual one.", "Vacío: el habitual del proveedor.")) }))
        (sheet.line("stt.language", says(t.t("Language heard", "Idioma escuchado"), t.t(
            "Empty: the agent's.", "Vacío: el del agente."))))
        (settings(sheet, "stt"))
    })
}

/// What `stt` and `voice` share.
fn settings(sheet: &Sheet<'_>, of: &str) -> Markup {
    let t = sheet.lang;
    html! {
        (sheet.text(&format!("{of}.settings"), 3, says(t.t("Settings (JSON)", "Ajustes (JSON)"), t.t(
            "What this provider alone understands, as a JSON object. Empty: its defaults.",
            "Lo que solo este proveedor entiende, como objeto JSON. Vacío: sus valores predeterminados."))))
        (sheet.choice(&format!("{of}.sample_rate"), says(t.t("Sample rate", "Frecuencia de muestreo"), t.t(
            "Calls carry 8,000 Hz.", "Las llamadas llevan 8,000 Hz.")), &[
            ("", t.t("the call's", "la de la llamada")), ("8000", "8000 Hz"),
        ]))
    }
}
