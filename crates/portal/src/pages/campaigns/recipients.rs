//! The recipients of a campaign: a list that updates itself, and a file.

use actix_web::HttpResponse;
use futures_util::StreamExt as _;
use offhook_services::Page;
use offhook_services::store::{Campaign, CampaignRecipient, CampaignRecipientFilter};
use uuid::Uuid;

use super::detail::{campaign, changes};
use crate::pages::conversations::{tag, wording};
use crate::pages::dialing::wording::refusal;
use crate::parts::words::when_if;
use crate::prelude::*;
use crate::visit::layout::attachment;

/// `GET /portal/campaigns/{id}/rows?seen=`: the rows, unless they are as they were seen.
pub(super) async fn part(visit: Visit<Viewer>) -> Answer {
    let campaign = campaign(&visit).await?;
    let rows = table(&visit, &campaign, &read(&visit, &campaign).await?);
    // A list that is drawn again loses its place on a narrow screen.
    if visit.query().text("seen") == tag(&rows) && changes(&campaign) {
        return Ok(HttpResponse::NoContent().finish());
    }
    Ok(visit.part(&drawn(&visit, &campaign, &rows)))
}

/// `GET /portal/campaigns/{id}/results`
pub(super) async fn results(visit: Visit<Viewer>) -> Answer {
    let id: CampaignId = visit.id("id")?;
    let campaigns = visit.services().campaigns();
    let rows = campaigns.results(visit.account(), id).await?;
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the results broke off")));
    let disposition = format!("attachment; filename=\"campaign-{id}.csv\"");
    Ok(attachment("text/csv; charset=utf-8", disposition).streaming(rows))
}

async fn read(visitor: &Visitor, campaign: &Campaign) -> Result<Page<CampaignRecipient>> {
    let query = visitor.query();
    let filter = CampaignRecipientFilter {
        status: query.text("status").parse().ok(),
        outcome: query.text("outcome").parse().ok(),
    };
    let page = visitor.page_of(|uuid| uuid);
    // The sort key is the place, as in `GET /v1/campaigns/{id}/recipients`.
    let after = page
        .after
        .map(|(place, _)| i32::try_from(place.micros()).unwrap_or(i32::MAX));
    let campaigns = visitor.services().campaigns();
    let whose = (visitor.account(), campaign.id);
    Ok(campaigns
        .recipients(whose, filter, after, page.limit)
        .await?)
}

pub(super) async fn section(visitor: &Visitor, campaign: &Campaign) -> Result<Markup> {
    let t = visitor.lang();
    let rows = read(visitor, campaign).await?;
    let here = format!("{PATH}/campaigns/{}", campaign.id);
    let all = t.t("All", "Todos");
    let states = CampaignRecipientStatus::ALL.iter();
    let states = states.map(|status| (status.as_str(), status_name(*status, t)));
    let outcomes = Outcome::ALL.iter();
    let outcomes = outcomes.map(|outcome| (outcome.as_str(), wording::outcome(*outcome, t).1));
    Ok(html! {
        h2 { (t.t("Recipients", "Destinatarios")) }
        p { a.button href={ (here) "/results" } { (t.t("Download results (CSV)", "Descargar resultados (CSV)")) } }
        form.filters method="get" action=(here) {
            (list::filter(visitor, "status", t.t("Status", "Estado"), all, states))
            (list::filter(visitor, "outcome", t.t("Latest outcome", "Último resultado"), all, outcomes))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        (drawn(visitor, campaign, &table(visitor, campaign, &rows)))
        (list::more(visitor, &rows, |row| (Timestamp::from_micros(i64::from(row.place)), Uuid::nil())))
    })
}

/// The rows, which update by themselves while calls are placed.
fn drawn(visitor: &Visitor, campaign: &Campaign, rows: &Markup) -> Markup {
    let mut query = visitor.query().without("seen");
    query.push("seen", &tag(rows));
    let from = format!("{PATH}/campaigns/{}/rows?{}", campaign.id, query.encode());
    let is_on = changes(campaign);
    html! {
        div #rows hx-get=[is_on.then_some(from)] hx-trigger=[is_on.then_some("every 3s")]
            hx-swap=[is_on.then_some("outerHTML")] { (rows) }
    }
}

fn table(visitor: &Visitor, campaign: &Campaign, rows: &Page<CampaignRecipient>) -> Markup {
    let t = visitor.lang();
    html! {
        @if rows.items.is_empty() { p.soft { (t.t("No recipients match.", "Ningún destinatario coincide.")) } } @else {
            (Table::of(t.t("Recipients", "Destinatarios"), &rows.items)
                .column(t.t("Number", "Número"), |row| row.number.as_str())
                .column(t.t("Name", "Nombre"), |row| html! { @if !row.name.is_empty() { bdi { (row.name) } } })
                .column(t.t("Status", "Estado"), |row| html! {
                    (badge(tone(row.status), status_name(row.status, t)))
                    @if let Some(rule) = row.blocked_by { p.hint { (refusal(rule, t)) } }
                })
                .column(t.t("Outcome", "Resultado"), |row| outcome(row, t))
                .number(t.t("Calls", "Llamadas"), |row| row.attempts)
                .column(t.t("Next call", "Próxima llamada"), |row| next(visitor, campaign, row)))
        }
    }
}

/// When it is called next, if the campaign calls.
fn next(visitor: &Visitor, campaign: &Campaign, row: &CampaignRecipient) -> Markup {
    let is_on = campaign.status == CampaignStatus::Running;
    let next = row.next_at().filter(|_| is_on);
    if next.is_some_and(|at| at <= visitor.now()) {
        return html! { (visitor.t("As soon as a line is free", "En cuanto haya una línea libre")) };
    }
    when_if(next)
}

/// What came of the latest call, with a link to it.
fn outcome(row: &CampaignRecipient, t: Lang) -> Markup {
    // While it is being called, the outcome is that of the call before.
    let known = row
        .outcome
        .filter(|_| row.status != CampaignRecipientStatus::Dialing);
    let shown = known.map_or_else(
        || html! { (t.t("View call", "Ver llamada")) },
        |outcome| {
            let (tone, text) = wording::outcome(outcome, t);
            badge(tone, text)
        },
    );
    html! {
        @match row.conversation_id {
            Some(id) => a href={ (PATH) "/conversations/" (id) } { (shown) span.unseen { " " (row.number) } },
            None if known.is_some() => (shown),
            None => span.none { "–" },
        }
    }
}

const fn tone(status: CampaignRecipientStatus) -> Tone {
    match status {
        CampaignRecipientStatus::Dialing => Tone::Busy,
        CampaignRecipientStatus::Pending | CampaignRecipientStatus::Done => Tone::Plain,
    }
}

const fn status_name(status: CampaignRecipientStatus, t: Lang) -> &'static str {
    match status {
        CampaignRecipientStatus::Pending => t.t("Waiting", "En espera"),
        CampaignRecipientStatus::Dialing => t.t("On the phone", "En llamada"),
        CampaignRecipientStatus::Done => t.t("Done", "Terminado"),
    }
}
