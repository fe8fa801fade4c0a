//! Requests of web pages. They have no key: the page's origin and a session token give access.

use std::rc::Rc;

use actix_web::dev::Payload;
use actix_web::http::header::{ACCEPT, HeaderMap, ORIGIN};
use actix_web::{FromRequest, web};
use futures_util::future::LocalBoxFuture;
use offhook_services::store::ChatView;

use super::ask::{FromPath, bearer_token, read_query, state};
use super::body::FromBody;
use crate::edge::exchange::Exchange;
use crate::prelude::*;

/// The longest origin in bytes; no widget names a longer one.
const ORIGIN_BYTES: usize = 300;

/// A request of a page whose origin a widget names. Once the origin is known, the page may read the response, errors
/// included.
pub(crate) struct Page<B = ()> {
    pub(crate) origin: String,
    pub(crate) body: B,
    pub(crate) state: web::Data<HttpState>,
}

/// A request of a page within its own session. The token opens the session, for pages of the origin that began it.
pub(crate) struct Visitor<B = ()> {
    pub(crate) view: ChatView,
    pub(crate) body: B,
    /// Whether the response should be server-sent events.
    pub(crate) wants_events: bool,
    pub(crate) state: web::Data<HttpState>,
    pub(crate) exchange: Rc<Exchange>,
}

impl<B: FromBody + 'static> FromRequest for Page<B> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let payload = payload.take();
        Box::pin(async move {
            let (state, origin) = known_page(&req).await?;
            read_query::<()>(&req)?;
            let body = B::read(&req, payload).await?;
            Ok(Self {
                origin,
                body,
                state,
            })
        })
    }
}

impl<B: FromBody + 'static> FromRequest for Visitor<B> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let payload = payload.take();
        Box::pin(async move {
            let (state, origin) = known_page(&req).await?;
            let token = bearer_token(req.headers()).unwrap_or_default();
            let id = ConversationId::of(req.match_info());
            let view = state.services.chats().enter(id, token, &origin).await?;
            read_query::<()>(&req)?;
            let body = B::read(&req, payload).await?;
            Ok(Self {
                view,
                body,
                wants_events: wants_events(req.headers()),
                exchange: Exchange::of(&req)?,
                state,
            })
        })
    }
}

/// Lets the page read the response if a widget names its origin.
async fn known_page(req: &HttpRequest) -> Result<(web::Data<HttpState>, String), ApiError> {
    let state = state(req)?;
    let mut lines = req.headers().get_all(ORIGIN);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(ApiError::foreign_page());
    };
    let origin = line.to_str().unwrap_or_default();
    if origin.is_empty() || origin.len() > ORIGIN_BYTES {
        return Err(ApiError::foreign_page());
    }
    if !state.services.chats().knows_origin(origin).await? {
        return Err(ApiError::foreign_page());
    }
    Exchange::of(req)?.allow_origin(line.clone());
    Ok((state, origin.to_owned()))
}

fn wants_events(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).any(|line| {
        let ranges = line.to_str().unwrap_or_default().split(',');
        ranges
            .filter_map(|range| range.split(';').next())
            .any(|range| range.trim().eq_ignore_ascii_case("text/event-stream"))
    })
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn events_are_wanted_where_accept_names_them() {
        let wants = |line: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(ACCEPT, HeaderValue::from_static(line));
            wants_events(&headers)
        };
        assert!(wants("text/event-stream"));
        assert!(wants("application/json;q=0.5, Text/Event-Stream;q=0.9"));
        assert!(!wants("*/*") && !wants("application/json"));
        assert!(!wants_events(&HeaderMap::new()));
    }
}
