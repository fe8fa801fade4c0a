//! The search over pages, agents, phone numbers and conversations: what the palette shows, and a page of its own.

use actix_web::http::StatusCode;
use offhook_services::store::{AgentFilter, ConversationFilter};

use super::conversations::{plain, wording};
use crate::parts::icon::Icon;
use crate::prelude::*;
use crate::visit::first;
use crate::visit::layout::{self, Frame};
use crate::visit::navigation::{FIND, search_form, sections};

/// The most hits of a kind.
const MOST: usize = 5;

/// The newest phone numbers, among which is searched.
const NUMBERS: u32 = 100;

/// The most characters of a question.
const Q_CHARS: usize = 100;

/// Digits from which a question is taken for a part of a phone number.
const LEAST_DIGITS: usize = 3;

/// Pages below the sections: path, name, section, and the lowest role that opens them.
const PAGES: [(&str, (&str, &str), Section, MemberRole); 10] = [
    (
        "/agents/new",
        ("Create agent", "Crear agente"),
        Section::Agents,
        MemberRole::Developer,
    ),
    (
        "/try/call",
        ("Place a test call", "Hacer una llamada de prueba"),
        Section::Conversations,
        MemberRole::Developer,
    ),
    (
        "/try/chat",
        ("Try a chat", "Probar un chat"),
        Section::Conversations,
        MemberRole::Developer,
    ),
    (
        "/campaigns/new",
        ("Create campaign", "Crear campaña"),
        Section::Campaigns,
        MemberRole::Developer,
    ),
    (
        "/batch-calls/new",
        ("Create batch", "Crear lote"),
        Section::Batches,
        MemberRole::Developer,
    ),
    (
        "/conversations/live",
        ("Live calls", "Llamadas en vivo"),
        Section::Conversations,
        MemberRole::Viewer,
    ),
    (
        "/webhooks/deliveries",
        ("Deliveries", "Entregas"),
        Section::Webhooks,
        MemberRole::Viewer,
    ),
    (
        "/settings/credentials",
        ("Provider credentials", "Credenciales de proveedores"),
        Section::Settings,
        MemberRole::Admin,
    ),
    (
        "/settings/audit",
        ("Audit log", "Bitácora de cambios"),
        Section::Settings,
        MemberRole::Admin,
    ),
    (
        "/profile",
        ("Profile", "Perfil"),
        Section::Profile,
        MemberRole::Viewer,
    ),
];

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![Page::at(FIND).get(find)]
}

/// `GET /portal/find`
async fn find(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let q: String = visit.query().text("q").chars().take(Q_CHARS).collect();
    let found = hits(&visit, &q).await?;
    if visit.request().headers().contains_key("hx-request") {
        return Ok(visit.part(&found));
    }
    let body = html! { div.finder { (search_form(lang, &q)) div.hits-of-search { (found) } } };
    let frame = Frame {
        section: None,
        ..visit.frame(Section::Overview)
    };
    let title = lang.t("Search", "Buscar");
    Ok(layout::page(&frame, StatusCode::OK, title, &body))
}

/// One hit: where it leads, its icon, its name, and what tells it from others of this name.
struct Hit {
    path: String,
    icon: Icon,
    name: Markup,
    about: Markup,
}

async fn hits(visitor: &Visitor, q: &str) -> Result<Markup> {
    let lang = visitor.lang();
    let groups = match q.is_empty() {
        true => {
            let all = pages(visitor, q, usize::MAX).into_iter();
            let (deeds, pages) =
                all.partition(|hit| hit.path.contains("/new") || hit.path.starts_with("/try"));
            vec![
                (lang.t("Pages", "Páginas"), pages),
                (lang.t("Actions", "Acciones"), deeds),
            ]
        }
        false => vec![
            (lang.t("Pages", "Páginas"), pages(visitor, q, MOST)),
            (Section::Agents.name(lang), agents(visitor, q).await?),
            (Section::Numbers.name(lang), numbers(visitor, q).await?),
            (
                Section::Conversations.name(lang),
                conversations(visitor, q).await?,
            ),
        ],
    };
    let nothing = groups.iter().all(|(_, hits)| hits.is_empty());
    Ok(html! {
        @if nothing {
            p.none role="status" { (lang.t(
                "Nothing found. Search by name, phone number or conversation ID.",
                "Sin resultados. Busca por nombre, número de teléfono o ID de conversación.",
            )) }
        }
        @for (name, hits) in groups.iter().filter(|(_, hits)| !hits.is_empty()) {
            h2 { (name) }
            ul.found {
                @for hit in hits {
                    li { a href={ (PATH) (hit.path) } { (hit.icon) span { (hit.name) } span.soft { (hit.about) } } }
                }
            }
        }
    })
}

/// Pages whose name in either language has the words, from the beginning of one.
fn pages(visitor: &Visitor, q: &str, most: usize) -> Vec<Hit> {
    let lang = visitor.lang();
    let q = format!(" {}", folded(q));
    let all = sections().map(|section| {
        let names = (section.name(Lang::En), section.name(Lang::Es));
        (section.path(), names, section, MemberRole::Viewer)
    });
    all.chain(PAGES)
        .filter(|(_, (en, es), _, role)| {
            visitor.may(*role)
                && [en, es]
                    .iter()
                    .any(|name| format!(" {}", folded(name)).contains(&q))
        })
        .take(most)
        .map(|(path, (en, es), section, _)| Hit {
            path: path.to_owned(),
            icon: section.icon(),
            name: html! { (lang.t(en, es)) },
            about: html! {
                @if path != section.path() { (section.name(lang)) }
            },
        })
        .collect()
}

async fn agents(visitor: &Visitor, q: &str) -> Result<Vec<Hit>> {
    let filter = AgentFilter {
        q: Some(q.to_owned()),
        ..AgentFilter::default()
    };
    let agents = visitor.services().agents();
    let page = agents.list(visitor.account(), filter, first(MOST as u32));
    let hits = page.await?.items.into_iter().map(|agent| Hit {
        path: format!("/agents/{}", agent.id),
        icon: Icon::AGENTS,
        name: html! { (agent.name) },
        about: html! { (agent.language) },
    });
    Ok(hits.collect())
}

/// The newest numbers whose digits or label have what was asked.
async fn numbers(visitor: &Visitor, q: &str) -> Result<Vec<Hit>> {
    let numbers = visitor.services().numbers();
    let page = numbers
        .list(visitor.account(), None, first(NUMBERS))
        .await?;
    let (digits, q) = (digits(q), folded(q));
    let hits = page.items.into_iter().filter(|number| {
        digits
            .as_deref()
            .is_some_and(|digits| number.phone_number.as_str().contains(digits))
            || folded(&number.label).contains(&q)
    });
    let hits = hits.take(MOST).map(|number| Hit {
        path: format!("/phone-numbers/{}", number.id),
        icon: Icon::NUMBERS,
        name: html! { (number.phone_number) },
        about: html! { (number.label) },
    });
    Ok(hits.collect())
}

/// The conversation with this id, or the newest ones with this phone number.
async fn conversations(visitor: &Visitor, q: &str) -> Result<Vec<Hit>> {
    let services = visitor.services().conversations();
    let id = q.strip_prefix("call_").unwrap_or(q);
    let views = if let Ok(id) = id.parse::<ConversationId>() {
        let view = services.get(visitor.caller(), id, false).await?;
        view.into_iter().collect()
    } else if let Ok(phone) = plain(q).parse() {
        let filter = ConversationFilter {
            phone: Some(phone),
            ..ConversationFilter::default()
        };
        let page = services.list(visitor.caller(), filter, first(MOST as u32));
        page.await?.items
    } else {
        Vec::new()
    };
    let lang = visitor.lang();
    let hits = views.into_iter().map(|view| Hit {
        path: format!("/conversations/{}", view.conversation.id),
        icon: Icon::CONVERSATIONS,
        name: html! { (view.agent_name) " · " (wording::customer(&view.conversation, lang)) },
        about: when(view.conversation.started_at),
    });
    Ok(hits.collect())
}

/// The digits of a question that is nothing but a part of a phone number.
fn digits(q: &str) -> Option<String> {
    let q = plain(q);
    let digits = q.strip_prefix('+').unwrap_or(&q);
    let is_number =
        digits.len() >= LEAST_DIGITS && digits.bytes().all(|sign| sign.is_ascii_digit());
    is_number.then(|| digits.to_owned())
}

/// Lower case, without the accents of Spanish.
fn folded(text: &str) -> String {
    let plain = |sign| match sign {
        'á' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' | 'ü' => 'u',
        'ñ' => 'n',
        other => other,
    };
    text.chars()
        .flat_map(char::to_lowercase)
        .map(plain)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_phone_number_is_digits_with_what_people_put_between_them() {
        assert_eq!(digits("+52 (55)-12").as_deref(), Some("525512"));
        assert_eq!(digits("12"), None);
        assert_eq!(digits("12a4"), None);
        assert_eq!(folded("Configuración Año"), "configuracion ano");
    }
}
