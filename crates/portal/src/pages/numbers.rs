//! Phone numbers.

use offhook_services::store::{AgentFilter, ConversationFilter, PhoneNumber};

use super::conversations;
use super::settings::credentials;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::version;
use crate::prelude::*;
use crate::visit::first;

/// Calls that a number's page shows.
const NEWEST: u32 = 5;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/phone-numbers").get(list),
        Page::at("/phone-numbers/new").get(add_form).post(add),
        Page::at("/phone-numbers/import")
            .get(import_form)
            .post(import),
        Page::at("/phone-numbers/{id}").get(show).post(change),
        Page::at("/phone-numbers/{id}/delete").post(delete),
    ]
}

/// `GET /portal/phone-numbers`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Numbers.name(t);
    let agent: Option<AgentId> = visit.query().get("agent").and_then(|id| id.parse().ok());
    let numbers = visit.services().numbers();
    let page = visit.page_of(PhoneNumberId::from_uuid);
    let numbers = numbers.list(visit.account(), agent, page).await?;
    let agents = AgentChoice::of(&visit, AgentFilter::default()).await?;
    let everyone = Some(t.t("All", "Todos"));
    let body = html! {
        (actions(&visit))
        p { (t.t(
            "Calls to a number are answered by its agent. Campaigns and calls of that agent come from it.",
            "Las llamadas a un número las contesta su agente. Las campañas y llamadas de ese agente salen de él.",
        )) }
        form.filters method="get" action={ (PATH) "/phone-numbers" } {
            (agents.field(&visit, "agent", t.t("Agent", "Agente"), visit.query().text("agent"), everyone))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if numbers.items.is_empty() { (nothing(&visit, agent.is_some())) } @else {
            (Table::of(title, &numbers.items)
                .column(t.t("Number", "Número"), |number| html! { a href={ (PATH) "/phone-numbers/" (number.id) } { (number.phone_number) } })
                .column(t.t("Label", "Etiqueta"), |number| &number.label)
                .column(t.t("Agent", "Agente"), |number| html! { @match number.agent_id {
                    Some(id) => { (agents.link(id)) }
                    None => { (badge(Tone::Busy, t.t("Not answered", "Nadie contesta"))) }
                } })
                .column(t.t("Provider", "Proveedor"), |number| provider_name(number.provider, t))
                .column(t.t("Added", "Agregado"), |number| when(number.created_at)))
        }
        (list::more(&visit, &numbers, |number| (number.created_at, number.id.uuid())))
    };
    Ok(visit.page(Section::Numbers, title, &body))
}

const fn provider_name(provider: NumberProvider, t: Lang) -> &'static str {
    match provider {
        NumberProvider::Sip => t.t("SIP trunk", "Troncal SIP"),
        NumberProvider::Twilio => "Twilio",
        NumberProvider::Simulator => t.t("Simulator", "Simulador"),
    }
}

fn actions(visitor: &Visitor) -> Markup {
    let numbers = visitor.services().numbers();
    html! {
        @if visitor.may(MemberRole::Developer) && numbers.are_taken_by_accounts() {
            div.page-actions {
                @if numbers.are_given_freely() {
                    a.button.primary href={ (PATH) "/phone-numbers/new" } { (add_title(visitor)) }
                }
                a.button href={ (PATH) "/phone-numbers/import" } { (import_title(visitor)) }
            }
        }
    }
}

fn nothing(visitor: &Visitor, is_filtered: bool) -> Markup {
    let t = visitor.lang();
    let taken_here = visitor.services().numbers().are_taken_by_accounts();
    let (text, next) = if is_filtered {
        let all = ("/phone-numbers", t.t("Show all", "Mostrar todos"));
        let text = t.t("This agent has no number.", "Este agente no tiene número.");
        (text, Some(all))
    } else if taken_here {
        let text = t.t(
            "With a phone number, an agent can receive and place calls. Add one, or import your carrier's numbers.",
            "Con un número, un agente puede recibir y hacer llamadas. Agrega uno o importa los de tu operador telefónico.",
        );
        let add = match visitor.services().numbers().are_given_freely() {
            true => ("/phone-numbers/new", add_title(visitor)),
            false => ("/phone-numbers/import", import_title(visitor)),
        };
        (text, visitor.may(MemberRole::Developer).then_some(add))
    } else {
        (by_operator(t), None)
    };
    list::empty(t.t("No numbers", "Sin números"), text, next)
}

const fn by_operator(t: Lang) -> &'static str {
    t.t(
        "Calls use this service's own trunk. Ask the service operator for a number.",
        "Las llamadas usan la troncal propia de este servicio. Pide un número al operador del servicio.",
    )
}

/// `GET /portal/phone-numbers/new`
async fn add_form(visit: Visit<Developer>) -> Answer {
    let body = add_page(&visit, visit.query(), None).await?;
    Ok(visit.page(Section::Numbers, add_title(&visit), &body))
}

/// `POST /portal/phone-numbers/new`
async fn add(post: Post<Developer>) -> Answer {
    let fields = &post.fields;
    let mut members = vec![
        ("phone_number", Json::from(fields.text("phone_number"))),
        ("label", Json::from(fields.text("label"))),
    ];
    if let Some(agent) = fields.get("agent_id") {
        members.push(("agent_id", Json::from(agent)));
    }
    let numbers = post.services().numbers();
    match numbers.create(post.account(), &Json::object(members)).await {
        Ok(number) => {
            let message = post.t("Number added.", "Número agregado.");
            post.done("number.create", number.id, "/phone-numbers", message)
                .await
        }
        Err(error) => {
            let message = post.message_of(error, &labels(post.lang()))?;
            let body = add_page(&post, fields, Some(&message)).await?;
            Ok(post.refused(Section::Numbers, add_title(&post), &body))
        }
    }
}

/// The labels of a number's fields.
const fn labels(t: Lang) -> [(&'static str, &'static str); 3] {
    [
        ("phone_number", t.t("Number", "Número")),
        ("label", t.t("Label", "Etiqueta")),
        ("agent_id", t.t("Agent that answers", "Agente que contesta")),
    ]
}

fn add_title(visitor: &Visitor) -> &'static str {
    visitor.t("Add number", "Agregar número")
}

async fn add_page(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let agents = AgentChoice::of(visitor, AgentFilter::default()).await?;
    let nobody = Some(t.t("None yet", "Ninguno todavía"));
    Ok(html! {
        (form::refusal(message))
        p { (t.t(
            "Takes a number of this service's own network, so that an agent answers it and calls from it. Numbers of your own carrier are imported instead.",
            "Toma un número de la red propia de este servicio, para que un agente lo conteste y llame desde él. Los números de tu operador se importan.",
        )) }
        @if !visitor.services().numbers().are_taken_by_accounts() { p.warning { (by_operator(t)) } }
        (form::form(visitor, "/phone-numbers/new", &html! {
            (Input::text("phone_number", t.t("Number", "Número")).kind("tel").value(fields.text("phone_number")).required().hint(t.t(
                "With + and the country code, such as +15005550123. The simulated network has +15005550000 to +15005559999.",
                "Con + y el código del país, como +15005550123. La red simulada tiene del +15005550000 al +15005559999.",
            )))
            (label(visitor, fields.text("label")))
            (agents.field(visitor, "agent_id", t.t("Agent that answers", "Agente que contesta"), fields.text("agent_id"), nobody))
            button.primary type="submit" { (add_title(visitor)) }
        }))
    })
}

fn label<'a>(visitor: &Visitor, value: &'a str) -> Input<'a> {
    let t = visitor.lang();
    Input::text("label", t.t("Label", "Etiqueta")).value(value)
}

/// `GET /portal/phone-numbers/import`
async fn import_form(visit: Visit<Developer>) -> Answer {
    let body = import_page(&visit, None).await?;
    Ok(visit.page(Section::Numbers, import_title(&visit), &body))
}

/// `POST /portal/phone-numbers/import`
async fn import(post: Post<Developer>) -> Answer {
    match post.services().numbers().import(post.account()).await {
        Ok(done) => {
            let (new, old) = (done.imported, done.already_present);
            let message = text!(
                post.lang(),
                "New numbers: {new}. Already here: {old}.",
                "Números nuevos: {new}. Ya estaban: {old}."
            );
            post.done("number.import", new, "/phone-numbers", &message)
                .await
        }
        Err(error) => {
            let message = post.message_of(error, &[])?;
            let body = import_page(&post, Some(&message)).await?;
            Ok(post.refused(Section::Numbers, import_title(&post), &body))
        }
    }
}

fn import_title(visitor: &Visitor) -> &'static str {
    visitor.t("Import from carrier", "Importar del operador")
}

async fn import_page(visitor: &Visitor, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let label = t.t("Import all numbers", "Importar todos los números");
    let carrier = visitor.services().numbers().carrier();
    let stored = credentials::list_of(visitor).await?;
    let stored = stored
        .iter()
        .find(|stored| Some(stored.provider) == carrier);
    Ok(html! {
        (form::refusal(message))
        @if let Some(carrier) = carrier {
            @let (name, _) = credentials::provider_told(carrier, t);
            section {
                h2 { (name) }
                p {
                    (t.t("Credential: ", "Credencial: "))
                    @match stored {
                        Some(stored) => { (badge(Tone::Good, t.t("Stored", "Guardada"))) " " code { "…" (stored.last_characters.as_deref().unwrap_or_default()) } },
                        None => { (badge(Tone::Busy, t.t("Missing", "Falta"))) " "
                            a href={ (PATH) "/settings/credentials" } { (t.t("Add it first", "Agrégala primero")) } },
                    }
                }
                p { (t.t(
                    "Every number of your account at the carrier is added, without an agent. Numbers that are here stay as they are; none are removed.",
                    "Se agregan todos los números de tu cuenta con el operador telefónico, sin agente. Los que ya están quedan como están; no se quita ninguno.",
                )) }
                (form::form(visitor, "/phone-numbers/import", &html! { button.primary type="submit" { (label) } }))
            }
        } @else { p.warning { (by_operator(t)) } }
    })
}

/// `GET /portal/phone-numbers/{id}`
async fn show(visit: Visit<Viewer>) -> Answer {
    let numbers = visit.services().numbers();
    let number = numbers.get(visit.account(), visit.id("id")?).await?;
    let agents = AgentChoice::of(&visit, AgentFilter::default()).await?;
    let fields = version::stamped(fields_of(&number));
    let filter = ConversationFilter {
        phone: Some(number.phone_number.clone()),
        ..ConversationFilter::default()
    };
    let calls = visit.services().conversations();
    let calls = calls
        .list(visit.caller(), filter, first(NEWEST))
        .await?
        .items;
    let title = visit.t("Newest calls to it", "Llamadas más recientes a este número");
    let body = html! {
        @if visit.may(MemberRole::Developer) && let Some(agent) = number.agent_id {
            div.page-actions { a.button href={ (PATH) "/try/call?agent=" (agent) } {
                (visit.t("Place a test call", "Hacer una llamada de prueba"))
            } }
        }
        (page(&visit, &number, &agents, &fields, None))
        h2 { (title) }
        @if calls.is_empty() { p.soft { (visit.t("None yet.", "Todavía ninguna.")) } }
        @else { (conversations::table(&calls, &conversations::Tags::new(), visit.lang())) }
    };
    Ok(visit.page(Section::Numbers, number.phone_number.as_str(), &body))
}

fn fields_of(number: &PhoneNumber) -> Fields {
    let agent = number.agent_id.map(|id| id.to_string());
    let agent = agent.as_deref().unwrap_or("");
    Fields::of([("label", number.label.as_str()), ("agent_id", agent)])
}

/// `POST /portal/phone-numbers/{id}`
async fn change(post: Post<Developer>) -> Answer {
    let (id, t): (PhoneNumberId, _) = (post.id("id")?, post.lang());
    let numbers = post.services().numbers();
    let number = numbers.get(post.account(), id).await?;
    let agents = AgentChoice::of(&post, AgentFilter::default()).await?;
    let body = Json::object([
        ("label", Json::from(post.fields.text("label"))),
        ("agent_id", Json::from(post.fields.get("agent_id"))),
    ]);
    let (stored, labels) = (fields_of(&number), labels(t));
    let work = numbers.update(post.account(), id, &body);
    let Err(refused) = version::save(&post, &stored, &labels, work).await? else {
        let (path, message) = (format!("/phone-numbers/{id}"), t.t("Saved.", "Guardado."));
        return post.done("number.change", id, &path, message).await;
    };
    let (fields, message) = (&refused.fields, Some(refused.message.as_str()));
    let body = page(&post, &number, &agents, fields, message);
    Ok(post.refused(Section::Numbers, number.phone_number.as_str(), &body))
}

/// `POST /portal/phone-numbers/{id}/delete`
async fn delete(post: Post<Developer>) -> Answer {
    let id: PhoneNumberId = post.id("id")?;
    post.services().numbers().delete(post.account(), id).await?;
    let message = post.t("Number released.", "Número liberado.");
    post.done("number.delete", id, "/phone-numbers", message)
        .await
}

fn page(
    visitor: &Visitor,
    number: &PhoneNumber,
    agents: &AgentChoice,
    fields: &Fields,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    let path = format!("/phone-numbers/{}", number.id);
    let nobody = t.t("None", "Ninguno");
    html! {
        (form::refusal(message))
        dl.facts {
            (list::fact(t.t("Label", "Etiqueta"), html! { @if number.label.is_empty() { "–" } @else { (number.label) } }))
            (list::fact(t.t("Agent that answers", "Agente que contesta"), html! { @match number.agent_id {
                Some(id) => { (agents.link(id)) }
                None => { (nobody) }
            } }))
            (list::fact(t.t("Provider", "Proveedor"), provider_name(number.provider, t)))
            (list::fact(t.t("Added", "Agregado"), when(number.created_at)))
            (list::copied(t, "id", "ID", number.id))
        }
        @if visitor.may(MemberRole::Developer) {
            section {
                h2 { (t.t("Edit", "Editar")) }
                (form::form(visitor, &path, &html! {
                    (version::hidden(fields))
                    (label(visitor, fields.text("label")))
                    (agents.field(visitor, "agent_id", t.t("Agent that answers", "Agente que contesta"), fields.text("agent_id"), Some(nobody)))
                    button.primary type="submit" { (t.t("Save", "Guardar")) }
                }))
            }
            section {
                h2 { (t.t("Release", "Liberar")) }
                p { (t.t("Calls to it are no longer answered, and another account can take it.", "Sus llamadas ya no se contestan y otra cuenta puede tomarlo.")) }
                (form::danger(visitor, &format!("{path}/delete"), t.t("Release number", "Liberar número"), t.t(
                    "Release this number? Calls to it are no longer answered, and another account can take it.",
                    "¿Liberar este número? Sus llamadas ya no se contestan y otra cuenta puede tomarlo.",
                )))
            }
        }
    }
}
