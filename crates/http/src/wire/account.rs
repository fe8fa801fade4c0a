//! The answer of GET /v1/me.

use offhook_domain::{AccountId, KeyId, Plan, Scopes, Timestamp};
use offhook_services::Caller;
use offhook_services::store::ApiKey;
use serde::Serialize;

/// Who asks, and how much it may.
#[derive(Serialize)]
pub(crate) struct MeBody<'a> {
    account: AccountBody<'a>,
    key: KeyBody<'a>,
    rate_limit: RateLimitBody,
    live_calls: i64,
}

#[derive(Serialize)]
struct AccountBody<'a> {
    id: AccountId,
    name: &'a str,
    plan: Plan,
}

#[derive(Serialize)]
struct KeyBody<'a> {
    id: KeyId,
    name: &'a str,
    prefix: &'a str,
    scopes: Scopes,
    read_only: bool,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct RateLimitBody {
    requests_per_minute: u32,
    remaining: u32,
}

impl<'a> MeBody<'a> {
    /// What a caller reads of itself, with the tokens that its account has left.
    pub(crate) fn new(
        (caller, key): (&'a Caller, &'a ApiKey),
        remaining: Option<u32>,
        live_calls: i64,
    ) -> Self {
        let account = &caller.account;
        let requests_per_minute = caller.terms.requests_per_minute;
        Self {
            account: AccountBody {
                id: account.id,
                name: &account.name,
                plan: account.plan,
            },
            key: KeyBody {
                id: key.id,
                name: &key.name,
                prefix: &key.prefix,
                scopes: key.scopes,
                read_only: key.read_only,
                created_at: key.created_at,
                expires_at: key.expires_at,
                last_used_at: key.last_used_at,
            },
            rate_limit: RateLimitBody {
                requests_per_minute,
                remaining: remaining.unwrap_or(requests_per_minute),
            },
            live_calls,
        }
    }
}
