//! The statements on accounts and their keys that differ, for PostgreSQL.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, AgentId, AgentStatus, Timestamp};

use super::super::Conn;
use super::clock_timestamp;
use crate::schema::{accounts, agents, api_keys};
use crate::sql::V;
use crate::{Account, ApiKey, StoreError};

/// The key with this digest, its account, and the present by the clock that keys are judged by: one look-up.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (_, offset): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>, StoreError> {
    let found: Option<(ApiKey, Account, Timestamp)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select(), clock_timestamp()))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(key, account, now)| {
        let now = Timestamp::from_micros(now.micros().saturating_add(offset));
        (key, account, now)
    }))
}

/// Takes the account's row for the duration of the transaction, so that one node at a time counts its live calls;
/// `false` if another has it. Not the wallet's row: where calls are placed without a pause, it is never free.
pub(crate) async fn try_lock_account(
    conn: &mut Conn,
    account: AccountId,
) -> Result<bool, StoreError> {
    let locked: Option<AccountId> = accounts::table
        .find(V(account))
        .select(accounts::id)
        .for_no_key_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?;
    Ok(locked.is_some())
}

/// Keeps two transactions of one account apart. Rows that refer to the account can be written meanwhile.
pub(crate) async fn lock_account(conn: &mut Conn, account: AccountId) -> Result<(), StoreError> {
    let _: Option<AccountId> = accounts::table
        .find(V(account))
        .select(accounts::id)
        .for_no_key_update()
        .first(conn)
        .await
        .optional()?;
    Ok(())
}

/// The status of an agent of the account; its archiving waits for the transaction's end, and one under way is waited for.
pub(crate) async fn hold_agent(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<AgentStatus>, StoreError> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(agents::status)
        .for_share()
        .first(conn)
        .await
        .optional()?)
}
