//! Batch calls: many people called by one agent.

pub(super) mod detail;
mod new;
mod results;
pub(super) mod rows;

use offhook_services::store::{AgentFilter, Batch, BatchFilter, PhoneNumber};

use crate::parts::agent_choice::AgentChoice;
use crate::parts::words::{batch_status, count, when_if};
use crate::prelude::*;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/batch-calls").get(list),
        Page::at("/batch-calls/new")
            .get(new::form)
            .upload(new::look),
        Page::at("/batch-calls/send")
            .get(new::gone)
            .upload(new::send),
        Page::at("/batch-calls/{id}").get(detail::show),
        Page::at("/batch-calls/{id}/progress").part(detail::progress),
        Page::at("/batch-calls/{id}/results").part(results::file),
        Page::at("/batch-calls/{id}/pause").post(detail::pause),
        Page::at("/batch-calls/{id}/resume").post(detail::resume),
        Page::at("/batch-calls/{id}/cancel").post(detail::cancel),
        Page::at("/batch-calls/{id}/retry").post(detail::retry),
    ]
}

/// The agents that can call in batches.
async fn callers(visitor: &Visitor) -> Result<AgentChoice> {
    let filter = AgentFilter {
        runtime: Some(Runtime::Legacy),
        ..AgentFilter::default()
    };
    AgentChoice::of(visitor, filter).await
}

/// A number with its label.
pub(super) fn number_named(number: &PhoneNumber) -> (String, String) {
    let text = match number.label.as_str() {
        "" => number.phone_number.to_string(),
        label => format!("{} ({label})", number.phone_number),
    };
    (number.id.to_string(), text)
}

/// The number that calls are placed from: the one with this id, or else the agent's own.
pub(super) async fn calls_from(visitor: &Visitor, id: &str) -> String {
    if id.is_empty() {
        let t = visitor.lang();
        return t.t("Agent's number", "Número del agente").to_owned();
    }
    let Ok(known) = id.parse() else {
        return id.to_owned();
    };
    let numbers = visitor.services().numbers();
    match numbers.get(visitor.account(), known).await {
        Ok(number) => number.phone_number.to_string(),
        // It was released since.
        Err(_) => id.to_owned(),
    }
}

/// `GET /portal/batch-calls`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Batches.name(t);
    let query = visit.query();
    let agent: Option<AgentId> = query.get("agent").and_then(|id| id.parse().ok());
    let status = query.get("status").and_then(|status| status.parse().ok());
    let filter = BatchFilter { status, agent };
    let batches = visit.services().batches();
    let page = visit.page_of(BatchId::from_uuid);
    let batches = batches.list(visit.account(), filter, page).await?;
    let agents = callers(&visit).await?;
    let states = BatchStatus::ALL.iter();
    let all = t.t("All", "Todos");
    let may = visit.may(MemberRole::Developer);
    let body = html! {
        @if may && !agents.is_empty() {
            div.page-actions {
                a.button.primary href={ (PATH) "/batch-calls/new" } { (new::title(&visit)) }
            }
        }
        p { (t.t(
            "A batch calls a list once, with an ElevenLabs agent. For agents of Offhook, with retries and calling hours, create a campaign.",
            "Un lote llama una vez a una lista, con un agente de ElevenLabs. Para agentes de Offhook, con reintentos y horarios, crea una campaña.",
        )) }
        form.filters method="get" action={ (PATH) "/batch-calls" } {
            (list::filter(&visit, "status", t.t("Status", "Estado"), all,
                states.map(|status| (status.as_str(), batch_status(*status, t)))))
            (agents.field(&visit, "agent", t.t("Agent", "Agente"), query.text("agent"), Some(all)))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if batches.items.is_empty() { (nothing(&visit, &agents, filter)) } @else {
            (Table::of(title, &batches.items)
                .column(t.t("Name", "Nombre"), |batch| html! { a href={ (PATH) "/batch-calls/" (batch.id) } { (batch.name) } })
                .column(t.t("Agent", "Agente"), |batch| agents.link(batch.agent_id))
                .column(t.t("Status", "Estado"), |batch| state(batch, t))
                .column(t.t("Done", "Hecho"), |batch| bar(batch, t))
                .number(t.t("Failed", "Fallidas"), |batch| count(i64::from(batch.failed)))
                .column(t.t("Starts", "Comienza"), |batch| when_if(batch.started_at.or(batch.scheduled_at)))
                .column(t.t("Created", "Creado"), |batch| when(batch.created_at)))
        }
        (list::more(&visit, &batches, |batch| (batch.created_at, batch.id.uuid())))
    };
    Ok(visit.page(Section::Batches, title, &body))
}

fn nothing(visitor: &Visitor, agents: &AgentChoice, filter: BatchFilter) -> Markup {
    let t = visitor.lang();
    if filter.status.is_some() || filter.agent.is_some() {
        return list::empty(
            t.t("No matching batches", "Ningún lote coincide"),
            t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ),
            Some(("/batch-calls", t.t("Show all", "Mostrar todos"))),
        );
    }
    let heading = t.t("No batches yet", "Aún no hay lotes");
    if agents.is_empty() {
        return list::empty(heading, no_callers(t), None);
    }
    let text = t.t(
        "Upload a CSV file with a list of people, and an agent calls each of them once.",
        "Sube un archivo CSV con una lista de personas, y un agente llama una vez a cada una.",
    );
    let make = ("/batch-calls/new", new::title(visitor));
    let may_make = visitor.may(MemberRole::Developer);
    list::empty(heading, text, may_make.then_some(make))
}

const fn no_callers(t: Lang) -> &'static str {
    t.t(
        "Batch calls need an ElevenLabs agent, and this account has none. Agents created here call people one at a time.",
        "Las llamadas por lote necesitan un agente de ElevenLabs, y esta cuenta no tiene. Los agentes creados aquí llaman de uno en uno.",
    )
}

/// A batch's status, and why it waits if it does.
fn state(batch: &Batch, t: Lang) -> Markup {
    let tone = match batch.status {
        BatchStatus::Completed => Tone::Good,
        BatchStatus::Scheduled | BatchStatus::Running | BatchStatus::Paused => Tone::Busy,
        BatchStatus::Failed => Tone::Bad,
        BatchStatus::Cancelled => Tone::Plain,
    };
    html! {
        (badge(tone, batch_status(batch.status, t)))
        @if let Some(reason) = batch.paused_reason { p.hint { (paused_name(reason, t)) } }
    }
}

wording! {
    paused_name(PausedReason) {
        Customer => "Paused manually.", "Se pausó manualmente.";
        NoCredits => "Not enough credits for another call. It resumes automatically when there are.",
            "Los créditos no alcanzan para otra llamada. Se reanuda automáticamente cuando alcancen.";
        KeyRevoked => "The API key that created it was revoked. If you resume it, it runs without a key's budget.",
            "Se revocó la clave de API que lo creó. Si lo reanudas, sigue sin el presupuesto de una clave.";
        KeyBudget => "The budget of the API key that created it is used up. It resumes automatically next month.",
            "El presupuesto de la clave de API que lo creó se agotó. Se reanuda automáticamente el próximo mes.";
    }
}

/// Progress as a bar and in numbers.
fn bar(batch: &Batch, t: Lang) -> Markup {
    let over = batch.completed + batch.failed + batch.cancelled;
    let (done, all) = (count(i64::from(over)), count(i64::from(batch.total)));
    let progress = text!(t, "{done} of {all}", "{done} de {all}");
    html! {
        progress max=(batch.total) value=(over) aria-label=(progress) {}
        " " (progress)
    }
}
