//! The audit log.

use std::collections::HashSet;

use maud::{Markup, html};
use offhook_domain::{EventId, MemberId};
use offhook_services::store::{AuditEntry, Member};

use super::SECTION;
use crate::lang::Lang;
use crate::parts::list::{self, Table};
use crate::parts::words;
use crate::trouble::{Answer, Result};
use crate::visit::{Viewer, Visit, Visitor, first};

/// Members that are read at once: more than most teams have.
const TEAM: u32 = 100;

/// The prefix of a member's id in an entry.
const MEMBER: &str = "member:";

pub(super) async fn log(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let page = visit.page_of(EventId::from_uuid);
    let people = visit.services().people();
    let entries = people.audit(visit.account(), page).await?;
    let members = members(&visit, &entries.items).await?;
    let title = t.t("Audit log", "Bitácora de cambios");
    let body = html! {
        p {
            (t.t(
                "Changes that members made here or the operator made on the command line, newest first. Changes made with API keys are in the logs.",
                "Los cambios que hicieron los miembros aquí o el operador en la línea de comandos, del más reciente al más antiguo. Los cambios con claves de API están en los registros.",
            ))
            " "
            a href={ (crate::PATH) "/logs" } { (t.t("Go to logs", "Ir a los registros")) }
        }
        @if entries.items.is_empty() {
            (list::empty(
                t.t("No changes yet", "Aún no hay cambios"),
                t.t("Changes you make in the portal appear here.", "Lo que cambies en el portal aparece aquí."),
                None,
            ))
        } @else {
            (Table::of(title, &entries.items)
                .column(t.t("When", "Cuándo"), |entry| words::when(entry.at))
                .column(t.t("Who", "Quién"), |entry| actor_told(&entry.actor, &members, t))
                .column(t.t("Action", "Acción"), |entry| action_told(&entry.action, t))
                .column(t.t("Target", "Elemento"), |entry| html! { code.url { (entry.target) } }))
        }
        (list::more(&visit, &entries, |entry| (entry.at, entry.id.uuid())))
    };
    Ok(visit.page(SECTION, title, &body))
}

/// One page of the team, and further members who appear on this page.
async fn members(visitor: &Visitor, entries: &[AuditEntry]) -> Result<Vec<Member>> {
    let (seats, team) = (visitor.caller().terms.seats_max, visitor.services().team());
    let page = team.list(visitor.account(), seats, first(TEAM)).await?.0;
    let mut members = page.items;
    if !page.has_more {
        return Ok(members);
    }
    let ids = entries
        .iter()
        .filter_map(|entry| entry.actor.strip_prefix(MEMBER)?.parse().ok());
    let mut ids: HashSet<MemberId> = ids.collect();
    ids.retain(|id| members.iter().all(|member| member.id != *id));
    for id in ids {
        members.extend(team.member(visitor.account(), id).await?);
    }
    Ok(members)
}

/// The actor: a member by name, or the operator.
fn actor_told(actor: &str, members: &[Member], lang: Lang) -> Markup {
    if actor == "cli" {
        return html! { (lang.t("Operator (command line)", "Operador (línea de comandos)")) };
    }
    let id = actor.strip_prefix(MEMBER).unwrap_or(actor);
    let member = members.iter().find(|member| member.id.to_string() == id);
    html! {
        @match member {
            Some(member) => { (member.name) br; span.soft { (member.email) } },
            None => { (lang.t("former member", "exmiembro")) br; code.soft { (id) } },
        }
    }
}

/// The action in words, beside its code.
fn action_told(action: &str, lang: Lang) -> Markup {
    let (object, verb) = action.rsplit_once('.').unwrap_or((action, ""));
    let described = object_name(object, lang).zip(verb_name(verb, lang));
    html! {
        @match described {
            Some((object, verb)) => { (object) ": " (verb) br; code.soft { (action) } },
            None => code { (action) },
        }
    }
}

fn object_name(object: &str, lang: Lang) -> Option<&'static str> {
    Some(match object {
        "account" => lang.t("Account", "Cuenta"),
        "account.credential" => lang.t("Provider credential", "Credencial de proveedor"),
        "agent" => lang.t("Agent", "Agente"),
        "analysis" => lang.t("Analysis", "Análisis"),
        "batch" => lang.t("Batch calls", "Llamadas por lote"),
        "call" => lang.t("Call", "Llamada"),
        "chat" => lang.t("Test chat", "Chat de prueba"),
        "document" => lang.t("Document", "Documento"),
        "folder" => lang.t("Folder", "Carpeta"),
        "integration" => lang.t("Integration", "Integración"),
        "invoice" => lang.t("Invoice", "Factura"),
        "key" => lang.t("API key", "Clave de API"),
        "member" => lang.t("Member", "Miembro"),
        "number" => lang.t("Phone number", "Número"),
        "password" => lang.t("Password", "Contraseña"),
        "recovery_code" => lang.t("Recovery code", "Código de recuperación"),
        "sessions" => lang.t("Other sessions", "Otras sesiones"),
        "two_step" => lang.t("Two-step verification", "Verificación en dos pasos"),
        "single_sign_on" => lang.t("Single sign-on", "Inicio de sesión único"),
        "tool" => lang.t("Tool", "Herramienta"),
        "wallet" => lang.t("Wallet", "Monedero"),
        "webhook" => lang.t("Webhook", "Webhook"),
        "widget" => lang.t("Widget", "Widget"),
        _ => return None,
    })
}

fn verb_name(verb: &str, lang: Lang) -> Option<&'static str> {
    Some(match verb {
        "add" => lang.t("added", "se agregó"),
        "archive" => lang.t("archived", "se archivó"),
        "begin" => lang.t("started", "se inició"),
        "cancel" => lang.t("canceled", "se canceló"),
        "change" | "update" => lang.t("changed", "se cambió"),
        "connect" => lang.t("connected", "se conectó"),
        "create" => lang.t("created", "se creó"),
        "credit" => lang.t("credited", "se abonó"),
        "delete" => lang.t("deleted", "se eliminó"),
        "disable" => lang.t("disabled", "se deshabilitó"),
        "disconnect" => lang.t("disconnected", "se desconectó"),
        "enable" => lang.t("enabled", "se habilitó"),
        "end" => lang.t("ended", "se terminó"),
        "hang_up" => lang.t("hung up", "se colgó"),
        "import" => lang.t("imported", "se importó"),
        "invite" => lang.t("invited", "se invitó"),
        "join" => lang.t("joined", "se unió"),
        "link" => lang.t("sign-in link created", "se creó un enlace de acceso"),
        "mark" => lang.t("marked", "se marcó"),
        "off" => lang.t("turned off", "se desactivó"),
        "on" => lang.t("turned on", "se activó"),
        "pause" => lang.t("paused", "se pausó"),
        "place" => lang.t("placed", "se inició"),
        "publish" => lang.t("published", "se publicó"),
        "recover" => lang.t("deliveries recovered", "se recuperaron entregas"),
        "redeliver" => lang.t("sent again", "se envió de nuevo"),
        "remove" => lang.t("removed", "se quitó"),
        "rename" => lang.t("name changed", "cambió su nombre"),
        "resume" => lang.t("resumed", "se reanudó"),
        "retry" => lang.t("retried", "se reintentó"),
        "revoke" => lang.t("revoked", "se revocó"),
        "role" => lang.t("role changed", "cambió su rol"),
        "rotate_secret" => lang.t("secret rotated", "se rotó su secreto"),
        "set" => lang.t("set", "se configuró"),
        "status" => lang.t("status changed", "cambió su estado"),
        "test" => lang.t("test event sent", "se envió un evento de prueba"),
        "use" => lang.t("used", "se usó"),
        "withdraw" => lang.t("invitation withdrawn", "se retiró la invitación"),
        _ => return None,
    })
}
