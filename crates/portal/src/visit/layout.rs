//! The frame of every page: head, navigation, notice.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use maud::{DOCTYPE, Markup, html};

use crate::assets::{HTMX, SCRIPT, STYLE};
use crate::lang::Lang;
use crate::trouble::Trouble;

use super::{Visitor, button, forget_notice};

/// The overview.
pub(crate) const HOME: &str = "/portal/";

/// No inline script or style, nothing from other origins, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; \
                      connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// htmx adds no style and evaluates nothing. The page's script handles error pages.
const HTMX_CONFIG: &str = r#"{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyCacheSize":0}"#;

/// A place in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Conversations,
    Agents,
    Tools,
    Knowledge,
    Numbers,
    Batches,
    Webhooks,
    Keys,
    Integrations,
    Logs,
    Team,
    Billing,
    /// Credentials, audit log and account.
    Settings,
    /// Developer pages.
    Developers,
    Profile,
}

impl Section {
    /// In the order of the navigation.
    const ALL: [Self; 15] = [
        Self::Overview,
        Self::Conversations,
        Self::Agents,
        Self::Tools,
        Self::Knowledge,
        Self::Numbers,
        Self::Batches,
        Self::Webhooks,
        Self::Keys,
        Self::Integrations,
        Self::Logs,
        Self::Team,
        Self::Billing,
        Self::Settings,
        Self::Developers,
    ];

    /// The path behind `/portal`.
    pub(crate) const fn path(self) -> &'static str {
        self.texts().0
    }

    pub(crate) const fn name(self, lang: Lang) -> &'static str {
        let (_, en, es) = self.texts();
        lang.t(en, es)
    }

    /// The path, and the name in English and in Spanish.
    const fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Overview => ("/", "Overview", "Resumen"),
            Self::Conversations => ("/conversations", "Conversations", "Conversaciones"),
            Self::Agents => ("/agents", "Agents", "Agentes"),
            Self::Tools => ("/tools", "Tools", "Herramientas"),
            Self::Knowledge => ("/knowledge", "Knowledge", "Conocimiento"),
            Self::Numbers => ("/phone-numbers", "Phone numbers", "Números"),
            Self::Batches => ("/batch-calls", "Batch calls", "Llamadas por lote"),
            Self::Webhooks => ("/webhooks", "Webhooks", "Webhooks"),
            // The API documentation names this address.
            Self::Keys => ("/developers", "API keys", "Claves de API"),
            Self::Integrations => ("/integrations", "Integrations", "Integraciones"),
            Self::Logs => ("/logs", "Logs", "Registros"),
            Self::Team => ("/team", "Team", "Equipo"),
            Self::Billing => ("/billing", "Billing", "Facturación"),
            Self::Settings => ("/settings", "Settings", "Configuración"),
            Self::Developers => ("/quick-start", "Quick start", "Inicio rápido"),
            Self::Profile => ("/profile", "Profile", "Perfil"),
        }
    }
}

/// The frame of one page.
pub(crate) struct Frame<'a> {
    /// Its language.
    pub(crate) lang: Lang,
    /// Its place in the navigation.
    pub(crate) section: Option<Section>,
    /// The signed-in visitor; `None` before signing in.
    pub(crate) visitor: Option<&'a Visitor>,
    /// A notice left by the page before.
    pub(crate) notice: Option<String>,
    /// The page's own path and query.
    pub(crate) path: String,
}

impl Frame<'_> {
    /// The frame of a page for visitors who are not signed in.
    pub(crate) fn plain(req: &HttpRequest) -> Self {
        Self {
            lang: Lang::of(req),
            section: None,
            visitor: None,
            notice: None,
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
        html lang=(lang.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="htmx-config" content=(HTMX_CONFIG);
                title { (title) " · Offhook" }
                link rel="icon" href="data:,";
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
            ))] {
                a.skip href="#main" { (lang.t("Skip to content", "Ir al contenido")) }
                @if let Some(visitor) = frame.visitor { (navigation(frame, visitor)) }
                main id="main" tabindex="-1" {
                    h1 { (title) }
                    @if let Some(notice) = &frame.notice { p.notice role="status" { (notice) } }
                    (body)
                }
            }
        }
    };
    let mut answer = respond(status, page);
    if frame.notice.is_some() {
        forget_notice(&mut answer);
    }
    answer
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

fn navigation(frame: &Frame<'_>, visitor: &Visitor) -> Markup {
    let lang = frame.lang;
    let person = &visitor.person;
    html! {
        header.top {
            a.brand href=(HOME) { "Offhook" }
            button.menu type="button" data-menu="" aria-expanded="false" aria-controls="nav" {
                (lang.t("Menu", "Menú"))
            }
        }
        nav #nav aria-label=(lang.t("Sections", "Secciones")) {
            p.account { (person.caller.account.name) }
            ul {
                @for section in Section::ALL {
                    li {
                        a href={ (crate::PATH) (section.path()) }
                            aria-current=[(frame.section == Some(section)).then_some("page")] { (section.name(lang)) }
                    }
                }
            }
            div.person {
                a href={ (crate::PATH) "/profile" }
                    aria-current=[(frame.section == Some(Section::Profile)).then_some("page")] {
                    (person.member.name)
                }
                (other_language(frame, visitor))
                (button(visitor, "/sign-out", lang.t("Sign out", "Cerrar sesión"), &[]))
            }
        }
    }
}

/// The link to the same page in the other language.
fn other_language(frame: &Frame<'_>, visitor: &Visitor) -> Markup {
    let (name, label) = frame.lang.t(("es", "Español"), ("en", "English"));
    let fields = [("lang", name), ("back", frame.path.as_str())];
    button(visitor, "/language", label, &fields)
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
