//! The middleware that every request passes on its way in, and every response on its way out.

pub(crate) mod connection;
pub(crate) mod cors;
pub(crate) mod exchange;
pub(crate) mod limits;
pub(crate) mod log_budget;
mod log_fault;
mod log_path;
pub(crate) mod paths;
mod response;

use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpResponse, web};
use futures_util::FutureExt;
use offhook_metrics::metrics;
use tracing::Instrument;

use crate::{ApiError, HttpState};
use connection::Answering;
use cors::is_preflight;
use exchange::{CLIENT_GONE, Exchange};
use paths::{MCP, is_page, is_under, is_v1, routed_path};

/// Handles every request, under /v1 and elsewhere.
pub(crate) async fn edge(
    req: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(state) = req.app_data::<web::Data<HttpState>>().cloned() else {
        return Err(ApiError::internal("the application has no state").into());
    };
    let _answering = Answering::begin(&req);
    let _in_flight = metrics().http.began();
    let exchange = Rc::new(Exchange::begin(&state, &req));
    // A response from here needs no span, and during a flood no log line: a refusal must cost next to nothing.
    if exchange.origin.borrow().is_some() && is_preflight(&req) {
        exchange.log_early(&state, &req, StatusCode::NO_CONTENT);
        return Ok(req.into_response(exchange.finish(cors::preflight())));
    }
    if let Err(refusal) = admit(&state, &exchange, &req).await {
        exchange.let_widgets_read(&req);
        // A browser hides a refused preflight from its page. So the preflight succeeds here, and the request that
        // follows gets the refusal with its `Retry-After`. This costs no more than a refusal, and needs no database
        // query.
        let answer = match exchange.origin.borrow().is_some() && is_preflight(&req) {
            true => cors::unchecked_widget_preflight(),
            false => HttpResponse::from_error(refusal),
        };
        exchange.log_early(&state, &req, answer.status());
        return Ok(req.into_response(exchange.finish(answer)));
    }
    let span = tracing::info_span!("request", request_id = %exchange.id, method = %req.method());
    pass(state, exchange, req, next).instrument(span).await
}

async fn pass(
    state: web::Data<HttpState>,
    exchange: Rc<Exchange>,
    req: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    req.extensions_mut().insert(exchange.clone());
    let method = req.method().clone();
    let _unanswered = Unanswered(&state, &exchange);
    // The request moves into the service and is lost if a handler panics. So that response leaves as an error that
    // carries the whole response.
    let served = AssertUnwindSafe(async move { next.call(req).await });
    match served.catch_unwind().await {
        Ok(Ok(answer)) => {
            let (req, answer) = answer.into_parts();
            let answer = exchange.finish(answer);
            exchange.count_unbelieved(&state, answer.status());
            let pattern = req.match_pattern();
            exchange.log(pattern.as_deref(), answer.status());
            exchange.count(req.method(), pattern, answer.status());
            exchange.record(&state, &answer);
            Ok(ServiceResponse::new(req, answer))
        }
        Ok(Err(error)) => Err(lost(
            &state,
            &exchange,
            (&method, HttpResponse::from_error(error)),
        )),
        Err(panic) => {
            let error = ApiError::internal(format_args!("panicked: {}", panic_text(&*panic)));
            let answer = HttpResponse::from_error(error);
            Err(lost(&state, &exchange, (&method, answer)))
        }
    }
}

/// A request whose client disconnects is dropped where it stands, and its effects stay. So its account's request log
/// must also show it.
struct Unanswered<'a>(&'a HttpState, &'a Exchange);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let Self(state, exchange) = self;
        // A response that was sent has already been recorded.
        if let Ok(gone) = StatusCode::from_u16(CLIENT_GONE) {
            exchange.record(state, &HttpResponse::new(gone));
        }
    }
}

/// The response to a request that was lost in a panic.
fn lost(
    state: &HttpState,
    exchange: &Exchange,
    (method, answer): (&Method, HttpResponse),
) -> actix_web::Error {
    let answer = exchange.finish(answer);
    exchange.count(method, None, answer.status());
    exchange.record(state, &answer);
    whole(answer)
}

fn whole(answer: HttpResponse) -> actix_web::Error {
    InternalError::from_response("answered at the edge", answer).into()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&'static str>().copied())
        .unwrap_or("without a message")
}

/// Applies the rate limits of an address: the API's to every /v1 path except OPTIONS, others to everything else that
/// costs something. Preflights of web pages query the database while the address has a token left, and take one.
async fn admit(
    state: &HttpState,
    exchange: &Exchange,
    req: &ServiceRequest,
) -> Result<(), ApiError> {
    let path = routed_path(req);
    let is_callback = is_under(path, "/callbacks");
    let counts_as_page = is_page(path);
    let counts_as_request = is_v1(path) && req.method() != Method::OPTIONS || path == MCP;
    if !is_callback && !counts_as_page && !counts_as_request {
        return Ok(());
    }
    let peer = req.peer_addr().map(|peer| peer.ip());
    let address = state.limits.client(peer, req.headers());
    exchange.address.set(Some(address));
    if is_callback {
        let place = state.limits.admit_callback(address, exchange.at)?;
        exchange.callback.replace(Some(place));
        return Ok(());
    }
    if counts_as_page {
        return state.limits.admit_page(address, exchange.at);
    }
    let places_call = req.method() == Method::POST && path == "/v1/calls";
    state
        .limits
        .admit_address(address, places_call, exchange.at)
        .await
}
