//! A test call and a test chat.

mod call;
mod chat;

use offhook_services::store::AgentFilter;

use super::agents::document;
use super::agents::saving::config_of;
use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;

/// What the names of the fields of an agent's variables begin with.
const VARIABLE: &str = "var.";

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/try/call").get(call::show).post(call::place),
        Page::at("/try/chat").get(chat::begin).post(chat::open),
        Page::at("/try/chat/{id}").get(chat::show),
        Page::at("/try/chat/{id}/messages").post(chat::say),
        Page::at("/try/chat/{id}/end").post(chat::end),
    ]
}

/// The agents that can be tried.
async fn active_agents(visitor: &Visitor, runtime: Option<Runtime>) -> Result<AgentChoice> {
    let active = AgentFilter {
        runtime,
        status: Some(AgentStatus::Active),
        ..AgentFilter::default()
    };
    AgentChoice::of(visitor, active).await
}

/// The fields of both forms.
fn agent_field(visitor: &Visitor, agents: &AgentChoice, fields: &Fields) -> Markup {
    let label = visitor.t("Agent", "Agente");
    agents.field(visitor, "agent", label, fields.text("agent"), None)
}

/// The variables of an agent's published texts, each with its default.
#[derive(Default)]
struct Variables(Vec<(String, String)>);

impl Variables {
    /// Those of the agent that the form shows.
    async fn of(visitor: &Visitor, agents: &AgentChoice, fields: &Fields) -> Result<Self> {
        let Some(id) = agents.shown(fields.text("agent")) else {
            return Ok(Self::default());
        };
        let agents = visitor.services().agents();
        let Ok(view) = agents.get(visitor.account(), id).await else {
            return Ok(Self::default());
        };
        if view.agent.runtime != Runtime::Engine || view.agent.published_version == 0 {
            return Ok(Self::default());
        }
        let published = view.agent.published_version;
        let version = agents.version(visitor.account(), id, published).await?;
        let config = config_of(version.config);
        let mut names: Vec<(String, String)> = config
            .dynamic_variables
            .iter()
            .map(|variable| (variable.name.clone(), document::plain(&variable.default)))
            .collect();
        for name in config.unset_variables() {
            if !names.iter().any(|(known, _)| *known == name) {
                names.push((name, String::new()));
            }
        }
        Ok(Self(names))
    }
}

/// A field for each variable of the agent, and one for others. Choosing another agent shows its variables.
fn metadata_fields(path: &str, variables: &Variables, fields: &Fields, lang: Lang) -> Markup {
    let hint = lang.t(
        "Optional. One variable per line, as name=value. Use it in the agent's prompt as {{name}}.",
        "Opcional. Una variable por línea, como nombre=valor. Úsala en el prompt del agente como {{nombre}}.",
    );
    let label = match variables.0.as_slice() {
        [] => lang.t("Variables (metadata)", "Variables (metadatos)"),
        _ => lang.t("Other variables (metadata)", "Otras variables (metadatos)"),
    };
    html! {
        div #variables hx-get={ (crate::PATH) (path) } hx-trigger="change from:#field-agent" hx-include="#field-agent"
            hx-select="#variables" hx-swap="outerHTML" {
            @for (name, default) in &variables.0 {
                @let field = format!("{VARIABLE}{name}");
                @let empty = match default.as_str() {
                    "" => lang.t("A variable of the agent, without a default.", "Una variable del agente, sin valor predeterminado.").to_owned(),
                    default => text!(lang, "If empty: {default}", "Si queda vacía: {default}"),
                };
                (Input::text(&field, name).value(fields.raw(&field)).hint(&empty))
            }
            (Input::text("metadata", label).rows(4).value(fields.raw("metadata")).hint(hint))
        }
    }
}

/// The page if there is no agent to choose.
fn nobody_to_try(lang: Lang) -> Markup {
    list::empty(
        lang.t("No agent to try yet", "Aún no hay agente que probar"),
        lang.t(
            "An agent answers once you publish it. Create one, publish it, and come back.",
            "Un agente contesta cuando lo publicas. Crea uno, publícalo y regresa.",
        ),
        Some(("/agents", lang.t("Go to agents", "Ir a los agentes"))),
    )
}

/// The filled-in variables and the `name=value` lines as an object. A line wins over a field.
pub(super) fn metadata(fields: &Fields, lang: Lang) -> Result<Json, String> {
    let lines = lines(fields.raw("metadata"), lang)?;
    let mut members: Vec<(String, Json)> = Vec::new();
    for (name, value) in fields.iter() {
        let Some(name) = name.strip_prefix(VARIABLE) else {
            continue;
        };
        let is_line = lines.iter().any(|(line, _)| line == name);
        if !is_line && !value.trim().is_empty() {
            members.push((name.to_owned(), Json::from(value.trim())));
        }
    }
    members.extend(lines);
    Ok(Json::Object(members))
}

fn lines(text: &str, lang: Lang) -> Result<Vec<(String, Json)>, String> {
    let mut members: Vec<(String, Json)> = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let number = place + 1;
        let Some((name, value)) = line.split_once('=') else {
            return Err(text!(
                lang,
                "Variables, line {number}: write it as name=value.",
                "Variables, línea {number}: escríbela como nombre=valor."
            ));
        };
        let name = name.trim();
        if members.iter().any(|(known, _)| known == name) {
            return Err(text!(
                lang,
                "Variables, line {number}: {name} appears twice.",
                "Variables, línea {number}: {name} aparece dos veces."
            ));
        }
        members.push((name.to_owned(), Json::from(value.trim())));
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_or_written_line_by_line() {
        let read = |text: &str, lang: Lang| {
            let fields = [
                ("metadata", text),
                ("var.day", " Monday "),
                ("var.none", " "),
                ("var.name", "Ben"),
            ];
            metadata(&Fields::of(fields), lang).map(|json| json.to_compact())
        };
        let expected = r#"{"day":"Monday","name":"Ana","url":"https://a.example/?b=c"}"#;
        let lines = "name = Ana \n\nurl=https://a.example/?b=c\n";
        assert_eq!(read(lines, Lang::En).as_deref(), Ok(expected));
        let fault = read("a=1\nb", Lang::En).unwrap_err();
        assert_eq!(fault, "Variables, line 2: write it as name=value.");
        assert!(read("a=1\na=2", Lang::Es).unwrap_err().contains("línea 2"));
    }
}
