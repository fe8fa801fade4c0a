//! Which path serves which page.

use actix_web::http::header::{ACCEPT, ALLOW, HeaderValue, LOCATION};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use offhook_http::ApiError;

use crate::page::{Page, readable, with_portal};
use crate::trouble::Trouble;
use crate::{Portal, assets, pages as rooms};

/// A page of the router that GET serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagePath {
    /// The path with its placeholders: `/portal/agents/{id}`.
    pub path: String,
    /// Whether it is a whole page, not a part for htmx or a file.
    pub whole: bool,
}

/// Every path that answers GET, for tests that must cover them all.
pub fn pages() -> Vec<PagePath> {
    let served = |page: Page| {
        page.get.map(|whole| PagePath {
            path: format!("{}{}", crate::PATH, page.path),
            whole,
        })
    };
    rooms::table().into_iter().filter_map(served).collect()
}

impl Portal {
    /// Adds the portal's paths to an application.
    pub fn mount(self, config: &mut ServiceConfig) {
        config.app_data(web::Data::new(self));
        add(config);
    }
}

/// Adds every path of the portal, and a page for all unknown paths under it.
fn add(config: &mut ServiceConfig) {
    let mut scope = web::scope(crate::PATH).route("/assets/{name}", readable().to(assets::send));
    for page in rooms::table() {
        let allowed = page.allowed();
        let mut resource = web::resource(page.path);
        for route in page.routes {
            resource = resource.route(route);
        }
        let otherwise = move |req: HttpRequest| no_page(req, allowed);
        resource = resource.default_service(web::to(otherwise));
        scope = scope.service(resource);
    }
    let nothing = |req: HttpRequest| with_portal(req, async |_, _| Err(Trouble::not_found()));
    config
        .service(scope.default_service(web::to(nothing)))
        .route("/", readable().to(to_portal))
        .route("/developers", readable().to(to_portal));
}

/// The response to a method that the path does not have.
async fn no_page(req: HttpRequest, allowed: &'static str) -> HttpResponse {
    let mut answer = with_portal(req, async |_, _| Err(Trouble::NoPage)).await;
    let allowed = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

/// Redirects browsers to the portal from the service's root and from the address that the API documentation names for keys.
/// Other clients get a 404.
async fn to_portal(req: HttpRequest) -> Result<HttpResponse, ApiError> {
    let accepted = req.headers().get(ACCEPT).map(|kinds| kinds.as_bytes());
    let is_browser =
        accepted.is_some_and(|kinds| kinds.windows(9).any(|kind| kind == b"text/html"));
    if !is_browser {
        return Err(ApiError::not_found());
    }
    Ok(HttpResponse::SeeOther()
        .insert_header((LOCATION, format!("{}{}", crate::PATH, req.path())))
        .finish())
}
