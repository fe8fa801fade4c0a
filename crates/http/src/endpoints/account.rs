//! `GET /v1/me`.

use crate::prelude::*;
use crate::request::ask::{AnyKey, key_of};
use crate::wire::account::MeBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/v1/me").get(me)]
}

/// The caller's account; the only operation of a `free` account.
async fn me(ask: Ask<AnyKey>) -> Reply {
    let live_calls = ask.services().calls().live(ask.account()).await?;
    let remaining = ask.exchange.account.get().map(|bucket| bucket.remaining);
    let who = (&ask.caller, key_of(&ask.caller)?);
    reply::ok(&MeBody::new(who, remaining, live_calls))
}
