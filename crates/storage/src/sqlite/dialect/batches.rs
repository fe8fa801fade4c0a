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
            .values((
                recipients::id.eq(V(recipient.id)),
                recipients::batch_id.eq(V(batch)),
                recipients::place.eq(place),
                recipients::to_number.eq(V(recipient.to)),
                recipients::metadata.eq(V(recipient.metadata)),
                recipients::status.eq(V(RecipientStatus::Pending)),
                recipients::attempt.eq(1),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}
