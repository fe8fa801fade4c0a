//! The audit log.

use std::collections::{HashMap, HashSet};

use actix_web::http::StatusCode;
use offhook_services::store::{AgentFilter, AuditEntry, AuditFilter, Member};
use uuid::Uuid;

use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;
use crate::visit::first;

/// Members that are read at once: more than most teams have.
const TEAM: u32 = 100;

/// The prefix of a member's id in an entry.
const MEMBER: &str = "member:";

pub(super) async fn log(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let page = visit.page_of(EventId::from_uuid);
    let people = visit.services().people();
    let text = |name| visit.query().get(name).map(str::to_owned);
    let filter = AuditFilter {
        actor: text("who"),
        action: text("what"),
    };
    let is_filtered = filter.actor.is_some() || filter.action.is_some();
    let entries = people.audit(visit.account(), filter, page).await?;
    let members = members(&visit, &entries.items).await?;
    let names = Names::read(&visit, &members).await?;
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
        (filters(&visit, &members))
        @if entries.items.is_empty() && is_filtered {
            (list::empty(
                t.t("No matching changes", "Ningún cambio coincide"),
                t.t("Change the filters or clear them.", "Cambia los filtros o quítalos."),
                Some(("/settings/audit", t.t("Show all", "Mostrar todos"))),
            ))
        } @else if entries.items.is_empty() {
            (list::empty(
                t.t("No changes yet", "Aún no hay cambios"),
                t.t("Changes you make in the portal appear here.", "Lo que cambies en el portal aparece aquí."),
                None,
            ))
        } @else {
            (Table::of(title, &entries.items)
                .column(t.t("When", "Cuándo"), |entry| words::when_exactly(entry.at))
                .column(t.t("Who", "Quién"), |entry| actor_told(&entry.actor, &members, t))
                .column(t.t("Action", "Acción"), |entry| action_told(&entry.action, t))
                .column(t.t("Target", "Elemento"), |entry| html! {
                    (names.target(entry, t))
                    (changes(entry, t))
                }))
        }
        (list::more(&visit, &entries, |entry| (entry.at, entry.id.uuid())))
    };
    Ok(super::tab(&visit, "/settings/audit", StatusCode::OK, &body))
}

/// What an entry has changed, folded.
fn changes(entry: &AuditEntry, t: Lang) -> Markup {
    let Some(Changes(changes)) = entry.changes.as_deref().map(Changes::of_stored) else {
        return html! {};
    };
    let shown = |value: &Option<String>| {
        html! {
            @match value {
                Some(value) => code dir="auto" { (value) },
                None => span.none { (t.t("nothing", "nada")) },
            }
        }
    };
    html! {
        details {
            summary { (t.t("Changes", "Cambios")) " (" (changes.len()) ")" }
            dl.facts {
                @for change in &changes {
                    (list::fact(&change.field, html! {
                        @match &change.values {
                            Some([from, to]) => { (shown(from)) " → " (shown(to)) },
                            None => (t.t("changed", "cambió")),
                        }
                    }))
                }
            }
        }
    }
}

/// The filters: a person, and what was changed.
fn filters(visitor: &Visitor, members: &[Member]) -> Markup {
    let t = visitor.lang();
    let people = members
        .iter()
        .map(|member| (format!("{MEMBER}{}", member.id), member.name.clone()));
    let operator = (
        "cli".to_owned(),
        t.t("Operator (command line)", "Operador (línea de comandos)")
            .to_owned(),
    );
    let objects = OBJECTS
        .iter()
        .filter_map(|object| Some((*object, object_name(object, t)?)));
    html! {
        form.filters method="get" action={ (crate::PATH) "/settings/audit" } {
            (list::filter(visitor, "who", t.t("Who", "Quién"), t.t("Everyone", "Todos"), people.chain([operator])))
            (list::filter(visitor, "what", t.t("What", "Qué"), t.t("All", "Todo"), objects))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
    }
}

/// The names of what entries are about.
struct Names {
    agents: AgentChoice,
    /// Names of other things by their ids.
    others: HashMap<String, String>,
}

impl Names {
    async fn read(visitor: &Visitor, members: &[Member]) -> Result<Self> {
        let (services, account) = (visitor.services(), visitor.account());
        let endpoints = services.webhooks().list(account, first(TEAM)).await?.items;
        let endpoints = endpoints
            .into_iter()
            .map(|view| (view.endpoint.id.to_string(), view.endpoint.url));
        let members = members
            .iter()
            .map(|member| (member.id.to_string(), member.name.clone()));
        Ok(Self {
            agents: AgentChoice::of(visitor, AgentFilter::default()).await?,
            others: endpoints.chain(members).collect(),
        })
    }

    /// The name of what an entry is about, as a link where it has a page.
    fn target(&self, entry: &AuditEntry, t: Lang) -> Markup {
        let target = &entry.target;
        let object = entry.action.split('.').next().unwrap_or_default();
        let is_id = Uuid::parse_str(target).is_ok();
        let name = match object {
            "agent" | "analysis" | "widget" => self.agents.name(target),
            _ => self.others.get(target).unwrap_or(target).clone(),
        };
        // An id without a name is told by what it is of.
        let name = match is_id && name == *target {
            true => object_name(object, t).unwrap_or(&name).to_owned(),
            false => name,
        };
        let is_gone = entry.action.ends_with(".delete");
        let path = page_of(object).filter(|_| is_id && !is_gone);
        html! {
            @match path {
                Some(path) => a href={ (crate::PATH) (path) "/" (target) } { (name) },
                None => span.url { (name) },
            }
            @if is_id { br; code.soft { (target) } }
        }
    }
}

/// Where a thing with an id has its page.
fn page_of(object: &str) -> Option<&'static str> {
    Some(match object {
        "agent" | "analysis" | "widget" => "/agents",
        "batch" => "/batch-calls",
        "campaign" => "/campaigns",
        "call" | "chat" | "note" | "tag" => "/conversations",
        "document" => "/knowledge/documents",
        "folder" => "/knowledge/folders",
        "number" => "/phone-numbers",
        "tool" => "/tools",
        "webhook" => "/webhooks",
        _ => return None,
    })
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

/// What can be filtered by.
const OBJECTS: [&str; 23] = [
    "account",
    "agent",
    "analysis",
    "batch",
    "call",
    "campaign",
    "chat",
    "dialing_rules",
    "document",
    "folder",
    "integration",
    "invoice",
    "key",
    "member",
    "number",
    "passkey",
    "password",
    "sessions",
    "suppression",
    "tool",
    "wallet",
    "webhook",
    "widget",
];

fn object_name(object: &str, lang: Lang) -> Option<&'static str> {
    Some(match object {
        "account" => lang.t("Account", "Cuenta"),
        "account.credential" => lang.t("Provider credential", "Credencial de proveedor"),
        "agent" => lang.t("Agent", "Agente"),
        "analysis" => lang.t("Analysis", "Análisis"),
        "batch" => lang.t("Batch calls", "Llamadas por lote"),
        "call" => lang.t("Call", "Llamada"),
        "campaign" => lang.t("Campaign", "Campaña"),
        "chat" => lang.t("Test chat", "Chat de prueba"),
        "note" => lang.t("Note", "Nota"),
        "tag" => lang.t("Tag", "Etiqueta"),
        "dialing_rules" => lang.t("Dialing rules", "Reglas de llamada"),
        "document" => lang.t("Document", "Documento"),
        "folder" => lang.t("Folder", "Carpeta"),
        "integration" => lang.t("Integration", "Integración"),
        "invoice" => lang.t("Invoice", "Factura"),
        "key" => lang.t("API key", "Clave de API"),
        "member" => lang.t("Member", "Miembro"),
        "number" => lang.t("Phone number", "Número"),
        "authenticator_app" => lang.t("Authenticator app", "Aplicación de autenticación"),
        "passkey" => lang.t("Passkey", "Llave de acceso"),
        "password" => lang.t("Password", "Contraseña"),
        "recovery_codes" => lang.t("Recovery codes", "Códigos de recuperación"),
        "recovery_code" => lang.t("Recovery code", "Código de recuperación"),
        "sessions" => lang.t("Other sessions", "Otras sesiones"),
        "suppression" => lang.t("Suppressed number", "Número excluido"),
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
        "alert" => lang.t("billing alert changed", "cambió su alerta de facturación"),
        "archive" => lang.t("archived", "se archivó"),
        "begin" => lang.t("started", "se inició"),
        "buyer" => lang.t("billing address changed", "cambió sus datos de facturación"),
        "cancel" => lang.t("canceled", "se canceló"),
        "change" | "update" => lang.t("changed", "se cambió"),
        "copy" => lang.t(
            "refused: there may be a copy",
            "rechazada: puede haber una copia",
        ),
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
        "recipients" => lang.t("recipients added", "se agregaron destinatarios"),
        "recover" => lang.t("deliveries recovered", "se recuperaron entregas"),
        "redeliver" => lang.t("sent again", "se envió de nuevo"),
        "remove" => lang.t("removed", "se quitó"),
        "rename" => lang.t("name changed", "cambió su nombre"),
        "renew" => lang.t("renewed", "se renovaron"),
        "resume" => lang.t("resumed", "se reanudó"),
        "retry" => lang.t("retried", "se reintentó"),
        "revoke" => lang.t("revoked", "se revocó"),
        "role" => lang.t("role changed", "cambió su rol"),
        "rotate_secret" => lang.t("secret rotated", "se rotó su secreto"),
        "set" => lang.t("set", "se configuró"),
        "start" => lang.t("started", "se inició"),
        "status" => lang.t("status changed", "cambió su estado"),
        "error_bodies" => lang.t(
            "log of refused requests changed",
            "cambió su registro de rechazos",
        ),
        "time_zone" => lang.t("time zone changed", "cambió su zona horaria"),
        "test" => lang.t("test event sent", "se envió un evento de prueba"),
        "use" => lang.t("used", "se usó"),
        "withdraw" => lang.t("invitation withdrawn", "se retiró la invitación"),
        _ => return None,
    })
}
