//! What is extracted from an agent's conversations once they have ended.

use maud::{Markup, html};
use offhook_domain::MemberRole;
use offhook_domain::json::{FieldError, Json};
use offhook_services::{AgentView, AnalysisSchemaView};

use super::document::{parse, pretty, unix_lines};
use super::{engine_agent, tabs};
use crate::fields::Fields;
use crate::lang::tell;
use crate::layout::Section;
use crate::parts::form::{danger, kept, refusal};
use crate::parts::version;
use crate::parts::words::when;
use crate::trouble::{Answer, Result};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// What a schema looks like, for those who have none yet.
const EXAMPLE: &str = r#"{
  "type": "object",
  "properties": {
    "topic": { "type": "string", "description": "What the conversation was about" },
    "mood": { "enum": ["pleased", "neutral", "annoyed"] },
    "call_back": { "type": "boolean", "description": "Whether the customer wants to be called back" }
  },
  "required": ["topic", "mood"]
}"#;

/// What the form calls its field, in every language.
const LABELS: [(&str, &str); 1] = [("schema", "JSON Schema")];

fn title(visitor: &Visitor, view: &AgentView) -> String {
    let name = &view.agent.name;
    tell!(visitor.lang(), "Analysis of {name}", "Análisis de {name}")
}

async fn current(visitor: &Visitor, view: &AgentView) -> Result<AnalysisSchemaView> {
    let analyses = visitor.services().analyses();
    Ok(analyses.schema(visitor.account(), view.agent.id).await?)
}

fn fields_of(schema: &AnalysisSchemaView) -> Fields {
    let text = schema.schema.as_ref().map(pretty).unwrap_or_default();
    Fields::of([("schema", text.as_str())])
}

/// `GET /portal/agents/{id}/analysis`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let schema = current(&visit, &view).await?;
    let fields = version::stamped(fields_of(&schema));
    let body = draw(&visit, &view, &schema, &fields, None);
    Ok(visit.page(Section::Agents, &title(&visit, &view), &body))
}

/// `fields` is what was typed, where it was refused.
fn draw(
    visitor: &Visitor,
    view: &AgentView,
    schema: &AnalysisSchemaView,
    fields: &Fields,
    said: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    let id = view.agent.id;
    let is_set = schema.schema.is_some();
    html! {
        (tabs(visitor, &view.agent, "analysis"))
        (refusal(said))
        p.lead { (t.t(
            "When a conversation is over, the agent's model reads it and fills in what this JSON Schema asks for. The data is on the conversation's page and in the API. It costs nothing extra.",
            "Cuando termina una conversación, el modelo del agente la lee y llena lo que pide este JSON Schema. Los datos están en la página de la conversación y en la API. No tiene costo adicional.",
        )) }
        p.soft {
            @match (is_set, schema.updated_at) {
                (true, Some(at)) => { (t.t("In force for conversations that end after ", "Vale para las conversaciones que terminen después de ")) (when(at)) "." },
                _ => (t.t("Nothing is extracted at present.", "Por ahora no se extrae nada.")),
            }
        }
        @if visitor.may(MemberRole::Developer) {
            (editor(visitor, &format!("/agents/{id}/analysis"), fields))
            @if is_set {
                (danger(visitor, &format!("/agents/{id}/analysis/clear"), t.t("Stop extracting", "Dejar de extraer"), t.t(
                    "Extract nothing from conversations that end from now on? What was extracted stays.",
                    "¿No extraer nada de las conversaciones que terminen a partir de ahora? Lo extraído se conserva.",
                )))
            }
        } @else if is_set { pre.document tabindex="0" { (fields.raw("schema")) } }
        @if !is_set {
            h2 { (t.t("An example", "Un ejemplo")) }
            pre #example tabindex="0" { (EXAMPLE) }
            p { button type="button" data-copy="example" { (t.t("Copy", "Copiar")) } }
        }
    }
}

fn editor(visitor: &Visitor, path: &str, fields: &Fields) -> Markup {
    let t = visitor.lang();
    html! {
        (kept(visitor, path, &html! {
            (version::hidden(fields))
            div.field {
                label for="field-schema" { (t.t("JSON Schema", "JSON Schema")) }
                textarea #field-schema name="schema" rows="20" spellcheck="false" required aria-describedby="field-schema-hint" {
                    "\n" (unix_lines(fields.raw("schema")))
                }
                p.hint #field-schema-hint { (t.t(
                    "An object at the top; references within it alone (#/…); at most 32 levels deep and 64 KiB. Say what a member means in its description: the model reads it.",
                    "Un objeto en la raíz; solo referencias internas (#/…); máximo 32 niveles y 64 KiB. Explica cada miembro en su description: el modelo la lee.",
                )) }
            }
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        }))
    }
}

/// `POST /portal/agents/{id}/analysis`
pub(super) async fn set(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let schema = current(&post, &view).await?;
    let work = async {
        let wanted = parse(&unix_lines(post.fields.raw("schema")));
        let wanted = wanted.map_err(|fault| FieldError::new("schema", fault))?;
        save(&post, &view, wanted).await
    };
    let Err(refused) = version::save(&post, &fields_of(&schema), &LABELS, work).await? else {
        let said = post.t(
            "Saved. It holds for conversations that end from now on.",
            "Guardado. Vale para las conversaciones que terminen a partir de ahora.",
        );
        return done(&post, &view, said).await;
    };
    let body = draw(&post, &view, &schema, &refused.fields, Some(&refused.said));
    Ok(post.refused(Section::Agents, &title(&post, &view), &body))
}

/// `POST /portal/agents/{id}/analysis/clear`
pub(super) async fn clear(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    save(&post, &view, Json::Null).await?;
    let said = post.t("Nothing is extracted any more.", "Ya no se extrae nada.");
    done(&post, &view, said).await
}

async fn save(post: &Post<Developer>, view: &AgentView, schema: Json) -> Result<()> {
    let analyses = post.services().analyses();
    let body = Json::object([("schema", schema)]);
    let (account, agent) = (post.account(), view.agent.id);
    analyses.set_schema(account, agent, &body).await?;
    Ok(())
}

async fn done(post: &Post<Developer>, view: &AgentView, said: &str) -> Answer {
    let id = view.agent.id;
    let path = format!("/agents/{id}/analysis");
    post.done("analysis.set", id, &path, said).await
}
