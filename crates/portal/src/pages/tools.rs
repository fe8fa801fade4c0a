//! Tools: what agents can do besides talking.

mod form;

use offhook_domain::tool::ToolKind;
use offhook_services::ToolView;

use crate::pages::agents::document::pretty;
use crate::parts::form::danger;
use crate::parts::icon::Icon;
use crate::parts::json;
use crate::parts::version;
use crate::prelude::*;

use form::{body_of, draw, fields_of};

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/tools").get(list),
        Page::at("/tools/new").get(new).post(create),
        Page::at("/tools/{id}").get(tool).post(change),
        Page::at("/tools/{id}/delete").post(delete),
    ]
}

const fn kind_name(kind: ToolKind, lang: Lang) -> &'static str {
    match kind {
        ToolKind::Http => lang.t("HTTP request", "Solicitud HTTP"),
        ToolKind::EndCall => lang.t("End call", "Terminar la llamada"),
        ToolKind::Transfer => lang.t("Transfer call", "Transferir la llamada"),
        ToolKind::Dtmf => lang.t("Send keypad tones", "Enviar tonos"),
        ToolKind::Mcp => lang.t("MCP server", "Servidor MCP"),
    }
}

const fn kind_icon(kind: ToolKind) -> Icon {
    match kind {
        ToolKind::Http => Icon::REFERENCE,
        ToolKind::EndCall => Icon::CLOSE,
        ToolKind::Transfer => Icon::BATCHES,
        ToolKind::Dtmf => Icon::NUMBERS,
        ToolKind::Mcp => Icon::INTEGRATIONS,
    }
}

wording! {
    kind_use(ToolKind) {
        Http => "Look up an order or book an appointment. The arguments go to your URL; the response goes to the model.",
            "Consulta un pedido o agenda una cita. Los argumentos van a tu URL; la respuesta va al modelo.";
        EndCall => "Hang up when the conversation is over.", "Cuelga cuando la conversación terminó.";
        Transfer => "Transfer the customer to one of the numbers you list.",
            "Transfiere al cliente a uno de los números que indiques.";
        Dtmf => "Press keys in phone menus.", "Presiona teclas en menús telefónicos.";
        Mcp => "Call functions of a server that speaks the Model Context Protocol. Publishing an agent fixes what they take.",
            "Llama funciones de un servidor que habla el Model Context Protocol. Al publicar un agente se fija qué reciben.";
    }
}

fn kind_of(view: &ToolView) -> Option<ToolKind> {
    view.definition.get("kind")?.as_str()?.parse().ok()
}

async fn tool_of(visitor: &Visitor) -> Result<ToolView> {
    let tools = visitor.services().tools();
    Ok(tools.get(visitor.account(), visitor.id("id")?).await?)
}

/// `GET /portal/tools`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let page = visit.page_of(ToolId::from_uuid);
    let found = visit.services().tools().list(visit.account(), page).await?;
    let users = visit.services().tools().users(visit.account()).await?;
    let title = Section::Tools.name(t);
    let may_make = visit.may(MemberRole::Developer);
    let body = html! {
        @if may_make {
            div.page-actions { a.button.primary href={ (PATH) "/tools/new" } { (t.t("Create tool", "Crear herramienta")) } }
        }
        p { (t.t(
            "What an agent can do in a conversation besides talking. Select a tool in the agent's editor.",
            "Lo que un agente puede hacer en una conversación además de hablar. Marca la herramienta en el editor del agente.",
        )) }
        @if found.items.is_empty() {
            (list::empty(t.t("No tools yet", "Aún no hay herramientas"), t.t(
                "A tool is something an agent can do in a conversation: send a request to your server, transfer or end the call. Create one, then select it in an agent.",
                "Una herramienta es algo que un agente puede hacer en una conversación: consultar tu servidor, transferir o terminar la llamada. Crea una y luego márcala en un agente.",
            ), may_make.then_some(("/tools/new", t.t("Create your first tool", "Crear tu primera herramienta")))))
        } @else {
            (Table::of(title, &found.items)
                .column(t.t("Name", "Nombre"), |view| html! { a href={ (PATH) "/tools/" (view.row.id) } { (view.row.name) } })
                .column(t.t("Type", "Tipo"), |view| html! { @if let Some(kind) = kind_of(view) { (badge(Tone::Plain, kind_name(kind, t))) } })
                .column(t.t("Description", "Descripción"), |view| view.definition.get("description").and_then(Json::as_str).unwrap_or(""))
                .number(t.t("Agents", "Agentes"), |view| users.iter().filter(|(tool, _)| *tool == view.row.id).count())
                .column(t.t("Updated", "Actualizada"), |view| when(view.row.updated_at)))
            (list::more(&visit, &found, |last| (last.row.created_at, last.row.id.uuid())))
        }
    };
    Ok(visit.page(Section::Tools, title, &body))
}

/// `GET /portal/tools/new?kind=`: first the type, then its fields.
async fn new(visit: Visit<Developer>) -> Answer {
    let t = visit.lang();
    let title = new_title(t);
    let Ok(kind) = visit.query().text("kind").parse::<ToolKind>() else {
        let body = html! {
            p.lead { (t.t("Choose a type", "Elige un tipo")) }
            div.cards {
                @for kind in ToolKind::ALL.iter().copied() {
                    div.card.choice {
                        (kind_icon(kind))
                        h2 { a href={ (PATH) "/tools/new?kind=" (kind.as_str()) } { (kind_name(kind, t)) } }
                        p.soft { (kind_use(kind, t)) }
                    }
                }
            }
        };
        return Ok(visit.page(Section::Tools, title, &body));
    };
    let fields = Fields::of([("kind", kind.as_str())]);
    let body = draw(&visit, "/tools/new", kind, &fields, None);
    Ok(visit.page(Section::Tools, title, &body))
}

/// `POST /portal/tools/new`
async fn create(post: Post<Developer>) -> Answer {
    let (t, title) = (post.lang(), new_title(post.lang()));
    let kind = post.fields.text("kind").parse();
    let kind: ToolKind = kind.map_err(|_| Trouble::Unreadable)?;
    let again = |message: Option<&str>| draw(&post, "/tools/new", kind, &post.fields, message);
    if post.fields.is_set("add") {
        return Ok(post.page(Section::Tools, title, &again(None)));
    }
    let made: Result<ToolView> = async {
        let body = body_of(kind, &post.fields, None)?;
        Ok(post
            .services()
            .tools()
            .create(post.account(), &body)
            .await?)
    }
    .await;
    match made {
        Ok(view) => {
            let message = t.t(
                "Tool created. Select it in an agent, and publish the agent.",
                "Herramienta creada. Márcala en un agente y publica el agente.",
            );
            post.done("tool.create", view.row.id, "/tools", message)
                .await
        }
        Err(trouble) => {
            let message = post.message_of(trouble, &form::labels(t))?;
            Ok(post.refused(Section::Tools, title, &again(Some(&message))))
        }
    }
}

const fn new_title(t: Lang) -> &'static str {
    t.t("Create tool", "Crear herramienta")
}

/// `GET /portal/tools/{id}`
async fn tool(visit: Visit<Viewer>) -> Answer {
    let view = tool_of(&visit).await?;
    let body = match visit.may(MemberRole::Developer) && kind_of(&view).is_some() {
        true => html! {
            (used_by(&visit, view.row.id).await?)
            (edit(&visit, &view, &version::stamped(fields_of(&view)), None))
        },
        false => {
            html! { (used_by(&visit, view.row.id).await?) pre tabindex="0" { (json::colored(&pretty(&view.definition))) } }
        }
    };
    Ok(visit.page(Section::Tools, &view.row.name, &body))
}

/// The agents that use the tool in calls.
async fn used_by(visitor: &Visitor, id: ToolId) -> Result<Markup> {
    let t = visitor.lang();
    let users = visitor.services().tools().users(visitor.account()).await?;
    let users: Vec<_> = users.into_iter().filter(|(tool, _)| *tool == id).collect();
    Ok(html! {
        p {
            (t.t("Agents that use it: ", "Agentes que la usan: "))
            @if users.is_empty() { (t.t("none yet. Select it in an agent's editor, and publish the agent.", "ninguno todavía. Márcala en el editor de un agente y publica el agente.")) }
            @for (place, (_, agent)) in users.iter().enumerate() {
                @if place > 0 { ", " }
                a href={ (PATH) "/agents/" (agent.id) } { (agent.name) }
            }
        }
    })
}

fn edit(visitor: &Visitor, view: &ToolView, fields: &Fields, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let path = format!("/tools/{}", view.row.id);
    html! {
        @if view.is_function {
            p.hint { (t.t(
                "This tool comes from a connected application: you can only change its name and description. The service adds the access automatically.",
                "Esta herramienta viene de una aplicación conectada: solo puedes cambiar su nombre y su descripción. El servicio agrega el acceso automáticamente.",
            )) }
        }
        p.hint { (t.t(
            "Published versions keep the tool as it was. Publish the agent again to use your changes.",
            "Las versiones publicadas conservan la herramienta como era. Publica de nuevo el agente para usar tus cambios.",
        )) }
        @if let Some(kind) = kind_of(view) { (draw(visitor, &path, kind, fields, message)) }
        section {
            h2 { (t.t("Delete", "Eliminar")) }
            p { (t.t(
                "Published versions keep it; agents can no longer be published with it.",
                "Las versiones publicadas la conservan; los agentes ya no podrán publicarse con ella.",
            )) }
            (danger(visitor, &format!("{path}/delete"), t.t("Delete tool", "Eliminar herramienta"), t.t(
                "Delete this tool? Published versions keep it; agents can no longer be published with it.",
                "¿Eliminar esta herramienta? Las versiones publicadas la conservan; los agentes ya no podrán publicarse con ella.",
            )))
        }
    }
}

/// `POST /portal/tools/{id}`
async fn change(post: Post<Developer>) -> Answer {
    let view = tool_of(&post).await?;
    let title = &view.row.name;
    let kind = kind_of(&view).ok_or_else(Trouble::not_found)?;
    if post.fields.is_set("add") {
        let body = edit(&post, &view, &post.fields, None);
        return Ok(post.page(Section::Tools, title, &body));
    }
    let (id, t) = (view.row.id, post.lang());
    let work = async {
        let body = body_of(kind, &post.fields, Some(&view.definition))?;
        let tools = post.services().tools();
        Ok::<_, Trouble>(tools.update(post.account(), id, &body).await?)
    };
    let (stored, labels) = (fields_of(&view), form::labels(t));
    let Err(refused) = version::save(&post, &stored, &labels, work).await? else {
        let (path, message) = (format!("/tools/{id}"), t.t("Saved.", "Guardado."));
        return post.done("tool.update", id, &path, message).await;
    };
    let body = edit(&post, &view, &refused.fields, Some(&refused.message));
    Ok(post.refused(Section::Tools, title, &body))
}

/// `POST /portal/tools/{id}/delete`
async fn delete(post: Post<Developer>) -> Answer {
    let id = post.id::<ToolId>("id")?;
    post.services().tools().delete(post.account(), id).await?;
    let message = post.t("Tool deleted.", "Herramienta eliminada.");
    post.done("tool.delete", id, "/tools", message).await
}
