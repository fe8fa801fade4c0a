//! Sessions of people who have signed in.

use offhook_domain::{AccountId, EmailAddress, Timestamp};

use super::{Answer, keep, read, write};
use crate::queries;
use crate::{Member, NewSession, Session, Store, Verdict};

impl Store {
    /// Begins a session of a member whose password is still the one that was set at `changed_at`, and takes back what
    /// was counted: all of `own`, one of each that is `shared`. `false` if the password or the member is gone.
    pub fn begin_session(
        &self,
        session: NewSession,
        member: Member,
        changed_at: Timestamp,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            let (email, at) = (&member.email, session.at);
            queries::attempts::take_back(conn, own, shared, at).await?;
            let is_same = queries::people::hold_password(conn, email, changed_at).await?;
            let is_there = queries::people::member_of(conn, member.account_id, email).await?;
            if !is_same || is_there.is_none_or(|found| found.id != member.id) {
                return Ok(Verdict::Rollback(false));
            }
            queries::people::insert_session(conn, &session, &member).await?;
            Ok(Verdict::Commit(true))
        })
    }

    /// The session of this token's digest, whatever its age, and what its person is a member of.
    pub fn session(&self, digest: [u8; 32]) -> Answer<'_, Option<Session>> {
        read!(self, |conn| {
            let found = queries::people::session(conn, digest).await?;
            let Some((email, member, created_at, seen_at)) = found else {
                return Ok(None);
            };
            let memberships = queries::people::memberships(conn, &email).await?;
            Ok(Some(Session {
                member,
                created_at,
                seen_at,
                memberships,
            }))
        })
    }

    /// Moves a session to another account that its person is a member of; `false` without such a one.
    pub fn switch_session(&self, digest: [u8; 32], account: AccountId) -> Answer<'_, bool> {
        write!(self, |conn| {
            let found = queries::people::session(conn, digest).await?;
            let Some((email, ..)) = found else {
                return Ok(Verdict::Rollback(false));
            };
            let member = queries::people::member_of(conn, account, &email).await?;
            let Some(member) = member else {
                return Ok(Verdict::Rollback(false));
            };
            let to = (account, member.id);
            let moved = queries::people::move_session(conn, digest, to).await?;
            Ok(Verdict::Commit(moved))
        })
    }

    /// How many sessions a person has besides the one with this digest: used after `seen`, begun after `created`.
    pub fn count_other_sessions(
        &self,
        email: EmailAddress,
        but: [u8; 32],
        (seen, created): (Timestamp, Timestamp),
    ) -> Answer<'_, i64> {
        read!(self, |conn| {
            let since = (seen, created);
            queries::people::count_other_sessions(conn, &email, but, since).await
        })
    }

    /// Ends every session of a person but the one with this digest; how many there were.
    pub fn end_other_sessions(&self, email: EmailAddress, but: [u8; 32]) -> Answer<'_, usize> {
        keep!(self, |conn| {
            let ended = queries::people::end_other_sessions(conn, &email, but).await?;
            Ok(ended)
        })
    }

    /// Deletes sessions that were not used after `before`, and links and counts of attempts whose time is over; whether
    /// there may be more of them.
    pub fn delete_ended_sessions(&self, before: Timestamp, now: Timestamp) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let has_more = queries::people::delete_ended(conn, (before, now)).await?
                | queries::attempts::forget_old(conn, now).await?;
            Ok(has_more)
        })
    }
}
