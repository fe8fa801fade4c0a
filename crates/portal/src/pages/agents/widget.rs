//! The widget of an agent: allowed origins, limits and embed code.

use offhook_services::AgentView;
use offhook_services::store::WidgetSettings;

use super::look::Look;
use super::{engine_agent, refused_tab, tabbed};
use crate::parts::form::{check, form, refusal};
use crate::parts::sample;
use crate::parts::version;
use crate::parts::words::yes;
use crate::prelude::*;

/// The form's fields and labels.
const ORIGINS: (&str, &str, &str) = ("allowed_origins", "Allowed origins", "Orígenes permitidos");
const SESSIONS: (&str, &str, &str) = (
    "max_sessions_per_minute",
    "Sessions per minute",
    "Sesiones por minuto",
);
const CREDITS: (&str, &str, &str) = ("daily_credit_cap", "Credits per day", "Créditos por día");

/// `GET /portal/agents/{id}/widget`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let widgets = visit.services().widgets();
    let settings = widgets.get(visit.account(), view.agent.id).await?;
    let body = html! {
        @if visit.may(MemberRole::Developer) {
            @let fields = version::stamped(fields_of(&settings));
            (settings_form(&visit, &view, &fields, None))
        } @else { (facts(&visit, &settings)) }
    };
    let body = beside_look(&visit, &view, settings.enabled, &body);
    Ok(tabbed(&visit, &view.agent, "widget", &body))
}

fn fields_of(settings: &WidgetSettings) -> Fields {
    let sessions = settings.max_sessions_per_minute.to_string();
    let cap = settings.daily_credit_cap.map(|cap| cap.to_string());
    Fields::of([
        ("enabled", if settings.enabled { "on" } else { "" }),
        ("allowed_origins", &settings.origins.join("\n")),
        ("max_sessions_per_minute", &sessions),
        ("daily_credit_cap", cap.as_deref().unwrap_or("")),
    ])
}

/// The typed origins, one per line.
fn origins(fields: &Fields) -> impl Iterator<Item = &str> {
    let lines = fields.raw("allowed_origins").lines().map(str::trim);
    lines.filter(|line| !line.is_empty())
}

fn settings_form(
    visitor: &Visitor,
    view: &AgentView,
    fields: &Fields,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        (refusal(message))
        (form(visitor, &format!("/agents/{}/widget", view.agent.id), &html! {
            (version::hidden(fields))
            (check("enabled", "on", t.t("Enable the widget", "Activar el widget"), fields.is_set("enabled")))
            @if view.agent.published_version == 0 {
                p.hint { (t.t("Publish the agent before you enable the widget.", "Publica el agente antes de activar el widget.")) }
            }
            (Input::text("allowed_origins", t.t("Allowed origins, one per line", "Orígenes permitidos, uno por línea")).rows(4)
                .value(fields.raw("allowed_origins")).hint(t.t(
                    "Such as https://www.example.com, without a path. http:// only for localhost. Up to 20.",
                    "Como https://www.example.com, sin ruta. http:// solo para localhost. Hasta 20.")))
            (Input::text("max_sessions_per_minute", t.t("Sessions per minute", "Sesiones por minuto")).kind("number")
                .value(fields.raw("max_sessions_per_minute")).hint(t.t(
                    "1 to 600, across all visitors. Default 10.", "De 1 a 600, entre todos los visitantes. Predeterminado: 10.")))
            (Input::text("daily_credit_cap", t.t("Credits per day", "Créditos por día")).kind("number")
                .value(fields.raw("daily_credit_cap")).hint(t.t(
                    "The most its sessions can hold and spend per day (UTC). Leave empty to limit them only by your balance.",
                    "Lo máximo que sus sesiones pueden reservar y gastar por día (UTC). Déjalo vacío para que solo las limite tu saldo.")))
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        }))
    }
}

fn facts(visitor: &Visitor, settings: &WidgetSettings) -> Markup {
    let t = visitor.lang();
    let cap = settings
        .daily_credit_cap
        .map_or_else(|| "–".to_owned(), |cap| cap.to_string());
    html! {
        dl.facts {
            (list::fact(t.t("Enabled", "Activado"), yes(settings.enabled, t)))
            (list::fact(t.t("Allowed origins", "Orígenes permitidos"), html! { @for origin in &settings.origins { div { (origin) } } }))
            (list::fact(t.t("Sessions per minute", "Sesiones por minuto"), settings.max_sessions_per_minute))
            (list::fact(t.t("Credits per day", "Créditos por día"), cap))
        }
    }
}

/// The settings beside the choices of how it looks, a drawing of it, and the code for the customer's page.
fn beside_look(visitor: &Visitor, view: &AgentView, is_on: bool, settings: &Markup) -> Markup {
    let t = visitor.lang();
    let (base, id, look) = (visitor.base_url(), view.agent.id, Look(visitor.query()));
    let looks = look.attributes();
    let tag = format!(
        r#"<script src="{base}/widget/v1/offhook.js" data-agent="{id}"{looks} async></script>"#
    );
    html! {
        div.split {
            section.panel { h2 { (t.t("Settings", "Ajustes")) } (settings) }
            section.panel {
                h2 { (t.t("Appearance", "Apariencia")) }
                (look.form(visitor, &format!("{PATH}/agents/{id}/widget")))
                div #look {
                    (look.drawing(t, view))
                    h2 { (t.t("Embed code", "Código para tu página")) }
                    p { (t.t(
                        "Paste this line before the closing body tag on every page of an allowed origin:",
                        "Pega esta línea antes de la etiqueta de cierre de body en cada página de un origen permitido:",
                    )) }
                    (sample::wrapped(t, "embed", "HTML", &tag))
                    @if !is_on {
                        p.hint { (t.t("Nothing appears while the widget is off.", "No aparece nada mientras el widget esté desactivado.")) }
                    }
                }
            }
        }
    }
}

/// `POST /portal/agents/{id}/widget`
pub(super) async fn set(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let (id, t) = (view.agent.id, post.lang());
    let widgets = post.services().widgets();
    let settings = widgets.get(post.account(), id).await?;
    let (stored, is_on) = (fields_of(&settings), settings.enabled);
    let labels = [ORIGINS, SESSIONS, CREDITS].map(|(name, en, es)| (name, t.t(en, es)));
    let body = body_of(&post.fields);
    let work = widgets.set(post.account(), id, &body);
    match version::save(&post, &stored, &labels, work).await? {
        Ok(settings) => {
            let message = match settings.enabled {
                true => t.t(
                    "Saved. The widget is on.",
                    "Guardado. El widget está activado.",
                ),
                false => t.t(
                    "Saved. The widget is off.",
                    "Guardado. El widget está desactivado.",
                ),
            };
            let path = format!("/agents/{id}/widget");
            post.done("widget.set", id, &path, message).await
        }
        Err(refused) => {
            let form = settings_form(&post, &view, &refused.fields, Some(&refused.message));
            let body = beside_look(&post, &view, is_on, &form);
            Ok(refused_tab(&post, &view.agent, "widget", &body))
        }
    }
}

fn body_of(fields: &Fields) -> Json {
    let mut body = vec![
        ("enabled", Json::Bool(fields.is_set("enabled"))),
        ("allowed_origins", origins(fields).map(Json::from).collect()),
    ];
    for name in ["max_sessions_per_minute", "daily_credit_cap"] {
        if let Some(text) = fields.get(name) {
            body.push((name, super::document::number(text)));
        }
    }
    Json::object(body)
}
