//! `GET /v1/me`.

use crate::ask::{AnyKey, Ask};
use crate::reply::{self, Reply};
use crate::wire::account::MeBody;

/// Who asks; the only operation of a `free` account (decision 3.4).
pub(crate) async fn me(ask: Ask<AnyKey>) -> Reply {
    let live_calls = ask.services().store().live_calls(ask.account()).await?;
    let remaining = ask.exchange.account.get().map(|bucket| bucket.remaining);
    reply::ok(&MeBody::new(&ask.caller, remaining, live_calls))
}
