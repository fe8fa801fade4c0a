//! Sessions of people who have signed in (decision 6.9).

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, EmailAddress, Timestamp};

use super::{read, write};
use crate::queries;
use crate::{Member, NewSession, Result, Session, Store, Verdict};

impl Store {
    /// Begins a session of a member whose password is still the one that was set at `changed_at`, and takes back what
    /// was counted: all of `own`, one of each that is `shared`. `false` if the password or the member is gone.
    #[boxed]
    pub async fn begin_session(
        &self,
        session: NewSession,
        member: Member,
        changed_at: Timestamp,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
    ) -> Result<bool> {
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
    #[boxed]
    pub async fn session(&self, digest: [u8; 32]) -> Result<Option<Session>> {
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

    /// Writes that a session is used at `at`, unless another process has written so after `before`.
    #[boxed]
    pub async fn touch_session(
        &self,
        digest: [u8; 32],
        (before, at): (Timestamp, Timestamp),
    ) -> Result<()> {
        write!(self, |conn| {
            queries::people::touch_session(conn, digest, (before, at)).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Moves a session to another account that its person is a member of; `false` without such a one.
    #[boxed]
    pub async fn switch_session(&self, digest: [u8; 32], account: AccountId) -> Result<bool> {
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

    /// Ends a session.
    #[boxed]
    pub async fn end_session(&self, digest: [u8; 32]) -> Result<()> {
        write!(self, |conn| {
            queries::people::end_session(conn, digest).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// How many sessions a person has besides the one with this digest: used after `seen`, begun after `created`.
    #[boxed]
    pub async fn count_other_sessions(
        &self,
        email: EmailAddress,
        but: [u8; 32],
        (seen, created): (Timestamp, Timestamp),
    ) -> Result<i64> {
        read!(self, |conn| {
            let since = (seen, created);
            queries::people::count_other_sessions(conn, &email, but, since).await
        })
    }

    /// Ends every session of a person but the one with this digest; how many there were.
    #[boxed]
    pub async fn end_other_sessions(&self, email: EmailAddress, but: [u8; 32]) -> Result<usize> {
        write!(self, |conn| {
            let ended = queries::people::end_other_sessions(conn, &email, but).await?;
            Ok(Verdict::Commit(ended))
        })
    }

    /// Deletes sessions that were not used after `before`, and links and counts of attempts whose time is over; whether
    /// there may be more of them.
    #[boxed]
    pub async fn delete_ended_sessions(&self, before: Timestamp, now: Timestamp) -> Result<bool> {
        write!(self, |conn| {
            let has_more = queries::people::delete_ended(conn, (before, now)).await?
                | queries::attempts::forget_old(conn, now).await?;
            Ok(Verdict::Commit(has_more))
        })
    }
}
