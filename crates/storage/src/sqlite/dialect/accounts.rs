//! The statements on accounts and their keys that differ, for SQLite.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, AgentId, AgentStatus, Timestamp};

use super::super::Conn;
use crate::schema::{accounts, agents, api_keys};
use crate::sql::V;
use crate::{Account, ApiKey, StoreError};

/// The key with this digest, its account, and the present by the clock that keys are judged by: the process's own.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (now, _): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>, StoreError> {
    let found: Option<(ApiKey, Account)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select()))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(key, account)| (key, account, now)))
}

/// Takes the account's row for the duration of the transaction; the one writer has it anyway.
pub(crate) async fn try_lock_account(
    _conn: &mut Conn,
    _account: AccountId,
) -> Result<bool, StoreError> {
    Ok(true)
}

/// Keeps two transactions of one account apart; the one writer does.
pub(crate) async fn lock_account(_conn: &mut Conn, _account: AccountId) -> Result<(), StoreError> {
    Ok(())
}

/// The status of an agent of the account, for the duration of the transaction.
pub(crate) async fn hold_agent(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<AgentStatus>, StoreError> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(agents::status)
        .first(conn)
        .await
        .optional()?)
}
