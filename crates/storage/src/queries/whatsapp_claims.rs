//! Claims of WhatsApp threads, and their next steps. One process at a time claims a thread.

use super::{whatsapp::has_not_left, whatsapp_sending};
use crate::prelude::*;

/// Locks a claimed thread, and renews its claim if a lease is given. `None` if another worker has the claim.
pub(crate) async fn lock_thread(
    conn: &mut Conn,
    claim: WhatsAppClaim,
    lease: Option<Timestamp>,
) -> Result<Option<WhatsAppThread>> {
    let of = threads::table
        .find(V(claim.thread))
        .filter(threads::claim_id.eq(V(claim.claim)));
    let locked = threads::due_at.eq(threads::due_at);
    diesel::update(of)
        .set((
            locked,
            lease.map(|lease| threads::lease_expires_at.eq(V(lease))),
        ))
        .returning(WhatsAppThread::as_returning())
        .returned(conn)
        .await
}

impl Store {
    /// Up to `most` unclaimed threads that have something to do. `may_judge` tells whether this process may decide that
    /// a lease has expired.
    pub fn due_whatsapp(
        &self,
        node: NodeId,
        steady: Timestamp,
        may_judge: bool,
        most: i64,
    ) -> Answer<'_, Vec<WhatsAppThreadId>> {
        let offset = self.offset();
        let alone = self.is_embedded().then_some(node);
        read!(self, |conn| {
            let judged = match may_judge {
                true => Some(dialect!(conn, lease_clock(offset))?),
                false => None,
            };
            let mut query = threads::table
                .filter(threads::due_at.le(V(steady)))
                .order((threads::due_at, threads::id))
                .limit(most)
                .select(threads::id)
                .into_boxed();
            query = match (judged, alone) {
                // Its own claim may have been left too, by a job that panicked or could not release it.
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
        })
    }

    /// Claims a thread; `None` if another worker was faster.
    pub fn claim_whatsapp(
        &self,
        id: WhatsAppThreadId,
        node: NodeId,
        now: Timestamp,
        may_judge: bool,
    ) -> Answer<'_, Option<ClaimId>> {
        let (offset, alone) = (self.offset(), self.is_embedded());
        transact!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            type Holder = (Option<ClaimId>, Option<NodeId>, Option<Timestamp>);
            // Locks the row.
            let holder: Option<Holder> = diesel::update(threads::table.find(V(id)))
                .set(threads::due_at.eq(threads::due_at))
                .returning((
                    threads::claim_id,
                    threads::node_id,
                    threads::lease_expires_at,
                ))
                .returned(conn)
                .await?;
            let (held, by, until) = some_or!(holder, Rollback(None));
            let is_over = may_judge && until.is_some_and(|until| until < lease_now);
            let is_free = held.is_none() || (alone && by != Some(node)) || is_over;
            ensure!(is_free, Rollback(None));
            let claim: ClaimId = mint(now);
            diesel::update(threads::table.find(V(id)))
                .set(row! {
                    threads: claim_id = claim, node_id = node,
                    lease_expires_at = lease_now.plus(lease())
                })
                .execute(conn)
                .await?;
            Ok(Commit(Some(claim)))
        })
    }

    /// Renews the claim of a thread.
    pub fn renew_whatsapp(&self, claim: WhatsAppClaim) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let held = lock_thread(conn, claim, Some(lease)).await?;
            Ok(match held {
                Some(_) => Fenced::Done,
                None => Fenced::Lost,
            })
        })
    }

    /// The next step under a claim. A message whose sending began and has no result becomes `unknown`.
    pub fn next_whatsapp(
        &self,
        claim: WhatsAppClaim,
        times: WhatsAppTimes,
    ) -> Answer<'_, WhatsAppStep> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let Some(thread) = lock_thread(conn, claim, Some(lease)).await? else {
                return Ok(WhatsAppStep::Lost);
            };
            whatsapp_sending::give_up_begun(conn, thread.id, times.now).await?;
            let first: Option<WhatsAppOutgoing> = sent::table
                .filter(sent::thread_id.eq(V(thread.id)))
                .filter(has_not_left())
                .order((sent::queued_at, sent::part))
                .select(WhatsAppOutgoing::as_select())
                .found(conn)
                .await?;
            if let Some(outgoing) = first {
                return Ok(match outgoing.due_at <= times.steady {
                    true => WhatsAppStep::Send(thread, outgoing),
                    // Later messages are not sent before it.
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
                Some(message) if message.due_at <= times.steady => {
                    WhatsAppStep::Answer(thread, message)
                }
                _ => WhatsAppStep::Rest,
            })
        })
    }

    /// Releases a claim. The thread is due again when its next message is.
    pub fn release_whatsapp(&self, claim: WhatsAppClaim) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            // Locked first, so that the following reads see what a webhook writes meanwhile.
            if lock_thread(conn, claim, None).await?.is_none() {
                return Ok(Fenced::Lost);
            }
            let message: Option<Timestamp> = received::table
                .filter(received::thread_id.eq(V(claim.thread)))
                .filter(received::is_waiting)
                .order((received::sent_at, received::received_at))
                .select(received::due_at)
                .found(conn)
                .await?;
            let outgoing: Option<Timestamp> = sent::table
                .filter(sent::thread_id.eq(V(claim.thread)))
                .filter(has_not_left())
                .order((sent::queued_at, sent::part))
                .select(sent::due_at)
                .found(conn)
                .await?;
            // No message is answered before the waiting ones are sent.
            let due = outgoing.or(message);
            diesel::update(threads::table.find(V(claim.thread)))
                .set(row! {
                    threads: due_at = due, claim_id = NULL, node_id = NULL, lease_expires_at = NULL
                })
                .execute(conn)
                .await?;
            Ok(Fenced::Done)
        })
    }
}
