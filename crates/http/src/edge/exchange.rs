//! One request and its response: what the edge, the extractors and the logs share about them.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Instant;

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use offhook_metrics::metrics;
use offhook_ratelimit::Decision;
use offhook_services::store::mint;
use offhook_services::{Caller, Logged, Told};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::paths::{is_v1, is_widget, routed_path};
use super::{cors, log_fault, log_path};
use crate::prelude::*;

/// The status in the account's request log when the client disconnected before the response. Proxies write 499, since
/// HTTP has no status code for a response that no client receives.
pub(super) const CLIENT_GONE: u16 = 499;

/// One request and its response, shared by the edge and the extractor.
pub(crate) struct Exchange {
    pub(crate) id: RequestId,
    /// When the request arrived. Everything in the request uses this as the present time.
    pub(crate) at: Timestamp,
    /// The account bucket's decision; set once the key is known.
    pub(crate) account: Cell<Option<Decision>>,
    began: Instant,
    /// The address that the rate limits count.
    pub(super) address: Cell<Option<IpAddr>>,
    /// The request log's details; set once the key is known.
    logged: RefCell<Option<Known>>,
    /// The created resource, where the response's `Location` does not name it.
    made: Cell<Option<Resource>>,
    /// The code in the error envelope of the response.
    pub(super) error: Cell<Option<&'static str>>,
    /// The message in it, as the request log shows it.
    message: RefCell<Option<String>>,
    /// The request's body, if it is short: the log describes that of a refused request.
    sent: RefCell<Option<Vec<u8>>>,
    /// The origin that may read the response.
    pub(super) origin: RefCell<Option<HeaderValue>>,
    /// Set for provider callbacks. The inner permit is set when the address had sent too many unsigned requests.
    pub(super) callback: RefCell<Option<Option<OwnedSemaphorePermit>>>,
    pub(super) cors: bool,
    pub(super) no_store: bool,
}

/// A request whose key is known.
struct Known {
    account: AccountId,
    key: KeyId,
    key_prefix: String,
    method: String,
    path: String,
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
    pub(super) fn let_widgets_read(&self, req: &ServiceRequest) {
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

    /// The address that the rate limits count.
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.address.get()
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

    pub(super) fn begin(state: &HttpState, req: &ServiceRequest) -> Self {
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
            message: RefCell::new(None),
            sent: RefCell::new(None),
            callback: RefCell::new(None),
            // The origins of widget pages are only known behind the route.
            origin: RefCell::new(if cors {
                cors::allowed_origin(&state.config.cors_origins, req)
            } else {
                None
            }),
            cors: cors || widget,
            no_store: (v1 && keyed) || widget,
        }
    }

    /// Counts a callback request without a valid provider signature.
    pub(super) fn count_unbelieved(&self, state: &HttpState, status: StatusCode) {
        if let Some(address) = self.address.get()
            && status.is_client_error()
            && self.callback.borrow().is_some()
        {
            state.limits.count_unbelieved(address, self.at);
        }
    }

    /// Adds a request with a key to its account's request log.
    pub(super) fn record(&self, state: &HttpState, answer: &HttpResponse) {
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
            told: self.message.take().map(|message| Told {
                message,
                body: self.sent.take().as_deref().map(log_fault::shape),
            }),
        });
    }

    /// Notes the message of an error response, for the log.
    pub(super) fn note_message(&self, text: &str) {
        // A refusal that no log shows must cost next to nothing.
        if self.logged.borrow().is_some() {
            self.message.replace(Some(log_fault::message(text)));
        }
    }

    /// Notes the body of the request, for the log of a refused one.
    pub(crate) fn note_body(&self, body: &[u8]) {
        if !body.is_empty()
            && body.len() <= log_fault::LONGEST_BODY
            && self.logged.borrow().is_some()
        {
            self.sent.replace(Some(body.to_owned()));
        }
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
    pub(super) fn log(&self, pattern: Option<&str>, status: StatusCode) {
        tracing::info!(
            status = status.as_u16(),
            path = pattern.unwrap_or("-"),
            duration_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
    }

    /// Counts the response in the process metrics, under the route's pattern.
    pub(super) fn count(&self, method: &Method, pattern: Option<String>, status: StatusCode) {
        let took = self.began.elapsed();
        let http = &metrics().http;
        http.answered(method.as_str(), pattern, status.as_u16(), took);
    }

    /// Logs and counts a request that is answered before routing. Metrics get no route for it: finding the route
    /// costs more than the refusal.
    pub(super) fn log_early(&self, state: &HttpState, req: &ServiceRequest, status: StatusCode) {
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
