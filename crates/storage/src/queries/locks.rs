//! Row locks that a transaction holds until its end. On SQLite the single writer needs none.

use crate::prelude::*;

/// Locks the account's row, so that one node at a time counts its live calls; `None` if another has locked it. The
/// wallet's row would not do: where calls are placed without a pause, it is never free.
pub(crate) async fn try_lock_account(
    conn: &mut Conn,
    account: AccountId,
) -> Result<Option<Dialing>> {
    Ok(accounts::table
        .find(V(account))
        .select(Dialing::as_select())
        .locked("FOR NO KEY UPDATE SKIP LOCKED")
        .found(conn)
        .await?)
}

/// Serializes transactions of one account. Rows that refer to the account can be written meanwhile.
pub(crate) async fn lock_account(conn: &mut Conn, account: AccountId) -> Result<()> {
    ensure!(conn.db() == Db::Postgres, ());
    accounts::table
        .find(V(account))
        .select(accounts::id)
        .locked("FOR NO KEY UPDATE")
        .run(conn)
        .await
}

/// The status of an agent of the account. Waits for an archiving in progress; a later one waits for this transaction's
/// end.
pub(crate) async fn hold_agent(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<AgentStatus>> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(agents::status)
        .locked("FOR SHARE")
        .found(conn)
        .await?)
}

/// Makes the endpoint's deletion or disabling wait for this transaction's end, and waits for one in progress.
pub(crate) async fn hold_endpoint(conn: &mut Conn, id: EndpointId) -> Result<()> {
    ensure!(conn.db() == Db::Postgres, ());
    endpoints::table
        .find(V(id))
        .select(endpoints::id)
        .locked("FOR SHARE")
        .run(conn)
        .await
}

/// Locks these deliveries' rows in id order. Every transaction that waits for them uses this order, so no two deadlock.
pub(crate) async fn lock_deliveries(conn: &mut Conn, ids: Vec<DeliveryId>) -> Result<()> {
    ensure!(conn.db() == Db::Postgres, ());
    deliveries::table
        .filter(deliveries::id.eq_any(ids.into_iter().map(V)))
        .order(deliveries::id)
        .select(deliveries::id)
        .locked("FOR NO KEY UPDATE")
        .run(conn)
        .await
}

/// Locks documents against deletion.
pub(crate) async fn hold_documents(conn: &mut Conn, ids: &[DocumentId]) -> Result<()> {
    ensure!(conn.db() == Db::Postgres, ());
    documents::table
        .filter(documents::id.eq_any(ids.iter().copied().map(V)))
        .order(documents::id)
        .select(documents::id)
        .locked("FOR SHARE")
        .run(conn)
        .await
}

/// Locks an endpoint's open deliveries as [`lock_deliveries`] does.
pub(crate) async fn lock_open_deliveries(conn: &mut Conn, endpoint: EndpointId) -> Result<()> {
    if conn.db() == Db::Postgres {
        diesel::sql_query(
            "SELECT count(*) FROM (SELECT id FROM deliveries \
               WHERE endpoint_id = $1 AND state IN ('pending', 'retrying') \
               ORDER BY id FOR NO KEY UPDATE) AS open",
        )
        .bind::<sql::Uuid, _>(V(endpoint))
        .execute(conn)
        .await?;
    }
    Ok(())
}

/// Locks these conversations, and returns those that no other transaction had locked.
pub(crate) async fn skip_locked_calls(
    conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>> {
    ensure!(conn.db() == Db::Postgres, ids);
    Ok(calls::table
        .filter(calls::id.eq_any(ids.into_iter().map(V)))
        .order(calls::id)
        .select(calls::id)
        .locked("FOR UPDATE SKIP LOCKED")
        .load(conn)
        .await?)
}
