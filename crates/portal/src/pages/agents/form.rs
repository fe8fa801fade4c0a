//! The editor's groups of fields, each with its rule.

mod speech;

use maud::{Markup, html};
use offhook_services::ModelKind;

use super::choices::{Choices, DOCUMENTS_Q, DOCUMENTS_SHOWN, models, providers};
use super::control::{Says, Sheet, id_of, says};
use super::document::{
    DOCUMENTS, FALLBACK, FOLDERS, HOURS, MATCH_CASE, PRONUNCIATION, TOOLS, VARIABLES,
};
use crate::visit::Visitor;

/// The ids of the lists of models.
const LLMS: &str = "models-llm";
const EARS: &str = "models-stt";
const MOUTHS: &str = "models-tts";

/// Every group. `path` is where the form is sent, for the searches.
pub(super) fn groups(
    visitor: &Visitor,
    sheet: &Sheet<'_>,
    choices: &Choices,
    path: &str,
) -> Markup {
    html! {
        @for (id, kind) in [(LLMS, ModelKind::Llm), (EARS, ModelKind::Stt), (MOUTHS, ModelKind::Tts)] {
            datalist id=(id) {
                @for (model, text) in models(visitor, kind) { option value=(model) { (text) } }
            }
        }
        (words(sheet))
        (variables(sheet))
        (model(visitor, sheet))
        (speech::voice(visitor, sheet, choices, path))
        (speech::ear(visitor, sheet))
        (conversation(sheet))
        (sound(sheet, choices))
        (pronunciation(sheet))
        (calling_hours(sheet))
        (knowledge(sheet, choices, path))
        (tools(sheet, choices))
    }
}

/// A group of fields, whose names begin so. It opens by itself where something in it was refused, or was asked for.
struct Group<'a> {
    sheet: &'a Sheet<'a>,
    title: &'a str,
    begins: &'a [&'a str],
    is_open: bool,
}

impl<'a> Sheet<'a> {
    const fn group(&'a self, title: &'a str, begins: &'a [&'a str]) -> Group<'a> {
        Group {
            sheet: self,
            title,
            begins,
            is_open: false,
        }
    }
}

impl Group<'_> {
    const fn opened(mut self) -> Self {
        self.is_open = true;
        self
    }

    fn with(self, fields: &Markup) -> Markup {
        let (sheet, title) = (self.sheet, self.title);
        let is_one = |is: &dyn Fn(&str) -> bool| self.begins.iter().any(|begins| is(begins));
        let wrong = is_one(&|begins| sheet.fault_in(begins).is_some());
        if wrong {
            sheet.call_within(title);
        }
        let asked = !sheet.add.is_empty() && is_one(&|begins| sheet.add.starts_with(begins));
        html! {
            details.group open[self.is_open || wrong || asked] {
                summary { (title) }
                fieldset.plain {
                    legend.unseen { (title) }
                    (fields)
                }
            }
        }
    }
}

fn words(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(
        t.t("What it says", "Qué dice"),
        &["name", "language", "system_prompt", "first_message"],
    );
    group.opened().with(&html! {
        (sheet.line("name", says(t.t("Name", "Nombre"), t.t("1 to 120 characters.", "De 1 a 120 caracteres."))))
        (sheet.line("language", says(t.t("Language", "Idioma"), t.t(
            "A BCP 47 tag, such as es-MX or en-US.", "Una etiqueta BCP 47, como es-MX o en-US."))))
        (sheet.text("system_prompt", 14, says(t.t("Instructions (system prompt)", "Instrucciones (prompt del sistema)"), t.t(
            "What the model is told before every conversation, up to 100,000 characters. {{name}} puts in a variable.",
            "Lo que se le dice al modelo antes de cada conversación, hasta 100,000 caracteres. {{nombre}} inserta una variable."))))
        (sheet.text("first_message", 3, says(t.t("First message", "Primer mensaje"), t.t(
            "What the agent says first, up to 2,000 characters. Empty: the other side begins.",
            "Lo primero que dice el agente, hasta 2,000 caracteres. Vacío: empieza la otra persona."))))
    })
}

fn variables(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(t.t("Variables", "Variables"), &[VARIABLES.0]);
    group.with(&html! {
        p.hint { (t.t(
            "Each call may bring values for them in its metadata; the default stands in where it does not. At most 100.",
            "Cada llamada puede traer sus valores en los metadatos; si no, se usa el valor predeterminado. Máximo 100.")) }
        (sheet.rows(VARIABLES, t.t("Variables of the texts", "Variables de los textos"), [
            says(t.t("Name", "Nombre"), t.t(
                "Names: a letter or _, then letters, digits or _ (up to 64).",
                "Nombres: una letra o _, luego letras, dígitos o _ (hasta 64).")),
            says(t.t("Default", "Valor predeterminado"), t.t(
                "Defaults: a text, a number, true or false. In \"quotes\" a number stays a text.",
                "Valores: un texto, un número, true o false. Entre \"comillas\" un número queda como texto.")),
        ], &|_, _| html! {}))
    })
}

fn model(visitor: &Visitor, sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let mut known = providers(visitor, ModelKind::Llm, t.t("– choose –", "– elige –"));
    known.push((
        "custom",
        t.t("custom (your own server)", "custom (tu propio servidor)"),
    ));
    let group = sheet.group(t.t("Model", "Modelo"), &["llm"]);
    group.with(&html! {
        (sheet.choice("llm.provider", says(t.t("Provider", "Proveedor"), t.t(
            "Needed to publish.", "Necesario para publicar.")), &known))
        (sheet.line("llm.model", Says { list: Some(LLMS), ..says(t.t("Model", "Modelo"), t.t(
            "A model of that provider, from the list; any name with `local` and `custom`. Needed to publish.",
            "Un modelo de ese proveedor, de la lista; cualquier nombre con `local` y `custom`. Necesario para publicar.")) }))
        (sheet.number("llm.temperature", says(t.t("Temperature", "Temperatura"), t.t(
            "0 to 2. Low is steady, high is free. Empty: 0.7.", "De 0 a 2. Bajo es constante, alto es libre. Vacío: 0.7."))))
        (sheet.choice("llm.routing", says(t.t("Routing", "Enrutamiento"), t.t(
            "Fixed: the model above, then the fallbacks in order. Fastest: whichever answered soonest lately.",
            "Fijo: el modelo de arriba y luego los de respaldo, en orden. Más rápido: el que respondió antes últimamente.")), &[
            ("fixed", t.t("Fixed", "Fijo")), ("fastest", t.t("Fastest", "Más rápido")),
        ]))
        (sheet.rows(FALLBACK, t.t("Fallback models", "Modelos de respaldo"), [
            says(t.t("Provider", "Proveedor"), t.t("Up to 5, used when the first fails.", "Hasta 5; se usan cuando falla el primero.")),
            Says { list: Some(LLMS), ..says(t.t("Model", "Modelo"), "") },
        ], &|_, _| html! {}))
        (sheet.line("llm.endpoint", says(t.t("Endpoint", "Dirección del servidor"), t.t(
            "https:// base URL of an OpenAI-compatible server; with the provider `custom` alone.",
            "URL base https:// de un servidor compatible con OpenAI; solo con el proveedor `custom`."))))
    })
}

fn conversation(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(
        t.t("Turns", "Turnos"),
        &["conversation.turns", "conversation.max_duration_s"],
    );
    group.with(&html! {
        (sheet.number("conversation.max_duration_s", says(t.t("Longest call, in seconds", "Duración máxima, en segundos"), t.t(
            "10 to 7,200. Empty: 600.", "De 10 a 7,200. Vacío: 600."))))
        (sheet.number("conversation.turns.endpointing_ms", says(t.t("Silence that ends a turn, in ms", "Silencio que termina un turno, en ms"), t.t(
            "200 to 3,000. Shorter answers sooner, longer lets people think. Empty: 700.",
            "De 200 a 3,000. Menos responde antes; más deja pensar. Vacío: 700."))))
        (sheet.tick("conversation.turns.interruptions", t.t("The other side may interrupt", "La otra persona puede interrumpir"), t.t(
            "The agent falls silent when somebody speaks over it.", "El agente se calla cuando alguien habla encima.")))
        (sheet.number("conversation.turns.silence_timeout_s", says(t.t("Silence that ends the call, in seconds", "Silencio que termina la llamada, en segundos"), t.t(
            "5 to 120. Empty: 20.", "De 5 a 120. Vacío: 20."))))
        (sheet.choice("conversation.turns.voicemail", says(t.t("When a machine answers", "Cuando contesta una máquina"), ""), &[
            ("hang_up", t.t("End the call", "Terminar la llamada")),
            ("leave_message", t.t("Say the first message, then end the call", "Decir el primer mensaje y terminar")),
            ("ignore", t.t("Go on as if a person had answered", "Seguir como si contestara una persona")),
        ]))
    })
}

fn sound(sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let mut places = vec![("", t.t("none", "ninguno"))];
    let known = choices.ambient.iter();
    places.extend(known.map(|name| (*name, place_name(sheet, name))));
    let group = sheet.group(
        t.t("Recording and sound", "Grabación y sonido"),
        &["conversation.recording", "conversation.audio"],
    );
    group.with(&html! {
        (sheet.tick("conversation.recording.enabled", t.t("Record calls", "Grabar llamadas"), ""))
        (sheet.text("conversation.recording.consent_text", 2, says(t.t("What is said about it", "Qué se dice al respecto"), t.t(
            "Said at the beginning of a recorded call, up to 2,000 characters.",
            "Se dice al inicio de una llamada grabada, hasta 2,000 caracteres."))))
        (sheet.choice("conversation.audio.ambient", says(t.t("Background sound", "Sonido de fondo"), ""), &places))
        (sheet.number("conversation.audio.speed", says(t.t("Speed of speech", "Velocidad del habla"), t.t(
            "0.5 to 2, where the voice can. Empty: 1.", "De 0.5 a 2, si la voz lo permite. Vacío: 1."))))
    })
}

fn place_name<'a>(sheet: &Sheet<'_>, name: &'a str) -> &'a str {
    match name {
        "office" => sheet.lang.t("office", "oficina"),
        "cafe" => sheet.lang.t("café", "cafetería"),
        "street" => sheet.lang.t("street", "calle"),
        other => other,
    }
}

fn pronunciation(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(t.t("Pronunciation", "Pronunciación"), &[PRONUNCIATION.0]);
    group.with(&html! {
        (sheet.rows(PRONUNCIATION, t.t("Words that are said otherwise", "Palabras que se dicen de otra forma"), [
            says(t.t("Written", "Escrita"), t.t("Up to 200, each once.", "Hasta 200, cada una una vez.")),
            says(t.t("Said", "Dicha"), ""),
        ], &|row, is_set| crate::parts::form::check(
            &format!("{row}{MATCH_CASE}"), "on", t.t("Case counts", "Distinguir mayúsculas"), is_set,
        )))
    })
}

fn calling_hours(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let of = |name: &str| format!("{HOURS}.{name}");
    let names = [
        t.t("Monday", "lunes"),
        t.t("Tuesday", "martes"),
        t.t("Wednesday", "miércoles"),
        t.t("Thursday", "jueves"),
        t.t("Friday", "viernes"),
        t.t("Saturday", "sábado"),
        t.t("Sunday", "domingo"),
    ];
    let days = names.iter().zip(1_u8..);
    let days: Vec<(String, String)> = days
        .map(|(name, day)| (day.to_string(), (*name).to_owned()))
        .collect();
    let group = sheet.group(t.t("Calling hours", "Horario de llamadas"), &[HOURS]);
    group.with(&html! {
        (sheet.tick(HOURS, t.t("Place calls within these hours alone", "Llamar solo en este horario"), t.t(
            "Without it calls may be placed at any time.", "Sin esto se puede llamar a cualquier hora.")))
        (sheet.line(&of("timezone"), says(t.t("Time zone", "Zona horaria"), t.t(
            "An IANA name, such as America/Mexico_City.", "Un nombre IANA, como America/Mexico_City."))))
        (sheet.ticks(&of("days"), t.t("Days", "Días"), &days))
        (sheet.line(&of("start"), says(t.t("From", "Desde"), t.t("HH:MM, 00:00 to 23:59.", "HH:MM, de 00:00 a 23:59."))))
        (sheet.line(&of("end"), says(t.t("Until", "Hasta"), t.t(
            "HH:MM. Before the beginning: it crosses midnight.", "HH:MM. Antes del inicio: cruza la medianoche."))))
    })
}

fn knowledge(sheet: &Sheet<'_>, choices: &Choices, path: &str) -> Markup {
    let t = sheet.lang;
    let find = id_of(DOCUMENTS_Q);
    let group = sheet.group(t.t("Knowledge", "Conocimiento"), &["knowledge_base"]);
    group.with(&html! {
        @if !choices.has_knowledge {
            p.warning { (t.t(
                "Your plan has no knowledge: what is chosen here is kept, but not used.",
                "Tu plan no incluye conocimiento: lo que elijas aquí se guarda, pero no se usa.")) }
        }
        (sheet.choice("knowledge_base.mode", says(t.t("Looks things up", "Consulta"), ""), &[
            ("off", t.t("Never", "Nunca")), ("auto", t.t("Before each answer", "Antes de cada respuesta")),
            ("tool", t.t("When the model asks", "Cuando el modelo lo pide")),
        ]))
        (sheet.number("knowledge_base.top_k", says(t.t("Passages for each look-up", "Pasajes por consulta"), t.t(
            "1 to 20. Empty: 4.", "De 1 a 20. Vacío: 4."))))
        @if !choices.folders.is_empty() {
            (sheet.ticks(FOLDERS, t.t("Folders, with all their documents", "Carpetas, con todos sus documentos"), &choices.folders))
        }
        @if choices.has_knowledge {
            div.field {
                label for=(find) { (t.t("Find documents", "Buscar documentos")) }
                input #(find) type="search" name=(DOCUMENTS_Q) value=(sheet.fields.text(DOCUMENTS_Q)) autocomplete="off"
                    hx-post={ (crate::PATH) (path) } hx-trigger="input changed delay:300ms"
                    hx-vals="{\"add\":\"knowledge_base.search\"}" hx-select="#documents" hx-target="#documents" hx-swap="outerHTML";
                button type="submit" name="add" value="knowledge_base.search" formnovalidate { (t.t("Search", "Buscar")) }
            }
        }
        div #documents aria-live="polite" {
            input type="hidden" name=(DOCUMENTS_SHOWN) value=(sheet.fields.text(DOCUMENTS_Q));
            @if choices.documents.is_empty() {
                p.hint { (t.t("No documents.", "Sin documentos.")) " "
                    a href={ (crate::PATH) "/knowledge" } { (t.t("To knowledge", "Ir a conocimiento")) } }
            } @else { (sheet.ticks(DOCUMENTS, t.t("Documents", "Documentos"), &choices.documents)) }
        }
    })
}

fn tools(sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(t.t("Tools", "Herramientas"), &[TOOLS]);
    group.with(&html! {
        @if choices.tools.is_empty() {
            p.hint { (t.t("What an agent can do besides speaking. There is none yet.", "Lo que un agente puede hacer además de hablar. Aún no hay ninguna.")) " "
                a href={ (crate::PATH) "/tools/new" } { (t.t("Make a tool", "Crear una herramienta")) } }
        } @else {
            (sheet.ticks(TOOLS, t.t("Tools that it may use", "Herramientas que puede usar"), &choices.tools))
        }
    })
}
