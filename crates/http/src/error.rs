//! The closed table of error codes, and the error that every handler returns.

mod convert;

use std::borrow::Cow;
use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use offhook_domain::FieldError;
use offhook_services::Refusal;

/// Seconds after which a client may retry while the database is unreachable.
pub(crate) const STORE_RETRY_AFTER_S: u64 = 5;

macro_rules! error_codes {
    ($($variant:ident => $text:literal, $status:ident;)*) => {
        /// Every error code of the API. Clients branch on its text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable text.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The HTTP status code, always the same for an error code.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }
        }
    };
}

error_codes! {
    Unauthorized          => "unauthorized",            UNAUTHORIZED;
    Forbidden             => "forbidden",               FORBIDDEN;
    InsufficientScope     => "insufficient_scope",      FORBIDDEN;
    RateLimitExceeded     => "rate_limit_exceeded",     TOO_MANY_REQUESTS;
    RateLimitUnavailable  => "rate_limit_unavailable",  SERVICE_UNAVAILABLE;
    InvalidJson           => "invalid_json",            BAD_REQUEST;
    InvalidBody           => "invalid_body",            BAD_REQUEST;
    InvalidQuery          => "invalid_query",           BAD_REQUEST;
    NotFound              => "not_found",               NOT_FOUND;
    PlanLimit             => "plan_limit",              FORBIDDEN;
    Conflict              => "conflict",                CONFLICT;
    UnsupportedRuntime    => "unsupported_runtime",     UNPROCESSABLE_ENTITY;
    PaymentRequired       => "payment_required",        PAYMENT_REQUIRED;
    UpstreamError         => "upstream_error",          BAD_GATEWAY;
    InternalError         => "internal_error",          INTERNAL_SERVER_ERROR;
    AgentNotFound         => "agent_not_found",         FORBIDDEN;
    IdempotencyConflict   => "idempotency_conflict",    CONFLICT;
    AgentDisabled         => "agent_disabled",          FORBIDDEN;
    InvalidIdempotencyKey => "invalid_idempotency_key", BAD_REQUEST;
    KeyBudgetExhausted    => "key_budget_exhausted",    PAYMENT_REQUIRED;
    UpstreamUnreachable   => "upstream_unreachable",    BAD_GATEWAY;
    ServiceUnavailable    => "service_unavailable",     SERVICE_UNAVAILABLE;
    PayloadTooLarge       => "payload_too_large",       PAYLOAD_TOO_LARGE;
    MethodNotAllowed      => "method_not_allowed",      METHOD_NOT_ALLOWED;
    RangeNotSatisfiable   => "range_not_satisfiable",   RANGE_NOT_SATISFIABLE;
}

/// The error that a client receives, and its cause for the log. The edge adds the envelope, because it has the
/// request id.
#[derive(Debug)]
pub struct ApiError {
    pub(crate) code: Code,
    pub(crate) message: Cow<'static, str>,
    pub(crate) retry_after_s: Option<u64>,
    pub(crate) allow: Option<Box<str>>,
    /// The file size, when a requested range lies outside the file.
    pub(crate) size: Option<u64>,
    pub(crate) cause: Option<Box<str>>,
    /// The invalid field of a body.
    pub(crate) fault: Option<Box<FieldError>>,
    /// The rule that forbids the request.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Code {
    /// An error of this code with a message for people.
    pub fn error(self, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError {
            code: self,
            message: message.into(),
            retry_after_s: None,
            allow: None,
            size: None,
            cause: None,
            fault: None,
            refusal: None,
        }
    }
}

impl ApiError {
    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Adds the cause for the log; the client never sees it.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string().into());
        self
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The invalid field, for errors in a body.
    pub fn fault(&self) -> Option<&FieldError> {
        self.fault.as_deref()
    }

    /// The rule that forbids the request, if one does.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Seconds after which the client may retry, where that is known.
    pub const fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    /// Logs the cause of a 5xx, for responses without the envelope.
    pub fn log(&self, where_: &'static str) {
        let cause = self.cause.as_deref().unwrap_or("");
        tracing::error!(
            code = self.code.as_str(),
            cause,
            "{where_} could not answer"
        );
    }

    pub const fn code(&self) -> Code {
        self.code
    }

    /// One message for a missing resource, a resource of another account, and an unknown path.
    pub fn not_found() -> Self {
        Code::NotFound.error("Resource not found.")
    }

    pub(crate) fn unauthorized() -> Self {
        Code::Unauthorized.error("Send a valid API key as `Authorization: Bearer <API_KEY>`.")
    }

    /// Refuses a page that may not talk to the agent.
    pub(crate) fn foreign_page() -> Self {
        Code::Forbidden.error("Pages of this origin may not talk to this agent: name the origin in the widget's `allowed_origins`.",
        )
    }

    pub(crate) fn method_not_allowed(allow: &str) -> Self {
        Self {
            allow: Some(allow.into()),
            ..Code::MethodNotAllowed.error(format!("This address answers {allow} only."))
        }
    }

    pub(crate) fn range_not_satisfiable(size: u64) -> Self {
        Self {
            size: Some(size),
            ..Code::RangeNotSatisfiable.error(format!(
                "`Range`: the file has {size} bytes; ask for some of these"
            ))
        }
    }

    pub(crate) fn internal(cause: impl fmt::Display) -> Self {
        Code::InternalError
            .error("Something went wrong on our side. The request id tells us what.")
            .because(cause)
    }

    pub(crate) fn database_unavailable(cause: impl fmt::Display) -> Self {
        Code::ServiceUnavailable
            .error("The service cannot reach its database at the moment. Try again shortly.")
            .retry_after(STORE_RETRY_AFTER_S)
            .because(cause)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for ApiError {}

/// A bare response: the edge adds the envelope.
impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.code.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes and statuses that clients rely on.
    const DOCUMENTED: [(&str, u16); 25] = [
        ("unauthorized", 401),
        ("forbidden", 403),
        ("insufficient_scope", 403),
        ("rate_limit_exceeded", 429),
        ("rate_limit_unavailable", 503),
        ("invalid_json", 400),
        ("invalid_body", 400),
        ("invalid_query", 400),
        ("not_found", 404),
        ("plan_limit", 403),
        ("conflict", 409),
        ("unsupported_runtime", 422),
        ("payment_required", 402),
        ("upstream_error", 502),
        ("internal_error", 500),
        ("agent_not_found", 403),
        ("idempotency_conflict", 409),
        ("agent_disabled", 403),
        ("invalid_idempotency_key", 400),
        ("key_budget_exhausted", 402),
        ("upstream_unreachable", 502),
        ("service_unavailable", 503),
        ("payload_too_large", 413),
        ("method_not_allowed", 405),
        ("range_not_satisfiable", 416),
    ];

    #[test]
    fn the_table_is_the_documented_one() {
        let table: Vec<_> = Code::ALL
            .iter()
            .map(|code| (code.as_str(), code.status().as_u16()))
            .collect();
        assert_eq!(table, DOCUMENTED);
    }

    #[test]
    fn the_reason_of_an_internal_error_is_not_in_its_message() {
        let error = ApiError::internal("SELECT failed at /var/lib");
        assert!(!error.message.contains("SELECT"));
        assert_eq!(error.cause.as_deref(), Some("SELECT failed at /var/lib"));
    }
}
