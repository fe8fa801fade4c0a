//! The account's identity provider.

use actix_web::http::StatusCode;
use offhook_services::SingleSignOnFault;
use offhook_services::store::{NewSingleSignOn, SingleSignOn};

use crate::pages::single_sign_on::{callback, link};
use crate::prelude::*;

const PATH: &str = "/settings/single-sign-on";

pub(super) async fn show(visit: Visit<Admin>) -> Answer {
    let body = draw(&visit, None, None).await?;
    Ok(super::tab(
        &visit,
        "/settings/single-sign-on",
        StatusCode::OK,
        &body,
    ))
}

pub(super) async fn set(post: Post<Admin>) -> Answer {
    let fields = &post.fields;
    let new = NewSingleSignOn {
        issuer: fields.text("issuer").to_owned(),
        client_id: fields.text("client_id").to_owned(),
        email_domain: fields.get("email_domain").map(str::to_lowercase),
        is_required: fields.is_set("is_required"),
        creates_viewers: fields.is_set("creates_viewers"),
    };
    let people = post.services().people();
    let secret = fields.text("client_secret");
    match people.set_single_sign_on(&post.person, new, secret).await {
        Ok(()) => {
            let message = post.t(
                "Single sign-on saved. Try the sign-in link in another browser before you require it.",
                "Inicio de sesión único guardado. Prueba el enlace de acceso en otro navegador antes de exigirlo.",
            );
            Ok(post.go(PATH, message))
        }
        Err(fault) => refuse(&post, fault).await,
    }
}

pub(super) async fn remove(post: Post<Admin>) -> Answer {
    let people = post.services().people();
    match people.remove_single_sign_on(&post.person).await {
        Ok(()) => {
            let message = post.t(
                "Single sign-on removed. The sessions that it began have ended.",
                "Inicio de sesión único eliminado. Las sesiones que inició terminaron.",
            );
            Ok(post.go(PATH, message))
        }
        Err(fault) => refuse(&post, fault).await,
    }
}

async fn refuse(post: &Post<Admin>, fault: SingleSignOnFault) -> Answer {
    let t = post.lang();
    let message = match fault {
        SingleSignOnFault::Forbidden => t.t(
            "Only an owner may change this.",
            "Solo un propietario puede cambiar esto.",
        ),
        SingleSignOnFault::Issuer => t.t(
            "The issuer must be an https URL, such as https://login.example.com.",
            "El emisor debe ser una URL https, como https://login.example.com.",
        ),
        SingleSignOnFault::Client => t.t(
            "Enter the client ID and the client secret, at most 500 characters each. A new issuer needs its secret.",
            "Escribe el ID y el secreto del cliente, de 500 caracteres como máximo. Un emisor nuevo necesita su secreto.",
        ),
        SingleSignOnFault::Domain => t.t(
            "The domain must be the one of your own email address.",
            "El dominio debe ser el de tu propio correo.",
        ),
        SingleSignOnFault::DomainTaken => t.t(
            "Another account uses this domain. Leave it empty and give your team the sign-in link.",
            "Otra cuenta usa este dominio. Déjalo vacío y da a tu equipo el enlace de acceso.",
        ),
        SingleSignOnFault::Provider(fault) => {
            let message = text!(
                t,
                "The identity provider could not be read: {fault}",
                "No se pudo leer el proveedor de identidad: {fault}"
            );
            let body = draw(post, Some(&post.fields), Some(&message)).await?;
            return Ok(super::tab(post, "/settings/single-sign-on", StatusCode::UNPROCESSABLE_ENTITY, &body));
        }
        SingleSignOnFault::Store(error) => return Err(error.into()),
    };
    let body = draw(post, Some(&post.fields), Some(message)).await?;
    Ok(super::tab(
        post,
        "/settings/single-sign-on",
        StatusCode::UNPROCESSABLE_ENTITY,
        &body,
    ))
}

async fn draw(visitor: &Visitor, typed: Option<&Fields>, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let people = visitor.services().people();
    let kept = people.single_sign_on(visitor.account()).await?;
    let stored = kept.as_ref().map(fields_of).unwrap_or_default();
    let fields = typed.unwrap_or(&stored);
    let (base, account) = (visitor.base_url(), visitor.account());
    let is_owner = visitor.person.member.role == MemberRole::Owner;
    Ok(html! {
        p { (t.t(
            "Members sign in at your identity provider, such as Okta, Entra ID or Google (OpenID Connect), and are recognized by their verified email. Give the provider the redirect URL, then enter what it gives you.",
            "Los miembros inician sesión en tu proveedor de identidad, como Okta, Entra ID o Google (OpenID Connect), y se reconocen por su correo verificado. Da al proveedor la URL de redirección y escribe lo que él te dé.",
        )) }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), match kept {
                Some(_) => badge(Tone::Good, t.t("On", "Activado")),
                None => badge(Tone::Plain, t.t("Off", "Desactivado")),
            }))
            (list::copied(t, "callback", t.t("Redirect URL for the provider", "URL de redirección para el proveedor"), callback(&base, account)))
            (list::copied(t, "link", t.t("Sign-in link for your team", "Enlace de acceso para tu equipo"), link(&base, account)))
        }
        (form::refusal(message))
        @if is_owner {
            (form::form(visitor, PATH, &html! {
                (Input::text("issuer", t.t("Issuer URL", "URL del emisor")).kind("url").value(fields.text("issuer")).required())
                (Input::text("client_id", t.t("Client ID", "ID de cliente")).value(fields.text("client_id")).required())
                (Input::text("client_secret", t.t("Client secret", "Secreto de cliente"))
                    .kind("password")
                    .hint(match kept.is_some() {
                        true => t.t("Leave empty to keep the present one.", "Déjalo vacío para conservar el actual."),
                        false => t.t("Encrypted when stored and never shown again.", "Se guarda cifrado y no se vuelve a mostrar."),
                    }))
                (Input::text("email_domain", t.t("Email domain (optional)", "Dominio de correo (opcional)"))
                    .value(fields.text("email_domain"))
                    .hint(t.t(
                        "Only addresses of this domain can use single sign-on. With one, the sign-in page finds this account. It must be the domain of your own address.",
                        "Solo los correos de este dominio pueden usar el inicio de sesión único. Con uno de ellos, la página de acceso encuentra esta cuenta. Debe ser el dominio de tu propio correo.",
                    )))
                (form::check("creates_viewers", "on", t.t(
                    "People who are not members become viewers while seats are free",
                    "Quienes no son miembros entran como lectores mientras haya lugares",
                ), fields.is_set("creates_viewers")))
                (form::check("is_required", "on", t.t(
                    "Require single sign-on: only owners may use a password",
                    "Exigir inicio de sesión único: solo los propietarios pueden usar contraseña",
                ), fields.is_set("is_required")))
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
            @if kept.is_some() {
                (form::danger(visitor, "/settings/single-sign-on/remove", t.t("Remove single sign-on", "Eliminar inicio de sesión único"), t.t(
                    "Remove single sign-on? The sessions that it began end.",
                    "¿Eliminar el inicio de sesión único? Las sesiones que inició terminan.",
                )))
            }
        } @else {
            p.warning { (t.t("Only an owner may change this.", "Solo un propietario puede cambiar esto.")) }
        }
    })
}

fn fields_of(kept: &SingleSignOn) -> Fields {
    let domain = kept.email_domain.as_deref().unwrap_or_default();
    let mut fields = Fields::of([
        ("issuer", kept.issuer.as_str()),
        ("client_id", kept.client_id.as_str()),
        ("email_domain", domain),
    ]);
    for (name, is_set) in [
        ("creates_viewers", kept.creates_viewers),
        ("is_required", kept.is_required),
    ] {
        if is_set {
            fields.push(name, "on");
        }
    }
    fields
}
