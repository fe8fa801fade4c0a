//! The response of GET /v1/me.

use offhook_services::Caller;
use offhook_services::store::{Account, ApiKey};
use serde::Serialize;

use super::shown;

/// The caller and its limits.
#[derive(Serialize)]
pub(crate) struct MeBody<'a> {
    account: AccountBody<'a>,
    key: KeyBody<'a>,
    rate_limit: RateLimitBody,
    live_calls: i64,
}

shown! {
    AccountBody(account: Account) {
        id,
        name,
        plan,
    }
}

shown! {
    KeyBody(key: ApiKey) {
        id,
        name,
        prefix,
        scopes,
        read_only,
        created_at,
        expires_at,
        last_used_at,
    }
}

#[derive(Serialize)]
struct RateLimitBody {
    requests_per_minute: u32,
    remaining: u32,
}

impl<'a> MeBody<'a> {
    /// The caller's account and key, with the tokens that the account's bucket has left.
    pub(crate) fn new(
        (caller, key): (&'a Caller, &'a ApiKey),
        remaining: Option<u32>,
        live_calls: i64,
    ) -> Self {
        let requests_per_minute = caller.terms.requests_per_minute;
        Self {
            account: AccountBody(&caller.account),
            key: KeyBody(key),
            rate_limit: RateLimitBody {
                requests_per_minute,
                remaining: remaining.unwrap_or(requests_per_minute),
            },
            live_calls,
        }
    }
}
