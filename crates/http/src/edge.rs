//! The middleware that every request passes on its way in, and every response on its way out.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody as _, SizedStream};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use futures_util::{FutureExt, stream};
use offhook_domain::{AccountId, KeyId, RequestId, Resource, ResourceId, ResourceKind, Timestamp};
use offhook_metrics::metrics;
use offhook_ratelimit::Decision;
use offhook_services::store::mint;
use offhook_services::{Caller, Logged};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;
use uuid::Uuid;

use crate::connection::Answering;
use crate::endpoints::{widget_files, widget_sessions};
use crate::{ApiError, Code, HttpState, log_path};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const CORS_METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const CORS_REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID";
const CORS_ANSWER_HEADERS: &str = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, \
                                   Retry-After, Location, Idempotent-Replayed";
/// Seconds that a browser may cache the response to a preflight.
const CORS_MAX_AGE_S: &str = "600";

/// The status in the account's request log when the client disconnected before the response. Proxies write 499, since
/// HTTP has no status code for a response that no client receives.
const CLIENT_GONE: u16 = 499;

/// How much of a long response goes to its connection at once.
const PIECE: usize = 16 * 1024;
const PIECE_U64: u64 = PIECE as u64;

/// One request and its response, shared by the edge and the extractor.
pub(crate) struct Exchange {
    pub(crate) id: RequestId,
    /// When the request arrived. Everything in the request uses this as the present time.
    pub(crate) at: Timestamp,
    /// The account bucket's decision; set once the key is known.
    pub(crate) account: Cell<Option<Decision>>,
    began: Instant,
    /// The address that the rate limits count.
    address: Cell<Option<IpAddr>>,
    /// The request log's details; set once the key is known.
    logged: RefCell<Option<Known>>,
    /// The created resource, where the response's `Location` does not name it.
    made: Cell<Option<Resource>>,
    /// The code in the error envelope of the response.
    error: Cell<Option<&'static str>>,
    /// The origin that may read the response.
    origin: RefCell<Option<HeaderValue>>,
    /// Set for provider callbacks. The inner permit is set when the address had sent too many unsigned requests.
    callback: RefCell<Option<Option<OwnedSemaphorePermit>>>,
    cors: bool,
    no_store: bool,
}

/// A request whose key is known.
struct Known {
    account: AccountId,
    key: KeyId,
    key_prefix: String,
    method: String,
    path: String,
}

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
        return Ok(req.into_response(exchange.finish(preflight())));
    }
    if let Err(refusal) = admit(&state, &exchange, &req).await {
        exchange.let_widgets_read(&req);
        // A browser hides a refused preflight from its page. So the preflight succeeds here, and the request that
        // follows gets the refusal with its `Retry-After`. This costs no more than a refusal, and needs no database
        // query.
        let answer = match exchange.origin.borrow().is_some() && is_preflight(&req) {
            true => widget_sessions::unlooked_preflight(),
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
    let counts_as_request = is_v1(path) && req.method() != Method::OPTIONS;
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

/// The path as the router reads it: `/v1/%63alls` is `/v1/calls`.
fn routed_path(req: &ServiceRequest) -> &str {
    req.match_info().as_str()
}

fn is_v1(path: &str) -> bool {
    is_under(path, "/v1")
}

/// The routes for web pages with a widget, which are not part of the API. The widget's static files are excluded.
fn is_widget(path: &str) -> bool {
    is_under(path, "/widget/v1") && !widget_files::PATHS.contains(&path)
}

/// The routes outside the API that cost something. Static files are excluded.
fn is_page(path: &str) -> bool {
    is_widget(path)
        || is_under(path, "/docs")
        || path.starts_with("/llms")
        || path == "/readyz"
        || (is_under(path, "/portal") && !is_under(path, "/portal/assets"))
}

fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_preflight(req: &ServiceRequest) -> bool {
    req.method() == Method::OPTIONS
        && req
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS))
        .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, CORS_REQUEST_HEADERS))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, CORS_MAX_AGE_S))
        .finish()
}

impl Exchange {
    /// The exchange of this request. Behind the edge there always is one.
    pub(crate) fn of(req: &HttpRequest) -> Result<Rc<Self>, ApiError> {
        req.extensions()
            .get::<Rc<Self>>()
            .cloned()
            .ok_or_else(|| ApiError::internal("the request did not pass the edge"))
    }

    /// Lets pages of this origin read the response.
    pub(crate) fn allow_origin(&self, origin: HeaderValue) {
        self.origin.replace(Some(origin));
    }

    /// Lets any page read that the edge refused its request. The refusal is the same for every page, so the edge does
    /// not look up the widget's origins. Without this header the page would see a broken connection.
    fn let_widgets_read(&self, req: &ServiceRequest) {
        if is_widget(routed_path(req))
            && let Some(origin) = req.headers().get(header::ORIGIN)
        {
            self.allow_origin(origin.clone());
        }
    }

    /// Assigns the request to its account, whose request log will show it.
    pub(crate) fn know(&self, caller: &Caller, req: &HttpRequest) {
        let Some(key) = &caller.key else { return };
        self.logged.replace(Some(Known {
            account: caller.account.id,
            key: key.id,
            key_prefix: key.prefix.clone(),
            method: req.method().as_str().to_owned(),
            path: log_path::shown(req),
        }));
    }

    /// The account of the request, once its key is known.
    pub(crate) fn account_id(&self) -> Option<AccountId> {
        self.logged.borrow().as_ref().map(|known| known.account)
    }

    /// Notes the resource that the request created, for the account's request log.
    pub(crate) fn made(&self, kind: ResourceKind, id: Uuid) {
        let id = ResourceId::from_uuid(id);
        self.made.set(Some(Resource { kind, id }));
    }

    fn begin(state: &HttpState, req: &ServiceRequest) -> Self {
        let at = state.services.clock().now();
        let path = routed_path(req);
        let v1 = is_v1(path);
        let widget = is_widget(path);
        let cors = v1 && !state.config.cors_origins.is_empty();
        let keyed = path != "/v1/models" || req.headers().contains_key(header::AUTHORIZATION);
        Self {
            id: mint(at),
            at,
            account: Cell::new(None),
            began: Instant::now(),
            address: Cell::new(None),
            logged: RefCell::new(None),
            made: Cell::new(None),
            error: Cell::new(None),
            callback: RefCell::new(None),
            // The origins of widget pages are only known behind the route.
            origin: RefCell::new(if cors {
                allowed_origin(state, req)
            } else {
                None
            }),
            cors: cors || widget,
            no_store: (v1 && keyed) || widget,
        }
    }

    /// Puts an error into its envelope, logs a 5xx, and adds the headers that every response has.
    fn finish(&self, answer: HttpResponse) -> HttpResponse {
        let mut answer = match answer.error() {
            Some(error) => match error.as_error::<ApiError>() {
                Some(error) => self.envelope(error),
                None => self.envelope(&ApiError::internal(error)),
            },
            None => answer,
        };
        self.add_headers(answer.headers_mut());
        answer.map_body(|_, body| in_pieces(body))
    }

    fn envelope(&self, error: &ApiError) -> HttpResponse {
        let status = error.code.status();
        self.error.set(Some(error.code.as_str()));
        // While Redis is unreachable, every request ends like this. The log says so once, when it begins.
        let is_told = error.code == Code::RateLimitUnavailable;
        if is_told {
            metrics().http.refused("unavailable");
        }
        if status.is_server_error() && !is_told {
            let cause = error.cause.as_deref().unwrap_or("");
            tracing::error!(request_id = %self.id, code = error.code.as_str(), cause, "answered with {status}");
        }
        let mut answer = HttpResponse::build(status);
        if let Some(seconds) = error.retry_after_s {
            answer.insert_header((header::RETRY_AFTER, seconds));
        }
        if let Some(allow) = &error.allow {
            answer.insert_header((header::ALLOW, &**allow));
        }
        if let Some(size) = error.size {
            answer.insert_header((header::CONTENT_RANGE, format!("bytes */{size}")));
        }
        if status == StatusCode::UNAUTHORIZED {
            answer.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        answer.json(Envelope {
            error: error.code.as_str(),
            message: &error.message,
            request_id: self.id,
        })
    }

    fn add_headers(&self, headers: &mut HeaderMap) {
        if let Ok(id) = HeaderValue::from_str(&self.id.to_string()) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if self.no_store {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(decision) = self.account.get() {
            headers.insert(LIMIT, decision.limit.into());
            headers.insert(REMAINING, decision.remaining.into());
            headers.insert(RESET, decision.reset_unix_seconds().into());
        }
        if self.cors {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = &*self.origin.borrow() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(CORS_ANSWER_HEADERS),
            );
        }
    }

    /// Counts a callback request without a valid provider signature.
    fn count_unbelieved(&self, state: &HttpState, status: StatusCode) {
        if let Some(address) = self.address.get()
            && status.is_client_error()
            && self.callback.borrow().is_some()
        {
            state.limits.count_unbelieved(address, self.at);
        }
    }

    /// Adds a request with a key to its account's request log.
    fn record(&self, state: &HttpState, answer: &HttpResponse) {
        let Some(known) = self.logged.take() else {
            return;
        };
        let about = self.about(answer, &known.path);
        state.services.request_logs().push(Logged {
            account: known.account,
            key: known.key,
            key_prefix: known.key_prefix,
            request: self.id,
            method: known.method,
            path: known.path,
            status: answer.status().as_u16(),
            error: self.error.get(),
            ip: self.address.get(),
            took: self.began.elapsed(),
            at: self.at,
            about,
        });
    }

    /// The resource that the request created, or else the one that its path names. `None` if the resource does not
    /// exist.
    fn about(&self, answer: &HttpResponse, path: &str) -> Option<Resource> {
        let status = answer.status();
        if status == StatusCode::NOT_FOUND {
            return None;
        }
        let location = answer.headers().get(header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        let made = location.and_then(Resource::of_path).or(self.made.get());
        made.filter(|_| status.is_success() || status.as_u16() == CLIENT_GONE)
            .or_else(|| Resource::of_path(path))
    }

    /// Logs the path's pattern: a client may put a phone number into the path itself.
    fn log(&self, pattern: Option<&str>, status: StatusCode) {
        tracing::info!(
            status = status.as_u16(),
            path = pattern.unwrap_or("-"),
            duration_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
    }

    /// Counts the response in the process metrics, under the route's pattern.
    fn count(&self, method: &Method, pattern: Option<String>, status: StatusCode) {
        let took = self.began.elapsed();
        let http = &metrics().http;
        http.answered(method.as_str(), pattern, status.as_u16(), took);
    }

    /// Logs and counts a request that is answered before routing. Metrics get no route for it: finding the route
    /// costs more than the refusal.
    fn log_early(&self, state: &HttpState, req: &ServiceRequest, status: StatusCode) {
        self.count(req.method(), None, status);
        if state.log_budget.take(self.at) {
            tracing::info!(
                request_id = %self.id,
                method = %req.method(),
                status = status.as_u16(),
                path = req.resource_map().match_pattern(routed_path(req)).as_deref().unwrap_or("-"),
                "answered"
            );
        }
    }
}

/// Splits a long body into pieces. Otherwise it would be copied whole into each connection's buffer, whether or not
/// the client reads it.
fn in_pieces(body: BoxBody) -> BoxBody {
    let BodySize::Sized(length @ PIECE_U64..) = body.size() else {
        return body;
    };
    match body.try_into_bytes() {
        Ok(mut rest) => {
            let pieces = std::iter::from_fn(move || {
                let piece = rest.split_to(rest.len().min(PIECE));
                (!piece.is_empty()).then_some(Ok::<_, Infallible>(piece))
            });
            BoxBody::new(SizedStream::new(length, stream::iter(pieces)))
        }
        Err(body) => body,
    }
}

fn allowed_origin(state: &HttpState, req: &ServiceRequest) -> Option<HeaderValue> {
    let origin = req.headers().get(header::ORIGIN)?;
    let listed = |allowed: &String| allowed == "*" || allowed.as_bytes() == origin.as_bytes();
    state
        .config
        .cors_origins
        .iter()
        .any(listed)
        .then(|| origin.clone())
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'static str,
    message: &'a str,
    request_id: RequestId,
}
