//! Campaigns: an engine agent calls many recipients.

mod add;
mod detail;
mod new;
mod recipients;

use offhook_services::store::{AgentFilter, Campaign, CampaignFilter};

use crate::parts::agent_choice::AgentChoice;
use crate::parts::words::count;
use crate::prelude::*;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/campaigns").get(list),
        Page::at("/campaigns/new").get(new::form).post(new::create),
        Page::at("/campaigns/{id}").get(detail::show),
        Page::at("/campaigns/{id}/progress").part(detail::progress),
        Page::at("/campaigns/{id}/rows").part(recipients::part),
        Page::at("/campaigns/{id}/results").part(recipients::results),
        Page::at("/campaigns/{id}/add")
            .get(add::form)
            .upload(add::add),
        Page::at("/campaigns/{id}/{step}").post(detail::step),
    ]
}

/// The agents that can call in campaigns; those alone that do now, with a status.
async fn callers(visitor: &Visitor, status: Option<AgentStatus>) -> Result<AgentChoice> {
    let filter = AgentFilter {
        runtime: Some(Runtime::Engine),
        status,
        q: None,
    };
    AgentChoice::of(visitor, filter).await
}

/// `GET /portal/campaigns`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Campaigns.name(t);
    let query = visit.query();
    let filter = CampaignFilter {
        status: query.text("status").parse().ok(),
        agent: query.text("agent").parse().ok(),
    };
    let campaigns = visit.services().campaigns();
    let page = visit.page_of(CampaignId::from_uuid);
    let campaigns = campaigns.list(visit.account(), filter, page).await?;
    let agents = callers(&visit, None).await?;
    let all = t.t("All", "Todos");
    let states = CampaignStatus::ALL.iter();
    let states = states.map(|status| (status.as_str(), status_name(*status, t)));
    let body = html! {
        @if visit.may(MemberRole::Developer) {
            div.page-actions { a.button.primary href={ (PATH) "/campaigns/new" } { (new::title(t)) } }
        }
        p { (t.t(
            "A campaign calls a list with an agent of Offhook, at your pace and in your hours, and calls again those it did not reach.",
            "Una campaña llama a una lista con un agente de Offhook, a tu ritmo y en tu horario, y vuelve a llamar a quienes no contestaron.",
        )) }
        form.filters method="get" action={ (PATH) "/campaigns" } {
            (list::filter(&visit, "status", t.t("Status", "Estado"), all, states))
            (agents.field(&visit, "agent", t.t("Agent", "Agente"), query.text("agent"), Some(all)))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if campaigns.items.is_empty() { (nothing(&visit, filter)) } @else {
            (Table::of(title, &campaigns.items)
                .column(t.t("Name", "Nombre"), |one| html! { a href={ (PATH) "/campaigns/" (one.id) } { (one.name) } })
                .column(t.t("Agent", "Agente"), |one| agents.link(one.agent_id))
                .column(t.t("Status", "Estado"), |one| state(one, t))
                .column(t.t("Done", "Hecho"), |one| bar(one, t))
                .number(t.t("Credits", "Créditos"), |one| count(one.credits))
                .column(t.t("Created", "Creada"), |one| when(one.created_at)))
        }
        (list::more(&visit, &campaigns, |one| (one.created_at, one.id.uuid())))
    };
    Ok(visit.page(Section::Campaigns, title, &body))
}

fn nothing(visitor: &Visitor, filter: CampaignFilter) -> Markup {
    let t = visitor.lang();
    if filter.status.is_some() || filter.agent.is_some() {
        return list::empty(
            t.t("No matching campaigns", "Ninguna campaña coincide"),
            t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ),
            Some(("/campaigns", t.t("Show all", "Mostrar todas"))),
        );
    }
    let make = ("/campaigns/new", new::title(t));
    list::empty(
        t.t("No campaigns yet", "Aún no hay campañas"),
        t.t(
            "An agent calls a list of recipients at the pace and in the hours you set, and calls again those it did not reach.",
            "Un agente llama a una lista de destinatarios al ritmo y en el horario que indiques, y vuelve a llamar a quienes no contestaron.",
        ),
        visitor.may(MemberRole::Developer).then_some(make),
    )
}

const fn status_name(status: CampaignStatus, t: Lang) -> &'static str {
    let english = match status {
        CampaignStatus::Draft => "Draft",
        CampaignStatus::Running => "Calling",
        CampaignStatus::Paused => "Paused",
        CampaignStatus::Completed => "Completed",
        CampaignStatus::Cancelled => "Canceled",
    };
    t.t(english, status.in_spanish())
}

/// A campaign's status, and why it is paused if it is.
fn state(campaign: &Campaign, t: Lang) -> Markup {
    let tone = match campaign.status {
        CampaignStatus::Completed => Tone::Good,
        CampaignStatus::Running | CampaignStatus::Paused => Tone::Busy,
        CampaignStatus::Draft | CampaignStatus::Cancelled => Tone::Plain,
    };
    html! {
        (badge(tone, status_name(campaign.status, t)))
        @if let Some(reason) = campaign.paused_reason { p.hint { (paused_name(reason, t)) } }
    }
}

wording! {
    paused_name(CampaignPause) {
        Customer => "Paused manually.", "Se pausó manualmente.";
        NoCredits => "Not enough credits.", "Los créditos no alcanzan.";
        KeyBudget => "The budget of its API key is used up.", "El presupuesto de su clave de API se agotó.";
        KeyRevoked => "Its API key was revoked.", "Se revocó su clave de API.";
        Agent => "The agent takes no calls.", "El agente no hace llamadas.";
        Number => "There is no number to call from.", "No hay un número desde el que se pueda llamar.";
        FailureRate => "Too many calls failed.", "Fallaron demasiadas llamadas.";
    }
}

/// Progress as a bar and in numbers.
fn bar(campaign: &Campaign, t: Lang) -> Markup {
    let over = campaign.reached + campaign.unreached + campaign.blocked;
    let (done, all) = (count(i64::from(over)), count(i64::from(campaign.total)));
    let progress = text!(t, "{done} of {all}", "{done} de {all}");
    html! {
        progress max=(campaign.total.max(1)) value=(over) aria-label=(progress) {}
        " " (progress)
    }
}
