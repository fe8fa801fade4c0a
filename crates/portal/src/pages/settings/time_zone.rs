//! The time zone of an account.

use offhook_services::Zone;

use super::SECTION;
use crate::prelude::*;

/// The form; `refused` is the input of a refused one.
pub(super) fn form_of(visitor: &Visitor, refused: Option<&Fields>) -> Markup {
    let t = visitor.lang();
    let chosen = refused.map_or(visitor.zone().name(), |fields| fields.text("time_zone"));
    let message = t.t(
        "Choose a time zone from the list.",
        "Elige una zona horaria de la lista.",
    );
    html! {
        (form::refusal(refused.map(|_| message)))
        (form::form(visitor, "/settings/time-zone", &html! {
            div.field {
                label for="field-time_zone" { (t.t("Time zone", "Zona horaria")) }
                select #field-time_zone name="time_zone" aria-describedby="field-time_zone-hint" {
                    option value="UTC" selected[chosen == "UTC"] { "UTC" }
                    @for (region, names) in regions() {
                        optgroup label=(region) {
                            @for name in names {
                                option value=(name) selected[name == chosen] { (place(&name)) }
                            }
                        }
                    }
                }
                p.hint #field-time_zone-hint { (t.t(
                    "Times and days in the portal are in this zone, for every member. Billing and the API use UTC.",
                    "Las horas y los días del portal están en esta zona, para todos los miembros. La facturación y la API usan UTC.",
                )) }
            }
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        }))
    }
}

/// The zones of each region, in order.
fn regions() -> Vec<(String, Vec<String>)> {
    let mut regions: Vec<(String, Vec<String>)> = Vec::new();
    for name in Zone::names() {
        let Some((region, _)) = name.split_once('/') else {
            continue;
        };
        match regions.last_mut().filter(|(last, _)| last == region) {
            Some((_, names)) => names.push(name),
            None => regions.push((region.to_owned(), vec![name])),
        }
    }
    regions
}

/// The place of a zone: `New York`.
fn place(name: &str) -> String {
    let place = name.split_once('/').map_or(name, |(_, place)| place);
    place.replace('_', " ")
}

/// `POST /portal/settings/time-zone`
pub(super) async fn set(post: Post<Admin>) -> Answer {
    let Some(zone) = Zone::named(post.fields.text("time_zone")) else {
        let body = form_of(&post, Some(&post.fields));
        return Ok(post.refused(SECTION, SECTION.name(post.lang()), &body));
    };
    let accounts = post.services().accounts();
    let before = accounts.settings(post.account()).await?;
    accounts.set_time_zone(post.account(), &zone).await?;
    let words = ("account.time_zone", zone.name());
    super::saved(&post, &before, words, "/settings").await
}
