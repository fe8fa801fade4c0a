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
    let own = t.t("Default", "Predeterminado");
    let known = providers(visitor, ModelKind::Tts, own);
    let find = id_of(VOICES_Q);
    let group = sheet.group(t.t("Text-to-speech voice", "Voz (texto a voz)"), &["voice"]);
    group.with(&html! {
        (sheet.choice("voice.provider", says(t.t("Provider", "Proveedor"), ""), &known))
        (sheet.line("voice.voice_id", says(t.t("Voice ID", "ID de la voz"), t.t(
            "The voice's ID at the provider. Search below to find one by name.", "El ID de la voz con el proveedor. Busca abajo para encontrar una por nombre."))))
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
                    legend { (t.t("Matching voices (your choice replaces the provider and voice ID)", "Voces que coinciden (la que elijas reemplaza el proveedor y el ID)")) }
                    @for (value, text, heard) in &choices.voices {
                        label.check {
                            input type="radio" name=(PICK) value=(value) checked[sheet.fields.text(PICK) == value];
                            span {
                                (text)
                                @if let Some(url) = heard {
                                    " " a href=(url) target="_blank" rel="noopener noreferrer" { (t.t("Preview", "Escuchar")) }
                                }
                            }
                        }
                    }
                }
            } @else if !sheet.fields.text(VOICES_Q).is_empty() {
                p.hint { (t.t("No matching voices.", "Ninguna voz coincide.")) }
            }
        }
        (sheet.line("voice.model", Says { list: Some(MOUTHS), ..says(t.t("Model", "Modelo"), t.t(
            "Leave empty for the provider's default.", "Déjalo vacío para usar el predeterminado del proveedor.")) }))
        (sheet.line("voice.language", says(t.t("Spoken language", "Idioma hablado"), t.t(
            "Leave empty for the agent's language.", "Déjalo vacío para usar el del agente."))))
        (sheet.rows(FALLBACK_VOICES, t.t("Fallback voices", "Voces de respaldo"), [
            says(t.t("Provider", "Proveedor"), t.t(
                "Up to one per provider. Used when the main voice fails.", "Hasta una por proveedor. Se usan cuando falla la voz principal.")),
            says(t.t("Voice ID", "ID de la voz"), ""),
        ], &|_, _| html! {}))
        (settings(sheet, "voice"))
    })
}

pub(super) fn ear(visitor: &Visitor, sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let only = t.t("Default", "Predeterminado");
    let known = providers(visitor, ModelKind::Stt, only);
    let group = sheet.group(t.t("Transcription", "Transcripción"), &["stt"]);
    group.with(&html! {
        (sheet.choice("stt.provider", says(t.t("Provider", "Proveedor"), t.t(
            "Converts speech to text.", "Convierte la voz en texto.")), &known))
        (sheet.line("stt.model", Says { list: Some(EARS), ..says(t.t("Model", "Modelo"), t.t(
            "Leave empty for the provider's default.", "Déjalo vacío para usar el predeterminado del proveedor.")) }))
        (sheet.line("stt.language", says(t.t("Transcription language", "Idioma de la transcripción"), t.t(
            "Leave empty for the agent's language.", "Déjalo vacío para usar el del agente."))))
        (settings(sheet, "stt"))
    })
}

/// What `stt` and `voice` share.
fn settings(sheet: &Sheet<'_>, of: &str) -> Markup {
    let t = sheet.lang;
    html! {
        (sheet.text(&format!("{of}.settings"), 3, says(t.t("Settings (JSON)", "Ajustes (JSON)"), t.t(
            "Provider-specific options, as a JSON object. Leave empty for its defaults.",
            "Opciones propias del proveedor, como objeto JSON. Déjalo vacío para usar las predeterminadas."))))
        (sheet.choice(&format!("{of}.sample_rate"), says(t.t("Sample rate", "Frecuencia de muestreo"), t.t(
            "Calls use 8,000 Hz.", "Las llamadas usan 8,000 Hz.")), &[
            ("", t.t("Default", "Predeterminada")), ("8000", "8000 Hz"),
        ]))
    }
}
