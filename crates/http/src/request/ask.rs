//! The one extractor of the handlers. Actix polls a handler's extractors concurrently, but the order of the checks is
//! part of the API. So this one extractor reads everything that a handler takes, step by step.

use std::marker::PhantomData;
use std::rc::Rc;

use actix_web::dev::{Path, Payload, Url};
use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use actix_web::{FromRequest, web};
use futures_util::future::LocalBoxFuture;
use offhook_ratelimit::{Decision, Timed};
use offhook_services::store::ApiKey;
use offhook_services::{Caller, Services};
use uuid::Uuid;

use super::body::FromBody;
use super::query::{FromQuery, QueryReader};
use crate::edge::exchange::Exchange;
use crate::edge::limits;
use crate::prelude::*;

/// What an API key must be allowed to do.
pub(crate) trait Permission {
    /// The required scope. `None`: any valid key on any plan.
    const SCOPE: Option<Scope>;
    /// Whether the account's plan must have the Engine module.
    const ENGINE_MODULE: bool = false;
}

macro_rules! permissions {
    ($($(#[$doc:meta])* $name:ident => $scope:expr $(, engine_module: $needed:literal)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Permission for $name {
            const SCOPE: Option<Scope> = $scope;
            $(const ENGINE_MODULE: bool = $needed;)?
        }
    )*};
}

permissions! {
    /// GET /v1/me only needs a valid key.
    AnyKey => None;
    AgentsRead => Some(Scope::AgentsRead);
    AgentsWrite => Some(Scope::AgentsWrite);
    CallsRead => Some(Scope::CallsRead);
    CallsWrite => Some(Scope::CallsWrite);
    ConversationsRead => Some(Scope::ConversationsRead);
    LogsRead => Some(Scope::LogsRead);
    WebhooksRead => Some(Scope::WebhooksRead);
    WebhooksWrite => Some(Scope::WebhooksWrite);
    BillingRead => Some(Scope::BillingRead);
    CampaignsRead => Some(Scope::CampaignsRead);
    CampaignsWrite => Some(Scope::CampaignsWrite);
    SuppressionsRead => Some(Scope::SuppressionsRead);
    SuppressionsWrite => Some(Scope::SuppressionsWrite);
    PhoneNumbersRead => Some(Scope::PhoneNumbersRead);
    PhoneNumbersWrite => Some(Scope::PhoneNumbersWrite);
    TeamRead => Some(Scope::TeamRead);
    IntegrationsRead => Some(Scope::IntegrationsRead);
    /// Also needs a plan with the Engine module.
    KnowledgeRead => Some(Scope::KnowledgeRead), engine_module: true;
    /// Also needs a plan with the Engine module.
    KnowledgeWrite => Some(Scope::KnowledgeWrite), engine_module: true;
}

/// What a handler reads from the path. A malformed id becomes the nil id, so every later check runs as it does for a
/// row that does not exist.
pub(crate) trait FromPath: Sized {
    fn read(id: &str) -> Self;

    /// Reads it from a path that holds more than an id.
    fn of(path: &Path<Url>) -> Self {
        Self::read(path.get("id").unwrap_or_default())
    }
}

impl FromPath for () {
    fn read(_: &str) -> Self {}
}

macro_rules! path_ids {
    ($($id:ident)*) => {$(
        impl FromPath for $id {
            fn read(id: &str) -> Self {
                id.parse().unwrap_or_else(|_| Self::nil())
            }
        }
    )*};
}

path_ids! { AgentId BatchId CampaignId ConversationId DeliveryId DocumentId EndpointId FolderId InvoiceId PhoneNumberId
ScenarioId SuppressionId TestRunId ToolId }

impl FromPath for CallHandle {
    fn read(id: &str) -> Self {
        id.parse().unwrap_or_else(|_| Self(ConversationId::nil()))
    }
}

/// A permitted request: the caller, and its path, query and body as validated values.
pub(crate) struct Ask<P, Id = (), Q = (), B = ()> {
    pub(crate) caller: Caller,
    pub(crate) id: Id,
    pub(crate) query: Q,
    pub(crate) body: B,
    pub(crate) state: web::Data<HttpState>,
    pub(crate) exchange: Rc<Exchange>,
    permission: PhantomData<P>,
}

impl<P, Id, Q, B> Ask<P, Id, Q, B> {
    pub(crate) const fn account(&self) -> AccountId {
        self.caller.account.id
    }

    pub(crate) fn services(&self) -> &Services {
        &self.state.services
    }

    /// Notes the resource that the request created: its request log entry links to it.
    pub(crate) fn made(&self, kind: ResourceKind, id: Uuid) {
        self.exchange.made(kind, id);
    }
}

impl<P, Id, Q, B> FromRequest for Ask<P, Id, Q, B>
where
    P: Permission + 'static,
    Id: FromPath + 'static,
    Q: FromQuery + 'static,
    B: FromBody + 'static,
{
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let payload = payload.take();
        Box::pin(async move {
            let state = state(&req)?;
            let exchange = Exchange::of(&req)?;
            let (caller, taken) = authenticate(&state, req.headers()).await?;
            exchange.know(&caller, &req);
            admit(&exchange, taken?)?;
            permit(&caller, P::SCOPE, P::ENGINE_MODULE)?;
            let id = Id::of(req.match_info());
            let query = read_query(&req)?;
            let body = B::read(&req, payload).await?;
            Ok(Self {
                caller,
                id,
                query,
                body,
                state,
                exchange,
                permission: PhantomData,
            })
        })
    }
}

/// A request without a key: GET /v1/models.
pub(crate) struct Open<Q> {
    pub(crate) query: Q,
    pub(crate) state: web::Data<HttpState>,
}

impl<Q: FromQuery> FromRequest for Open<Q> {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        let read = || {
            Ok(Self {
                state: state(req)?,
                query: read_query(req)?,
            })
        };
        std::future::ready(read())
    }
}

pub(crate) fn state(req: &HttpRequest) -> Result<web::Data<HttpState>, ApiError> {
    req.app_data::<web::Data<HttpState>>()
        .cloned()
        .ok_or_else(|| ApiError::internal("the application has no state"))
}

/// The decision of the account's bucket; `None` while limits are off.
type Taken = Result<Option<Timed<Decision>>, ApiError>;

/// The caller, for whom a token has been taken from the account's bucket, which counts every request with a valid key.
async fn authenticate(state: &HttpState, headers: &HeaderMap) -> Result<(Caller, Taken), ApiError> {
    let token = bearer_token(headers).ok_or_else(ApiError::unauthorized)?;
    let (shared, token) = (state.clone(), token.to_owned());
    let both = async move {
        let caller = shared.services.keys().authenticate(&token).await?;
        let caller = caller.ok_or_else(ApiError::unauthorized)?;
        let per_minute = caller.terms.requests_per_minute;
        // Not the request's arrival time: the request may have waited for the database since.
        let now = shared.services.clock().now();
        let limits = &shared.limits;
        let taken = limits.take_account(caller.account.id, per_minute, now);
        let taken = taken.await;
        Ok((caller, taken))
    };
    match state.limits.runtime() {
        None => both.await,
        Some(runtime) => {
            let both = runtime.spawn(both).await;
            both.unwrap_or_else(|error| Err(ApiError::internal(error)))
        }
    }
}

/// The token of exactly one `Authorization: Bearer` header. The scheme is case-insensitive.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(AUTHORIZATION);
    let (line, None) = (lines.next()?, lines.next()) else {
        return None;
    };
    let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim_matches(' '))
}

/// Notes what is left in the account's bucket. Fails if it was empty.
fn admit(exchange: &Exchange, taken: Option<Timed<Decision>>) -> Result<(), ApiError> {
    let Some(taken) = taken else {
        return Ok(());
    };
    exchange.account.set(Some(taken.answer));
    if taken.answer.allowed {
        Ok(())
    } else {
        Err(limits::account_exceeded(&taken))
    }
}

/// The caller's API key. Behind [`authenticate`] there always is one.
pub(crate) fn key_of(caller: &Caller) -> Result<&ApiKey, ApiError> {
    caller.key.as_ref().ok_or_else(ApiError::unauthorized)
}

/// Checks read-only, then the scope, then the plan.
fn permit(caller: &Caller, scope: Option<Scope>, engine_module: bool) -> Result<(), ApiError> {
    let Some(scope) = scope else {
        return Ok(());
    };
    let key = key_of(caller)?;
    if key.read_only && scope.writes() {
        return Err(Code::Forbidden.error("This key is read-only."));
    }
    if !key.scopes.contains(scope) {
        return Err(Code::InsufficientScope.error(format!("This key lacks the scope {scope}.")));
    }
    if !caller.terms.api {
        return Err(Code::PlanLimit.error("The API is available from the Starter plan upward."));
    }
    if engine_module && !caller.terms.engine_module {
        return Err(
            Code::PlanLimit.error("Knowledge needs a plan with the Engine module: Pro or larger.")
        );
    }
    Ok(())
}

pub(crate) fn read_query<Q: FromQuery>(req: &HttpRequest) -> Result<Q, ApiError> {
    let mut reader = QueryReader::new(req.path(), req.query_string());
    let read = Q::read(&mut reader).and_then(|query| reader.finish().map(|()| query));
    read.map_err(|fault| Code::InvalidQuery.error(fault.to_string()))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn token(lines: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(AUTHORIZATION, HeaderValue::from_static(line));
        }
        bearer_token(&headers).map(str::to_owned)
    }

    #[test]
    fn one_bearer_token_is_read_whatever_the_case_of_its_scheme() {
        for line in ["Bearer t", "bearer t", "BEARER  t"] {
            assert_eq!(token(&[line]).as_deref(), Some("t"), "{line}");
        }
        for lines in [
            &[][..],
            &["t"],
            &["Basic t"],
            &["Bearert"],
            &["Bearer t", "Bearer t"],
        ] {
            assert_eq!(token(lines), None, "{lines:?}");
        }
    }

    #[test]
    fn a_path_id_that_is_none_names_no_row() {
        assert_eq!(AgentId::read("x"), AgentId::nil());
        assert_eq!(CallHandle::read("x").0, ConversationId::nil());
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        assert_eq!(AgentId::read(id).to_string(), id);
        assert_eq!(CallHandle::read(&format!("call_{id}")).0.to_string(), id);
        assert_eq!(CallHandle::read(id).0, ConversationId::nil());
    }
}
