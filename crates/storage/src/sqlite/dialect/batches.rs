//! The statements on batch calls that differ, for SQLite.

use crate::prelude::*;

/// Inserts a batch's recipients in order.
pub(crate) async fn insert_recipients(
    conn: &mut Conn,
    batch: BatchId,
    new: Vec<NewRecipient>,
) -> Result<()> {
    for (place, recipient) in (0_i32..).zip(new) {
        diesel::insert_into(recipients::table)
            .values(row! {
                recipients of recipient: id, batch_id = batch, place = place,
                to_number = recipient.to, metadata, status = RecipientStatus::Pending, attempt = 1
            })
            .execute(conn)
            .await?;
    }
    Ok(())
}
