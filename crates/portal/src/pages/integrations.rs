//! Integrations: the catalog, the account's status, and connecting.

mod connect;

use maud::{Markup, html};
use offhook_domain::{IntegrationCategory, IntegrationFault, IntegrationStatus, MemberRole};
use offhook_services::Integration;

use crate::PATH;
use crate::lang::Lang;
use crate::page::Page;
use crate::parts::form::{self, Input, Select};
use crate::parts::list;
use crate::parts::words::{Tone, badge, when_if};
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
    let title = Section::Integrations.name(t);
    let query = visit.query();
    let name = query.text("q").to_lowercase();
    let category: Option<IntegrationCategory> = query
        .get("category")
        .and_then(|category| category.parse().ok());
    let status: Option<IntegrationStatus> =
        query.get("status").and_then(|status| status.parse().ok());
    let integrations = visit.services().integrations();
    let mut shown = integrations.list(visit.account(), None, ALL).await?.items;
    shown.retain(|integration| {
        let toolkit = &integration.toolkit;
        toolkit.name.to_lowercase().contains(&name)
            && category.is_none_or(|category| toolkit.category == category)
            && status.is_none_or(|status| integration.status == status)
    });
    // Integrations that are or were connected come first; then by name.
    shown.sort_by_cached_key(|integration| {
        let is_new = integration.status == IntegrationStatus::Available;
        (is_new, integration.toolkit.name.to_lowercase())
    });
    let rows: Vec<Markup> = shown
        .iter()
        .map(|integration| line(integration, &visit))
        .collect();
    let heads = [
        t.t("Application", "Aplicación"),
        t.t("Category", "Categoría"),
        t.t("Status", "Estado"),
        t.t("Connected", "Conectada"),
        t.t("Actions", "Acciones"),
    ];
    let categories = IntegrationCategory::ALL.iter();
    let states = IntegrationStatus::ALL.iter();
    let body = html! {
        p { (t.t(
            "Applications your agents can work with. A connected application adds tools for your agents. One without a button is not set up on this service.",
            "Aplicaciones con las que tus agentes pueden trabajar. Una aplicación conectada agrega herramientas para tus agentes. Una sin botón no está configurada en este servicio.",
        )) }
        @if !visit.may(MemberRole::Admin) {
            p.hint { (t.t("Only admins and owners can connect them.", "Solo los administradores y propietarios pueden conectarlas.")) }
        }
        form.filters method="get" action={ (PATH) "/integrations" } {
            (Input::text("q", t.t("Name", "Nombre")).kind("search").value(query.text("q")))
            (Select::new("category", t.t("Category", "Categoría"))
                .option("", t.t("All", "Todas"))
                .options(categories.map(|category| (category.as_str(), category_name(*category, t))))
                .chosen(query.text("category")))
            (Select::new("status", t.t("Status", "Estado"))
                .option("", t.t("All", "Todos"))
                .options(states.map(|status| (status.as_str(), status_name(*status, t))))
                .chosen(query.text("status")))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
        @if rows.is_empty() {
            (list::empty(t.t("No matching integrations", "Ninguna integración coincide"), t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ), Some(("/integrations", t.t("Show all", "Mostrar todas")))))
        } @else { (list::table(title, &heads, &rows)) }
    };
    Ok(visit.page(Section::Integrations, title, &body))
}

fn line(integration: &Integration, visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let toolkit = &integration.toolkit;
    let tone = match integration.status {
        IntegrationStatus::Active => Tone::Good,
        IntegrationStatus::Connecting => Tone::Busy,
        IntegrationStatus::Expired | IntegrationStatus::Error => Tone::Bad,
        IntegrationStatus::Available | IntegrationStatus::Disconnected => Tone::Plain,
    };
    html! {
        tr {
            td { (toolkit.name) }
            td { (category_name(toolkit.category, t)) }
            td {
                (badge(tone, status_name(integration.status, t)))
                @if let Some(error) = &integration.last_error { p.hint { (written::<IntegrationFault>(error, t)) } }
            }
            td { (when_if(integration.connected_at)) }
            td { @if visitor.may(MemberRole::Admin) { (deeds(integration, visitor)) } }
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

const fn category_name(category: IntegrationCategory, t: Lang) -> &'static str {
    match category {
        IntegrationCategory::Calendar => t.t("Calendar", "Calendario"),
        IntegrationCategory::Crm => t.t("Customers (CRM)", "Clientes (CRM)"),
    }
}
