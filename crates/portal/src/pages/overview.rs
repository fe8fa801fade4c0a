//! The overview: figures of a period, of one agent or of all.

mod figures;
mod range;

use offhook_services::store::{AgentFilter, ConversationFilter};

use self::figures::Figures;
use self::range::Range;
use super::billing::month::alarm;
use super::conversations;
use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;
use crate::visit::first;

/// Conversations that are shown.
const NEWEST: u32 = 5;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![Page::at("").get(show), Page::at("/").get(show)]
}

/// `GET /portal/?range&from&to&agent`
async fn show(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let newest = visit.services().conversations();
    let newest = newest.list(visit.caller(), ConversationFilter::default(), first(NEWEST));
    let newest = newest.await?.items;
    let steps = match newest.is_empty() {
        true => Some(first_steps(&visit).await?),
        false => None,
    };
    let (range, refused) = Range::of(&visit);
    let agents = AgentChoice::of(&visit, AgentFilter::default()).await?;
    let figures = Figures::read(&visit, &range).await?;
    let month = visit.services().billing().month(visit.account()).await?;
    let body = html! {
        (alarm(&month, lang))
        @if let Some(steps) = &steps { (steps) }
        @else {
            (form::refusal(refused))
            (range.form(&visit, &agents))
        }
        (figures.cards(&visit, &range))
        @if steps.is_none() {
            (figures.charts(lang, &range))
            h2 { (lang.t("Recent conversations", "Conversaciones recientes")) }
            (conversations::table(&newest, &conversations::Tags::new(), lang))
            p { a href={ (PATH) "/conversations" } { (lang.t("All conversations", "Todas las conversaciones")) } }
        }
    };
    Ok(visit.page(Section::Overview, Section::Overview.name(lang), &body))
}

/// An agent's figures of the last 30 days.
pub(crate) async fn of_agent(visitor: &Visitor, agent: AgentId) -> Result<Markup> {
    let t = visitor.lang();
    let range = Range::month_of(visitor, agent);
    let figures = Figures::read(visitor, &range).await?;
    Ok(html! {
        h2 { (t.t("Last 30 days", "Últimos 30 días")) }
        (figures.of_agent(t, &range))
        p {
            a href={ (PATH) "/?range=30d&agent=" (agent) } { (t.t("All figures", "Todas las cifras")) } " · "
            a href={ (PATH) "/conversations?agent=" (agent) } { (t.t("Conversations", "Conversaciones")) }
        }
    })
}

/// The steps before the first conversation, and which are done.
async fn first_steps(visitor: &Visitor) -> Result<Markup> {
    let (lang, services) = (visitor.lang(), visitor.services());
    let agents = services.agents();
    let agents = agents.list(visitor.account(), AgentFilter::default(), first(100));
    let agents = agents.await?.items;
    let keys = services.keys().list(visitor.account()).await?;
    let is_published = agents.iter().any(|agent| agent.published_version > 0);
    let may = visitor.may(MemberRole::Developer);
    let step = |is_done: bool, path: &str, name: &str, text: &str| {
        html! {
            li {
                @if is_done { (words::badge(words::Tone::Good, lang.t("Done", "Listo"))) " " }
                @if may { a href={ (PATH) (path) } { (name) } } @else { strong { (name) } }
                " " span.soft { (text) }
            }
        }
    };
    Ok(html! {
        h2 { (lang.t("Get started", "Primeros pasos")) }
        ol.steps {
            (step(!agents.is_empty(), "/agents", lang.t("Create an agent", "Crea un agente"), lang.t(
                "Write its instructions and greeting, and choose its voice and model.",
                "Escribe sus instrucciones y su saludo, y elige su voz y su modelo.",
            )))
            (step(is_published, "/agents", lang.t("Publish it", "Publícalo"), lang.t(
                "Calls use the published version.",
                "Las llamadas usan la versión publicada.",
            )))
            (step(false, "/try/call", lang.t("Call yourself, or chat with it", "Llámate o chatea con él"), lang.t(
                "Try it before your customers do.",
                "Pruébalo antes que tus clientes.",
            )))
            (step(!keys.is_empty(), "/developers", lang.t("Create an API key", "Crea una clave de API"), lang.t(
                "Your system uses it to place calls and read the results.",
                "Tu sistema la usa para hacer llamadas y leer los resultados.",
            )))
        }
    })
}
