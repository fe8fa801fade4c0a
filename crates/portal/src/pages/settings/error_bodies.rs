//! Whether an account keeps the shape of refused requests.

use crate::prelude::*;

pub(super) async fn form_of(visitor: &Visitor) -> Result<Markup> {
    let t = visitor.lang();
    let accounts = visitor.services().accounts();
    let keeps = accounts
        .settings(visitor.account())
        .await?
        .keeps_error_bodies;
    Ok(form::form(
        visitor,
        "/settings/error-bodies",
        &html! {
            (form::check("keep", "on", t.t(
                "Keep which fields refused API requests had, for 7 days",
                "Conservar 7 días qué campos tenían las solicitudes de API rechazadas",
            ), keeps))
            p.hint { (t.t(
                "For 4xx and 5xx responses, the request's page shows the body with each value replaced by its type and length, up to 2 KiB. Values are never kept.",
                "En respuestas 4xx y 5xx, la página de la solicitud muestra el cuerpo con cada valor reemplazado por su tipo y longitud, hasta 2 KiB. Los valores nunca se conservan.",
            )) }
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        },
    ))
}

/// `POST /portal/settings/error-bodies`
pub(super) async fn set(post: Post<Admin>) -> Answer {
    let keeps = post.fields.is_set("keep");
    let accounts = post.services().accounts();
    let before = accounts.settings(post.account()).await?;
    accounts
        .set_keeps_error_bodies(post.account(), keeps)
        .await?;
    let words = ("account.error_bodies", if keeps { "on" } else { "off" });
    super::saved(&post, &before, words, "/settings").await
}
