//! Integrations: the catalog, the account's status, and connecting.

mod connect;

use maud::{Markup, html};
use offhook_domain::{IntegrationCategory, IntegrationFault, IntegrationStatus, MemberRole};
use offhook_services::Integration;

use crate::lang::Lang;
use crate::page::Page;
use crate::parts::form;
use crate::parts::list;
use crate::parts::words::{Tone, badge, when};
use crate::spanish::written;
use crate::trouble::Answer;
use crate::visit::layout::Section;
use crate::visit::{Viewer, Visit, Visitor};

/// The whole catalog fits on a page.
const ALL: u32 = 10_000;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    let mut routes = vec![Page::at("/integrations").get(list)];
    routes.extend(connect::routes());
    routes
}

/// `GET /portal/integrations`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let integrations = visit.services().integrations();
    let mut all = integrations.list(visit.account(), None, ALL).await?.items;
    all.sort_by_cached_key(|integration| integration.toolkit.name.to_lowercase());
    // What was connected once is shown even if this service is no longer set up for it.
    let is_near = |integration: &Integration| {
        integration.is_connectable || integration.status != IntegrationStatus::Available
    };
    let (near, far): (Vec<_>, Vec<_>) = all.iter().partition(|integration| is_near(integration));
    let body = html! {
        p { (t.t(
            "Applications your agents can work with. A connected application adds tools for your agents.",
            "Aplicaciones con las que tus agentes pueden trabajar. Una aplicación conectada agrega herramientas para tus agentes.",
        )) }
        @if !visit.may(MemberRole::Admin) {
            p.hint { (t.t("Only admins and owners can connect them.", "Solo los administradores y propietarios pueden conectarlas.")) }
        }
        @if all.is_empty() {
            (list::empty(t.t("Nothing to connect yet", "Todavía nada que conectar"), t.t(
                "The operator of this service has set up no application. Your agents can use any API meanwhile: an HTTP tool sends a request to your URL during a call.",
                "El operador de este servicio no ha configurado ninguna aplicación. Mientras tanto tus agentes pueden usar cualquier API: una herramienta HTTP envía una solicitud a tu URL durante la llamada.",
            ), visit.may(MemberRole::Developer).then_some(("/tools/new?kind=http", t.t("Create an HTTP tool", "Crear una herramienta HTTP")))))
        } @else if !near.is_empty() {
            div.apps { @for integration in near { (card(integration, &visit)) } }
        } @else if visit.may(MemberRole::Developer) {
            p { (t.t("Your agents can use any API meanwhile: ", "Mientras tanto, tus agentes pueden usar cualquier API: "))
                a href={ (crate::PATH) "/tools/new?kind=http" } { (t.t("create an HTTP tool", "crea una herramienta HTTP")) } "." }
        }
        @if !far.is_empty() {
            h2 { (t.t("By your operator", "A cargo de tu operador")) }
            p.soft { (t.t(
                "Applications that the operator of this service can set up. Then you connect your own account here.",
                "Aplicaciones que el operador de este servicio puede configurar. Después conectas aquí tu propia cuenta.",
            )) }
            div.apps {
                @for integration in far {
                    section.card {
                        h2 { (integration.toolkit.name) }
                        p.soft { (category_name(integration.toolkit.category, t)) }
                        p { (category_use(integration.toolkit.category, t)) }
                        p { (badge(Tone::Plain, t.t("Not set up", "Sin configurar"))) }
                    }
                }
            }
        }
    };
    Ok(visit.page(Section::Integrations, Section::Integrations.name(t), &body))
}

fn card(integration: &Integration, visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let toolkit = &integration.toolkit;
    let tone = match integration.status {
        IntegrationStatus::Active => Tone::Good,
        IntegrationStatus::Connecting => Tone::Busy,
        IntegrationStatus::Expired | IntegrationStatus::Error => Tone::Bad,
        IntegrationStatus::Available | IntegrationStatus::Disconnected => Tone::Plain,
    };
    html! {
        section.card {
            h2 { (toolkit.name) }
            p.soft { (category_name(toolkit.category, t)) }
            p { (category_use(toolkit.category, t)) }
            p { (badge(tone, status_name(integration.status, t))) }
            @if let Some(error) = &integration.last_error { p.hint { (written::<IntegrationFault>(error, t)) } }
            @if let Some(at) = integration.connected_at { p.soft { (t.t("since ", "desde ")) (when(at)) } }
            @if visitor.may(MemberRole::Admin) { div.bar-of-actions { (deeds(integration, visitor)) } }
        }
    }
}

/// The buttons of an integration; none if this service cannot connect it.
fn deeds(integration: &Integration, visitor: &Visitor) -> Markup {
    use IntegrationStatus::{Active, Available, Connecting, Disconnected, Error, Expired};
    let t = visitor.lang();
    let path = |deed| format!("/integrations/{}/{deed}", integration.toolkit.toolkit);
    let connect = match integration.status {
        Available | Connecting => t.t("Connect", "Conectar"),
        Active | Error | Expired | Disconnected => t.t("Reconnect", "Reconectar"),
    };
    let is_connected = match integration.status {
        Active | Error | Expired => true,
        Available | Connecting | Disconnected => false,
    };
    html! {
        @if integration.is_connectable {
            (form::button(visitor, &path("connect"), connect, &[]))
            @if is_connected {
                (form::danger(visitor, &path("disconnect"), t.t("Disconnect", "Desconectar"), t.t(
                    "Disconnect it? Agents can no longer use it.",
                    "¿Desconectarla? Los agentes ya no podrán usarla.",
                )))
            }
        }
    }
}

const fn status_name(status: IntegrationStatus, t: Lang) -> &'static str {
    match status {
        IntegrationStatus::Available => t.t("Not connected", "Sin conectar"),
        IntegrationStatus::Connecting => t.t("Connecting", "Conectando"),
        IntegrationStatus::Active => t.t("Connected", "Conectada"),
        IntegrationStatus::Expired => t.t("Expired", "Vencida"),
        IntegrationStatus::Error => t.t("Error", "Error"),
        IntegrationStatus::Disconnected => t.t("Disconnected", "Desconectada"),
    }
}

const fn category_use(category: IntegrationCategory, t: Lang) -> &'static str {
    match category {
        IntegrationCategory::Calendar => t.t(
            "Agents find free times and book appointments during the call.",
            "Los agentes buscan horarios libres y agendan citas durante la llamada.",
        ),
        IntegrationCategory::Crm => t.t(
            "Agents look up who calls and keep the contact up to date.",
            "Los agentes consultan quién llama y mantienen al día el contacto.",
        ),
        IntegrationCategory::Messaging => t.t(
            "Agents post to your team's channels during the call.",
            "Los agentes escriben en los canales de tu equipo durante la llamada.",
        ),
        IntegrationCategory::Spreadsheet => t.t(
            "Agents look up rows and add new ones during the call.",
            "Los agentes consultan filas y agregan otras durante la llamada.",
        ),
    }
}

const fn category_name(category: IntegrationCategory, t: Lang) -> &'static str {
    match category {
        IntegrationCategory::Calendar => t.t("Calendar", "Calendario"),
        IntegrationCategory::Crm => t.t("Customers (CRM)", "Clientes (CRM)"),
        IntegrationCategory::Messaging => t.t("Team chat", "Chat del equipo"),
        IntegrationCategory::Spreadsheet => t.t("Spreadsheets", "Hojas de cálculo"),
    }
}
