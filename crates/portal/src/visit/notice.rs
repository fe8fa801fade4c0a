//! The notice that a page leaves for the next.

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieTime};
use actix_web::http::header::{HeaderValue, LOCATION, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Portal;

/// The cookie that carries a notice to the next page.
const NOTICE_COOKIE: &str = "offhook_notice";

/// Redirects to a page of the portal, with a notice.
pub(crate) fn go(portal: &Portal, path: &str, message: &str) -> HttpResponse {
    let mut answer = HttpResponse::SeeOther();
    answer.insert_header((LOCATION, format!("{}{path}", crate::PATH)));
    if !message.is_empty() {
        answer.cookie(notice_cookie(portal, message));
    }
    answer.finish()
}

fn notice_cookie(portal: &Portal, message: &str) -> Cookie<'static> {
    let text = utf8_percent_encode(message, NON_ALPHANUMERIC).to_string();
    Cookie::build(NOTICE_COOKIE, text)
        .path(crate::PATH)
        .http_only(true)
        .secure(portal.is_https())
        .same_site(SameSite::Lax)
        .max_age(CookieTime::seconds(60))
        .finish()
}

/// The notice that the page before left for this one.
pub(super) fn notice(req: &HttpRequest) -> Option<String> {
    let kept = req.cookie(NOTICE_COOKIE)?;
    let text = percent_encoding::percent_decode_str(kept.value())
        .decode_utf8()
        .ok()?;
    Some(text.into_owned()).filter(|text| !text.is_empty())
}

/// Removes the notice after it was shown.
pub(crate) fn forget_notice(answer: &mut HttpResponse) {
    let gone = format!(
        "{NOTICE_COOKIE}=; Path={}; Max-Age=0; HttpOnly; SameSite=Lax",
        crate::PATH
    );
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        answer.headers_mut().append(SET_COOKIE, gone);
    }
}
