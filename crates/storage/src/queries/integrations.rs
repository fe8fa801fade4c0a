//! What accounts have connected.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, IntegrationStatus, Timestamp};

use crate::database::Conn;
use crate::schema::integration_connections as connections;
use crate::sql::V;
use crate::{Connection, Result, Store};

impl Store {
    /// Everything that the account has connected, in no order: a row for each toolkit of the catalog at most.
    pub fn connections(&self, account: AccountId) -> Answer<'_, Vec<Connection>> {
        read!(self, |conn| {
            Ok(connections::table
                .filter(connections::account_id.eq(V(account)))
                .select(Connection::as_select())
                .load(conn)
                .await?)
        })
    }
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    toolkit: &str,
) -> Result<Option<Connection>> {
    Ok(connections::table
        .find((V(account), toolkit.to_owned()))
        .select(Connection::as_select())
        .found(conn)
        .await?)
}

/// Writes that an account has connected a toolkit now, over what was there.
pub(crate) async fn connected(
    conn: &mut Conn,
    (account, toolkit): (AccountId, String),
    at: Timestamp,
) -> Result<Connection> {
    let connection = Connection {
        account_id: account,
        toolkit,
        status: IntegrationStatus::Active,
        connected_at: Some(at),
        last_error: None,
        updated_at: at,
    };
    put(conn, connection.clone()).await?;
    Ok(connection)
}

/// Writes how an account stands to a toolkit, over what was there. It is connected since it last became active.
pub(crate) async fn state(
    conn: &mut Conn,
    (account, toolkit): (AccountId, String),
    (status, last_error): (IntegrationStatus, Option<String>),
    at: Timestamp,
) -> Result<Connection> {
    let active = |status| status == IntegrationStatus::Active;
    let before = find(conn, account, &toolkit).await?;
    let was_active = before.as_ref().is_some_and(|before| active(before.status));
    let connected_at = match before.and_then(|before| before.connected_at) {
        _ if active(status) && !was_active => Some(at),
        before => before,
    };
    let connection = Connection {
        account_id: account,
        toolkit,
        status,
        connected_at,
        last_error,
        updated_at: at,
    };
    put(conn, connection.clone()).await?;
    Ok(connection)
}

/// Writes a connection, over what was there.
async fn put(conn: &mut Conn, connection: Connection) -> Result<()> {
    diesel::insert_into(connections::table)
        .values((
            connections::account_id.eq(V(connection.account_id)),
            connections::toolkit.eq(connection.toolkit),
            connections::status.eq(V(connection.status)),
            connections::connected_at.eq(connection.connected_at),
            connections::last_error.eq(connection.last_error.clone()),
            connections::updated_at.eq(V(connection.updated_at)),
        ))
        .on_conflict((connections::account_id, connections::toolkit))
        .do_update()
        .set((
            connections::status.eq(V(connection.status)),
            connections::connected_at.eq(connection.connected_at),
            connections::last_error.eq(connection.last_error),
            connections::updated_at.eq(V(connection.updated_at)),
        ))
        .run(conn)
        .await
}
