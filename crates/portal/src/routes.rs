//! Which path serves which page.

use std::future::Future;
use std::panic::resume_unwind;

use actix_web::http::header::{ACCEPT, ALLOW, HeaderValue, LOCATION};
use actix_web::rt;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Route, guard};
use offhook_http::ApiError;
use offhook_services::store::StoreError;
use tracing::Instrument as _;

use crate::layout::{Frame, Section};
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Guest, Needs, Post, Upload, Visit, looking, portal_of};
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
    let looked_at = |page: Page| {
        page.get.map(|whole| PagePath {
            path: format!("{}{}", crate::PATH, page.path),
            whole,
        })
    };
    rooms::table().into_iter().filter_map(looked_at).collect()
}

/// A path after `/portal` and its handlers.
pub(crate) struct Page {
    path: &'static str,
    /// Whether GET answers a whole page (`true`) or a part or file (`false`).
    get: Option<bool>,
    routes: Vec<Route>,
}

impl Page {
    /// A path behind `/portal`, beginning with a slash.
    pub(crate) const fn at(path: &'static str) -> Self {
        Self {
            path,
            get: None,
            routes: Vec::new(),
        }
    }

    /// The methods that the path has.
    fn allowed(&self) -> &'static str {
        match (self.get.is_some(), self.routes.len()) {
            (true, 1) => "GET, HEAD",
            (true, _) => "GET, HEAD, POST",
            (false, _) => "POST",
        }
    }

    /// A whole page for signed-in visitors.
    pub(crate) fn get<R: Needs>(
        self,
        handler: impl AsyncFn(Visit<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.looked_at(true, handler)
    }

    /// A part of a page that htmx asks for, or a file.
    pub(crate) fn part<R: Needs>(
        self,
        handler: impl AsyncFn(Visit<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.looked_at(false, handler)
    }

    fn looked_at<R: Needs>(
        mut self,
        whole: bool,
        handler: impl AsyncFn(Visit<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.get = Some(whole);
        self.routes.push(looked_at().to(move |req| {
            with_portal(req, async move |portal, req| {
                handler(Visit::read(portal, req).await?).await
            })
        }));
        self
    }

    /// A form.
    pub(crate) fn post<R: Needs>(
        self,
        handler: impl AsyncFn(Post<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.sent(Post::read, handler)
    }

    /// A form with a file.
    pub(crate) fn upload<R: Needs>(
        self,
        handler: impl AsyncFn(Upload<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.sent(Upload::read, handler)
    }

    fn sent<S: 'static>(
        mut self,
        read: impl AsyncFn(Portal, HttpRequest, Payload) -> Result<S> + Copy + 'static,
        handler: impl AsyncFn(S) -> Answer + Copy + 'static,
    ) -> Self {
        self.routes.push(web::post().to(move |req, body| {
            with_portal(req, async move |portal, req| {
                let sent = read(portal.clone(), req, body).await?;
                to_its_end(&portal, async move { handler(sent).await }).await
            })
        }));
        self
    }

    /// A page for visitors who are not signed in.
    pub(crate) fn open_get(
        mut self,
        handler: impl AsyncFn(Guest) -> Answer + Copy + 'static,
    ) -> Self {
        self.get = Some(true);
        self.routes.push(looked_at().to(move |req| {
            with_portal(req, async move |portal, req| {
                handler(Guest::new(portal, req)).await
            })
        }));
        self
    }

    /// A form of visitors who are not signed in. The handler checks its origin (`visit::check_origin`).
    pub(crate) fn open_post(
        mut self,
        handler: impl AsyncFn(Guest, Payload) -> Answer + Copy + 'static,
    ) -> Self {
        self.routes.push(web::post().to(move |req, body| {
            with_portal(req, async move |portal, req| {
                handler(Guest::new(portal, req), body).await
            })
        }));
        self
    }
}

/// HEAD is answered as GET; the server leaves the body out.
fn looked_at() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// Answers with the handler's response or with an error page. No error leaves here: the HTTP layer would wrap it in the
/// API's error envelope.
async fn with_portal<T>(
    req: HttpRequest,
    handler: impl FnOnce(Portal, HttpRequest) -> T,
) -> HttpResponse
where
    T: Future<Output = Answer>,
{
    let Some(portal) = portal_of(&req) else {
        return HttpResponse::NotFound().finish();
    };
    match handler(portal.clone(), req.clone()).await {
        Ok(answer) => answer,
        Err(Trouble::SignedOut { typed }) => {
            rooms::sign_in::instead(&Guest::new(portal, req), typed).await
        }
        Err(Trouble::Earlier(earlier)) => {
            rooms::sign_in::once_more(&Guest::new(portal, req), *earlier)
        }
        Err(trouble) => told(portal, req, trouble).await,
    }
}

/// A change and its audit log entry are both made, even if the browser disconnects: a closed connection would drop the
/// handler's future.
pub(crate) async fn to_its_end(
    portal: &Portal,
    work: impl Future<Output = Answer> + 'static,
) -> Answer {
    #[expect(
        clippy::disallowed_methods,
        reason = "a handler holds its request, which is not Send; workers wait for running changes before they stop"
    )]
    let work = rt::spawn(portal.deeds.track_future(work.in_current_span()));
    match work.await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(error) => Err(StoreError::Internal(error.to_string()).into()),
    }
}

/// The error page, with the navigation for signed-in visitors.
async fn told(portal: Portal, req: HttpRequest, trouble: Trouble) -> HttpResponse {
    match looking(portal, req.clone()).await {
        Some(visitor) => trouble.answer(&Frame {
            section: None,
            ..visitor.frame(Section::Overview)
        }),
        None => trouble.answer(&Frame::plain(&req)),
    }
}

/// Adds every path of the portal, and a page for all unknown paths under it.
pub(crate) fn add(config: &mut ServiceConfig) {
    let mut scope = web::scope(crate::PATH).route("/assets/{name}", looked_at().to(assets::send));
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
        .route("/", looked_at().to(to_portal))
        .route("/developers", looked_at().to(to_portal));
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
