//! How an agent speaks and listens.

use maud::{Markup, html};
use offhook_services::ModelKind;

use super::super::choices::{Choices, VOICES_Q, VOICES_SHOWN, VoiceGroup, providers};
use super::super::control::{PLAIN_ROWS, Says, Sheet, id_of, says};
use super::super::document::{FALLBACK_VOICES, PICK};
use super::{EARS, MOUTHS};

pub(super) fn voice(sheet: &Sheet<'_>, choices: &Choices, path: &str) -> Markup {
    let t = sheet.lang;
    let own = t.t("Default", "Predeterminado");
    let known = providers(t, &choices.agents, ModelKind::Tts);
    let find = id_of(VOICES_Q);
    let group = sheet
        .group(t.t("Text-to-speech voice", "Voz (texto a voz)"), &["voice"])
        .opened();
    group.with(&html! {
        (sheet.provider("voice.provider", says(t.t("Provider", "Proveedor"), ""), own, &known))
        (sheet.line("voice.voice_id", says(t.t("Voice ID", "ID de la voz"), t.t(
            "The voice's ID at the provider. Choose one by name below.", "El ID de la voz con el proveedor. Abajo puedes elegir una por nombre."))))
        p { (listen(sheet, "", t.t("this voice", "esta voz"))) }
        div.field {
            label for=(find) { (t.t("Find a voice", "Buscar una voz")) }
            input #(find) type="search" name=(VOICES_Q) value=(sheet.fields.text(VOICES_Q)) autocomplete="off"
                hx-post={ (crate::PATH) (path) } hx-trigger="input changed delay:300ms" hx-vals="{\"add\":\"voice.search\"}"
                hx-select="#voices" hx-target="#voices" hx-swap="outerHTML";
            button type="submit" name="add" value="voice.search" formnovalidate { (t.t("Search", "Buscar")) }
        }
        div #voices aria-live="polite" {
            input type="hidden" name=(VOICES_SHOWN) value=(sheet.fields.text(VOICES_Q));
            @if choices.voices.is_empty() {
                p.hint { @if sheet.fields.is_set(VOICES_Q) { (t.t("No matching voices.", "Ninguna voz coincide.")) }
                    @else { (t.t("No text-to-speech provider is set up on this service.", "En este servicio no hay un proveedor de voz configurado.")) } }
            } @else {
                p.hint { (t.t("Your choice replaces the provider and the voice ID above.", "La que elijas reemplaza el proveedor y el ID de arriba.")) }
                @for group in &choices.voices { (voices(sheet, group)) }
            }
        }
        (sheet.line("voice.model", Says { list: Some(MOUTHS), ..says(t.t("Model", "Modelo"), t.t(
            "Leave empty for the provider's default.", "Déjalo vacío para usar el predeterminado del proveedor.")) }))
        (sheet.language("voice.language", says(t.t("Spoken language", "Idioma hablado"), ""), Some(t.t("The agent's language", "El idioma del agente"))))
        (sheet.rows(FALLBACK_VOICES, t.t("Fallback voices", "Voces de respaldo"), [
            says(t.t("Provider", "Proveedor"), t.t(
                "Up to one per provider. Used when the main voice fails.", "Hasta una por proveedor. Se usan cuando falla la voz principal.")),
            says(t.t("Voice ID", "ID de la voz"), ""),
        ], PLAIN_ROWS))
        (settings(sheet, "voice"))
    })
}

fn voices(sheet: &Sheet<'_>, group: &VoiceGroup) -> Markup {
    let t = sheet.lang;
    html! {
        fieldset.plain {
            legend { (group.provider.label) }
            @for voice in &group.voices {
                div.voice {
                    label.check {
                        input type="radio" name=(PICK) value=(voice.value) checked[sheet.fields.text(PICK) == voice.value]
                            disabled[!group.provider.may_be_chosen];
                        span { (voice.label) }
                    }
                    @match (&voice.sample, group.is_set_up) {
                        (Some(url), _) => a href=(url) target="_blank" rel="noopener noreferrer" {
                            (t.t("Listen", "Escuchar")) span.unseen { " " (voice.label) }
                        },
                        (None, true) => (listen(sheet, &voice.value, &voice.label)),
                        (None, false) => {},
                    }
                }
            }
        }
    }
}

/// A button that has a voice speak: the one of this value, or that of the form.
fn listen(sheet: &Sheet<'_>, value: &str, label: &str) -> Markup {
    let path = format!("{}{}", crate::PATH, super::super::preview::PATH);
    html! {
        button type="submit" name=(super::super::preview::VOICE) value=(value) formaction=(path) formtarget="_blank" formnovalidate data-play="" {
            (sheet.lang.t("Listen", "Escuchar")) span.unseen { " " (label) }
        }
    }
}

pub(super) fn ear(sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let only = t.t("Default", "Predeterminado");
    let known = providers(t, &choices.agents, ModelKind::Stt);
    let group = sheet.group(t.t("Transcription", "Transcripción"), &["stt"]);
    group.with(&html! {
        (sheet.provider("stt.provider", says(t.t("Provider", "Proveedor"), t.t(
            "Converts speech to text.", "Convierte la voz en texto.")), only, &known))
        (sheet.line("stt.model", Says { list: Some(EARS), ..says(t.t("Model", "Modelo"), t.t(
            "Leave empty for the provider's default.", "Déjalo vacío para usar el predeterminado del proveedor.")) }))
        (sheet.language("stt.language", says(t.t("Transcription language", "Idioma de la transcripción"), ""), Some(t.t("The agent's language", "El idioma del agente"))))
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
