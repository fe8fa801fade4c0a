//! The editor's groups of fields, each with its rule.

mod speech;

use offhook_domain::config::BUILT_IN;
use offhook_services::ModelKind;

use super::choices::{
    Choices, DOCUMENTS_Q, DOCUMENTS_SHOWN, ProviderOption, models, models_of, providers, vendor,
};
use super::control::{PLAIN_ROWS, Says, Sheet, id_of, says, span};
use super::document::{
    DOCUMENTS, FALLBACK, FOLDERS, FOUND, HOURS, MATCH_CASE, MODEL_PICK, PRONUNCIATION, TOOLS,
    VARIABLES, rows,
};
use crate::prelude::*;

/// The ids of the lists of models.
const LLMS: &str = "models-llm";
const EARS: &str = "models-stt";
const MOUTHS: &str = "models-tts";

/// The id of the list of suggested time zones, and these; any other can be typed.
const ZONES: (&str, [&str; 16]) = (
    "time-zones",
    [
        "America/Mexico_City",
        "America/Monterrey",
        "America/Cancun",
        "America/Tijuana",
        "America/Bogota",
        "America/Lima",
        "America/Santiago",
        "America/Argentina/Buenos_Aires",
        "America/Sao_Paulo",
        "America/New_York",
        "America/Chicago",
        "America/Denver",
        "America/Los_Angeles",
        "Europe/London",
        "Europe/Madrid",
        "UTC",
    ],
);

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
                @for (model, text) in models(visitor, &choices.agents, kind) { option value=(model) { (text) } }
            }
        }
        (words(sheet))
        (variables(sheet, path))
        (model(visitor, sheet, choices))
        (speech::voice(sheet, choices, path))
        (speech::ear(sheet, choices))
        (conversation(sheet))
        (sound(sheet, choices))
        (pronunciation(sheet))
        (calling_hours(sheet))
        (knowledge(sheet, choices, path))
        (tools(sheet, choices))
    }
}

/// A group of fields whose names begin so. It opens if one of them was refused or a search or rows in it were requested.
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
        let wrong = is_one(&|begins| sheet.is_refused_in(begins));
        sheet.call_within(title, self.begins);
        let asked = !sheet.add.is_empty() && is_one(&|begins| sheet.add.starts_with(begins));
        let id = format!("group-{}", self.begins.first().copied().unwrap_or_default());
        let drawn = (id.clone(), title.to_owned());
        sheet.groups.borrow_mut().push(drawn);
        html! {
            details.group open[self.is_open || wrong || asked] {
                summary { (title) }
                // A link to it opens the group.
                fieldset.plain #(id) {
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
        t.t("General", "General"),
        &["name", "language", "system_prompt", "first_message"],
    );
    group.opened().with(&html! {
        (sheet.line("name", says(t.t("Name", "Nombre"), t.t("Up to 120 characters.", "Hasta 120 caracteres."))))
        (sheet.language("language", says(t.t("Language", "Idioma"), t.t(
            "The language that the agent speaks and understands.", "El idioma que el agente habla y entiende.")), None))
        (sheet.text("system_prompt", 14, says(t.t("Instructions (system prompt)", "Instrucciones (prompt del sistema)"), t.t(
            "Guides the model in every conversation. Up to 100,000 characters. {{name}} inserts a variable.",
            "Guía al modelo en cada conversación. Hasta 100,000 caracteres. {{nombre}} inserta una variable."))))
        (sheet.text("first_message", 3, says(t.t("First message", "Primer mensaje"), t.t(
            "Up to 2,000 characters. Leave empty to let the caller speak first.",
            "Hasta 2,000 caracteres. Déjalo vacío para que la otra persona hable primero."))))
    })
}

fn variables(sheet: &Sheet<'_>, path: &str) -> Markup {
    let t = sheet.lang;
    let of = VARIABLES.0;
    let all = rows(sheet.fields, of, VARIABLES.1);
    let unset = all.iter().filter(|row| row.values[1].is_empty());
    let unset: Vec<&str> = unset.map(|row| row.values[0]).collect();
    let mut group = sheet.group(t.t("Variables", "Variables"), &[VARIABLES.0]);
    group.is_open = !all.is_empty();
    let drawn = group.with(&html! {
        p.hint { (t.t(
            "Names in {{braces}} in the texts above. A call can set their values in its metadata; otherwise the default is used. Up to 100.",
            "Los nombres entre {{llaves}} de los textos de arriba. Cada llamada puede dar sus valores en los metadatos; si no, se usa el valor predeterminado. Hasta 100.")) }
        p.hint { (t.t("Always available: ", "Siempre disponibles: "))
            @for (place, name) in BUILT_IN.iter().enumerate() { @if place > 0 { ", " } code { "{{" (name) "}}" } } "." }
        @if !unset.is_empty() {
            p.warning { (t.t("No default, so empty in calls that do not set them: ", "Sin valor predeterminado, y por eso vacías en las llamadas que no las indiquen: "))
                @for (place, name) in unset.iter().enumerate() { @if place > 0 { ", " } code { "{{" (name) "}}" } } }
        }
        (sheet.rows(VARIABLES, t.t("Variables", "Variables"), [
            says(t.t("Name", "Nombre"), t.t(
                "Names: a letter or _, then letters, digits or _ (up to 64).",
                "Nombres: una letra o _, luego letras, dígitos o _ (hasta 64).")),
            says(t.t("Default", "Valor predeterminado"), t.t(
                "Defaults: text, a number, true or false. Put a number in \"quotes\" to keep it as text.",
                "Valores: texto, un número, true o false. Pon un número entre \"comillas\" para que quede como texto.")),
        ], (FOUND, &|row, is_set| html! { @if is_set { input type="hidden" name={ (row) (FOUND) } value="on"; } })))
    });
    html! {
        // A name that was typed into a text above is found when the text is left.
        div #variables data-quiet="" hx-post={ (crate::PATH) (path) } hx-trigger="change from:#field-system_prompt, change from:#field-first_message"
            hx-vals={ "{\"add\":\"" (of) ".found\"}" } hx-select="#variables" hx-swap="outerHTML" { (drawn) }
    }
}

fn model(visitor: &Visitor, sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let mut known = providers(t, &choices.agents, ModelKind::Llm);
    known.push(ProviderOption {
        name: "custom".to_owned(),
        label: vendor(t, "custom").to_owned(),
        may_be_chosen: true,
    });
    let pick = id_of(MODEL_PICK);
    let named = sheet.is_refused_in("llm.provider") || sheet.is_refused_in("llm.model");
    let group = sheet.group(t.t("Model", "Modelo"), &["llm"]).opened();
    group.with(&html! {
        div.field {
            label for=(pick) { (t.t("Language model", "Modelo de lenguaje")) }
            select #(pick) name=(MODEL_PICK) {
                option value="" { (current_model(visitor, sheet, choices)) }
                @for provider in &known {
                    @let models = models_of(visitor, &choices.agents, ModelKind::Llm, &provider.name);
                    @if !models.is_empty() {
                        optgroup label=(provider.label) {
                            @for (model, label) in &models {
                                @let value = format!("{}|{model}", provider.name);
                                option value=(value) selected[sheet.fields.text(MODEL_PICK) == value] disabled[!provider.may_be_chosen] { (label) }
                            }
                        }
                    }
                }
            }
            p.hint { (t.t("Prices are in credits per minute.", "Los precios son en créditos por minuto.")) }
        }
        details open[named] {
            summary { (t.t("Name a model", "Indicar un modelo por su nombre")) }
            (sheet.provider("llm.provider", says(t.t("Provider", "Proveedor"), t.t(
                "Required to publish.", "Obligatorio para publicar.")), t.t("Choose…", "Elige…"), &known))
            (sheet.line("llm.model", Says { list: Some(LLMS), ..says(t.t("Model", "Modelo"), t.t(
                "One of the provider's models. Local and custom servers, and your own keys, accept any name. Required to publish.",
                "Uno de los modelos del proveedor. Los servidores locales y propios, y tus propias claves, aceptan cualquier nombre. Obligatorio para publicar.")) }))
        }
        (sheet.slider("llm.temperature", span([0.0, 2.0], 0.1, 0.7, ""), says(t.t("Temperature", "Temperatura"), t.t(
            "0 to 2. Lower is more predictable. Default 0.7.", "De 0 a 2. Más bajo es más predecible. Predeterminado: 0.7."))))
        (sheet.choice("llm.routing", says(t.t("Routing", "Enrutamiento"), t.t(
            "Fixed: the model above, then the fallbacks in order. Fastest: the model that has responded fastest lately.",
            "Fijo: el modelo de arriba y luego los de respaldo, en orden. Más rápido: el que ha respondido más rápido últimamente.")), &[
            ("fixed", t.t("Fixed", "Fijo")), ("fastest", t.t("Fastest", "Más rápido")),
        ]))
        (sheet.rows(FALLBACK, t.t("Fallback models", "Modelos de respaldo"), [
            says(t.t("Provider", "Proveedor"), t.t("Up to 5. Used when the model above fails.", "Hasta 5. Se usan cuando falla el modelo de arriba.")),
            Says { list: Some(LLMS), ..says(t.t("Model", "Modelo"), "") },
        ], PLAIN_ROWS))
        (sheet.line("llm.endpoint", says(t.t("Endpoint", "Dirección del servidor"), t.t(
            "https:// base URL of an OpenAI-compatible server. Only for a custom server.",
            "URL base https:// de un servidor compatible con OpenAI. Solo para un servidor propio."))))
    })
}

/// The model that stays unless another is picked.
fn current_model(visitor: &Visitor, sheet: &Sheet<'_>, choices: &Choices) -> String {
    let t = sheet.lang;
    let (provider, model) = (
        sheet.fields.text("llm.provider"),
        sheet.fields.text("llm.model"),
    );
    if provider.is_empty() {
        return t.t("Choose…", "Elige…").to_owned();
    }
    let mut known = models_of(visitor, &choices.agents, ModelKind::Llm, provider).into_iter();
    let label = known.rfind(|(name, _)| name == model);
    let label = label.map_or_else(|| model.to_owned(), |(_, label)| label);
    format!("{label} · {}", vendor(t, provider))
}

fn conversation(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(
        t.t("Conversation", "Conversación"),
        &["conversation.turns", "conversation.max_duration_s"],
    );
    group.with(&html! {
        (sheet.slider("conversation.max_duration_s", span([10.0, 7_200.0], 10.0, 600.0, "s"), says(t.t("Max call length", "Duración máxima de la llamada"), t.t(
            "10 to 7,200 seconds (2 hours). The agent then says goodbye. Default 600 (10 minutes).", "De 10 a 7,200 segundos (2 horas). Entonces el agente se despide. Predeterminado: 600 (10 minutos)."))))
        (sheet.slider("conversation.turns.endpointing_ms", span([200.0, 3_000.0], 50.0, 700.0, "ms"), says(t.t("End-of-turn pause", "Pausa de fin de turno"), t.t(
            "200 to 3,000 milliseconds of silence. Shorter responds sooner; longer gives people time to think. Default 700.",
            "De 200 a 3,000 milisegundos de silencio. Más corta responde antes; más larga da tiempo para pensar. Predeterminado: 700."))))
        (sheet.tick("conversation.turns.interruptions", t.t("Caller can interrupt", "La otra persona puede interrumpir"), t.t(
            "The agent stops talking when the caller speaks over it.", "El agente deja de hablar cuando la otra persona habla encima.")))
        (sheet.slider("conversation.turns.silence_timeout_s", span([5.0, 120.0], 1.0, 20.0, "s"), says(t.t("Silence timeout", "Silencio máximo"), t.t(
            "Ends the call after this much silence, 5 to 120 seconds. Default 20.", "Termina la llamada tras este silencio, de 5 a 120 segundos. Predeterminado: 20."))))
        (sheet.choice("conversation.turns.voicemail", says(t.t("When voicemail answers", "Cuando contesta un buzón de voz"), ""), &[
            ("hang_up", t.t("End the call", "Terminar la llamada")),
            ("leave_message", t.t("Say the first message, then end the call", "Decir el primer mensaje y terminar")),
            ("ignore", t.t("Continue as if a person answered", "Continuar como si contestara una persona")),
        ]))
    })
}

fn sound(sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let mut places = vec![("", t.t("None", "Ninguno"))];
    let known = choices.ambient.iter();
    places.extend(known.map(|name| (*name, place_name(sheet, name))));
    let group = sheet.group(
        t.t("Recording and audio", "Grabación y audio"),
        &["conversation.recording", "conversation.audio"],
    );
    group.with(&html! {
        (sheet.tick("conversation.recording.enabled", t.t("Record calls", "Grabar llamadas"), ""))
        (sheet.text("conversation.recording.consent_text", 2, says(t.t("Recording notice", "Aviso de grabación"), t.t(
            "Spoken at the start of a recorded call. Up to 2,000 characters.",
            "Se dice al inicio de una llamada grabada. Hasta 2,000 caracteres."))))
        (sheet.choice("conversation.audio.ambient", says(t.t("Background sound", "Sonido de fondo"), ""), &places))
        (sheet.slider("conversation.audio.speed", span([0.5, 2.0], 0.05, 1.0, "×"), says(t.t("Speech speed", "Velocidad del habla"), t.t(
            "0.5 to 2, if the voice supports it. Default 1.", "De 0.5 a 2, si la voz lo permite. Predeterminado: 1."))))
    })
}

fn place_name<'a>(sheet: &Sheet<'_>, name: &'a str) -> &'a str {
    match name {
        "office" => sheet.lang.t("Office", "Oficina"),
        "cafe" => sheet.lang.t("Café", "Cafetería"),
        "street" => sheet.lang.t("Street", "Calle"),
        other => other,
    }
}

fn pronunciation(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(t.t("Pronunciation", "Pronunciación"), &[PRONUNCIATION.0]);
    group.with(&html! {
        (sheet.rows(PRONUNCIATION, t.t("Pronunciations", "Pronunciaciones"), [
            says(t.t("Word", "Palabra"), t.t("Up to 200, each word once.", "Hasta 200, cada palabra una vez.")),
            says(t.t("Pronounced as", "Se pronuncia"), ""),
        ], (MATCH_CASE, &|row, is_set| crate::parts::form::check(
            &format!("{row}{MATCH_CASE}"), "on", t.t("Case-sensitive", "Distinguir mayúsculas"), is_set,
        ))))
    })
}

fn calling_hours(sheet: &Sheet<'_>) -> Markup {
    let t = sheet.lang;
    let of = |name: &str| format!("{HOURS}.{name}");
    let days = words::days(t).into_iter().zip(1_u8..);
    let days: Vec<(String, String)> = days
        .map(|(name, day)| (day.to_string(), name.to_owned()))
        .collect();
    let group = sheet.group(t.t("Calling hours", "Horario de llamadas"), &[HOURS]);
    group.with(&html! {
        (sheet.tick(HOURS, t.t("Only call within these hours", "Llamar solo en este horario"), t.t(
            "Otherwise calls can be placed at any time.", "Si no, se puede llamar a cualquier hora.")))
        datalist #(ZONES.0) { @for zone in ZONES.1 { option value=(zone); } }
        (sheet.line(&of("timezone"), Says { list: Some(ZONES.0), ..says(t.t("Time zone", "Zona horaria"), t.t(
            "An IANA name, such as America/Mexico_City.", "Un nombre IANA, como America/Mexico_City.")) }))
        (sheet.ticks(&of("days"), t.t("Days", "Días"), &days))
        (sheet.time(&of("start"), says(t.t("From", "Desde"), "")))
        (sheet.time(&of("end"), says(t.t("Until", "Hasta"), t.t(
            "If earlier than the start, the hours cross midnight.", "Si es antes del inicio, el horario cruza la medianoche."))))
    })
}

fn knowledge(sheet: &Sheet<'_>, choices: &Choices, path: &str) -> Markup {
    let t = sheet.lang;
    let find = id_of(DOCUMENTS_Q);
    let group = sheet.group(t.t("Knowledge", "Conocimiento"), &["knowledge_base"]);
    group.with(&html! {
        @if !choices.has_knowledge {
            p.warning { (t.t(
                "Your plan does not include knowledge. Your choices here are saved but not used.",
                "Tu plan no incluye conocimiento. Lo que elijas aquí se guarda, pero no se usa.")) }
        }
        (sheet.choice("knowledge_base.mode", says(t.t("Search documents", "Buscar en documentos"), ""), &[
            ("off", t.t("Never", "Nunca")), ("auto", t.t("Before each reply", "Antes de cada respuesta")),
            ("tool", t.t("When the model asks", "Cuando el modelo lo pide")),
        ]))
        (sheet.slider("knowledge_base.top_k", span([1.0, 20.0], 1.0, 4.0, ""), says(t.t("Passages per search", "Pasajes por búsqueda"), t.t(
            "1 to 20. Default 4.", "De 1 a 20. Predeterminado: 4."))))
        @if !choices.folders.is_empty() {
            (sheet.ticks(FOLDERS, t.t("Folders (with all their documents)", "Carpetas (con todos sus documentos)"), &choices.folders))
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
                    a href={ (crate::PATH) "/knowledge" } { (t.t("Go to Knowledge", "Ir a Conocimiento")) } }
            } @else { (sheet.ticks(DOCUMENTS, t.t("Documents", "Documentos"), &choices.documents)) }
        }
    })
}

fn tools(sheet: &Sheet<'_>, choices: &Choices) -> Markup {
    let t = sheet.lang;
    let group = sheet.group(t.t("Tools", "Herramientas"), &[TOOLS]);
    group.with(&html! {
        @if choices.tools.is_empty() {
            p.hint { (t.t("Tools let an agent do more than talk. No tools yet.", "Con herramientas, un agente hace más que hablar. Aún no hay ninguna.")) " "
                a href={ (crate::PATH) "/tools/new" } { (t.t("Create tool", "Crear herramienta")) } }
        } @else {
            (sheet.ticks(TOOLS, t.t("Tools this agent can use", "Herramientas que puede usar este agente"), &choices.tools))
        }
    })
}
