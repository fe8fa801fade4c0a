//! Requests to an application's API with an account's access token, and error messages for models.

use offhook_domain::json::read_foreign;
use offhook_domain::ports::{FunctionCall, FunctionError};
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::body;

pub(super) type Result<T, E = FunctionError> = std::result::Result<T, E>;

/// An account's access to an application.
#[derive(Clone, Copy)]
pub(super) struct Api<'a> {
    client: &'a Client,
    base: &'a Url,
    name: &'static str,
    token: &'a str,
    /// A header of every request.
    header: Option<(&'static str, &'static str)>,
}

/// Why a request has no usable answer.
pub(super) enum Fault {
    /// The connection did not open: nothing was done.
    NotSent,
    /// No complete answer came: the effect is unknown.
    NoAnswer,
    /// The access token was rejected: nothing was done.
    Unauthorized,
    /// Refused with this status, and the pause in seconds that the application requested.
    Status(u16, Option<u64>),
    /// The answer is malformed: the effect is unknown.
    Malformed,
}

impl Fault {
    /// Whether the request may have had an effect.
    pub(super) const fn is_unclear(&self) -> bool {
        match self {
            Self::NoAnswer | Self::Malformed => true,
            Self::Status(status, _) => *status == 408 || *status >= 500,
            Self::NotSent | Self::Unauthorized => false,
        }
    }
}

/// Parses the arguments of a call. The error is a sentence for the model.
pub(super) fn read<T: DeserializeOwned>(call: FunctionCall<'_>) -> Result<T> {
    serde_json::from_str(call.arguments).map_err(|_| message("The arguments cannot be read."))
}

pub(super) fn message(text: &str) -> FunctionError {
    FunctionError::Said(text.to_owned())
}

impl<'a> Api<'a> {
    pub(super) const fn new(
        client: &'a Client,
        base: &'a Url,
        name: &'static str,
        token: &'a str,
    ) -> Self {
        Self {
            client,
            base,
            name,
            token,
            header: None,
        }
    }

    /// The same with this header.
    pub(super) const fn with(self, name: &'static str, value: &'static str) -> Self {
        Self {
            header: Some((name, value)),
            ..self
        }
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, Fault> {
        self.send(Method::GET, path, query, None).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        value: &Value,
    ) -> Result<T, Fault> {
        self.send(Method::POST, path, query, Some(value)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        value: Option<&Value>,
    ) -> Result<T, Fault> {
        let mut url = self.base.join(path).map_err(|_| Fault::NotSent)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token));
        let mut bearer = bearer.map_err(|_| Fault::Unauthorized)?;
        bearer.set_sensitive(true);
        let mut request = self
            .client
            .request(method, url)
            .header(AUTHORIZATION, bearer);
        if let Some((name, value)) = self.header {
            request = request.header(name, value);
        }
        if let Some(value) = value {
            request = request.json(value);
        }
        let answer = request
            .send()
            .await
            .map_err(|error| match error.is_connect() {
                true => Fault::NotSent,
                false => Fault::NoAnswer,
            })?;
        let status = answer.status();
        if status == StatusCode::UNAUTHORIZED {
            return Err(Fault::Unauthorized);
        }
        if !status.is_success() {
            let pause = answer.headers().get(RETRY_AFTER);
            let pause = pause.and_then(|value| value.to_str().ok()?.parse().ok());
            return Err(Fault::Status(status.as_u16(), pause));
        }
        let body = body(answer).await.map_err(|_| Fault::NoAnswer)?;
        read_foreign(&body).map_err(|_| Fault::Malformed)
    }

    pub(super) fn no_such_function(&self) -> FunctionError {
        message(&format!("The {} has no such function.", self.name))
    }

    /// The error message for a failed read.
    pub(super) fn not_read(&self, fault: Fault) -> FunctionError {
        let name = self.name;
        FunctionError::Said(match fault {
            Fault::Unauthorized => return FunctionError::Unauthorized,
            Fault::NotSent | Fault::NoAnswer => {
                format!(
                    "The {name} did not answer. Try once more, or say that it cannot be looked up now."
                )
            }
            Fault::Malformed => {
                format!(
                    "The {name} answered in a form that cannot be read. Say that it cannot be looked up now."
                )
            }
            Fault::Status(status, pause) => self.refused(status, pause),
        })
    }

    /// The error message for a failed write; `done` is its verb, such as `booked`.
    pub(super) fn not_done(&self, done: &str, fault: &Fault) -> FunctionError {
        let name = self.name;
        FunctionError::Said(match *fault {
            Fault::Unauthorized => return FunctionError::Unauthorized,
            Fault::NotSent => format!("The {name} cannot be reached: nothing was {done}."),
            Fault::Status(status, pause) if !fault.is_unclear() => {
                format!("{} Nothing was {done}.", self.refused(status, pause))
            }
            Fault::Status(..) | Fault::NoAnswer | Fault::Malformed => format!(
                "The {name} gave no clear answer: it may have been {done}, or not. Do not try again; say that somebody \
                 will look after it and confirm."
            ),
        })
    }

    fn refused(&self, status: u16, pause: Option<u64>) -> String {
        let name = self.name;
        match (status, pause) {
            (429, Some(seconds)) => {
                format!("The {name} is asked too often: it wants a pause of {seconds} s.")
            }
            (429, None) => format!("The {name} is asked too often at the moment."),
            (status, _) => format!("The {name} refused with HTTP status {status}."),
        }
    }
}
