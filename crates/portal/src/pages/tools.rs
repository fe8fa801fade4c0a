//! Tools: what agents may do besides speaking.

mod form;

use maud::{Markup, html};
use offhook_domain::tool::ToolKind;
use offhook_domain::{Json, MemberRole, ToolId};
use offhook_services::ToolView;

use crate::PATH;
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::Section;
use crate::pages::agents::document::pretty;
use crate::parts::form::danger;
use crate::parts::list::{self, Table};
use crate::parts::version;
use crate::parts::words::{Tone, badge, when};
use crate::routes::Page;
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

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
        ToolKind::Http => lang.t("Asks a server (http)", "Consulta un servidor (http)"),
        ToolKind::EndCall => lang.t("Ends the call (end_call)", "Termina la llamada (end_call)"),
        ToolKind::Transfer => lang.t(
            "Transfers the call (transfer)",
            "Transfiere la llamada (transfer)",
        ),
        ToolKind::Dtmf => lang.t("Sends tones (dtmf)", "Envía tonos (dtmf)"),
    }
}

const fn kind_use(kind: ToolKind, lang: Lang) -> &'static str {
    match kind {
        ToolKind::Http => lang.t(
            "Looks up an order, books an appointment: the arguments go to a URL of yours, the answer goes to the model.",
            "Consulta un pedido, agenda una cita: los argumentos van a una URL tuya y la respuesta va al modelo.",
        ),
        ToolKind::EndCall => lang.t(
            "Hangs up when the conversation is over.",
            "Cuelga cuando la conversación terminó.",
        ),
        ToolKind::Transfer => lang.t(
            "Hands the customer over to one of the numbers that you name.",
            "Pasa al cliente a uno de los números que tú indiques.",
        ),
        ToolKind::Dtmf => lang.t(
            "Presses keys: for menus on the other side.",
            "Presiona teclas: para menús del otro lado.",
        ),
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
    let title = Section::Tools.name(t);
    let may_make = visit.may(MemberRole::Developer);
    let body = html! {
        @if may_make {
            p { a.button.primary href={ (PATH) "/tools/new" } { (t.t("New tool", "Nueva herramienta")) } }
        }
        @if found.items.is_empty() {
            (list::empty(t.t("No tool yet", "Aún no hay herramientas"), t.t(
                "A tool is something that an agent can do in a conversation: ask a server of yours, transfer, end the call. Make one, then tick it in an agent.",
                "Una herramienta es algo que un agente puede hacer en una conversación: consultar un servidor tuyo, transferir, terminar la llamada. Crea una y luego márcala en un agente.",
            ), may_make.then_some(("/tools/new", t.t("Make the first tool", "Crear la primera herramienta")))))
        } @else {
            (Table::of(title, &found.items)
                .column(t.t("Name", "Nombre"), |view| html! { a href={ (PATH) "/tools/" (view.row.id) } { (view.row.name) } })
                .column(t.t("Kind", "Tipo"), |view| html! { @if let Some(kind) = kind_of(view) { (badge(Tone::Plain, kind.as_str())) } })
                .column(t.t("What for", "Para qué"), |view| view.definition.get("description").and_then(Json::as_str).unwrap_or(""))
                .column(t.t("Changed", "Modificada"), |view| when(view.row.updated_at)))
            (list::more(&visit, &found, |last| (last.row.created_at, last.row.id.uuid())))
        }
    };
    Ok(visit.page(Section::Tools, title, &body))
}

/// `GET /portal/tools/new?kind=`: first which kind, then its fields.
async fn new(visit: Visit<Developer>) -> Answer {
    let t = visit.lang();
    let title = new_title(t);
    let Ok(kind) = visit.query().text("kind").parse::<ToolKind>() else {
        let body = html! {
            p.lead { (t.t("What shall it do?", "¿Qué debe hacer?")) }
            div.cards {
                @for kind in ToolKind::ALL.iter().copied() {
                    div.card {
                        h2 { a href={ (PATH) "/tools/new?kind=" (kind.as_str()) } { (kind_name(kind, t)) } }
                        p { (kind_use(kind, t)) }
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
    let again = |said: Option<&str>| draw(&post, "/tools/new", kind, &post.fields, said);
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
            let said = t.t(
                "The tool is made. Tick it in an agent, and publish the agent.",
                "La herramienta está lista. Márcala en un agente y publica el agente.",
            );
            post.done("tool.create", view.row.id, "/tools", said).await
        }
        Err(trouble) => {
            let said = post.told(trouble, &form::labels(t))?;
            Ok(post.refused(Section::Tools, title, &again(Some(&said))))
        }
    }
}

const fn new_title(t: Lang) -> &'static str {
    t.t("New tool", "Nueva herramienta")
}

/// `GET /portal/tools/{id}`
async fn tool(visit: Visit<Viewer>) -> Answer {
    let view = tool_of(&visit).await?;
    let body = match visit.may(MemberRole::Developer) && kind_of(&view).is_some() {
        true => edit(&visit, &view, &version::stamped(fields_of(&view)), None),
        false => html! { pre tabindex="0" { (pretty(&view.definition)) } },
    };
    Ok(visit.page(Section::Tools, &view.row.name, &body))
}

fn edit(visitor: &Visitor, view: &ToolView, fields: &Fields, said: Option<&str>) -> Markup {
    let t = visitor.lang();
    let path = format!("/tools/{}", view.row.id);
    html! {
        @if view.is_function {
            p.hint { (t.t(
                "This tool is a function of a connected application: its name and description may be changed, nothing else. The service adds the access by itself.",
                "Esta herramienta es una función de una aplicación conectada: se pueden cambiar su nombre y su descripción, nada más. El servicio agrega el acceso por sí mismo.",
            )) }
        }
        p.hint { (t.t(
            "Versions that are published keep the tool as it was then: publish an agent again for it to have what you change here.",
            "Las versiones publicadas conservan la herramienta como era entonces: publica de nuevo el agente para que use lo que cambies aquí.",
        )) }
        @if let Some(kind) = kind_of(view) { (draw(visitor, &path, kind, fields, said)) }
        h2 { (t.t("Delete", "Eliminar")) }
        (danger(visitor, &format!("{path}/delete"), t.t("Delete this tool", "Eliminar esta herramienta"), t.t(
            "Delete this tool? Published versions keep it; agents cannot be published with it any more.",
            "¿Eliminar esta herramienta? Las versiones publicadas la conservan; los agentes ya no podrán publicarse con ella.",
        )))
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
        let (path, said) = (format!("/tools/{id}"), t.t("Saved.", "Guardado."));
        return post.done("tool.update", id, &path, said).await;
    };
    let body = edit(&post, &view, &refused.fields, Some(&refused.said));
    Ok(post.refused(Section::Tools, title, &body))
}

/// `POST /portal/tools/{id}/delete`
async fn delete(post: Post<Developer>) -> Answer {
    let id = post.id::<ToolId>("id")?;
    post.services().tools().delete(post.account(), id).await?;
    let said = post.t("The tool is deleted.", "La herramienta se eliminó.");
    post.done("tool.delete", id, "/tools", said).await
}
