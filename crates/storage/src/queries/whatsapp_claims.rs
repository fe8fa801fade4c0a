//! Whose turn it is in a conversation on WhatsApp, and what is to be done: each thread is claimed by one process at a time.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep};
use diesel::prelude::*;
use offhook_domain::{ClaimId, NodeId, Timestamp, WhatsAppThreadId};

use super::whatsapp::has_not_left;
use super::whatsapp_sending;
use crate::database::Conn;
use crate::schema::{
    whatsapp_received as received, whatsapp_sent as sent, whatsapp_threads as threads,
};
use crate::sql::V;
use crate::{
    Fenced, Result, Store, WhatsAppHold, WhatsAppReceived, WhatsAppStep, WhatsAppThread,
    WhatsAppTimes,
};

/// Threads with something to do that nobody has claimed: `judged` says by which clock leases are over, `None` that this
/// process may not judge them; `alone` is this process where no other can hold a claim in force.
pub(crate) async fn due(
    conn: &mut Conn,
    steady: Timestamp,
    judged: Option<Timestamp>,
    alone: Option<NodeId>,
    most: i64,
) -> Result<Vec<WhatsAppThreadId>> {
    let mut query = threads::table
        .filter(threads::due_at.le(V(steady)))
        .order((threads::due_at, threads::id))
        .limit(most)
        .select(threads::id)
        .into_boxed();
    query = match (judged, alone) {
        // Its own may have been left, too: by a job that panicked, or that could not give it back.
        (Some(now), Some(node)) => query.filter(
            threads::claim_id
                .is_null()
                .or(threads::node_id.ne(V(node)))
                .or(threads::lease_expires_at.lt(V(now))),
        ),
        (None, Some(node)) => {
            query.filter(threads::claim_id.is_null().or(threads::node_id.ne(V(node))))
        }
        (Some(now), None) => query.filter(
            threads::claim_id
                .is_null()
                .or(threads::lease_expires_at.lt(V(now))),
        ),
        (None, None) => query.filter(threads::claim_id.is_null()),
    };
    Ok(query.load(conn).await?)
}

/// Claims a thread until `lease`; `None` if somebody was faster. The rest as in [`due`].
pub(crate) async fn take(
    conn: &mut Conn,
    id: WhatsAppThreadId,
    node: NodeId,
    (now, judged, lease): (Timestamp, Option<Timestamp>, Timestamp),
    alone: bool,
) -> Result<Option<ClaimId>> {
    type Holder = (Option<ClaimId>, Option<NodeId>, Option<Timestamp>);
    // Locks the row.
    let holder: Option<Holder> = diesel::update(threads::table.find(V(id)))
        .set(threads::due_at.eq(threads::due_at))
        .returning((
            threads::claim_id,
            threads::node_id,
            threads::lease_expires_at,
        ))
        .get_result(conn)
        .await
        .optional()?;
    let Some((held, by, until)) = holder else {
        return Ok(None);
    };
    let is_over = judged.is_some_and(|now| until.is_some_and(|until| until < now));
    let is_free = held.is_none() || (alone && by != Some(node)) || is_over;
    if !is_free {
        return Ok(None);
    }
    let claim: ClaimId = crate::store::mint(now);
    diesel::update(threads::table.find(V(id)))
        .set((
            threads::claim_id.eq(V(claim)),
            threads::node_id.eq(V(node)),
            threads::lease_expires_at.eq(V(lease)),
        ))
        .execute(conn)
        .await?;
    Ok(Some(claim))
}

/// Locks a thread that is claimed, and renews its claim where a lease is given; `None` if the claim is another's.
pub(crate) async fn held(
    conn: &mut Conn,
    hold: WhatsAppHold,
    lease: Option<Timestamp>,
) -> Result<Option<WhatsAppThread>> {
    let of = threads::table
        .find(V(hold.thread))
        .filter(threads::claim_id.eq(V(hold.claim)));
    Ok(match lease {
        Some(lease) => {
            diesel::update(of)
                .set(threads::lease_expires_at.eq(V(lease)))
                .returning(WhatsAppThread::as_returning())
                .get_result(conn)
                .await
        }
        None => {
            diesel::update(of)
                .set(threads::due_at.eq(threads::due_at))
                .returning(WhatsAppThread::as_returning())
                .get_result(conn)
                .await
        }
    }
    .optional()?)
}

/// What is to be done next: what was written is sent before anything else is answered.
pub(crate) async fn next(
    conn: &mut Conn,
    hold: WhatsAppHold,
    times: WhatsAppTimes,
    lease: Timestamp,
) -> Result<WhatsAppStep> {
    let Some(thread) = held(conn, hold, Some(lease)).await? else {
        return Ok(WhatsAppStep::Lost);
    };
    whatsapp_sending::give_up_begun(conn, thread.id, times.now).await?;
    if let Some(outgoing) = whatsapp_sending::first_queued(conn, thread.id).await? {
        return Ok(match outgoing.due_at <= times.steady {
            true => WhatsAppStep::Send(thread, outgoing),
            // What follows it is not sent before it.
            false => WhatsAppStep::Rest,
        });
    }
    let waiting: Option<WhatsAppReceived> = received::table
        .filter(received::thread_id.eq(V(thread.id)))
        .filter(received::is_waiting)
        .order((received::sent_at, received::received_at))
        .select(WhatsAppReceived::as_select())
        .found(conn)
        .await?;
    Ok(match waiting {
        Some(message) if message.due_at <= times.steady => WhatsAppStep::Answer(thread, message),
        _ => WhatsAppStep::Rest,
    })
}

impl Store {
    /// Gives a claim back; the thread is due again when something of it is.
    pub fn release_whatsapp(&self, hold: WhatsAppHold) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            // Locked first: what a webhook writes meanwhile is seen by what follows.
            if held(conn, hold, None).await?.is_none() {
                return Ok(Fenced::Lost);
            }
            let message: Option<Timestamp> = received::table
                .filter(received::thread_id.eq(V(hold.thread)))
                .filter(received::is_waiting)
                .order((received::sent_at, received::received_at))
                .select(received::due_at)
                .found(conn)
                .await?;
            let outgoing: Option<Timestamp> = sent::table
                .filter(sent::thread_id.eq(V(hold.thread)))
                .filter(has_not_left())
                .order((sent::queued_at, sent::part))
                .select(sent::due_at)
                .found(conn)
                .await?;
            // Nothing is answered before what waits to be sent.
            let due = outgoing.or(message);
            diesel::update(threads::table.find(V(hold.thread)))
                .set((
                    threads::due_at.eq(due),
                    threads::claim_id.eq(None::<ClaimId>),
                    threads::node_id.eq(None::<NodeId>),
                    threads::lease_expires_at.eq(None::<Timestamp>),
                ))
                .execute(conn)
                .await?;
            Ok(Fenced::Done)
        })
    }
}
