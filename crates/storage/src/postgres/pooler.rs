//! Poolers in transaction mode, which lend a session of the server to a client for one transaction.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::connect::{Door, NoSession, SESSION};
use crate::{Result, StoreError};

/// A statement that one client prepares, and that another only finds in a session that both were lent.
const PREPARED: &str = "SELECT 1 AS prepared_by_another";

/// How often to look. On a busy pooler, a third client may get the session in between.
const LOOKS: usize = 5;

/// How often to look once it is known that there is a pooler, and not yet what it keeps.
const LOOKS_AT_MOST: usize = 100;

/// A session that lasts, for migrations and their lock: at `direct_url`, or else at `url`.
///
/// Returns [`StoreError::Url`] if `url` leads through a pooler in transaction mode that serves this program badly.
pub(crate) async fn lasting_session(url: &str, direct_url: Option<&str>) -> Result<Client> {
    let door = Door::of(url)?;
    let (one, other) = (door.client().await?, door.client().await?);
    let is_pooled = is_pooled(&one, &other).await?;
    if is_pooled {
        check_settings(&other).await?;
    }
    match direct_url {
        Some(url) => Ok(Door::of(url)?.client().await?),
        None if is_pooled => Err(refusal(
            ": set `database_direct_url` to the URL of the server itself, for migrations and LISTEN",
        )),
        None => Ok(one),
    }
}

/// Whether a pooler lends the sessions of these two clients. Refuses one that does not keep prepared statements.
async fn is_pooled(one: &Client, other: &Client) -> Result<bool> {
    // Poolers that keep statements rename them.
    let find = format!(
        "SELECT bool_or(name ~ '^s[0-9]+$') FROM pg_prepared_statements WHERE statement = '{PREPARED}'"
    );
    let mut is_pooled = false;
    for look in 0..LOOKS_AT_MOST {
        if look == LOOKS && !is_pooled {
            return Ok(false);
        }
        // Held, because a dropped statement is closed.
        let _prepared = match one.prepare(PREPARED).await {
            Err(error) if error.code() == Some(&SqlState::DUPLICATE_PSTATEMENT) => break,
            prepared => prepared.map_err(NoSession::from)?,
        };
        let own = value(one, &find).await?;
        match value(other, &find).await?.as_deref() {
            Some("f") => return Ok(true),
            Some(_) => break,
            None => is_pooled |= own.is_none(),
        }
    }
    Err(refusal(
        " that keeps no prepared statements: set PgBouncer's `pool_mode` to `session`, or use PgBouncer 1.21 or later with \
         `max_prepared_statements` above 0",
    ))
}

/// A session that is lent has the role's settings: what one client sets may be missing in its next transaction.
async fn check_settings(client: &Client) -> Result<()> {
    let missing = format!(
        "SELECT string_agg(format('ALTER ROLE %I SET %s = %L', current_user, name, value), '; ') FROM {SESSION} \
         WHERE current_setting(name) <> value"
    );
    match value(client, &missing).await? {
        None => Ok(()),
        Some(statements) => Err(refusal(&format!(
            ", where only the role's own settings hold: run \"{statements}\" on the server, then RECONNECT in PgBouncer's \
             console"
        ))),
    }
}

fn refusal(why: &str) -> StoreError {
    StoreError::Url(format!(
        "`database_url` leads through a pooler in transaction mode{why}"
    ))
}

/// The first value of a query, unless it is NULL.
async fn value(client: &Client, sql: &str) -> Result<Option<String>, NoSession> {
    let messages = client.simple_query(sql).await?;
    Ok(messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}
