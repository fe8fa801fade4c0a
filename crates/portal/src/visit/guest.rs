//! A visitor who is not signed in, and the request.

use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};

use super::{check_origin, go, read_form};
use crate::Portal;
use crate::prelude::*;
use crate::visit::layout::{self, Frame};

pub(crate) struct Guest {
    pub(crate) portal: Portal,
    pub(crate) req: HttpRequest,
    pub(crate) lang: Lang,
}

impl Guest {
    pub(crate) fn new(portal: Portal, req: HttpRequest) -> Self {
        let lang = Lang::of(&req);
        Self { portal, req, lang }
    }

    /// A text in their language.
    pub(crate) const fn t<'a>(&self, en: &'a str, es: &'a str) -> &'a str {
        self.lang.t(en, es)
    }

    /// Whether a password and a session may travel to this browser.
    pub(crate) fn may_sign_in(&self) -> bool {
        self.portal.may_sign_in(&self.req)
    }

    /// The form's fields.
    pub(crate) async fn form(&self, body: Payload) -> Result<Fields> {
        check_origin(&self.req)?;
        read_form(&self.req, body, None).await
    }

    /// A whole page.
    pub(crate) fn page(&self, status: StatusCode, title: &str, body: &Markup) -> HttpResponse {
        layout::page(&Frame::plain(&self.req), status, title, body)
    }

    /// Redirects to a page of the portal, with a notice.
    pub(crate) fn go(&self, path: &str, message: &str) -> HttpResponse {
        go(&self.portal, path, message)
    }
}
