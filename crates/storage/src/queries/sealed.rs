//! Sealed secrets of every kind, to be sealed anew.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::EventId;
use uuid::Uuid;

use crate::database::Conn;
use crate::schema::{
    agent_version_tools, integration_connections, integration_consents, provider_credentials,
    service_settings as settings, tools, webhook_secrets,
};
use crate::sql::V;
use crate::{Result, SealedColumn};

/// Runs `$body` for the column: `$table`, `$row` (what the secret belongs to) and `$sealed` are its own.
macro_rules! of_column {
    ($which:expr, |$table:ident, $row:ident, $sealed:ident| $body:expr) => {
        match $which {
            SealedColumn::WebhookSecrets => {
                use webhook_secrets::{id as $row, sealed as $sealed, table as $table};
                $body
            }
            SealedColumn::Credentials => {
                use provider_credentials::{id as $row, sealed as $sealed, table as $table};
                $body
            }
            SealedColumn::Tools => {
                use tools::{headers as $sealed, id as $row, table as $table};
                $body
            }
            SealedColumn::PinnedTools => {
                use agent_version_tools::{headers as $sealed, table as $table, tool_id as $row};
                $body
            }
            SealedColumn::IntegrationTokens => {
                use integration_connections::{id as $row, sealed as $sealed, table as $table};
                $body
            }
            SealedColumn::IntegrationConsents => {
                use integration_consents::{id as $row, sealed as $sealed, table as $table};
                $body
            }
        }
    };
}

/// Up to `most` rows' secrets, behind the row `after`, in the rows' order: each with what it is sealed for. A row of
/// which there are several secrets comes with all of them.
pub(crate) async fn page(
    conn: &mut Conn,
    which: SealedColumn,
    after: Uuid,
    most: i64,
) -> Result<Vec<(Uuid, Vec<u8>)>> {
    let found: Vec<(EventId, Option<Vec<u8>>)> = of_column!(which, |table, row, sealed| {
        let rows: Vec<EventId> = table
            .filter(row.gt(V(EventId::from_uuid(after))))
            .filter(sealed.is_not_null())
            .select(row)
            .distinct()
            .order(row)
            .limit(most)
            .load(conn)
            .await?;
        table
            .filter(row.eq_any(rows.into_iter().map(V)))
            .order(row)
            .select((row, sealed.nullable()))
            .load(conn)
            .await?
    });
    Ok(found
        .into_iter()
        .filter_map(|(row, sealed)| Some((row.uuid(), sealed?)))
        .collect())
}

/// Puts another sealing of the same secret in place of `old`, unless the secret has changed meanwhile.
pub(crate) async fn replace(
    conn: &mut Conn,
    which: SealedColumn,
    of: Uuid,
    (old, new): (Vec<u8>, Vec<u8>),
) -> Result<usize> {
    Ok(of_column!(which, |table, row, sealed| {
        diesel::update(table)
            .filter(row.eq(V(EventId::from_uuid(of))))
            .filter(sealed.eq(old))
            .set(sealed.eq(new))
            .execute(conn)
            .await?
    }))
}

/// What the service remembers of itself under a name.
pub(crate) async fn setting(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    Ok(settings::table
        .find(name)
        .select(settings::value)
        .found(conn)
        .await?)
}

/// Remembers something else under a name; nothing, if `value` is `None`.
pub(crate) async fn set_setting(conn: &mut Conn, name: &str, value: Option<&str>) -> Result<()> {
    let Some(value) = value else {
        diesel::delete(settings::table.find(name))
            .execute(conn)
            .await?;
        return Ok(());
    };
    diesel::insert_into(settings::table)
        .values((settings::name.eq(name), settings::value.eq(value)))
        .on_conflict(settings::name)
        .do_update()
        .set(settings::value.eq(value))
        .run(conn)
        .await
}
