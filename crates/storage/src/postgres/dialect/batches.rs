//! The statements on batch calls that differ, for PostgreSQL.

use super::column;
use crate::prelude::*;

/// Inserts a batch's recipients in order, 1,000 per statement.
pub(crate) async fn insert_recipients(
    conn: &mut Conn,
    batch: BatchId,
    recipients: Vec<NewRecipient>,
) -> Result<()> {
    let mut first = 0_i32;
    for some in recipients.chunks(1_000) {
        diesel::sql_query(
            "INSERT INTO batch_recipients (id, batch_id, place, to_number, metadata, status, attempt) \
             SELECT r.id, $1, $2 + r.place - 1, r.to_number, r.metadata, 'pending', 1 \
             FROM UNNEST($3, $4, $5) WITH ORDINALITY AS r(id, to_number, metadata, place)",
        )
        .bind::<sql::Uuid, _>(V(batch))
        .bind::<Integer, _>(first)
        .bind::<Array<sql::Uuid>, _>(column(some, |r| r.id))
        .bind::<Array<sql::Word>, _>(column(some, |r| r.to.clone()))
        .bind::<Array<sql::Json>, _>(column(some, |r| r.metadata.clone()))
        .execute(conn)
        .await?;
        first += i32::try_from(some.len()).unwrap_or(0);
    }
    Ok(())
}
