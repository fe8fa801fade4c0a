//! The widget's part in the end of a spoken conversation of a web page.

use super::{chats::reserved, widgets};
use crate::prelude::*;

/// Counts the cost of a conversation against the widget's day. Reserved credits that it did not spend are returned to
/// the day on which it began. Credits spent but not reserved (such as a goodbye that began when no further minute was
/// covered) count for the current day. Credits reserved after midnight count for the second day until that day is over:
/// too much, never too little.
pub(crate) async fn settle(
    conn: &mut Conn,
    (id, agent): (ConversationId, AgentId),
    (started_at, settled_at): (Timestamp, Timestamp),
    cost: Credits,
) -> Result<()> {
    let unspent = reserved(conn, id).await? - cost;
    if unspent > 0 {
        widgets::release(conn, agent, started_at.utc_day(), unspent).await?;
    } else if unspent < 0
        && let Some(mut counts) = widgets::lock(conn, agent).await?
    {
        counts.spend(settled_at.utc_day(), -unspent);
        widgets::count(conn, agent, counts).await?;
    }
    Ok(())
}
