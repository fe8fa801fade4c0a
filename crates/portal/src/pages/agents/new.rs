//! A new agent, with a name and a configuration that can be published as it is.

use maud::{Markup, html};
use offhook_domain::json::Json;

use crate::fields::Fields;
use crate::lang::Lang;
use crate::parts::form::{Input, form, refusal};
use crate::trouble::Answer;
use crate::visit::layout::Section;
use crate::visit::{Developer, Post, Visit, Visitor};

/// Suggested languages; any other BCP 47 tag can be typed.
const LANGUAGES: [(&str, &str); 7] = [
    ("es-MX", "Español (México)"),
    ("es-ES", "Español (España)"),
    ("en-US", "English (United States)"),
    ("en-GB", "English (United Kingdom)"),
    ("pt-BR", "Português (Brasil)"),
    ("fr-FR", "Français"),
    ("de-DE", "Deutsch"),
];

const fn title(lang: Lang) -> &'static str {
    lang.t("Create agent", "Crear agente")
}

/// `GET /portal/agents/new`
pub(super) async fn show(visit: Visit<Developer>) -> Answer {
    let t = visit.lang();
    let fields = Fields::of([("language", t.t("en-US", "es-MX"))]);
    let body = draw(&visit, &fields, None);
    Ok(visit.page(Section::Agents, title(t), &body))
}

fn draw(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        (refusal(message))
        (form(visitor, "/agents/new", &html! {
            (Input::text("name", t.t("Name", "Nombre")).value(fields.raw("name")).required()
                .hint(t.t("Up to 120 characters. Shown as the widget's title.", "Hasta 120 caracteres. Se muestra como título del widget.")))
            div.field {
                label for="field-language" { (t.t("Language", "Idioma")) }
                input #field-language type="text" name="language" value=(fields.text("language")) required list="languages"
                    autocomplete="off" aria-describedby="field-language-hint";
                datalist #languages { @for (tag, name) in LANGUAGES { option value=(tag) { (name) } } }
                p.hint #field-language-hint { (t.t(
                    "A BCP 47 tag, such as en-US or es-MX.", "Una etiqueta BCP 47, como es-MX o en-US.",
                )) }
            }
            p.hint { (t.t(
                "To use your ElevenLabs agents, store an ElevenLabs credential for the account. They then appear in the list automatically.",
                "Para usar tus agentes de ElevenLabs, guarda una credencial de ElevenLabs en la cuenta. Aparecerán en la lista automáticamente.",
            )) }
            p { button.primary type="submit" { (t.t("Create agent", "Crear agente")) } }
        }))
    }
}

/// `POST /portal/agents/new`
pub(super) async fn create(post: Post<Developer>) -> Answer {
    let language = post.fields.text("language");
    let agents = post.services().agents();
    let mut config = agents.first_config(post.account(), language).await?;
    let (prompt, greeting) = first_words(language);
    prompt.clone_into(&mut config.system_prompt);
    greeting.clone_into(&mut config.first_message);
    let body = Json::object([
        ("name", Json::from(post.fields.text("name"))),
        ("language", Json::from(language)),
        ("config", config.to_json()),
    ]);
    match agents.create(post.account(), &body).await {
        Ok(view) => {
            let (id, path) = (view.agent.id, format!("/agents/{}", view.agent.id));
            let message = post.t(
                "Draft created. Edit the agent, then publish it.",
                "Borrador creado. Edita el agente y luego publícalo.",
            );
            post.done("agent.create", id, &path, message).await
        }
        Err(error) => {
            let labels = [
                ("name", post.t("Name", "Nombre")),
                ("language", post.t("Language", "Idioma")),
            ];
            let message = post.message_of(error, &labels)?;
            let body = draw(&post, &post.fields, Some(&message));
            Ok(post.refused(Section::Agents, title(post.lang()), &body))
        }
    }
}

/// The first prompt and greeting, in the agent's language and not the reader's.
fn first_words(language: &str) -> (&'static str, &'static str) {
    let primary = language.split('-').next().unwrap_or(language);
    if primary.eq_ignore_ascii_case("es") {
        (
            "Eres un asistente telefónico amable y breve. Saluda, averigua qué necesita la persona, ayuda con lo que sabes y \
             dilo cuando no sepas algo. Responde en una o dos frases y haz una sola pregunta a la vez.",
            "¡Hola! ¿En qué te puedo ayudar?",
        )
    } else {
        (
            "You are a friendly and brief assistant on the telephone. Find out what the caller needs, help with what you \
             know, and say so when you do not know. Answer in one or two sentences and ask one question at a time.",
            "Hello! How can I help you?",
        )
    }
}
