//! A page's path and handlers, and what every handler runs in.

use std::future::Future;
use std::panic::resume_unwind;

use actix_web::rt;
use actix_web::web::{self, Payload};
use actix_web::{HttpRequest, HttpResponse, Route, guard};
use offhook_services::store::StoreError;
use tracing::Instrument as _;

use crate::parts::words::in_a_zone;
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::layout::{Frame, Section, error_page};
use crate::visit::{Guest, Needs, Post, Upload, Visit, looking, portal_of};
use crate::{Portal, signed_out};

/// A path after `/portal` and its handlers.
pub(crate) struct Page {
    pub(crate) path: &'static str,
    /// Whether GET answers a whole page (`true`) or a part or file (`false`).
    pub(crate) get: Option<bool>,
    pub(crate) routes: Vec<Route>,
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
    pub(crate) fn allowed(&self) -> &'static str {
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
        self.read(true, handler)
    }

    /// A part of a page that htmx asks for, or a file.
    pub(crate) fn part<R: Needs>(
        self,
        handler: impl AsyncFn(Visit<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.read(false, handler)
    }

    fn read<R: Needs>(
        mut self,
        whole: bool,
        handler: impl AsyncFn(Visit<R>) -> Answer + Copy + 'static,
    ) -> Self {
        self.get = Some(whole);
        self.routes.push(readable().to(move |req| {
            with_portal(req, async move |portal, req| {
                handler(Visit::read(portal, req).await?).await
            })
        }));
        self
    }

    /// A WebSocket of a page.
    pub(crate) fn socket<R: Needs>(
        mut self,
        handler: impl AsyncFn(Visit<R>, Payload) -> Answer + Copy + 'static,
    ) -> Self {
        self.get = Some(false);
        self.routes.push(web::get().to(move |req, body| {
            with_portal(req, async move |portal, req| {
                handler(Visit::read(portal, req).await?, body).await
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
        self.routes.push(readable().to(move |req| {
            with_portal(req, async move |portal, req| {
                handler(Guest::new(portal, req)).await
            })
        }));
        self
    }

    /// An address for visitors who are not signed in that answers with no page of its own.
    pub(crate) fn open_part(self, handler: impl AsyncFn(Guest) -> Answer + Copy + 'static) -> Self {
        let mut page = self.open_get(handler);
        page.get = Some(false);
        page
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
pub(crate) fn readable() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// Answers with the handler's response or with an error page. No error leaves here: the HTTP layer would wrap it in the
/// API's error envelope.
pub(crate) async fn with_portal<T>(
    req: HttpRequest,
    handler: impl FnOnce(Portal, HttpRequest) -> T,
) -> HttpResponse
where
    T: Future<Output = Answer>,
{
    let Some(portal) = portal_of(&req) else {
        return HttpResponse::NotFound().finish();
    };
    match in_a_zone(handler(portal.clone(), req.clone())).await {
        Ok(answer) => answer,
        Err(Trouble::SignedOut { typed }) => {
            signed_out::instead(&Guest::new(portal, req), typed).await
        }
        Err(Trouble::Earlier(earlier)) => signed_out::once_more(&Guest::new(portal, req), *earlier),
        Err(trouble) => answer(portal, req, &trouble).await,
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
    let work = rt::spawn(portal.deeds.track_future(in_a_zone(work).in_current_span()));
    match work.await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(error) => Err(StoreError::Internal(error.to_string()).into()),
    }
}

/// The error page, with the navigation for signed-in visitors.
async fn answer(portal: Portal, req: HttpRequest, trouble: &Trouble) -> HttpResponse {
    match looking(portal, req.clone()).await {
        Some(visitor) => error_page(
            trouble,
            &Frame {
                section: None,
                ..visitor.frame(Section::Overview)
            },
        ),
        None => error_page(trouble, &Frame::plain(&req)),
    }
}
