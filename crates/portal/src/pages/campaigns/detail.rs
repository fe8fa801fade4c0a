//! One campaign: its state, what it will take, what it took, and what is done with it.

use std::time::Duration;

use offhook_services::store::{Campaign, CampaignStep};
use offhook_services::{CampaignEstimate, UseCaseError};

use super::{bar, callers, new, recipients, state};
use crate::pages::batches::calls_from;
use crate::pages::conversations::wording;
use crate::pages::dialing::rules;
use crate::parts::words::{count, length, when_if};
use crate::prelude::*;

pub(super) async fn campaign(visitor: &Visitor) -> Result<Campaign> {
    let campaigns = visitor.services().campaigns();
    Ok(campaigns.get(visitor.account(), visitor.id("id")?).await?)
}

/// `GET /portal/campaigns/{id}`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let campaign = campaign(&visit).await?;
    let body = page(&visit, &campaign, None).await?;
    Ok(visit.page(Section::Campaigns, &campaign.name, &body))
}

/// `GET /portal/campaigns/{id}/progress`
pub(super) async fn progress(visit: Visit<Viewer>) -> Answer {
    let campaign = campaign(&visit).await?;
    let body = growing(&campaign, visit.lang());
    Ok(visit.live_part(campaign.status.as_str(), &body))
}

/// `POST /portal/campaigns/{id}/{step}`: back to the campaign, with the result.
pub(super) async fn step(post: Post<Developer>) -> Answer {
    let t = post.lang();
    let (step, action, message) = match post.param("step") {
        "start" => (
            CampaignStep::Start,
            "campaign.start",
            t.t("Campaign started.", "Campaña iniciada."),
        ),
        "pause" => (
            CampaignStep::Pause,
            "campaign.pause",
            t.t(
                "Campaign paused. Calls in progress continue until they end.",
                "Campaña en pausa. Las llamadas en curso siguen hasta terminar.",
            ),
        ),
        "resume" => (
            CampaignStep::Resume,
            "campaign.resume",
            t.t("Campaign resumed.", "Campaña reanudada."),
        ),
        "cancel" => (
            CampaignStep::Cancel,
            "campaign.cancel",
            t.t(
                "Campaign canceled. Calls in progress continue until they end.",
                "Campaña cancelada. Las llamadas en curso siguen hasta terminar.",
            ),
        ),
        _ => return Err(Trouble::not_found()),
    };
    let id: CampaignId = post.id("id")?;
    let campaigns = post.services().campaigns();
    let Err(error) = campaigns.step(post.caller(), id, step).await else {
        let path = format!("/campaigns/{id}");
        return post.done(action, id, &path, message).await;
    };
    let message = post.message_of(error, &[("phone_number_id", number_label(t))])?;
    let campaign = campaign(&post).await?;
    let body = page(&post, &campaign, Some(&message)).await?;
    Ok(post.refused(Section::Campaigns, &campaign.name, &body))
}

const fn number_label(t: Lang) -> &'static str {
    t.t("Calls from", "Llama desde")
}

async fn page(visitor: &Visitor, campaign: &Campaign, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let may = visitor.may(MemberRole::Developer);
    let estimate = estimate(visitor, campaign).await?;
    let facts = facts(visitor, campaign).await?;
    let recipients = match campaign.total {
        0 => nobody(visitor, campaign),
        _ => recipients::section(visitor, campaign).await?,
    };
    Ok(html! {
        (form::refusal(message))
        @if may && !campaign.status.is_over() { (actions(visitor, campaign)) }
        (growing(campaign, t))
        @if let Some(estimate) = &estimate { (expected(campaign, estimate, t)) }
        (recipients)
        h2 { (t.t("Settings", "Configuración")) }
        (facts)
    })
}

fn actions(visitor: &Visitor, campaign: &Campaign) -> Markup {
    let t = visitor.lang();
    let path = |step: &str| format!("/campaigns/{}/{step}", campaign.id);
    let primary = |step: &str, label: &str| {
        form::form(
            visitor,
            &path(step),
            &html! { button.primary type="submit" { (label) } },
        )
    };
    html! {
        div.page-actions {
            @match campaign.status {
                CampaignStatus::Draft if campaign.total > 0 => { (primary("start", t.t("Start", "Iniciar"))) }
                CampaignStatus::Running => { (form::button(visitor, &path("pause"), t.t("Pause", "Pausar"), &[])) }
                CampaignStatus::Paused => { (primary("resume", t.t("Resume", "Reanudar"))) }
                _ => {}
            }
            @if campaign.total > 0 { a.button href={ (PATH) (path("add")) } { (t.t("Add recipients", "Agregar destinatarios")) } }
            (form::danger(visitor, &path("cancel"), t.t("Cancel campaign", "Cancelar campaña"), t.t(
                "Cancel this campaign? The remaining recipients are not called, and it cannot be resumed.",
                "¿Cancelar esta campaña? No se llama a los destinatarios restantes y no se puede reanudar.",
            )))
        }
    }
}

fn nobody(visitor: &Visitor, campaign: &Campaign) -> Markup {
    let t = visitor.lang();
    let path = format!("/campaigns/{}/add", campaign.id);
    let may = visitor.may(MemberRole::Developer) && !campaign.status.is_over();
    list::empty(
        t.t("No recipients yet", "Aún no hay destinatarios"),
        t.t(
            "Upload a CSV file or paste rows from a spreadsheet. You see what would be called before anything is added.",
            "Sube un archivo CSV o pega filas de una hoja de cálculo. Verás a quién se llamaría antes de agregar nada.",
        ),
        may.then_some((&*path, t.t("Add recipients", "Agregar destinatarios"))),
    )
}

/// State, counts and outcomes. It polls while they change.
fn growing(campaign: &Campaign, t: Lang) -> Markup {
    let status = campaign.status;
    let from = format!("{PATH}/campaigns/{}/progress?was={status}", campaign.id);
    let is_on = changes(campaign);
    let talk = Duration::from_secs(u64::try_from(campaign.seconds).unwrap_or(0));
    let talk = length(talk);
    let counts = [
        (t.t("Waiting", "En espera"), i64::from(campaign.pending)),
        (
            t.t("On the phone", "En llamada"),
            i64::from(campaign.dialing),
        ),
        (t.t("Reached", "Contactados"), i64::from(campaign.reached)),
        (
            t.t("Not reached", "Sin contactar"),
            i64::from(campaign.unreached),
        ),
        (
            t.t("Refused by a rule", "Detenidos por una regla"),
            i64::from(campaign.blocked),
        ),
        (t.t("Credits spent", "Créditos gastados"), campaign.credits),
    ];
    html! {
        section #progress aria-label=(t.t("Progress", "Avance"))
            hx-get=[is_on.then_some(&from)] hx-trigger=[is_on.then_some("every 2s")] hx-swap="outerHTML" {
            div.state { (state(campaign, t)) @if campaign.total > 0 { div { (bar(campaign, t)) } } }
            (remedy(campaign, t))
            @if campaign.total > 0 {
                div.cards {
                    @for (name, number) in counts { div.card { span.figure { (count(number)) } (name) } }
                }
            }
            (outcomes(campaign, t))
            @if campaign.seconds > 0 {
                p.hint { (text!(t, "Talk time: {talk}", "Tiempo de conversación: {talk}")) }
            }
        }
    }
}

/// Whether something of it changes by itself.
pub(super) const fn changes(campaign: &Campaign) -> bool {
    campaign.dialing > 0
        || matches!(
            campaign.status,
            CampaignStatus::Running | CampaignStatus::Paused
        )
}

/// What to do about a pause.
fn remedy(campaign: &Campaign, t: Lang) -> Markup {
    let agent = format!("/agents/{}", campaign.agent_id);
    let advice = |what: &str, path: &str, place: &str| html! { p.warning { (what) " " a href={ (PATH) (path) } { (place) } } };
    let keys = t.t("Open API keys", "Abrir claves de API");
    html! {
        @match campaign.paused_reason {
            None | Some(CampaignPause::Customer) => {},
            Some(CampaignPause::NoCredits) => (advice(t.t(
                "It resumes automatically once the wallet covers another call.",
                "Se reanuda automáticamente cuando el monedero alcance para otra llamada.",
            ), "/billing", t.t("Open billing", "Abrir facturación"))),
            Some(CampaignPause::KeyBudget) => (advice(t.t(
                "It resumes automatically next month, or when the key has a larger budget.",
                "Se reanuda automáticamente el próximo mes, o cuando la clave tenga un presupuesto mayor.",
            ), "/developers", keys)),
            Some(CampaignPause::KeyRevoked) => (advice(t.t(
                "If you resume it here, it runs without a key's budget.",
                "Si la reanudas aquí, sigue sin el presupuesto de una clave.",
            ), "/developers", keys)),
            Some(CampaignPause::Agent) => (advice(t.t(
                "Publish or resume the agent; the campaign then resumes automatically.",
                "Publica o reactiva el agente; entonces la campaña se reanuda automáticamente.",
            ), &agent, t.t("Open the agent", "Abrir el agente"))),
            Some(CampaignPause::Number) => (advice(t.t(
                "It resumes automatically once the agent or the account has a number to call from.",
                "Se reanuda automáticamente cuando el agente o la cuenta tenga un número desde el que se pueda llamar.",
            ), "/phone-numbers", t.t("Open phone numbers", "Abrir números"))),
            Some(CampaignPause::FailureRate) => (advice(t.t(
                "Look at the failed calls, then resume it: the count begins anew.",
                "Revisa las llamadas fallidas y reanúdala: la cuenta comienza de nuevo.",
            ), "/conversations?status=failed", t.t("Failed conversations", "Conversaciones fallidas"))),
        }
    }
}

/// How many calls came to what, the most frequent first.
fn outcomes(campaign: &Campaign, t: Lang) -> Markup {
    let read = Json::parse(campaign.outcomes.as_bytes()).ok();
    let members = read.as_ref().and_then(Json::as_object).unwrap_or_default();
    let known = members.iter().filter_map(|(word, number)| {
        let outcome: Outcome = word.parse().ok()?;
        Some((outcome, number.as_i64()?))
    });
    let mut rows: Vec<(Outcome, i64)> = known.collect();
    rows.sort_by_key(|(_, number)| -number);
    let all: i64 = rows.iter().map(|(_, number)| number).sum();
    let title = t.t("Outcomes of its calls", "Resultados de sus llamadas");
    html! {
        @if all > 0 {
            h2 { (title) }
            (Table::of(title, &rows)
                .column(t.t("Outcome", "Resultado"), |(outcome, _)| {
                    let (tone, text) = wording::outcome(*outcome, t);
                    badge(tone, text)
                })
                .number(t.t("Calls", "Llamadas"), |(_, number)| count(*number))
                .column(t.t("Share", "Parte"), |(_, number)| {
                    let share = format!("{}%", number * 100 / all);
                    html! { progress max=(all) value=(number) aria-label=(share) {} " " (share) }
                }))
        }
    }
}

/// What is left to be called, as far as it can be told.
async fn estimate(visitor: &Visitor, campaign: &Campaign) -> Result<Option<CampaignEstimate>> {
    // Of a running campaign it would be old while it is read.
    let is_still = matches!(
        campaign.status,
        CampaignStatus::Draft | CampaignStatus::Paused
    );
    if !is_still || campaign.pending == 0 {
        return Ok(None);
    }
    let campaigns = visitor.services().campaigns();
    match campaigns.estimate(visitor.caller(), campaign.id).await {
        Ok(estimate) => Ok(Some(estimate)),
        Err(UseCaseError::AgentNotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn expected(campaign: &Campaign, estimate: &CampaignEstimate, t: Lang) -> Markup {
    let available = count(estimate.credits_available);
    html! {
        h2 {
            @match campaign.status {
                CampaignStatus::Draft => (t.t("Estimate", "Estimación")),
                _ => (t.t("Estimate of what is left", "Estimación de lo que falta")),
            }
        }
        @if estimate.credits > estimate.credits_available {
            p.warning {
                (t.t(
                    "The wallet does not cover all of it. The campaign pauses when the credits are used up, and resumes when there are more.",
                    "El monedero no alcanza para todo. La campaña se pausa cuando se acaben los créditos y se reanuda cuando haya más.",
                ))
                " " a href={ (PATH) "/billing" } { (t.t("Open billing", "Abrir facturación")) }
            }
        }
        dl.facts {
            (list::fact(t.t("Recipients to call", "Destinatarios por llamar"), count(estimate.recipients)))
            (list::fact(t.t("Calls, with retries", "Llamadas, con reintentos"), count(estimate.calls)))
            (list::fact(t.t("Minutes of talk", "Minutos de conversación"), count(estimate.minutes)))
            (list::fact(t.t("Credits", "Créditos"), {
                let credits = count(estimate.credits);
                text!(t, "{credits} of {available} available", "{credits} de {available} disponibles")
            }))
            (list::fact(t.t("Finishes, if it runs from now", "Termina, si llama desde ahora"), html! {
                @match estimate.finishes_at {
                    Some(at) => (when(at)),
                    None => (t.t("Not within 60 days", "No antes de 60 días")),
                }
            }))
        }
        p.hint {
            @if estimate.assumed { (t.t(
                "Assumed, since the agent has had too few calls: half of the calls are answered and last two minutes.",
                "Es un supuesto, pues el agente ha hecho muy pocas llamadas: se contesta la mitad y dura dos minutos.",
            )) } @else { (t.t(
                "Based on the agent's latest calls: how many were answered, and how long those lasted.",
                "Según las últimas llamadas del agente: cuántas se contestaron y cuánto duraron.",
            )) }
        }
    }
}

async fn facts(visitor: &Visitor, campaign: &Campaign) -> Result<Markup> {
    let t = visitor.lang();
    let agents = callers(visitor, None).await?;
    let number = campaign.phone_number_id.map(|id| id.to_string());
    let number = calls_from(visitor, number.as_deref().unwrap_or("")).await;
    let settings = CampaignSettings::from_stored(&campaign.settings)?;
    let (rate, live) = (count(settings.calls_per_minute), settings.live_percent);
    let hours = settings
        .window
        .as_ref()
        .map(|window| rules::window(window, t));
    let (most, breaker) = (settings.retries.most_attempts, &settings.breaker);
    let (failed, judged) = (breaker.failure_percent, breaker.calls);
    Ok(html! {
        dl.facts {
            (list::fact(t.t("Agent", "Agente"), agents.link(campaign.agent_id)))
            (list::fact(number_label(t), number))
            (list::fact(t.t("Pace", "Ritmo"), text!(t,
                "Up to {rate} calls per minute and {live}% of the live calls",
                "Hasta {rate} llamadas por minuto y {live}% de las llamadas en vivo")))
            (list::fact(t.t("Hours", "Horario"), hours.as_deref().unwrap_or(t.t("As the account's calling rules say", "Según las reglas de llamada de la cuenta"))))
            (list::fact(t.t("Calls to one recipient", "Llamadas a un destinatario"), text!(t, "Up to {most}", "Hasta {most}")))
            @for (outcome, retry) in retries(&settings, t) { (list::fact(&text!(t, "Called again: {outcome}", "Se llama de nuevo: {outcome}"), retry)) }
            (list::fact(t.t("Pauses when", "Se pausa cuando"), match failed {
                0 => t.t("Never because of failed calls", "Nunca por llamadas fallidas").to_owned(),
                _ => text!(t, "{failed}% of {judged} calls fail", "Falla el {failed}% de {judged} llamadas"),
            }))
            (list::fact(t.t("Created", "Creada"), when(campaign.created_at)))
            (list::fact(t.t("Started", "Comenzó"), when_if(campaign.started_at)))
            (list::fact(t.t("Ended", "Terminó"), when_if(campaign.ended_at)))
            (list::copied(t, "id", "ID", campaign.id))
        }
    })
}

/// What follows the outcomes after which it calls again.
fn retries(settings: &CampaignSettings, t: Lang) -> Vec<(&'static str, String)> {
    let of = &settings.retries;
    let all = [
        of.busy,
        of.no_answer,
        of.voicemail,
        of.rejected,
        of.silent,
        of.failed,
    ];
    let named = new::repeated(t).into_iter().zip(all);
    let repeated = named.filter(|(_, retry)| *retry != Retry::Never);
    repeated
        .map(|((_, outcome), retry)| match retry {
            Retry::Minutes(minutes) => (outcome, new::after(minutes, t)),
            Retry::NextWindow | Retry::Never => (outcome, new::next_window(t).to_owned()),
        })
        .collect()
}
