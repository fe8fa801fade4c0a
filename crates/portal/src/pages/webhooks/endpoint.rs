//! One endpoint: its URL, its secret, its recent deliveries.

use offhook_services::UseCaseError;
use offhook_services::store::{
    Delivery, Endpoint, EndpointDeliveryFilter, EndpointHealth, EndpointStatus, EndpointView,
    SigningNow,
};

use super::{SECTION, address_fields, deliveries, wording};
use crate::parts::version;
use crate::prelude::*;
use crate::visit::first;

/// Deliveries that the page of an endpoint shows.
const SHOWN_DELIVERIES: u32 = 10;

/// What the page shows.
struct Looked<'a> {
    view: EndpointView,
    health: Option<EndpointHealth>,
    deliveries: Vec<Delivery>,
    secrets: Vec<SigningNow>,
    refused: Option<Refused<'a>>,
}

impl<'a> Looked<'a> {
    async fn at(visitor: &Visitor, refused: Option<Refused<'a>>) -> Result<Self> {
        let id: EndpointId = visitor.id("id")?;
        let (webhooks, account) = (visitor.services().webhooks(), visitor.account());
        let view = webhooks.get(account, id).await?;
        let health = webhooks.health(account).await?;
        let (filter, page) = (EndpointDeliveryFilter::default(), first(SHOWN_DELIVERIES));
        let deliveries = webhooks.deliveries_to(account, id, filter, page).await?;
        Ok(Self {
            view,
            health: health.into_iter().find(|health| health.endpoint == id),
            deliveries: deliveries.items,
            secrets: webhooks.signing_now(account, id).await?,
            refused,
        })
    }

    /// Whether the page has this form, to show its error there: a disabled endpoint is sent nothing.
    fn has(&self, form: Form) -> bool {
        match form {
            Form::Test | Form::Recover => self.view.endpoint.status == EndpointStatus::Enabled,
            Form::Address | Form::Rotate => true,
        }
    }

    /// The input of this form, if it was refused.
    fn typed(&self, form: Form) -> Option<&'a Fields> {
        let refused = self.refused.as_ref()?;
        (refused.form == form).then_some(refused.fields)
    }

    /// Why this form was refused.
    fn refusal(&self, form: Form) -> Markup {
        let refused = self.refused.as_ref();
        let refused = refused.filter(|refused| refused.form == form);
        form::refusal(refused.map(|refused| refused.message))
    }

    fn path(&self, tail: &str) -> String {
        format!("/webhooks/{}{tail}", self.view.endpoint.id)
    }
}

/// A refused form of the page: which one, its input, and why.
struct Refused<'a> {
    form: Form,
    fields: &'a Fields,
    message: &'a str,
}

/// A form of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// URL and description.
    Address,
    /// Its secret.
    Rotate,
    /// A test event.
    Test,
    /// Recovering missed deliveries.
    Recover,
}

pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let looked = Looked::at(&visit, None).await?;
    Ok(visit.page(SECTION, title(&visit), &draw(&visit, &looked)))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Endpoint", "Punto de conexión")
}

fn draw(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    let endpoint = &looked.view.endpoint;
    let refused = looked.refused.as_ref();
    let homeless = refused.filter(|refused| !looked.has(refused.form));
    html! {
        (form::refusal(homeless.map(|refused| refused.message)))
        p.lead.url { (endpoint.url) }
        @let given_up = looked.health.as_ref().map_or(0, |health| health.exhausted_count);
        @if given_up > 0 {
            p.warning role="status" { (text!(
                t,
                "{given_up} deliveries failed since the last one that succeeded. See below what your server answered, then recover them.",
                "Fallaron {given_up} entregas desde la última exitosa. Mira abajo qué respondió tu servidor y luego recupéralas."
            )) }
        }
        (facts(visitor, looked))
        h2 { (t.t("Signing secrets", "Secretos de firma")) }
        (secrets_table(visitor, &looked.secrets))
        h2 { (t.t("Recent deliveries", "Entregas recientes")) }
        @if looked.deliveries.is_empty() {
            p.soft { (t.t(
                "Nothing has been sent to this endpoint yet. Send a test event to check that it responds.",
                "Aún no se envía nada a este punto de conexión. Envía un evento de prueba para ver si responde.",
            )) }
        } @else {
            (deliveries::table(visitor, &looked.deliveries, &[]))
            p {
                a href={ (crate::PATH) "/webhooks/deliveries?endpoint=" (endpoint.id) } {
                    (t.t("All deliveries to this endpoint", "Todas las entregas a este punto de conexión"))
                }
            }
        }
        @if visitor.may(MemberRole::Developer) { (workshop(visitor, looked)) }
    }
}

fn facts(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    let endpoint = &looked.view.endpoint;
    let health = looked.health.as_ref();
    let given_up = health.map_or(0, |health| health.exhausted_count);
    let description = endpoint.description.as_deref().unwrap_or("–");
    let events = endpoint.events.unwrap_or_else(EventTypes::by_default);
    let events: Vec<&str> = events.iter().map(EventType::as_str).collect();
    let events = events.join(", ");
    html! {
        dl.facts {
            (list::fact(t.t("Status", "Estado"), wording::endpoint_badge(visitor, endpoint, health)))
            (list::fact(t.t("Failed deliveries since last success", "Entregas fallidas desde el último éxito"), given_up))
            (list::fact(t.t("Description", "Descripción"), description))
            (list::fact(t.t("Events", "Eventos"), events))
            (list::fact(t.t("Added", "Agregado"), words::when(endpoint.created_at)))
            (list::fact(t.t("Last updated", "Última actualización"), words::when(endpoint.updated_at)))
        }
    }
}

/// Which secrets sign, and until when.
fn secrets_table(visitor: &Visitor, secrets: &[SigningNow]) -> Markup {
    let t = visitor.lang();
    html! {
        @if secrets.len() > 1 {
            p { (t.t(
                "Every delivery has a signature of each of these secrets. Update your server before the old ones expire.",
                "Cada entrega lleva una firma de cada uno de estos secretos. Actualiza tu servidor antes de que venzan los anteriores.",
            )) }
        }
        (list::Table::of(t.t("Signing secrets", "Secretos de firma"), secrets)
            .column(t.t("Secret", "Secreto"), |secret| html! { code { (secret.prefix) "…" } })
            .column(t.t("Created", "Creado"), |secret| words::when(secret.created_at))
            .column(t.t("Signs until", "Firma hasta"), |secret| html! {
                @match secret.expires_at {
                    Some(end) => (words::when(end)),
                    None => (t.t("Replaced by the next rotation", "Que lo reemplace la próxima rotación")),
                }
            }))
    }
}

/// The developers' actions on an endpoint.
fn workshop(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    html! {
        @if looked.has(Form::Test) {
            section {
                h2 { (t.t("Send test event", "Enviar evento de prueba")) }
                (test_form(visitor, looked))
            }
        }
        section {
            h2 { (t.t("Edit", "Editar")) }
            (address_form(visitor, looked))
        }
        section {
            h2 { (t.t("Secret", "Secreto")) }
            (rotate_form(visitor, looked))
        }
        @if looked.has(Form::Recover) {
            section {
                h2 { (t.t("Recover missed deliveries", "Recuperar entregas perdidas")) }
                (recover_form(visitor, looked))
            }
        }
        section { (status_form(visitor, looked)) }
        section {
            h2 { (t.t("Delete", "Eliminar")) }
            p { (t.t(
                "Nothing more is sent to it, and pending deliveries are canceled. Its history is kept for 30 days.",
                "No se le envía nada más y las entregas pendientes se cancelan. Su historial se conserva 30 días.",
            )) }
            (form::danger(
                visitor,
                &looked.path("/delete"),
                t.t("Delete endpoint", "Eliminar punto de conexión"),
                t.t(
                    "Delete this endpoint? Events that occur from now on are not sent to it.",
                    "¿Eliminar este punto de conexión? Los eventos que ocurran a partir de ahora no se le enviarán.",
                ),
            ))
        }
    }
}

fn address_form(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let stored = version::stamped(fields_of(&looked.view.endpoint));
    let fields = looked.typed(Form::Address).unwrap_or(&stored);
    html! {
        (looked.refusal(Form::Address))
        (form::form(visitor, &looked.path(""), &html! {
            (version::hidden(fields))
            (address_fields(visitor, fields))
            button.primary type="submit" { (visitor.t("Save", "Guardar")) }
        }))
    }
}

pub(super) fn fields_of(endpoint: &Endpoint) -> Fields {
    let description = endpoint.description.as_deref().unwrap_or("");
    let fields = Fields::of([("url", endpoint.url.as_str()), ("description", description)]);
    super::with_events(fields, endpoint.events)
}

fn status_form(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    let path = looked.path("/status");
    match looked.view.endpoint.status {
        EndpointStatus::Enabled => html! {
            h2 { (t.t("Disable", "Deshabilitar")) }
            p { (t.t(
                "A disabled endpoint receives nothing, and events that occur meanwhile are not kept for it. Pending deliveries are canceled.",
                "Un punto de conexión deshabilitado no recibe nada, y los eventos que ocurran mientras tanto no se guardan para él. Las entregas pendientes se cancelan.",
            )) }
            (form::form(visitor, &path, &html! {
                input type="hidden" name="status" value="disabled";
                button.danger type="submit" data-confirm=(t.t(
                    "Disable this endpoint? Events that occur while it is disabled are never sent to it.",
                    "¿Deshabilitar este punto de conexión? Los eventos que ocurran mientras tanto nunca se le enviarán.",
                )) { (t.t("Disable", "Deshabilitar")) }
            }))
        },
        EndpointStatus::Disabled => html! {
            h2 { (t.t("Enable", "Habilitar")) }
            (form::button(visitor, &path, t.t("Enable", "Habilitar"), &[("status", "enabled")]))
        },
    }
}

fn rotate_form(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    let overlaps = [
        ("0", t.t("0 hours", "0 horas")),
        ("1", t.t("1 hour", "1 hora")),
        ("6", t.t("6 hours", "6 horas")),
        ("24", t.t("1 day", "1 día")),
        ("72", t.t("3 days", "3 días")),
        ("168", t.t("1 week", "1 semana")),
    ];
    html! {
        p { (t.t(
            "A new secret replaces this one and is shown once. During the overlap both secrets sign, so that you can update your server.",
            "Un secreto nuevo reemplaza al actual y se muestra una sola vez. Durante el traslape ambos firman, para que puedas actualizar tu servidor.",
        )) }
        (looked.refusal(Form::Rotate))
        (form::form(visitor, &looked.path("/rotate-secret"), &html! {
            (form::Select::new("overlap_hours", t.t("Old secret stays valid for", "El secreto anterior sigue vigente durante"))
                .options(overlaps)
                .chosen(looked.typed(Form::Rotate).map_or("24", |typed| typed.text("overlap_hours"))))
            button type="submit" { (t.t("Rotate secret", "Rotar secreto")) }
        }))
    }
}

fn test_form(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let t = visitor.lang();
    let kinds = EventType::ALL.iter();
    let kinds = kinds.map(|kind| (kind.as_str(), kind.as_str()));
    html! {
        (looked.refusal(Form::Test))
        (form::form(visitor, &looked.path("/test"), &html! {
            (form::Select::new("type", t.t("Event type", "Tipo de evento"))
                .options(kinds)
                .chosen(looked.typed(Form::Test).map_or(EventType::CallCompleted.as_str(), |typed| typed.text("type")))
                .hint(t.t(
                    "Signed and sent like a real event, with invented contents. The endpoint gets it even if it has not chosen this type.",
                    "Se firma y se envía como un evento real, con contenido inventado. Llega aunque el punto de conexión no haya elegido este tipo.",
                )))
            button type="submit" { (t.t("Send test event", "Enviar evento de prueba")) }
        }))
    }
}

fn recover_form(visitor: &Visitor, looked: &Looked<'_>) -> Markup {
    let (t, zone) = (visitor.lang(), visitor.zone().name());
    html! {
        p { (t.t(
            "Resends every delivery this endpoint missed since a point in time: failed and canceled deliveries, up to 14 days back.",
            "Reenvía todas las entregas que este punto de conexión perdió desde un momento dado: entregas fallidas y canceladas, hasta 14 días atrás.",
        )) }
        (looked.refusal(Form::Recover))
        (form::form(visitor, &looked.path("/recover"), &html! {
            (form::Input::text("since", &text!(t, "Since ({zone})", "Desde ({zone})"))
                .kind("datetime-local")
                .value(looked.typed(Form::Recover).map_or("", |typed| typed.text("since")))
                .required())
            button type="submit" { (t.t("Recover", "Recuperar")) }
        }))
    }
}

/// The page with a refused form and its input.
pub(super) async fn refused(post: &Post<Developer>, form: Form, error: UseCaseError) -> Answer {
    let message = post.message_of(error, &super::labels(post.lang()))?;
    again(post, form, &post.fields, &message).await
}

/// The page with these fields in a form, and why they were refused.
pub(super) async fn again(
    post: &Post<Developer>,
    form: Form,
    fields: &Fields,
    message: &str,
) -> Answer {
    let refused = Refused {
        form,
        fields,
        message,
    };
    let looked = Looked::at(post, Some(refused)).await?;
    Ok(post.refused(SECTION, title(post), &draw(post, &looked)))
}
