//! One batch: progress, people, actions.

use offhook_services::store::{Batch, BatchStep};
use uuid::Uuid;

use super::{bar, callers, calls_from, new, state};
use crate::parts::words::{count, shown, when_if};
use crate::prelude::*;

/// `GET /portal/batch-calls/{id}`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let batches = visit.services().batches();
    let batch = batches.get(visit.account(), visit.id("id")?).await?;
    let body = page(&visit, &batch, None).await?;
    Ok(visit.page(Section::Batches, &batch.name, &body))
}

/// `GET /portal/batch-calls/{id}/progress`
pub(super) async fn progress(visit: Visit<Viewer>) -> Answer {
    let batches = visit.services().batches();
    let batch = batches.get(visit.account(), visit.id("id")?).await?;
    let body = growing(&batch, visit.lang());
    Ok(visit.live_part(batch.status.as_str(), &body))
}

/// `POST /portal/batch-calls/{id}/pause`
pub(super) async fn pause(post: Post<Developer>) -> Answer {
    let message = post.t(
        "Batch paused. Calls in progress continue until they end.",
        "Lote en pausa. Las llamadas en curso siguen hasta terminar.",
    );
    step(&post, BatchStep::Pause, "batch.pause", message).await
}

/// `POST /portal/batch-calls/{id}/resume`
pub(super) async fn resume(post: Post<Developer>) -> Answer {
    let message = post.t("Batch resumed.", "Lote reanudado.");
    step(&post, BatchStep::Resume, "batch.resume", message).await
}

/// `POST /portal/batch-calls/{id}/cancel`
pub(super) async fn cancel(post: Post<Developer>) -> Answer {
    let message = post.t(
        "Batch canceled. Calls in progress continue until they end.",
        "Lote cancelado. Las llamadas en curso siguen hasta terminar.",
    );
    step(&post, BatchStep::Cancel, "batch.cancel", message).await
}

async fn step(post: &Post<Developer>, step: BatchStep, action: &str, message: &str) -> Answer {
    let id: BatchId = post.id("id")?;
    let batches = post.services().batches();
    let done = batches.step(post.caller(), id, step).await.map(drop);
    ended(post, id, done, action, message).await
}

/// `POST /portal/batch-calls/{id}/retry`
pub(super) async fn retry(post: Post<Developer>) -> Answer {
    let id: BatchId = post.id("id")?;
    let body = Json::Object(Vec::new());
    let batches = post.services().batches();
    let done = batches.retry(post.caller(), None, (id, &body), new::printed);
    let done = done.await.map(drop);
    let message = post.t(
        "Retrying failed and canceled calls.",
        "Se reintentan las llamadas fallidas y canceladas.",
    );
    ended(&post, id, done, "batch.retry", message).await
}

/// Back to the batch, with the result.
async fn ended<E: Into<Trouble>>(
    post: &Post<Developer>,
    id: BatchId,
    done: Result<(), E>,
    action: &str,
    message: &str,
) -> Answer {
    let Err(error) = done else {
        let path = format!("/batch-calls/{id}");
        return post.done(action, id, &path, message).await;
    };
    let message = post.message_of(error, &[])?;
    let batch = post.services().batches().get(post.account(), id).await?;
    let body = page(post, &batch, Some(&message)).await?;
    Ok(post.refused(Section::Batches, &batch.name, &body))
}

async fn page(visitor: &Visitor, batch: &Batch, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let agents = callers(visitor).await?;
    let number = batch.phone_number_id.map(|id| id.to_string());
    let number = calls_from(visitor, number.as_deref().unwrap_or("")).await;
    let recipients = recipients(visitor, batch).await?;
    Ok(html! {
        (form::refusal(message))
        (growing(batch, t))
        @if visitor.may(MemberRole::Developer) { (actions(visitor, batch)) }
        dl.facts {
            (list::fact(t.t("Agent", "Agente"), agents.link(batch.agent_id)))
            (list::fact(t.t("Calls from", "Llama desde"), number))
            (list::fact(t.t("Scheduled for", "Programado para"), when_if(batch.scheduled_at)))
            (list::fact(t.t("Started", "Comenzó"), when_if(batch.started_at)))
            (list::fact(t.t("Ended", "Terminó"), when_if(batch.ended_at)))
            (list::fact(t.t("Created", "Creado"), when(batch.created_at)))
            (list::copied(t, "id", "ID", batch.id))
        }
        (recipients)
    })
}

/// The progress. It polls until the batch is over.
fn growing(batch: &Batch, t: Lang) -> Markup {
    let status = batch.status;
    let from = format!("{PATH}/batch-calls/{}/progress?was={status}", batch.id);
    let is_on = !status.is_over();
    let counts = [
        (t.t("Waiting", "En espera"), batch.pending),
        (t.t("On the phone", "En llamada"), batch.dialing),
        (t.t("Completed", "Completadas"), batch.completed),
        (t.t("Failed", "Fallidas"), batch.failed),
        (t.t("Canceled", "Canceladas"), batch.cancelled),
    ];
    html! {
        section #progress aria-label=(t.t("Progress", "Avance"))
            hx-get=[is_on.then_some(&from)] hx-trigger=[is_on.then_some("every 2s")] hx-swap="outerHTML" {
            div.state { (state(batch, t)) div { (bar(batch, t)) } }
            div.cards {
                @for (name, number) in counts {
                    div.card { span.figure { (count(i64::from(number))) } (name) }
                }
            }
        }
    }
}

fn actions(visitor: &Visitor, batch: &Batch) -> Markup {
    let t = visitor.lang();
    let path = |step: &str| format!("/batch-calls/{}/{step}", batch.id);
    let again = batch.failed + batch.cancelled > 0;
    html! {
        div.bar-of-actions {
            @if matches!(batch.status, BatchStatus::Running | BatchStatus::Scheduled) {
                (form::button(visitor, &path("pause"), t.t("Pause", "Pausar"), &[]))
            }
            @if batch.status == BatchStatus::Paused {
                (form::button(visitor, &path("resume"), t.t("Resume", "Reanudar"), &[]))
            }
            @if !batch.status.is_over() {
                (form::danger(visitor, &path("cancel"), t.t("Cancel batch", "Cancelar lote"), t.t(
                    "Cancel this batch? The remaining people are not called.",
                    "¿Cancelar este lote? No se llama a las personas restantes.",
                )))
            } @else if again {
                (form::button(visitor, &path("retry"), t.t("Retry failed and canceled calls", "Reintentar fallidas y canceladas"), &[]))
            }
        }
    }
}

async fn recipients(visitor: &Visitor, batch: &Batch) -> Result<Markup> {
    let t = visitor.lang();
    let status: Option<RecipientStatus> = visitor.query().text("status").parse().ok();
    let page = visitor.page_of(|uuid| uuid);
    // The sort key is the place, as in `GET /v1/batch-calls/{id}/recipients`.
    let after = page
        .after
        .map(|(place, _)| i32::try_from(place.micros()).unwrap_or(i32::MAX));
    let batches = visitor.services().batches();
    let rows = batches.recipients(visitor.account(), batch.id, status, after, page.limit);
    let rows = rows.await?;
    let states = RecipientStatus::ALL.iter();
    let here = format!("{PATH}/batch-calls/{}", batch.id);
    Ok(html! {
        h2 { (t.t("People", "Personas")) }
        p { a.button href={ (here) "/results" } { (t.t("Download results (CSV)", "Descargar resultados (CSV)")) } }
        form.filters method="get" action=(here) {
            (list::filter(visitor, "status", t.t("Status", "Estado"), t.t("All", "Todos"),
                states.map(|status| (status.as_str(), recipient_name(*status, t)))))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if rows.items.is_empty() { p.soft { (t.t("No people with this status.", "Ninguna persona con este estado.")) } } @else {
            (Table::of(t.t("People", "Personas"), &rows.items)
                .column(t.t("Number", "Número"), |row| row.to_number.as_str())
                .column(t.t("Status", "Estado"), |row| html! {
                    (badge(recipient_tone(row.status), recipient_name(row.status, t)))
                    @if let Some(reason) = row.failure_reason { p.hint { (failure_name(reason, t)) } }
                })
                .number(t.t("Attempt", "Intento"), |row| row.attempt)
                .column(t.t("Call", "Llamada"), |row| html! { @match row.conversation_id {
                    Some(id) => { a href={ (PATH) "/conversations/" (id) } { (t.t("View", "Ver")) span.unseen { " " (row.to_number) } } }
                    None => { span.none { "–" } }
                } })
                .column(t.t("Variables", "Variables"), |row| variables(&row.metadata)))
        }
        (list::more(visitor, &rows, |row| (Timestamp::from_micros(i64::from(row.place)), Uuid::nil())))
    })
}

const fn recipient_tone(status: RecipientStatus) -> Tone {
    match status {
        RecipientStatus::Completed => Tone::Good,
        RecipientStatus::Dialing => Tone::Busy,
        RecipientStatus::Failed => Tone::Bad,
        RecipientStatus::Pending | RecipientStatus::Cancelled => Tone::Plain,
    }
}

/// The agent's variables, one per line.
pub(in crate::pages) fn variables(metadata: &str) -> Markup {
    let json = Json::parse(metadata.as_bytes()).ok();
    let members = json.as_ref().and_then(Json::as_object).unwrap_or_default();
    html! {
        @if members.is_empty() { span.none { "–" } }
        @for (name, value) in members {
            div { span.soft { (name) ": " } (shown(value)) }
        }
    }
}

const fn recipient_name(status: RecipientStatus, t: Lang) -> &'static str {
    match status {
        RecipientStatus::Pending => t.t("Waiting", "En espera"),
        RecipientStatus::Dialing => t.t("On the phone", "En llamada"),
        RecipientStatus::Completed => t.t("Completed", "Completada"),
        RecipientStatus::Failed => t.t("Failed", "Falló"),
        RecipientStatus::Cancelled => t.t("Canceled", "Cancelada"),
    }
}

wording! {
    failure_name(FailureReason) {
        NoAnswer => "No answer.", "Nadie contestó.";
        Busy => "The line was busy.", "La línea estaba ocupada.";
        Rejected => "The call was rejected.", "La llamada fue rechazada.";
        InvalidNumber => "The number does not exist.", "El número no existe.";
        CarrierError => "Carrier error.", "Falló el operador telefónico.";
        AgentError => "Agent error.", "Falló el agente.";
        Interrupted => "Call interrupted.", "La llamada se interrumpió.";
        ContextRefused => "Refused by the agent's context URL.", "La rechazó la URL de contexto del agente.";
        Cancelled => "Canceled.", "Cancelada.";
        ComplianceBlocked => "A dialing rule refused it.", "Una regla de llamadas no la permitió.";
        Expired => "Waited too long.", "Esperó demasiado.";
    }
}
