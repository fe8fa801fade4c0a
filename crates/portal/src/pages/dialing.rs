//! Who is called: the account's rules, its suppression list, and a check of one number.

mod add;
mod check;
pub(super) mod rules;
pub(crate) mod wording;

use futures_util::StreamExt as _;
use offhook_services::store::{AgentFilter, Suppression, SuppressionFilter};

use crate::pages::conversations::plain;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::version;
use crate::parts::words::when_if;
use crate::prelude::*;
use crate::visit::layout::attachment;

const SECTION: Section = Section::Dialing;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/dialing").get(show).post(rules::set),
        Page::at("/dialing/numbers/new")
            .get(add::show)
            .post(add::add),
        Page::at("/dialing/numbers/upload").upload(add::upload),
        Page::at("/dialing/numbers.csv").part(download),
        Page::at("/dialing/numbers/{id}/delete").post(delete),
    ]
}

/// `GET /portal/dialing`
async fn show(visit: Visit<Viewer>) -> Answer {
    let rules = visit.services().gate().rules(&visit.caller().account)?;
    let fields = version::stamped(rules::fields_of(&rules));
    let body = page(&visit, &rules, (&fields, None)).await?;
    Ok(visit.page(SECTION, SECTION.name(visit.lang()), &body))
}

/// The page; the fields are those of the form of the rules, with the reason if it was refused.
async fn page(
    visitor: &Visitor,
    rules: &DialingRules,
    (fields, message): (&Fields, Option<&str>),
) -> Result<Markup> {
    let t = visitor.lang();
    let agents = AgentChoice::of(visitor, AgentFilter::default()).await?;
    Ok(html! {
        div.page-actions {
            @if visitor.may(MemberRole::Developer) {
                a.button.primary href={ (PATH) "/dialing/numbers/new" } { (add::title(visitor)) }
            }
            a.button href={ (PATH) "/dialing/numbers.csv" } { (t.t("Download list (CSV)", "Descargar la lista (CSV)")) }
        }
        p { (t.t(
            "Checked before every call: numbers that are never called, and when and how often others are.",
            "Se revisa antes de cada llamada: los números a los que nunca se llama, y cuándo y con qué frecuencia a los demás.",
        )) }
        h2 { (t.t("Rules", "Reglas")) }
        (rules::summary(rules, t))
        @if visitor.may(MemberRole::Admin) { (rules::form_of(visitor, fields, message)) }
        h2 #check { (t.t("Check a number", "Revisar un número")) }
        (check::part(visitor, rules, &agents).await?)
        h2 #list { (t.t("Suppression list", "Lista de exclusión")) }
        (list(visitor).await?)
    })
}

/// The numbers that are not called, newest first.
async fn list(visitor: &Visitor) -> Result<Markup> {
    let (t, query) = (visitor.lang(), visitor.query());
    let number = query.get("number").map(|number| plain(number).parse());
    let number: Result<_, E164Error> = number.transpose();
    let is_number = number.is_ok();
    let source: Option<SuppressionSource> =
        query.get("source").and_then(|source| source.parse().ok());
    let filter = SuppressionFilter {
        number: number.unwrap_or_default(),
        source,
        ..SuppressionFilter::default()
    };
    let is_filtered = filter.number.is_some() || filter.source.is_some();
    let gate = visitor.services().gate();
    let page = visitor.page_of(SuppressionId::from_uuid);
    let found = gate.suppressions(visitor.account(), filter, page).await?;
    let sources = SuppressionSource::ALL.iter();
    let sources = sources.map(|source| (source.as_str(), wording::source(*source, t)));
    let may = visitor.may(MemberRole::Developer);
    Ok(html! {
        form.filters method="get" action={ (PATH) "/dialing#list" } {
            (Input::text("number", t.t("Number", "Número")).kind("tel").value(query.text("number")))
            (list::filter(visitor, "source", t.t("Source", "Origen"), t.t("All", "Todos"), sources))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if !is_number {
            (form::refusal(Some(t.t(
                "Write the number with + and its country code, such as +525512345678.",
                "Escribe el número con + y el código del país, como +525512345678.",
            ))))
        } @else if found.items.is_empty() { (nothing(visitor, is_filtered)) } @else {
            (Table::of(t.t("Suppression list", "Lista de exclusión"), &found.items)
                .column(t.t("Number", "Número"), |row| row.number.as_str())
                .column(t.t("Reason", "Motivo"), |row| html! { span dir="auto" { (row.reason) } })
                .column(t.t("Source", "Origen"), |row| came_by(visitor, row))
                .column(t.t("Until", "Hasta"), |row| when_if(row.until))
                .column(t.t("Added", "Agregado"), |row| when(row.created_at))
                .column_if(may, t.t("Action", "Acción"), |row| take_off(visitor, row)))
            (list::more(visitor, &found, |row| (row.created_at, row.id.uuid())))
        }
    })
}

/// How a number came on the list, with the conversation in which the customer said so.
fn came_by(visitor: &Visitor, row: &Suppression) -> Markup {
    let name = wording::source(row.source, visitor.lang());
    html! {
        @match row.conversation_id {
            Some(id) => a href={ (PATH) "/conversations/" (id) } { (name) },
            None => (name),
        }
    }
}

fn take_off(visitor: &Visitor, row: &Suppression) -> Markup {
    let (t, number) = (visitor.lang(), &row.number);
    let question = text!(
        t,
        "Take {number} off the list? It may then be called again.",
        "¿Quitar {number} de la lista? Después se le podrá volver a llamar."
    );
    let path = format!("/dialing/numbers/{}/delete", row.id);
    form::danger(
        visitor,
        &path,
        t.t("Allow again", "Permitir de nuevo"),
        &question,
    )
}

fn nothing(visitor: &Visitor, is_filtered: bool) -> Markup {
    let t = visitor.lang();
    if is_filtered {
        return list::empty(
            t.t("No matching numbers", "Ningún número coincide"),
            t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ),
            Some(("/dialing", t.t("Show all", "Mostrar todos"))),
        );
    }
    let next = ("/dialing/numbers/new", add::title(visitor));
    list::empty(
        t.t("No suppressed numbers", "Sin números excluidos"),
        t.t(
            "No agent calls a number on this list. Customers who ask an agent not to be called again are added by themselves.",
            "Ningún agente llama a los números de esta lista. Los clientes que piden a un agente que no les llamen se agregan solos.",
        ),
        visitor.may(MemberRole::Developer).then_some(next),
    )
}

/// `GET /portal/dialing/numbers.csv`
async fn download(visit: Visit<Viewer>) -> Answer {
    let rows = visit.services().gate().export(visit.account()).await?;
    // On an error the response is cut off, so that the file is not taken for complete.
    let rows = rows.map(|lines| lines.map_err(|_| std::io::Error::other("the list broke off")));
    let disposition = "attachment; filename=\"suppressions.csv\"".to_owned();
    Ok(attachment("text/csv; charset=utf-8", disposition).streaming(rows))
}

/// `POST /portal/dialing/numbers/{id}/delete`
async fn delete(post: Post<Developer>) -> Answer {
    let id: SuppressionId = post.id("id")?;
    post.services().gate().allow(post.account(), id).await?;
    let message = post.t("Number taken off the list.", "Número quitado de la lista.");
    post.done("suppression.delete", id, "/dialing", message)
        .await
}
