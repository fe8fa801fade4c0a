//! A test call and a test chat.

mod call;
mod chat;

use maud::{Markup, html};
use offhook_domain::{AgentStatus, Json, Runtime};
use offhook_services::store::AgentFilter;

use crate::fields::Fields;
use crate::lang::{Lang, text};
use crate::page::Page;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::form::Input;
use crate::parts::list;
use crate::trouble::Result;
use crate::visit::Visitor;

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

fn metadata_field(fields: &Fields, lang: Lang) -> Markup {
    let hint = lang.t(
        "Optional. One variable per line, as name=value. Use it in the agent's prompt as {{name}}.",
        "Opcional. Una variable por línea, como nombre=valor. Úsala en el prompt del agente como {{nombre}}.",
    );
    let label = lang.t("Variables (metadata)", "Variables (metadatos)");
    html! { (Input::text("metadata", label).rows(4).value(fields.raw("metadata")).hint(hint)) }
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

/// `name=value` lines as an object.
pub(super) fn metadata(text: &str, lang: Lang) -> Result<Json, String> {
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
    Ok(Json::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_written_line_by_line() {
        let read = metadata("name = Ana \n\nurl=https://a.example/?b=c\n", Lang::En);
        let expected = r#"{"name":"Ana","url":"https://a.example/?b=c"}"#;
        assert_eq!(read.map(|json| json.to_compact()).as_deref(), Ok(expected));
        let fault = metadata("a=1\nb", Lang::En).unwrap_err();
        assert_eq!(fault, "Variables, line 2: write it as name=value.");
        assert!(
            metadata("a=1\na=2", Lang::Es)
                .unwrap_err()
                .contains("línea 2")
        );
    }
}
