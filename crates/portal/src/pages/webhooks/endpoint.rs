//! One endpoint: its address, its secret, what was sent to it last.

use maud::{Markup, html};
use offhook_domain::{DeliveryId, EndpointId, EventType, MemberRole};
use offhook_services::PageRequest;
use offhook_services::UseCaseError;
use offhook_services::store::{
    Delivery, Endpoint, EndpointDeliveryFilter, EndpointHealth, EndpointStatus, EndpointView,
};

use super::{SECTION, address_fields, deliveries, wording};
use crate::fields::Fields;
use crate::parts::version;
use crate::parts::{form, list, words};
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// Deliveries that the page of an endpoint shows.
const SHOWN_DELIVERIES: u32 = 10;

/// What the page shows.
struct Looked {
    view: EndpointView,
    health: Option<EndpointHealth>,
    deliveries: Vec<Delivery>,
}

impl Looked {
    async fn at(visitor: &Visitor, id: EndpointId) -> Result<Self> {
        let (webhooks, account) = (visitor.services().webhooks(), visitor.account());
        let view = webhooks.get(account, id).await?;
        let health = webhooks.health(account).await?;
        let page = PageRequest {
            after: None::<(_, DeliveryId)>,
            limit: SHOWN_DELIVERIES,
        };
        let filter = EndpointDeliveryFilter::default();
        let deliveries = webhooks.deliveries_to(account, id, filter, page).await?;
        Ok(Self {
            view,
            health: health.into_iter().find(|health| health.endpoint == id),
            deliveries: deliveries.items,
        })
    }

    fn path(&self, tail: &str) -> String {
        format!("/webhooks/{}{tail}", self.view.endpoint.id)
    }
}

/// A form of the page that was refused: which one, what was typed, and why.
struct Refused<'a> {
    form: Form,
    fields: &'a Fields,
    said: &'a str,
}

/// A form of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Its address and description.
    Address,
    /// Its secret.
    Rotate,
    /// A test event.
    Test,
    /// What it has missed.
    Recover,
}

pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let looked = Looked::at(&visit, visit.id("id")?).await?;
    let title = title(&visit);
    Ok(visit.page(SECTION, title, &draw(&visit, &looked, None)))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.lang().t("Endpoint", "Punto de conexión")
}

fn draw(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let t = visitor.lang();
    let endpoint = &looked.view.endpoint;
    let homeless = refused.filter(|refused| !has(looked, refused.form));
    html! {
        (form::refusal(homeless.map(|refused| refused.said)))
        p.lead.url { (endpoint.url) }
        (facts(visitor, looked))
        h2 { (t.t("Last deliveries", "Últimas entregas")) }
        @if looked.deliveries.is_empty() {
            p.soft {
                (t.t(
                    "Nothing has been sent to this endpoint yet. Send a test event to see whether it answers.",
                    "Aún no se envía nada a este punto de conexión. Envía un evento de prueba para ver si responde.",
                ))
            }
        } @else {
            (deliveries::table(visitor, &looked.deliveries, &[]))
            p {
                a href={ (crate::PATH) "/webhooks/deliveries?endpoint=" (endpoint.id) } {
                    (t.t("All deliveries to this endpoint", "Todas las entregas a este punto de conexión"))
                }
            }
        }
        @if visitor.may(MemberRole::Developer) { (workshop(visitor, looked, refused)) }
    }
}

/// Whether the page has this form, to say beside it why it was refused: a disabled endpoint is sent nothing.
fn has(looked: &Looked, form: Form) -> bool {
    match form {
        Form::Test | Form::Recover => looked.view.endpoint.status == EndpointStatus::Enabled,
        Form::Address | Form::Rotate => true,
    }
}

fn facts(visitor: &Visitor, looked: &Looked) -> Markup {
    let t = visitor.lang();
    let endpoint = &looked.view.endpoint;
    let health = looked.health.as_ref();
    let given_up = health.map_or(0, |health| health.exhausted_count);
    let description = endpoint.description.as_deref().unwrap_or("–");
    html! {
        dl.facts {
            (list::fact(t.t("State", "Estado"), wording::endpoint_badge(visitor, endpoint, health)))
            (list::fact(t.t("Given up since its last success", "Entregas agotadas desde su último éxito"), given_up))
            (list::fact(t.t("Description", "Descripción"), description))
            (list::fact(t.t("Secret", "Secreto"), html! { code { (looked.view.secret_prefix) "…" } }))
            (list::fact(t.t("Registered", "Registrado"), words::when(endpoint.created_at)))
            (list::fact(t.t("Last changed", "Último cambio"), words::when(endpoint.updated_at)))
        }
    }
}

/// What developers do with an endpoint.
fn workshop(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let t = visitor.lang();
    html! {
        @if has(looked, Form::Test) {
            h2 { (t.t("Send a test event", "Enviar un evento de prueba")) }
            (test_form(visitor, looked, refused))
        }
        h2 { (t.t("Address", "Dirección")) }
        (address_form(visitor, looked, refused))
        (status_form(visitor, looked))
        h2 { (t.t("Secret", "Secreto")) }
        (rotate_form(visitor, looked, refused))
        @if has(looked, Form::Recover) {
            h2 { (t.t("Recover a period", "Recuperar un periodo")) }
            (recover_form(visitor, looked, refused))
        }
        h2 { (t.t("Delete", "Eliminar")) }
        p {
            (t.t(
                "Nothing more is sent to it, and what is due is cancelled. Its history stays for 30 days.",
                "No se le enviará nada más y lo pendiente se cancela. Su historial se conserva 30 días.",
            ))
        }
        (form::danger(
            visitor,
            &looked.path("/delete"),
            t.t("Delete this endpoint", "Eliminar este punto de conexión"),
            t.t(
                "Delete this endpoint? Events that occur from now on are not sent to it.",
                "¿Eliminar este punto de conexión? Los eventos que ocurran a partir de ahora no se le enviarán.",
            ),
        ))
    }
}

/// What a form says: as it was typed where it was refused, else `otherwise`.
fn typed<'a>(
    refused: Option<&'a Refused<'a>>,
    form: Form,
    name: &str,
    otherwise: &'a str,
) -> &'a str {
    match refused {
        Some(refused) if refused.form == form => refused.fields.text(name),
        _ => otherwise,
    }
}

fn said<'a>(refused: Option<&'a Refused<'a>>, form: Form) -> Option<&'a str> {
    refused
        .filter(|refused| refused.form == form)
        .map(|refused| refused.said)
}

fn address_form(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let stored = version::stamped(fields_of(&looked.view.endpoint));
    let fields = match refused {
        Some(refused) if refused.form == Form::Address => refused.fields,
        _ => &stored,
    };
    html! {
        (form::refusal(said(refused, Form::Address)))
        (form::form(visitor, &looked.path(""), &html! {
            (version::hidden(fields))
            (address_fields(visitor, fields))
            button.primary type="submit" { (visitor.lang().t("Save", "Guardar")) }
        }))
    }
}

pub(super) fn fields_of(endpoint: &Endpoint) -> Fields {
    let mut fields = Fields::default();
    fields.push("url", &endpoint.url);
    let description = endpoint.description.as_deref();
    fields.push("description", description.unwrap_or(""));
    fields
}

fn status_form(visitor: &Visitor, looked: &Looked) -> Markup {
    let t = visitor.lang();
    let path = looked.path("/status");
    match looked.view.endpoint.status {
        EndpointStatus::Enabled => html! {
            h3 { (t.t("Disable", "Deshabilitar")) }
            p {
                (t.t(
                    "A disabled endpoint receives nothing, and what occurs meanwhile is not kept for it. What is due is cancelled.",
                    "Un punto de conexión deshabilitado no recibe nada y lo que ocurra mientras tanto no se guarda para él. Lo pendiente se cancela.",
                ))
            }
            (form::form(visitor, &path, &html! {
                input type="hidden" name="status" value="disabled";
                button.danger type="submit" data-confirm=(t.t(
                    "Disable this endpoint? Events that occur while it is disabled are never sent to it.",
                    "¿Deshabilitar este punto de conexión? Los eventos que ocurran mientras tanto nunca se le enviarán.",
                )) { (t.t("Disable", "Deshabilitar")) }
            }))
        },
        EndpointStatus::Disabled => html! {
            h3 { (t.t("Enable", "Habilitar")) }
            (form::button(visitor, &path, t.t("Enable", "Habilitar"), &[("status", "enabled")]))
        },
    }
}

fn rotate_form(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let t = visitor.lang();
    let overlaps = [
        ("0", t.t("not at all", "nada")),
        ("1", t.t("an hour", "una hora")),
        ("6", t.t("6 hours", "6 horas")),
        ("24", t.t("a day", "un día")),
        ("72", t.t("3 days", "3 días")),
        ("168", t.t("a week", "una semana")),
    ];
    html! {
        p {
            (t.t(
                "A new secret takes the place of this one and is shown once. During the overlap both sign, so that you can change your server in between.",
                "Un secreto nuevo reemplaza al actual y se muestra una sola vez. Durante el traslape ambos firman, para que puedas cambiar tu servidor con calma.",
            ))
        }
        (form::refusal(said(refused, Form::Rotate)))
        (form::form(visitor, &looked.path("/rotate-secret"), &html! {
            (form::Select::new("overlap_hours", t.t("The old one signs along for", "El anterior sigue firmando durante"))
                .options(overlaps)
                .chosen(typed(refused, Form::Rotate, "overlap_hours", "24")))
            button type="submit" { (t.t("Rotate the secret", "Rotar el secreto")) }
        }))
    }
}

fn test_form(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let t = visitor.lang();
    let kinds = EventType::ALL
        .iter()
        .map(|kind| (kind.as_str(), kind.as_str()));
    html! {
        (form::refusal(said(refused, Form::Test)))
        (form::form(visitor, &looked.path("/test"), &html! {
            (form::Select::new("type", t.t("Event type", "Tipo de evento"))
                .options(kinds)
                .chosen(typed(refused, Form::Test, "type", EventType::CallCompleted.as_str()))
                .hint(t.t(
                    "It is signed and sent as a real one, about a call that does not exist.",
                    "Se firma y se envía como uno real, sobre una llamada que no existe.",
                )))
            button type="submit" { (t.t("Send a test event", "Enviar un evento de prueba")) }
        }))
    }
}

fn recover_form(visitor: &Visitor, looked: &Looked, refused: Option<&Refused<'_>>) -> Markup {
    let t = visitor.lang();
    html! {
        p {
            (t.t(
                "Sends once more everything that this endpoint has missed since an instant: exhausted and cancelled deliveries, at most 14 days back.",
                "Envía de nuevo todo lo que este punto de conexión perdió desde un instante: entregas agotadas y canceladas, hasta 14 días atrás.",
            ))
        }
        (form::refusal(said(refused, Form::Recover)))
        (form::form(visitor, &looked.path("/recover"), &html! {
            (form::Input::text("since", t.t("Since (UTC)", "Desde (UTC)"))
                .kind("datetime-local")
                .value(typed(refused, Form::Recover, "since", ""))
                .required())
            button type="submit" { (t.t("Recover", "Recuperar")) }
        }))
    }
}

/// The page with a form that was refused, and what was typed in it.
pub(super) async fn refused(post: &Post<Developer>, form: Form, error: UseCaseError) -> Answer {
    let said = Trouble::from(error).of_fields(post.lang(), &super::labels(post.lang()))?;
    again(post, form, &post.fields, &said).await
}

/// The page with these fields in a form, and why they were not taken.
pub(super) async fn again(
    post: &Post<Developer>,
    form: Form,
    fields: &Fields,
    said: &str,
) -> Answer {
    let looked = Looked::at(post, post.id("id")?).await?;
    let refused = Refused { form, fields, said };
    Ok(post.refused(SECTION, title(post), &draw(post, &looked, Some(&refused))))
}
