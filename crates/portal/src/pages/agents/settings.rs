//! What is set of an agent beside its configuration.

use offhook_services::{AgentSettings, AgentSettingsView, AgentView, Zone};

use super::document::number;
use super::{engine_agent, refused_tab, tabbed};
use crate::parts::form::{check, form, kept, refusal};
use crate::parts::{sample, secret, version};
use crate::prelude::*;

const TIME_ZONE: &str = "time_zone";
const MEMORY: &str = "caller_memory";
const GUARD: &str = "guard";
const SUITE: &str = "required_suite";
const PHONE: &str = "phone";
const URL: &str = "context_url.url";
const OUTGOING: &str = "context_url.outgoing";
const FAILURE: &str = "context_url.failure_message";
const NEW_SECRET: &str = "new_secret";

/// What a context URL is asked, and what it may answer.
const ASKED: &str = r#"{
  "direction": "inbound",
  "channel": "phone",
  "customer_number": "+5215512345678",
  "agent_number": "+15005550100",
  "agent_id": "0190163d-…",
  "call_id": "call_0190163d-…",
  "metadata": {}
}"#;
const ANSWERED: &str = r#"{
  "variables": { "name": "Ana" },
  "language": "es-MX"
}"#;

async fn current(visitor: &Visitor, id: AgentId) -> Result<AgentSettingsView> {
    let agents = visitor.services().agents();
    Ok(agents.settings(visitor.account(), id).await?)
}

fn fields_of(settings: &AgentSettings) -> Fields {
    let zone = settings.time_zone.as_deref().unwrap_or_default();
    let memory = settings.caller_memory.to_string();
    let context = settings.context_url.as_ref();
    let message = context.and_then(|context| context.failure_message.as_deref());
    let is_outgoing = context.is_some_and(|context| context.outgoing);
    Fields::of([
        (TIME_ZONE, zone),
        (MEMORY, &memory),
        (
            GUARD,
            match settings.guard {
                Some(true) => "on",
                Some(false) => "off",
                None => "",
            },
        ),
        (
            SUITE,
            settings.required_suite.as_deref().unwrap_or_default(),
        ),
        (URL, context.map_or("", |context| &context.url)),
        (OUTGOING, if is_outgoing { "on" } else { "" }),
        (FAILURE, message.unwrap_or_default()),
    ])
}

/// The body of the API for what a form says.
fn body(fields: &Fields) -> Json {
    let text = |name: &str| fields.get(name).map_or(Json::Null, Json::from);
    let context = match fields.get(URL) {
        None => Json::Null,
        Some(url) => Json::object([
            ("url", Json::from(url)),
            ("outgoing", Json::Bool(fields.is_set(OUTGOING))),
            ("failure_message", text(FAILURE)),
        ]),
    };
    Json::object([
        (TIME_ZONE, text(TIME_ZONE)),
        (MEMORY, fields.get(MEMORY).map_or(Json::Null, number)),
        (
            GUARD,
            fields.get(GUARD).map_or(Json::Null, |guard| match guard {
                "on" => Json::Bool(true),
                "off" => Json::Bool(false),
                other => Json::from(other),
            }),
        ),
        (SUITE, text(SUITE)),
        ("context_url", context),
        (NEW_SECRET, Json::Bool(fields.is_set(NEW_SECRET))),
    ])
}

/// Gives the copy of an agent the settings of this one.
pub(super) async fn copy(post: &Post<Developer>, from: AgentId, to: &AgentView) -> Result<()> {
    // A copy has no scenarios yet, and could not be published with a required suite.
    let settings = AgentSettings {
        required_suite: None,
        ..current(post, from).await?.settings
    };
    let agents = post.services().agents().by(post.person.actor());
    let body = body(&fields_of(&settings));
    agents
        .set_settings(post.account(), to.agent.id, &body)
        .await?;
    Ok(())
}

/// `GET /portal/agents/{id}/settings`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let settings = current(&visit, view.agent.id).await?;
    let fields = version::stamped(fields_of(&settings.settings));
    let body = draw(&visit, &view, &fields, None);
    Ok(tabbed(&visit, &view.agent, "settings", &body))
}

/// `fields` is the input of a refused form.
fn draw(visitor: &Visitor, view: &AgentView, fields: &Fields, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        (refusal(message))
        p.lead { (t.t(
            "Saving makes a new version of the agent. Conversations use it once it is published.",
            "Al guardar se crea una versión nueva del agente. Las conversaciones la usan cuando se publica.",
        )) }
        @if visitor.may(MemberRole::Developer) {
            (kept(visitor, &format!("/agents/{}/settings", view.agent.id), &html! {
                (version::hidden(fields))
                (zone(fields, t))
                (Input::text(MEMORY, t.t("Earlier conversations to remember", "Conversaciones anteriores que recuerda")).kind("number")
                    .value(fields.raw(MEMORY)).hint(t.t(
                        "0 to 5. The model is shown that many summaries of earlier calls and WhatsApp chats with the same number. Caller IDs can be forged: do not let the agent reveal secrets by them.",
                        "De 0 a 5. Al modelo se le muestran tantos resúmenes de llamadas y chats de WhatsApp anteriores con el mismo número. El identificador de llamadas se puede falsificar: que el agente no revele secretos por él.")))
                (guard(fields, t))
                (Input::text(SUITE, t.t("Required suite", "Pruebas exigidas")).value(fields.raw(SUITE)).hint(t.t(
                    "A suite of scenarios (tab Tests) that a version has to pass before it is published. Empty: none.",
                    "Un grupo de escenarios (pestaña Pruebas) que una versión debe aprobar antes de publicarse. Vacío: ninguno.")))
                (context(fields, t))
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
            h2 { (t.t("Forget a caller", "Olvidar a alguien")) }
            (form(visitor, &format!("/agents/{}/forget", view.agent.id), &html! {
                (Input::text(PHONE, t.t("Phone number", "Número de teléfono")).kind("tel").required().hint(t.t(
                    "The agent no longer remembers earlier conversations with this number. They stay in the list.",
                    "El agente ya no recuerda las conversaciones anteriores con este número. Siguen en la lista.")))
                button type="submit" { (t.t("Forget", "Olvidar")) }
            }))
        } @else { (facts(fields, t)) }
    }
}

fn zone(fields: &Fields, t: Lang) -> Markup {
    let names = Zone::names();
    let chosen = fields.text(TIME_ZONE);
    html! {
        (Select::new(TIME_ZONE, t.t("Time zone", "Zona horaria"))
            .option("", t.t("As in the calling hours, or the account's", "La del horario de llamadas, o la de la cuenta"))
            .options(names.iter().map(|name| (name.as_str(), name.as_str())))
            .chosen(chosen)
            .hint(t.t(
                "For {{date}}, {{time}} and {{weekday}}, and for the day that the model is told.",
                "Para {{date}}, {{time}} y {{weekday}}, y para el día que se le dice al modelo.")))
    }
}

/// What the values of the choice say.
const fn guards(t: Lang) -> [(&'static str, &'static str); 3] {
    [
        (
            "",
            t.t(
                "For agents with tools that act",
                "En agentes con herramientas que actúan",
            ),
        ),
        ("on", t.t("Always", "Siempre")),
        ("off", t.t("Never", "Nunca")),
    ]
}

fn guard(fields: &Fields, t: Lang) -> Markup {
    html! {
        (Select::new(GUARD, t.t("Replace unproven claims", "Reemplazar afirmaciones sin comprobar"))
            .options(guards(t)).chosen(fields.text(GUARD)).hint(t.t(
                "“I have booked it” is only said once a tool has done something. Else the agent says that it could not confirm it yet.",
                "«Ya lo reservé» solo se dice cuando una herramienta ha hecho algo. Si no, el agente dice que todavía no ha podido confirmarlo.")))
    }
}

fn context(fields: &Fields, t: Lang) -> Markup {
    html! {
        h2 { (t.t("Context URL", "URL de contexto")) }
        p.hint { (t.t(
            "Your server is asked before the agent answers a call, while it rings: for up to 2 seconds. It may set variables and the language, choose another published agent, or refuse the call. Requests are signed as webhooks are.",
            "Se consulta a tu servidor antes de que el agente conteste, mientras suena: hasta 2 segundos. Puede dar variables y el idioma, elegir otro agente publicado o rechazar la llamada. Las solicitudes se firman como los webhooks.")) }
        details {
            summary { (t.t("Example of a request and a response", "Ejemplo de solicitud y respuesta")) }
            (sample::code(t, "asked", t.t("Request", "Solicitud"), ASKED))
            (sample::code(t, "answered", t.t("Response, every member optional", "Respuesta, todos los campos opcionales"), ANSWERED))
        }
        (Input::text(URL, t.t("URL", "URL")).kind("url").value(fields.raw(URL)).hint(t.t(
            "A public https:// URL. Leave empty to turn it off.", "Una URL https:// pública. Déjala vacía para desactivarla.")))
        (check(OUTGOING, "on", t.t("Ask before outgoing calls, too", "Consultar también antes de las llamadas salientes"), fields.is_set(OUTGOING)))
        (Input::text(FAILURE, t.t("If it fails, say this and end the call", "Si falla, decir esto y terminar la llamada")).rows(2)
            .value(fields.raw(FAILURE)).hint(t.t(
                "Leave empty to go on without its answer. Up to 2,000 characters.",
                "Déjalo vacío para seguir sin su respuesta. Hasta 2,000 caracteres.")))
        (check(NEW_SECRET, "on", t.t("Make a new signing secret", "Crear un secreto de firma nuevo"), false))
    }
}

fn facts(fields: &Fields, t: Lang) -> Markup {
    let zone = match fields.text(TIME_ZONE) {
        "" => t.t(
            "Of the calling hours, else of the account",
            "La del horario de llamadas o, si no, la de la cuenta",
        ),
        zone => zone,
    };
    let guards = guards(t).into_iter();
    let guard = guards.filter(|(value, _)| *value == fields.text(GUARD));
    html! {
        dl.facts {
            (list::fact(t.t("Time zone", "Zona horaria"), zone))
            (list::fact(t.t("Earlier conversations to remember", "Conversaciones anteriores que recuerda"), fields.text(MEMORY)))
            @for (_, said) in guard { (list::fact(t.t("Replace unproven claims", "Reemplazar afirmaciones sin comprobar"), said)) }
            (list::fact(t.t("Required suite", "Pruebas exigidas"), match fields.text(SUITE) { "" => "–", suite => suite }))
            (list::fact(t.t("Context URL", "URL de contexto"), match fields.text(URL) { "" => "–", url => url }))
        }
    }
}

/// `GET /portal/agents/{id}/settings/secret`: the signing secret, once.
pub(super) async fn show_secret(visit: Visit<Developer>) -> Answer {
    let (view, t) = (engine_agent(&visit).await?, visit.lang());
    let secret = visit.shown_once(view.agent.id.uuid()).await?;
    let title = t.t("Signing secret", "Secreto de firma");
    let body = html! {
        p.lead { (t.t("It signs the requests to the context URL of ", "Firma las solicitudes a la URL de contexto de ")) strong { (view.agent.name) } "." }
        (secret::once(t, "secret", secret.as_deref(), t.t(
            "Store it where your server reads it. If you lose it, make a new one.",
            "Guárdalo donde tu servidor lo lea. Si lo pierdes, crea uno nuevo.",
        )))
        p { (t.t("The settings are saved as a new version. Publish it to use them in calls.", "Los ajustes se guardaron como una versión nueva. Publícala para usarlos en las llamadas.")) }
        div.bar-of-actions {
            a.button.primary href={ (crate::PATH) "/agents/" (view.agent.id) "/settings" } { (secret::done(t, secret.as_deref(), t.t("Back to the settings", "Volver a los ajustes"))) }
        }
    };
    Ok(visit.page(Section::Agents, title, &body))
}

const fn labels(t: Lang) -> [(&'static str, &'static str); 5] {
    [
        (TIME_ZONE, t.t("Time zone", "Zona horaria")),
        (
            GUARD,
            t.t(
                "Replace unproven claims",
                "Reemplazar afirmaciones sin comprobar",
            ),
        ),
        (URL, t.t("URL", "URL")),
        (
            FAILURE,
            t.t(
                "If it fails, say this and end the call",
                "Si falla, decir esto y terminar la llamada",
            ),
        ),
        (
            MEMORY,
            t.t(
                "Earlier conversations to remember",
                "Conversaciones anteriores que recuerda",
            ),
        ),
    ]
}

/// `POST /portal/agents/{id}/forget`
pub(super) async fn forget(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let (id, t) = (view.agent.id, post.lang());
    let agents = post.services().agents();
    let phone = post.fields.text(PHONE).parse::<E164>();
    let forgotten = async {
        let phone = phone.map_err(|error| FieldError::new(PHONE, error))?;
        Ok::<_, Trouble>(agents.forget_caller(post.account(), id, phone).await?)
    };
    match forgotten.await {
        Ok(count) => {
            let message = text!(
                t,
                "Conversations forgotten: {count}.",
                "Conversaciones olvidadas: {count}."
            );
            let path = format!("/agents/{id}/settings");
            post.done("agent.forget", id, &path, &message).await
        }
        Err(error) => {
            let label = [(PHONE, t.t("Phone number", "Número de teléfono"))];
            let message = post.message_of(error, &label)?;
            let settings = current(&post, id).await?;
            let fields = version::stamped(fields_of(&settings.settings));
            let body = draw(&post, &view, &fields, Some(&message));
            Ok(refused_tab(&post, &view.agent, "settings", &body))
        }
    }
}

/// `POST /portal/agents/{id}/settings`
pub(super) async fn set(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let (id, t) = (view.agent.id, post.lang());
    let before = current(&post, id).await?;
    let labels = labels(t);
    let work = async {
        let agents = post.services().agents().by(post.person.actor());
        agents
            .set_settings(post.account(), id, &body(&post.fields))
            .await
    };
    match version::save(&post, &fields_of(&before.settings), &labels, work).await? {
        Ok(saved) => {
            let version = saved.version;
            let message = match version == before.version {
                true => t
                    .t("No changes to save.", "No hay cambios que guardar.")
                    .to_owned(),
                false => text!(
                    t,
                    "Saved as version {version}. Publish it to use it in calls.",
                    "Guardado como versión {version}. Publícala para usarla en las llamadas."
                ),
            };
            let path = format!("/agents/{id}/settings");
            let Some(secret) = &saved.secret else {
                return post.done("agent.update", id, &path, &message).await;
            };
            post.note("agent.update", id).await;
            post.show_once(id.uuid(), secret).await?;
            Ok(post.go(&format!("{path}/secret"), ""))
        }
        Err(refused) => {
            let body = draw(&post, &view, &refused.fields, Some(&refused.message));
            Ok(refused_tab(&post, &view.agent, "settings", &body))
        }
    }
}
