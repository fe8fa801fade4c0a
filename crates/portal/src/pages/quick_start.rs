//! Developer pages: from a key to the first call, and how receivers verify webhooks. Every role may read them.

mod samples;
mod verifying;

use offhook_services::store::{Agent, AgentFilter};

use crate::parts::sample::{code, programs};
use crate::prelude::*;
use crate::visit::first;

const SECTION: Section = Section::Developers;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/quick-start").get(start),
        Page::at("/quick-start/webhooks").get(verifying::receivers),
    ]
}

/// An agent of the account for the samples: an active one, else the newest.
async fn an_agent(visitor: &Visitor) -> Result<Option<Agent>> {
    for status in [Some(AgentStatus::Active), None] {
        let filter = AgentFilter {
            status,
            ..AgentFilter::default()
        };
        let agents = visitor.services().agents();
        let found = agents.list(visitor.account(), filter, first(1)).await?;
        if let Some(agent) = found.items.into_iter().next() {
            return Ok(Some(agent));
        }
    }
    Ok(None)
}

async fn start(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let agent = an_agent(&visit).await?;
    let sample = samples::Samples::of(&visit.base_url(), agent.as_ref());
    let body = html! {
        div.page-actions {
            a.button href="/docs" { (t.t("API reference", "Referencia de la API")) }
            a.button href={ (crate::PATH) "/quick-start/webhooks" } { (t.t("Receive webhooks", "Recibir webhooks")) }
        }
        p.lead { (t.t(
            "From a key to your first call. The samples use this service's URL and one of your agents.",
            "De una clave a tu primera llamada. Los ejemplos usan la URL de este servicio y uno de tus agentes.",
        )) }
        (a_key(&visit, &sample))
        (first_call(&visit, &sample, agent.as_ref()))
        (retries(t))
        (errors(t))
        (next(t))
    };
    Ok(visit.page(SECTION, SECTION.name(t), &body))
}

fn a_key(visitor: &Visitor, sample: &samples::Samples) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { "1. " (t.t("Create a key", "Crea una clave")) }
        p {
            (t.t("Create a key under ", "Crea una clave en "))
            a href={ (crate::PATH) "/developers" } { (Section::Keys.name(t)) }
            (t.t(
                " with the scopes calls:read and calls:write, and store its token in an environment variable:",
                " con los permisos calls:read y calls:write, y guarda su token en una variable de entorno:",
            ))
        }
        (code(t, "key", t.t("Shell", "Terminal"), "export OFFHOOK_KEY=service_live_…"))
        p { (t.t("Check that it works:", "Comprueba que funciona:")) }
        (code(t, "me", "curl", &sample.me))
    }
}

fn first_call(visitor: &Visitor, sample: &samples::Samples, agent: Option<&Agent>) -> Markup {
    let t = visitor.lang();
    html! {
        h2 { "2. " (t.t("Place your first call", "Haz tu primera llamada")) }
        @match agent {
            Some(agent) => p {
                (t.t("The agent in these samples is ", "El agente de estos ejemplos es "))
                a href={ (crate::PATH) "/agents/" (agent.id) } { (agent.name) }
                @if agent.status != AgentStatus::Active {
                    (t.t(
                        "; it places calls once it is published and active",
                        "; hará llamadas cuando esté publicado y activo",
                    ))
                }
                (t.t(
                    ". Replace the number to call with your own.",
                    ". Reemplaza el número al que se llama por el tuyo.",
                ))
            },
            None => (list::empty(
                t.t("No agents yet", "Aún no hay agentes"),
                t.t(
                    "Create and publish one. Its ID then appears in these samples.",
                    "Crea y publica uno. Su ID aparecerá en estos ejemplos.",
                ),
                Some(("/agents", Section::Agents.name(t))),
            )),
        }
        (code(t, "curl", "curl", &sample.curl))
        p { (t.t(
            "The response is 201 with the call's ID in “id” and the status “initiated”. These programs place a call and wait until it ends:",
            "La respuesta es 201 con el ID de la llamada en «id» y el estado «initiated». Estos programas hacen una llamada y esperan a que termine:",
        )) }
        (programs(t, &[
            ("Python 3.10+", "python", &sample.python),
            ("TypeScript / JavaScript (Node 18+)", "javascript", &sample.javascript),
        ]))
        p.soft { (t.t(
            "Polling is simple; a webhook notifies you immediately.",
            "Consultar es sencillo; un webhook te avisa de inmediato.",
        )) }
    }
}

fn retries(lang: Lang) -> Markup {
    html! {
        h2 { "3. " (lang.t("Retry without calling twice", "Reintenta sin llamar dos veces")) }
        p { (lang.t(
            "Send your own Idempotency-Key with POST /v1/calls, such as an order number. If the connection breaks, send the same request again with the same key:",
            "Envía con POST /v1/calls un Idempotency-Key tuyo, como el número de un pedido. Si se corta la conexión, envía de nuevo la misma solicitud con la misma clave:",
        )) }
        ul {
            li { (lang.t("Within 24 hours, the same body gets the first response again, with Idempotent-Replayed: true. No call is dialed twice.", "Durante 24 horas, el mismo cuerpo recibe la primera respuesta, con Idempotent-Replayed: true. Ninguna llamada se marca dos veces.")) }
            li { (lang.t("A different body with the same key returns 409 idempotency_conflict.", "Otro cuerpo con la misma clave devuelve 409 idempotency_conflict.")) }
            li { (lang.t("If a response has Retry-After, wait that many seconds.", "Si una respuesta tiene Retry-After, espera esos segundos.")) }
        }
    }
}

/// Errors that a first program meets, and what to do.
fn errors(lang: Lang) -> Markup {
    let rows = [
        ("unauthorized", 401, lang.t("The key is missing, wrong, expired or revoked.", "La clave falta, es incorrecta, venció o fue revocada.")),
        ("payment_required", 402, lang.t("The account's credits do not cover the call.", "Los créditos de la cuenta no alcanzan para la llamada.")),
        ("insufficient_scope", 403, lang.t("The key lacks a scope; the message names it.", "A la clave le falta un permiso; el mensaje dice cuál.")),
        ("agent_not_found", 403, lang.t("No agent of the account has this ID.", "Ningún agente de la cuenta tiene este ID.")),
        ("agent_disabled", 403, lang.t("The agent is not active, or was never published.", "El agente no está activo o nunca se publicó.")),
        ("invalid_body", 400, lang.t("A field is invalid; the message names the first.", "Un campo no es válido; el mensaje dice cuál es el primero.")),
        ("conflict", 409, lang.t("The current state does not allow it, such as outside calling hours.", "El estado no lo permite, por ejemplo fuera del horario de llamadas.")),
        ("rate_limit_exceeded", 429, lang.t("Too many requests: wait Retry-After seconds.", "Demasiadas solicitudes: espera los segundos de Retry-After.")),
        ("service_unavailable", 503, lang.t("Temporarily unavailable: wait Retry-After seconds and retry with the same key.", "No disponible por el momento: espera los segundos de Retry-After y reintenta con la misma clave.")),
    ];
    html! {
        h2 { "4. " (lang.t("Errors", "Errores")) }
        p {
            (lang.t(
                "Every error is {error, message, request_id}. Branch on “error”; “message” is for people. Find a request by its ID in the ",
                "Todo error es {error, message, request_id}. Decide por «error»; «message» es para personas. Busca una solicitud por su ID en los ",
            ))
            a href={ (crate::PATH) "/logs" } { (lang.t("logs", "registros")) }
            "."
        }
        (Table::of(lang.t("Errors", "Errores"), &rows)
            .column(lang.t("Code", "Código"), |(code, ..)| html! { code { (code) } })
            .column(lang.t("Status", "Estado HTTP"), |(_, status, _)| status)
            .column(lang.t("Meaning", "Significado"), |(.., meaning)| meaning))
    }
}

fn next(lang: Lang) -> Markup {
    html! {
        h2 { (lang.t("Next steps", "Siguientes pasos")) }
        ul {
            li { a href={ (crate::PATH) "/webhooks" } { (lang.t("Add a webhook endpoint and send a test event", "Agrega un punto de conexión y envía un evento de prueba")) } }
            li { a href={ (crate::PATH) "/quick-start/webhooks" } { (lang.t("Verify signatures in five languages", "Verifica firmas en cinco lenguajes")) } }
            li { a href="/docs" { (lang.t("Every endpoint, field and error", "Cada endpoint, campo y error")) } }
            li { a href="/openapi.json" { (lang.t("The OpenAPI document, for generated clients", "El documento OpenAPI, para generar clientes")) } }
        }
    }
}
