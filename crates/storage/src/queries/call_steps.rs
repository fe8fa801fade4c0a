//! The steps of a live call: it was answered, and its turns. They are written one by one, or many at once.

use super::moments;
use crate::prelude::*;
use crate::schema::conversations as calls;

pub(crate) async fn answered(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    (at, dialog): (Timestamp, Option<String>),
) -> Result<Fenced> {
    let seq: Option<i32> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq(V(CallState::Dialing)))
        .filter(calls::claim_id.eq(V(claim)))
        .set((
            row! { calls: state = CallState::Live, answered_at = at, last_seq += 1 },
            // An inbound call has stored its dialog already.
            dialog.map(|dialog| calls::dialog.eq(dialog)),
        ))
        .returning(calls::last_seq)
        .returned(conn)
        .await?;
    let Some(seq) = seq else {
        // A retry may have lost only the response of a first attempt that was written.
        let answered_at = live(conn, id, claim).await?.flatten();
        return Ok(Fenced::of(answered_at == Some(at)));
    };
    moments::entered(conn, id, seq, CallState::Live, at).await?;
    Ok(Fenced::Done)
}

/// Appends a turn to a live call. A retry under the same claim finds its turn already there and returns `Done`.
pub(crate) async fn append(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced> {
    let told = turn.seq.map(|seq| (seq, turn.started_at));
    let appended = dialect!(conn, append_turn(id, claim, turn))?;
    match (appended, told) {
        (Fenced::Lost, Some((seq, at))) => {
            let is_there =
                live(conn, id, claim).await?.is_some() && moments::has(conn, id, seq, at).await?;
            Ok(Fenced::of(is_there))
        }
        (done, _) => Ok(done),
    }
}

/// When a call that is live under this claim was answered.
async fn live(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
) -> Result<Option<Option<Timestamp>>> {
    Ok(calls::table
        .find(V(id))
        .filter(calls::state.eq(V(CallState::Live)))
        .filter(calls::claim_id.eq(V(claim)))
        .select(calls::answered_at)
        .found(conn)
        .await?)
}
