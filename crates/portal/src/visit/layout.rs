//! The frame of every page: head, title, notice.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use maud::DOCTYPE;

use crate::assets::{FONT, HTMX, MARK, SCRIPT, STYLE};
use crate::parts::icon::Icon;
use crate::prelude::*;
use crate::theme::Theme;

use super::navigation::{brand, navigation};
use super::{Visitor, forget_notice};

/// The overview.
pub(crate) const HOME: &str = "/portal/";

/// No inline script or style, nothing from other origins, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; \
                      connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// htmx adds no style and evaluates nothing. The page's script handles error pages.
const HTMX_CONFIG: &str = r#"{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0}"#;

/// The places in the navigation: the path behind `/portal`, the icon, and the name in English and Spanish.
macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident => $path:literal, $icon:ident, $english:literal, $spanish:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Section {
            $($(#[$doc])* $name,)+
        }

        impl Section {
            pub(crate) const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)+
                }
            }

            pub(crate) const fn name(self, lang: Lang) -> &'static str {
                match self {
                    $(Self::$name => lang.t($english, $spanish),)+
                }
            }

            pub(crate) const fn icon(self) -> Icon {
                match self {
                    $(Self::$name => Icon::$icon,)+
                }
            }
        }
    };
}

sections! {
    Overview => "/", OVERVIEW, "Overview", "Resumen";
    Conversations => "/conversations", CONVERSATIONS, "Conversations", "Conversaciones";
    Agents => "/agents", AGENTS, "Agents", "Agentes";
    Tools => "/tools", TOOLS, "Tools", "Herramientas";
    Knowledge => "/knowledge", KNOWLEDGE, "Knowledge", "Conocimiento";
    Numbers => "/phone-numbers", NUMBERS, "Phone numbers", "Números";
    Campaigns => "/campaigns", CAMPAIGNS, "Campaigns", "Campañas";
    Batches => "/batch-calls", BATCHES, "Batch calls", "Llamadas por lote";
    /// Whom the account calls.
    Dialing => "/dialing", DIALING, "Calling rules", "Reglas de llamada";
    Webhooks => "/webhooks", WEBHOOKS, "Webhooks", "Webhooks";
    // The API documentation names this address.
    Keys => "/developers", KEYS, "API keys", "Claves de API";
    Integrations => "/integrations", INTEGRATIONS, "Integrations", "Integraciones";
    Logs => "/logs", LOGS, "Logs", "Registros";
    Team => "/team", TEAM, "Team", "Equipo";
    Billing => "/billing", BILLING, "Billing", "Facturación";
    /// Credentials, audit log and account.
    Settings => "/settings", SETTINGS, "Settings", "Configuración";
    /// Developer pages.
    Developers => "/quick-start", QUICK_START, "Quick start", "Inicio rápido";
    Profile => "/profile", PROFILE, "Profile", "Perfil";
}

/// The frame of one page.
pub(crate) struct Frame<'a> {
    /// Its language.
    pub(crate) lang: Lang,
    /// Its place in the navigation.
    pub(crate) section: Option<Section>,
    /// Its name among the pages of one thing, for the browser's own tab.
    pub(crate) tab: Option<&'a str>,
    /// The signed-in visitor; `None` before signing in.
    pub(crate) visitor: Option<&'a Visitor>,
    /// A notice left by the page before.
    pub(crate) notice: Option<String>,
    pub(crate) theme: Theme,
    /// The page's own path and query.
    pub(crate) path: String,
}

impl Frame<'_> {
    /// The frame of a page for visitors who are not signed in.
    pub(crate) fn plain(req: &HttpRequest) -> Self {
        Self {
            lang: Lang::of(req),
            section: None,
            tab: None,
            visitor: None,
            notice: None,
            theme: Theme::of(req),
            path: req.uri().to_string(),
        }
    }
}

/// A whole page.
pub(crate) fn page(
    frame: &Frame<'_>,
    status: StatusCode,
    title: &str,
    body: &Markup,
) -> HttpResponse {
    let lang = frame.lang;
    let page = html! {
        (DOCTYPE)
        html lang=(lang.tag()) data-theme=(frame.theme.as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(frame.theme.scheme());
                meta name="htmx-config" content=(HTMX_CONFIG);
                title { @if let Some(tab) = frame.tab { (tab) " · " } (title) " · Offhook" }
                link rel="icon" href=(MARK.path) type="image/svg+xml";
                link rel="preload" href=(FONT.path) as="font" type="font/woff2" crossorigin;
                link rel="stylesheet" href=(STYLE.path);
                script src=(HTMX.path) defer {}
                script src=(SCRIPT.path) defer {}
            }
            body.signed-out[frame.visitor.is_none()] data-ended=[frame.visitor.map(|_| lang.t(
                "Your session has ended. Your input is still here: submit it, sign in, and nothing is lost.",
                "Tu sesión terminó. Lo que escribiste sigue aquí: envíalo, inicia sesión y no se pierde nada.",
            ))] data-unanswered=[frame.visitor.map(|_| lang.t(
                "The service did not respond. Your input is still here. Try again in a moment.",
                "El servicio no respondió. Lo que escribiste sigue aquí. Inténtalo de nuevo en un momento.",
            ))] data-filters=(lang.t("Filters", "Filtros")) {
                a.skip href="#main" { (lang.t("Skip to content", "Ir al contenido")) }
                @match frame.visitor {
                    Some(visitor) => (navigation(frame, visitor)),
                    None => header.brand-alone { (brand()) },
                }
                main id="main" tabindex="-1" {
                    (crumb(frame, title))
                    h1 { (title) }
                    (body)
                }
                @if let Some(notice) = &frame.notice { (toast(notice, lang)) }
            }
        }
    };
    let mut answer = respond(status, page);
    if frame.notice.is_some() {
        forget_notice(&mut answer);
    }
    answer
}

/// A page of several that share a title: each has its tab, of its path and name. `current` is a path.
pub(crate) fn tabbed(
    visitor: &Visitor,
    (section, title): (Section, &str),
    tabs: &[(String, &str)],
    current: &str,
    (status, body): (StatusCode, &Markup),
) -> HttpResponse {
    let mut others = tabs.iter().skip(1);
    let frame = Frame {
        tab: others
            .find(|(path, _)| path == current)
            .map(|(_, name)| *name),
        ..visitor.frame(section)
    };
    let body = html! {
        @if !tabs.is_empty() {
            nav.tabs aria-label=(title) {
                @for (path, name) in tabs {
                    a href={ (crate::PATH) (path) } aria-current=[(path == current).then_some("page")] { (name) }
                }
            }
        }
        (body)
    };
    page(&frame, status, title, &body)
}

/// A part of a page, for htmx.
pub(crate) fn part(body: &Markup) -> HttpResponse {
    respond(StatusCode::OK, body.clone())
}

/// A file to download, which browsers must not interpret as anything else.
pub(crate) fn attachment(content_type: &str, disposition: String) -> HttpResponseBuilder {
    let mut answer = HttpResponse::Ok();
    answer
        .content_type(content_type)
        .insert_header((CONTENT_DISPOSITION, disposition))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CACHE_CONTROL, "no-store"));
    answer
}

fn respond(status: StatusCode, markup: Markup) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((X_FRAME_OPTIONS, "DENY"))
        .insert_header((REFERRER_POLICY, "same-origin"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .body(markup.into_string())
}

/// Lists below a section, to which the pages below them lead back.
const LISTS: [(&str, &str, &str); 2] = [
    ("/webhooks/deliveries", "Deliveries", "Entregas"),
    ("/knowledge/folders", "Folders", "Carpetas"),
];

/// The way back to the section, on pages below it.
fn crumb(frame: &Frame<'_>, title: &str) -> Markup {
    let lang = frame.lang;
    let section = frame.section.filter(|section| section.name(lang) != title);
    let above = section.map(|section| {
        let path = frame.path.strip_prefix(crate::PATH).unwrap_or_default();
        let mut lists = LISTS.iter();
        let list = lists.find(|(list, ..)| {
            path.strip_prefix(list)
                .is_some_and(|rest| rest.starts_with('/'))
        });
        list.map_or((section.path(), section.name(lang)), |(list, en, es)| {
            (*list, lang.t(en, es))
        })
    });
    html! {
        @if let Some((path, name)) = above.filter(|_| frame.visitor.is_some()) {
            nav.crumb aria-label=(lang.t("Breadcrumb", "Ruta")) {
                a href={ (crate::PATH) (path) } { (name) }
                (Icon::NEXT)
            }
        }
    }
}

/// A notice, which leaves by itself.
fn toast(notice: &str, lang: Lang) -> Markup {
    html! {
        div.notice role="status" {
            (Icon::DONE)
            p { (notice) }
            button type="button" data-dismiss="" aria-label=(lang.t("Dismiss", "Descartar")) { (Icon::CLOSE) }
        }
    }
}

/// The page that describes an error.
pub(crate) fn error_page(trouble: &Trouble, frame: &Frame<'_>) -> HttpResponse {
    let lang = frame.lang;
    let (status, title, text) = trouble.page(lang);
    let body = html! {
        p.lead { (text) }
        p { a.button href=(HOME) { (lang.t("Go to overview", "Ir al resumen")) } }
    };
    let mut answer = page(frame, status, title, &body);
    let Trouble::Said(error) = trouble else {
        return answer;
    };
    if status.is_server_error() {
        error.log("the portal");
    }
    if let Some(seconds) = error.retry_after_s() {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    answer
}
