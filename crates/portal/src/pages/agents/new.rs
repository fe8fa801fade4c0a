//! A new agent, with a name and a configuration that can be published as it is.

use std::cell::RefCell;

use offhook_domain::config::KnowledgeMode;
use offhook_services::AgentView;

use super::control::{Sheet, says};
use super::document::language;
use super::templates::{self, Template, with_business};
use crate::parts::form::{form, refusal};
use crate::prelude::*;

/// The field of the description of the business.
const BUSINESS: &str = "business";

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
    let chosen = Template::of(fields.text("template"));
    let sheet = Sheet {
        lang: t,
        fields,
        faults: Vec::new(),
        add: "",
        groups: RefCell::default(),
        refused: RefCell::default(),
    };
    html! {
        (refusal(message))
        (form(visitor, "/agents/new", &html! {
            fieldset.plain {
                legend { (t.t("Begin with", "Comenzar con")) }
                div.templates {
                    @for template in &templates::ALL {
                        label.check.form-card {
                            input type="radio" name="template" value=(template.id) checked[template.id == chosen.id];
                            span { strong { (template.name(t)) } br; span.soft { (template.about(t)) } }
                        }
                    }
                }
            }
            (Input::text("name", t.t("Name", "Nombre")).value(fields.raw("name")).required()
                .hint(t.t("Up to 120 characters. Shown as the widget's title.", "Hasta 120 caracteres. Se muestra como título del widget.")))
            (sheet.language("language", says(t.t("Language", "Idioma"), t.t(
                "The language that the agent speaks and understands.", "El idioma que el agente habla y entiende.")), None))
            (Input::text(BUSINESS, t.t("Your business (optional)", "Tu negocio (opcional)")).rows(3).value(fields.raw(BUSINESS))
                .hint(t.t(
                    "A sentence or two: what you do, for whom, your hours. It is worked into the agent's texts, which you can edit.",
                    "Una o dos frases: qué haces, para quién, tu horario. Se incluye en los textos del agente, que puedes editar.")))
            p.hint { (t.t(
                "To use your ElevenLabs agents, store an ElevenLabs credential for the account. They then appear in the list automatically.",
                "Para usar tus agentes de ElevenLabs, guarda una credencial de ElevenLabs en la cuenta. Aparecerán en la lista automáticamente.",
            )) }
            button.primary type="submit" { (t.t("Create agent", "Crear agente")) }
        }))
    }
}

/// `POST /portal/agents/new`
pub(super) async fn create(post: Post<Developer>) -> Answer {
    let labels = [
        ("name", post.t("Name", "Nombre")),
        ("language", post.t("Language", "Idioma")),
    ];
    let message = match made(&post).await {
        Ok((view, message)) => {
            let (id, path) = (view.agent.id, format!("/agents/{}", view.agent.id));
            return post.done("agent.create", id, &path, message).await;
        }
        Err(trouble) => post.message_of(trouble, &labels)?,
    };
    let body = draw(&post, &post.fields, Some(&message));
    Ok(post.refused(Section::Agents, title(post.lang()), &body))
}

/// The agent, and what to tell about it.
async fn made(post: &Post<Developer>) -> Result<(AgentView, &'static str)> {
    let (agents, t) = (
        post.services().agents().by(post.person.actor()),
        post.lang(),
    );
    let language = language(&post.fields, "language");
    let template = Template::of(post.fields.text("template"));
    let mut config = agents.first_config(post.account(), language).await?;
    template.apply(&mut config);
    if template.has_knowledge && post.caller().terms.engine_module {
        config.knowledge_base.mode = KnowledgeMode::Auto;
    }
    let mut message = t.t(
        "Draft created. Edit the agent, then publish it.",
        "Borrador creado. Edita el agente y luego publícalo.",
    );
    let mut texts = template.texts(language);
    if let Some(business) = post.fields.get(BUSINESS) {
        match agents
            .adapted_texts(post.account(), &texts, business)
            .await?
        {
            Some(adapted) => texts = adapted,
            None => {
                texts.instructions = with_business(&texts.instructions, business, language);
                message = t.t(
                    "Draft created. No language model adapted its texts: your description is at the end of the instructions.",
                    "Borrador creado. Ningún modelo de lenguaje adaptó sus textos: tu descripción está al final de las instrucciones.",
                );
            }
        }
    }
    if config.llm.provider.as_deref() == Some("scripted") {
        texts.instructions.push_str(&template.script(language));
    }
    config.system_prompt = texts.instructions;
    config.first_message = texts.greeting;
    let body = Json::object([
        ("name", Json::from(post.fields.text("name"))),
        ("language", Json::from(language)),
        ("config", config.to_json()),
    ]);
    Ok((agents.create(post.account(), &body).await?, message))
}
