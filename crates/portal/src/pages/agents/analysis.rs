//! What is extracted from an agent's conversations after they end.

use offhook_services::{AgentView, AnalysisSchemaView};

use super::document::{parse, pretty, unix_lines};
use super::{engine_agent, refused_tab, tabbed};
use crate::parts::form::{danger, kept, refusal};
use crate::parts::json;
use crate::parts::sample;
use crate::parts::version;
use crate::prelude::*;

/// An example for agents without a schema.
const EXAMPLE: &str = r#"{
  "type": "object",
  "properties": {
    "topic": { "type": "string", "description": "What the conversation was about" },
    "mood": { "enum": ["pleased", "neutral", "annoyed"] },
    "call_back": { "type": "boolean", "description": "Whether the customer wants to be called back" }
  },
  "required": ["topic", "mood"]
}"#;

/// The label of the form's field, in every language.
const LABELS: [(&str, &str); 1] = [("schema", "JSON Schema")];

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
    let mut fields = version::stamped(fields_of(&schema));
    if schema.schema.is_none() && visit.query().is_set("example") {
        fields.set("schema", EXAMPLE);
    }
    let body = draw(&visit, &view, &schema, &fields, None);
    Ok(tabbed(&visit, &view.agent, "analysis", &body))
}

/// `fields` is the input of a refused form.
fn draw(
    visitor: &Visitor,
    view: &AgentView,
    schema: &AnalysisSchemaView,
    fields: &Fields,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    let id = view.agent.id;
    let is_set = schema.schema.is_some();
    html! {
        (refusal(message))
        p.lead { (t.t(
            "After each conversation, the agent's model reads it and fills in the fields of this JSON Schema. The data is on the conversation's page and in the API. Analysis has no extra cost.",
            "Después de cada conversación, el modelo del agente la lee y llena los campos de este JSON Schema. Los datos están en la página de la conversación y en la API. El análisis no tiene costo adicional.",
        )) }
        p {
            @match (is_set, schema.updated_at) {
                (true, Some(at)) => { (badge(Tone::Good, t.t("On", "Activado"))) " " (t.t("Applies to conversations that end after ", "Se aplica a las conversaciones que terminen después de ")) (when(at)) "." },
                _ => { (badge(Tone::Plain, t.t("Off", "Desactivado"))) " " (t.t("Analysis is off.", "El análisis está desactivado.")) },
            }
        }
        @if visitor.may(MemberRole::Developer) {
            @if !is_set {
                p { a.button href={ (PATH) "/agents/" (id) "/analysis?example=on" } { (t.t("Begin with the example", "Comenzar con el ejemplo")) } }
            }
            (editor(visitor, &format!("/agents/{id}/analysis"), fields))
            @if is_set {
                (danger(visitor, &format!("/agents/{id}/analysis/clear"), t.t("Turn off analysis", "Desactivar el análisis"), t.t(
                    "Turn off analysis of conversations that end from now on? Data already extracted is kept.",
                    "¿Desactivar el análisis de las conversaciones que terminen a partir de ahora? Los datos ya extraídos se conservan.",
                )))
            }
        } @else if is_set { pre.document tabindex="0" { (json::colored(fields.raw("schema"))) } }
        @if !is_set {
            (sample::code(t, "example", t.t("Example", "Ejemplo"), EXAMPLE))
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
                textarea #field-schema name="schema" rows="20" spellcheck="false" required data-json aria-describedby="field-schema-hint" {
                    "\n" (unix_lines(fields.raw("schema")))
                }
                p.hint #field-schema-hint { (t.t(
                    "The root must be an object. References must be local (#/…). Up to 32 levels and 64 KiB. Explain each field in its description: the model reads it.",
                    "La raíz debe ser un objeto. Las referencias deben ser locales (#/…). Hasta 32 niveles y 64 KiB. Explica cada campo en su description: el modelo la lee.",
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
        let message = post.t(
            "Saved. Applies to conversations that end from now on.",
            "Guardado. Se aplica a las conversaciones que terminen a partir de ahora.",
        );
        return done(&post, &view, message).await;
    };
    let body = draw(
        &post,
        &view,
        &schema,
        &refused.fields,
        Some(&refused.message),
    );
    Ok(refused_tab(&post, &view.agent, "analysis", &body))
}

/// `POST /portal/agents/{id}/analysis/clear`
pub(super) async fn clear(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    save(&post, &view, Json::Null).await?;
    let message = post.t("Analysis turned off.", "Análisis desactivado.");
    done(&post, &view, message).await
}

async fn save(post: &Post<Developer>, view: &AgentView, schema: Json) -> Result<()> {
    let analyses = post.services().analyses();
    let body = Json::object([("schema", schema)]);
    let (account, agent) = (post.account(), view.agent.id);
    analyses.set_schema(account, agent, &body).await?;
    Ok(())
}

async fn done(post: &Post<Developer>, view: &AgentView, message: &str) -> Answer {
    let id = view.agent.id;
    let path = format!("/agents/{id}/analysis");
    post.done("analysis.set", id, &path, message).await
}
