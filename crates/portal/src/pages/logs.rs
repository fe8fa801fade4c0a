//! The request log, and one request's details.

mod story;

use offhook_services::MOST_COUNTED;
use offhook_services::store::{ApiKey, LogEntry, LogFilter, StatusFilter};

use crate::parts::chart::{self, Bar};
use crate::parts::period;
use crate::parts::words::when_exactly;
use crate::prelude::*;

/// The methods of logged requests.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

const HOUR_MICROS: i64 = 3_600_000_000;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/logs").get(list),
        Page::at("/logs/{id}").get(story::show),
    ]
}

/// `GET /portal/logs`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Logs.name(t);
    let (filter, given) = filter(&visit);
    let logs = visit.services().request_logs();
    let page = visit.page_of(LogEntryId::from_uuid);
    let entries = logs.list(visit.account(), filter, page).await?;
    let keys = visit.services().keys().list(visit.account()).await?;
    let body = html! {
        p { (t.t(
            "Requests made with your API keys in the last 30 days.",
            "Solicitudes hechas con tus claves de API en los últimos 30 días.",
        )) }
        (form::refusal(given))
        @if visit.query().iter().all(|(_, value)| value.is_empty()) && !entries.items.is_empty() { (by_hour(&visit).await?) }
        div.views {
            @for (status, query, name) in [("", "", t.t("All", "Todas")), ("2xx", "?status=2xx", "2xx"), ("4xx", "?status=4xx", "4xx"), ("5xx", "?status=5xx", "5xx")] {
                a.button href={ (PATH) "/logs" (query) } aria-current=[(visit.query().text("status") == status).then_some("true")] { (name) }
            }
        }
        (filters(&visit, &keys))
        @if entries.items.is_empty() { (nothing(&visit)) } @else {
            (Table::of(title, &entries.items)
                .column(t.t("When", "Cuándo"), |entry| when_exactly(entry.created_at))
                .column(t.t("Request", "Solicitud"), |entry| html! {
                    a.url.row href={ (PATH) "/logs/" (entry.request_id) } aria-label={
                        (t.t("Details of", "Detalles de")) " " (entry.method) " " (entry.path)
                    } { code { (entry.method) " " (entry.path) } }
                })
                .column(t.t("Status", "Estado"), answer)
                .number(t.t("Duration", "Duración"), |entry| format!("{} ms", entry.duration_ms))
                .column(t.t("Key", "Clave"), |entry| html! {
                    @match keys.iter().find(|key| key.id == entry.key_id) {
                        Some(key) => (key.name),
                        None => code { (entry.key_prefix) },
                    }
                }))
        }
        (list::more(&visit, &entries, |entry| (entry.created_at, entry.id.uuid())))
    };
    Ok(visit.page(Section::Logs, title, &body))
}

/// The requests of the last 24 hours, with the refused and failed ones in the second color.
async fn by_hour(visitor: &Visitor) -> Result<Markup> {
    let t = visitor.lang();
    let logs = visitor.services().request_logs();
    let counts = logs.by_hour(visitor.account()).await?;
    let counted: i64 = counts.iter().map(|count| count.requests).sum();
    let last = visitor.now().micros() / HOUR_MICROS;
    let bars = (last - 23..=last).map(|hour| {
        let of = |class| {
            let its = counts.iter();
            let mut its = its.filter(|count| (count.hour, count.status_class) == (hour, class));
            its.next().map_or(0, |count| count.requests)
        };
        let [good, moved, refused, failed] = [2, 3, 4, 5].map(of);
        let time = visitor
            .zone()
            .shown(Timestamp::from_micros(hour * HOUR_MICROS), "%H:%M");
        let text = format!("{time} – 2xx: {good}, 3xx: {moved}, 4xx: {refused}, 5xx: {failed}");
        let label = if (last - hour) % 4 == 3 {
            time.as_str()
        } else {
            ""
        };
        Bar {
            part: (refused + failed) as f64,
            ..Bar::of(label, text, (good + moved + refused + failed) as f64)
        }
    });
    let heads = [t.t("Hour", "Hora"), t.t("Requests", "Solicitudes")];
    let legend = [
        t.t("Answered", "Atendidas"),
        t.t("Errors (4xx, 5xx)", "Errores (4xx, 5xx)"),
    ];
    let title = match counted < MOST_COUNTED {
        true => t.t("Requests, last 24 hours", "Solicitudes, últimas 24 horas"),
        false => t.t(
            "Requests, the newest 20,000",
            "Solicitudes, las 20,000 más recientes",
        ),
    };
    Ok(chart::bars(
        t,
        title,
        heads,
        &legend,
        &bars.collect::<Vec<_>>(),
    ))
}

/// The query's filter. Invalid filters are left out and reported.
fn filter(visitor: &Visitor) -> (LogFilter, Option<&'static str>) {
    let t = visitor.lang();
    let query = visitor.query();
    let ((since, until), mut given) = period::read(visitor);
    let method = query.get("method");
    let path = query.get("path");
    let mut filter = LogFilter {
        since,
        until,
        method: method
            .filter(|method| METHODS.contains(method))
            .map(str::to_owned),
        path: path.map(|path| path.chars().take(500).collect()),
        key: query.text("key").parse().ok(),
        ..LogFilter::default()
    };
    if let Some(text) = query.get("status") {
        filter.status = status(text);
        if filter.status.is_none() {
            given = Some(t.t(
                "Write a status as 404, or as 4xx for the whole class. The list shows all requests.",
                "Escribe un estado como 404, o como 4xx para toda la clase. La lista muestra todas las solicitudes.",
            ));
        }
    }
    if let Some(text) = query.get("request") {
        match text.parse() {
            Ok(request) => filter.request = Some(request),
            Err(_) => {
                given = Some(t.t(
                    "A request ID is the value of the X-Request-Id header. The list shows all requests.",
                    "El ID de una solicitud es el valor del encabezado X-Request-Id. La lista muestra todas las solicitudes.",
                ));
            }
        }
    }
    (filter, given)
}

/// `404` or `4xx`, as `GET /v1/logs` has it.
fn status(text: &str) -> Option<StatusFilter> {
    let text = text.to_ascii_lowercase();
    match text.as_bytes() {
        [class @ b'1'..=b'5', b'x', b'x'] => Some(StatusFilter::Class(i32::from(class - b'0'))),
        [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9'] => text.parse().ok().map(StatusFilter::Code),
        _ => None,
    }
}

fn filters(visitor: &Visitor, keys: &[ApiKey]) -> Markup {
    let t = visitor.lang();
    let given = |name| visitor.query().text(name);
    html! {
        form.filters method="get" action={ (PATH) "/logs" } {
            (Input::text("status", t.t("Status (404, 4xx)", "Estado (404, 4xx)")).value(given("status")))
            (list::filter(visitor, "method", t.t("Method", "Método"), t.t("All", "Todos"), METHODS.map(|method| (method, method))))
            (Input::text("path", t.t("Full path", "Ruta completa")).value(given("path")))
            (list::filter(visitor, "key", t.t("Key", "Clave"), t.t("All", "Todas"),
                keys.iter().map(|key| (key.id.to_string(), format!("{} ({})", key.name, key.prefix)))))
            (period::fields(visitor))
            (Input::text("request", t.t("Request ID", "ID de solicitud")).value(given("request")))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
    }
}

fn nothing(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let mut asked = visitor.query().iter();
    if asked.any(|(_, value)| !value.trim().is_empty()) {
        return list::empty(
            t.t("No matching requests", "Ninguna solicitud coincide"),
            t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ),
            Some(("/logs", t.t("Show all", "Mostrar todas"))),
        );
    }
    let make = ("/developers", t.t("Go to API keys", "Ir a las claves"));
    list::empty(
        t.t("No requests yet", "Aún no hay solicitudes"),
        t.t(
            "Create an API key and send your first request. It appears here within a second.",
            "Crea una clave de API y envía tu primera solicitud. Aparece aquí en un segundo.",
        ),
        visitor.may(MemberRole::Developer).then_some(make),
    )
}

/// A request's status and error code.
fn answer(entry: &LogEntry) -> Markup {
    let tone = match entry.status {
        200..=399 => Tone::Good,
        400..=499 => Tone::Busy,
        500.. => Tone::Bad,
        _ => Tone::Plain,
    };
    let text = match &entry.error {
        Some(error) => format!("{} {error}", entry.status),
        None => entry.status.to_string(),
    };
    badge(tone, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_code_or_a_class() {
        assert_eq!(status("404"), Some(StatusFilter::Code(404)));
        assert_eq!(status("4XX"), Some(StatusFilter::Class(4)));
        for wrong in ["", "4", "600", "4x", "40x", "4xxx", "abc"] {
            assert_eq!(status(wrong), None, "{wrong}");
        }
    }
}
