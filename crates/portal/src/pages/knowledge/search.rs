//! A test search: what an agent would find.

use actix_web::http::StatusCode;
use offhook_services::SearchHit;

use super::{entitled, folders, named, tab};
use crate::prelude::*;

/// Passages that an agent gets by default.
const USUAL: &str = "4";

/// `GET /portal/knowledge/search`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let t = visit.lang();
    let query = visit.query();
    let folders = folders::all(&visit).await?;
    let (hits, message) = match query.get("q") {
        None => (None, None),
        Some(q) => match search(&visit, q).await {
            Ok(hits) => (Some(hits), None),
            Err(trouble) => (None, Some(visit.message_of(trouble, &[])?)),
        },
    };
    let most = query.get("top_k").unwrap_or(USUAL);
    let body = html! {
        (form::refusal(message.as_deref()))
        p { (t.t(
            "Ask as a caller would. The results are the passages that an agent with all these documents would get.",
            "Pregunta como lo haría quien llama. Los resultados son los pasajes que recibiría un agente con todos estos documentos.",
        )) }
        form.filters method="get" action={ (PATH) "/knowledge/search" } {
            (Input::text("q", t.t("Question", "Pregunta")).kind("search").value(query.text("q")).required())
            (list::filter(&visit, "folder", t.t("Search in", "Buscar en"), t.t("All documents", "Todos los documentos"), named(&folders)))
            (Select::new("top_k", t.t("Passages", "Pasajes"))
                .options(["1", "2", "4", "8", "12", "20"].map(|most| (most, most)))
                .chosen(most))
            button.primary type="submit" { (t.t("Search", "Buscar")) }
        }
        @match &hits {
            Some(hits) => (results(hits, t)),
            None => (list::empty(t.t("Ask a question", "Haz una pregunta"), t.t(
                "You see the passages, each with its document and how well it matches.",
                "Verás los pasajes, cada uno con su documento y qué tan bien coincide.",
            ), None)),
        }
    };
    Ok(match message {
        None => tab(&visit, "/knowledge/search", StatusCode::OK, &body),
        Some(_) => tab(
            &visit,
            "/knowledge/search",
            StatusCode::UNPROCESSABLE_ENTITY,
            &body,
        ),
    })
}

async fn search(visit: &Visit<Viewer>, q: &str) -> Result<Vec<SearchHit>> {
    let query = visit.query();
    let top_k = query.text("top_k").parse::<u8>().unwrap_or(4);
    let top_k = Json::from(i64::from(top_k));
    let mut members = vec![("query", Json::from(q)), ("top_k", top_k)];
    if let Some(folder) = query.get("folder") {
        members.push(("folder_ids", Json::Array(vec![Json::from(folder)])));
    }
    let (knowledge, body) = (visit.services().knowledge(), Json::object(members));
    Ok(knowledge.search(visit.account(), &body).await?)
}

fn results(hits: &[SearchHit], t: Lang) -> Markup {
    html! {
        h2 { (t.t("Results", "Resultados")) }
        @if hits.is_empty() {
            (list::empty(t.t("No results", "Sin resultados"), t.t(
                "Rephrase the question, or add a document that answers it.",
                "Pregunta con otras palabras, o agrega un documento que lo responda.",
            ), None))
        }
        ol.hits {
            @for hit in hits {
                li {
                    h3 { a href={ (PATH) "/knowledge/documents/" (hit.document_id) } { (hit.document_name) } }
                    p.soft { (t.t("Score", "Puntuación")) " " (format!("{:.3}", hit.score)) }
                    p.passage dir="auto" { (hit.text) }
                }
            }
        }
    }
}
