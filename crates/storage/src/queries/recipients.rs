//! The recipients of batch calls.

use crate::prelude::*;

/// Inserts a batch's recipients in order, 1,000 per statement.
pub(crate) async fn insert_recipients(
    conn: &mut Conn,
    batch: BatchId,
    new: Vec<NewRecipient>,
) -> Result<()> {
    let new: Vec<(i32, NewRecipient)> = (0..).zip(new).collect();
    for some in new.chunks(1_000) {
        bulk! {
            conn, "batch_recipients", recipients of one in some; id = one.1.id, batch_id = batch,
            place = one.0, to_number = &one.1.to, metadata = &one.1.metadata,
            status = RecipientStatus::Pending, attempt = 1
        }?;
    }
    Ok(())
}
