//! What was extracted from a conversation.

use offhook_services::store::{Analysis, ConversationView};

use crate::pages::agents::document::pretty;
use crate::parts::json::colored;
use crate::parts::words::{shown, when_if};
use crate::prelude::*;
use crate::spanish;

/// The analysis of a conversation; nothing if it has none.
pub(super) async fn of(visitor: &Visitor, view: &ConversationView) -> Result<Markup> {
    let conversations = visitor.services().conversations();
    let found = conversations.analysis(view).await?;
    let id = view.conversation.id;
    Ok(found.map_or_else(|| html! {}, |found| draw(id, &found, visitor.lang())))
}

/// `GET /portal/conversations/{id}/analysis`: polled until it is done.
pub(super) async fn part(visit: Visit<Viewer>) -> Answer {
    let conversations = visit.services().conversations();
    let view = conversations
        .get(visit.caller(), visit.id("id")?, false)
        .await?
        .ok_or_else(Trouble::not_found)?;
    let drawn = of(&visit, &view).await?;
    Ok(visit.part(&drawn))
}

fn draw(id: ConversationId, analysis: &Analysis, lang: Lang) -> Markup {
    let path = format!("{PATH}/conversations/{id}/analysis");
    let waits = analysis.status == AnalysisStatus::Pending;
    html! {
        section.panel #analysis hx-get=[waits.then_some(path)] hx-trigger=[waits.then_some("every 2s")]
            hx-swap=[waits.then_some("outerHTML")] {
            h2 { (lang.t("Analysis", "Análisis")) }
            @match analysis.status {
                AnalysisStatus::Pending => p { (badge(Tone::Busy, lang.t("In progress", "En proceso"))) },
                AnalysisStatus::Completed => {
                    (data(analysis))
                    p.hint { (when_if(analysis.completed_at)) }
                },
                AnalysisStatus::Failed => {
                    p { (badge(Tone::Bad, lang.t("No data", "Sin datos"))) " "
                        @if let Some(error) = &analysis.error { (spanish::written::<AnalysisFault>(error, lang)) } }
                    p.hint { (when_if(analysis.completed_at)) }
                },
            }
        }
    }
}

fn data(analysis: &Analysis) -> Markup {
    let text = analysis.data.as_deref().unwrap_or_default();
    let Ok(json) = Json::parse(text.as_bytes()) else {
        return html! { pre.document tabindex="0" { (text) } };
    };
    html! {
        dl.facts {
            @for (name, value) in json.as_object().unwrap_or_default() {
                (list::fact(name, html! {
                    @match value {
                        Json::Null => span.none { "–" },
                        Json::Object(_) | Json::Array(_) => pre.wrapped { (colored(&pretty(value))) },
                        value => (shown(value)),
                    }
                }))
            }
        }
        details { summary { "JSON" } pre.document tabindex="0" { (colored(&pretty(&json))) } }
    }
}
