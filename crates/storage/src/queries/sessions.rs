//! Sessions of people who have signed in.

use super::{
    attempts::{self, DELETED_AT_ONCE},
    passkeys,
    people::{hold_password, member_of, membership, memberships},
    second_factors,
};
use crate::prelude::*;
use crate::schema::{portal_sessions as sessions, portal_shown_once as shown_once};

pub(super) async fn insert(conn: &mut Conn, session: &NewSession, member: &Member) -> Result<()> {
    insert! {
        conn, sessions of member: digest = session.digest, email, account_id, member_id = member.id,
        created_at = session.at, seen_at = session.at
    }
}

/// Ends every session of a person.
pub(super) async fn end_all(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    diesel::delete(sessions::table)
        .filter(sessions::email.eq(V(email)))
        .run(conn)
        .await
}

/// Ends every session of a person except the one with this digest. Returns how many.
pub(super) async fn end_others(
    conn: &mut Conn,
    email: &EmailAddress,
    but: [u8; 32],
) -> Result<usize> {
    let theirs = sessions::table.filter(sessions::email.eq(V(email)));
    Ok(delete(conn, theirs.filter(sessions::digest.ne(but.to_vec()))).await?)
}

/// Ends the sessions and links of a member in an account, when the member is removed or changed.
pub(super) async fn end_stay(conn: &mut Conn, member: &Member) -> Result<()> {
    diesel::delete(sessions::table)
        .filter(sessions::member_id.eq(V(member.id)))
        .execute(conn)
        .await?;
    diesel::delete(links::table)
        .filter(links::email.eq(V(&member.email)))
        .filter(links::account_id.eq(V(member.account_id)))
        .run(conn)
        .await
}

/// Deletes secrets that were never shown.
async fn delete_unread(conn: &mut Conn, now: Timestamp) -> Result<()> {
    diesel::delete(shown_once::table.filter(shown_once::expires_at.le(V(now))))
        .run(conn)
        .await
}

impl Store {
    /// Begins a session of a member whose password is still the one set at `changed_at`, and takes back the attempt:
    /// the whole count of `own`, and one of each `shared` key. `None` if the password or the member has changed.
    pub fn begin_session(
        &self,
        session: NewSession,
        member: Member,
        changed_at: Timestamp,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
    ) -> Answer<'_, Option<Begun>> {
        transact!(self, |conn| {
            let email = &member.email;
            attempts::take_back(conn, own, shared, session.at).await?;
            let is_same = hold_password(conn, email, changed_at).await?;
            let found = member_of(conn, member.account_id, email).await?;
            if !is_same || found.is_none_or(|found| found.id != member.id) {
                return Ok(Rollback(None));
            }
            let begun = second_factors::begin(conn, &session, &member, changed_at).await?;
            Ok(Commit(Some(begun)))
        })
    }

    /// The session with this token's digest, whatever its age, and its person's memberships.
    pub fn session(&self, digest: [u8; 32]) -> Answer<'_, Option<Session>> {
        read!(self, |conn| {
            type Row = (
                EmailAddress,
                AccountId,
                MemberId,
                Timestamp,
                Timestamp,
                bool,
            );
            let found: Option<Row> = sessions::table
                .find(digest.to_vec())
                .select((
                    sessions::email,
                    sessions::account_id,
                    sessions::member_id,
                    sessions::created_at,
                    sessions::seen_at,
                    sessions::by_single_sign_on,
                ))
                .found(conn)
                .await?;
            let (email, account, member, created_at, seen_at, by_single_sign_on) =
                some_or!(found, None);
            let time_zone = account_settings::table
                .find(V(account))
                .select(account_settings::time_zone)
                .found(conn)
                .await?;
            let memberships = match by_single_sign_on {
                true => membership(conn, member).await?.into_iter().collect(),
                false => memberships(conn, &email).await?,
            };
            Ok(Some(Session {
                by_single_sign_on,
                member,
                created_at,
                seen_at,
                time_zone,
                memberships,
            }))
        })
    }

    /// Moves a session to another account that its person may enter with their password; `false` if they may not, or
    /// single sign-on has begun the session.
    pub fn switch_session(&self, digest: [u8; 32], account: AccountId) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let email: Option<EmailAddress> = sessions::table
                .find(digest.to_vec())
                .filter(not(sessions::by_single_sign_on))
                .select(sessions::email)
                .found(conn)
                .await?;
            let email = some_or!(email, Rollback(false));
            let mut entered = memberships(conn, &email).await?.into_iter();
            let found = entered.find(|one| one.account.id == account);
            let member = some_or!(found, Rollback(false)).member;
            let moved = diesel::update(sessions::table.find(digest.to_vec()))
                .set(row! { sessions: account_id = account, member_id = member.id })
                .changes(conn)
                .await?;
            Ok(Commit(moved))
        })
    }

    /// Records that a session is used at `at`, unless another process has done so after `before`.
    pub fn touch_session(
        &self,
        digest: [u8; 32],
        (before, at): (Timestamp, Timestamp),
    ) -> Answer<'_, ()> {
        diesel::update(sessions::table.find(digest.to_vec()))
            .filter(sessions::seen_at.le(V(before)))
            .set(sessions::seen_at.eq(V(at)))
            .commit(self)
    }

    pub fn end_session(&self, digest: [u8; 32]) -> Answer<'_, ()> {
        diesel::delete(sessions::table.find(digest.to_vec())).commit(self)
    }

    /// Keeps a secret of the row `id` for a session until `until`, sealed.
    pub fn keep_shown_once(
        &self,
        digest: [u8; 32],
        (id, secret): (EventId, &str),
        (now, until): (Timestamp, Timestamp),
    ) -> Answer<'_, ()> {
        let sealed = self.master_key.seal(secret, &id.uuid());
        keep!(self, |conn| {
            let sealed = sealed?;
            delete_unread(conn, now).await?;
            diesel::insert_into(shown_once::table)
                .values(row! { shown_once: session_digest = digest, id, sealed = sealed.clone(), expires_at = until })
                .on_conflict((shown_once::session_digest, shown_once::id))
                .do_update()
                .set(row! { shown_once: sealed, expires_at = until })
                .run(conn)
                .await
        })
    }

    /// Takes what [`Store::keep_shown_once`] has kept; `None` if it was taken or has expired.
    pub fn take_shown_once(
        &self,
        digest: [u8; 32],
        id: EventId,
        now: Timestamp,
    ) -> Answer<'_, Option<String>> {
        let key = self.master_key.clone();
        keep!(self, |conn| {
            let kept = || shown_once::table.find((digest.to_vec(), V(id)));
            let found: Option<(Vec<u8>, Timestamp)> = kept()
                .select((shown_once::sealed, shown_once::expires_at))
                .found(conn)
                .await?;
            let (sealed, until) = some_or!(found, None);
            // Of two readers at once, one deletes it.
            let is_mine = diesel::delete(kept().filter(shown_once::sealed.eq(sealed.clone())))
                .changes(conn)
                .await?;
            ensure!(is_mine && now < until, None);
            key.open(&sealed, &id.uuid()).map(Some)
        })
    }

    /// How many sessions a person has besides the one with this digest: used after `seen`, begun after `created`.
    pub fn count_other_sessions(
        &self,
        email: EmailAddress,
        but: [u8; 32],
        (seen, created): (Timestamp, Timestamp),
    ) -> Answer<'_, i64> {
        sessions::table
            .filter(sessions::email.eq(V(email)))
            .filter(sessions::digest.ne(but.to_vec()))
            .filter(sessions::seen_at.gt(V(seen)))
            .filter(sessions::created_at.gt(V(created)))
            .count()
            .read_one(self)
    }

    /// Ends every session of a person except the one with this digest. Returns how many.
    pub fn end_other_sessions(&self, email: EmailAddress, but: [u8; 32]) -> Answer<'_, usize> {
        keep!(self, |conn| end_others(conn, &email, but).await)
    }

    /// Deletes sessions that were not used after `before`, and expired links and attempt counts. Returns whether there
    /// may be more.
    pub fn delete_ended_sessions(&self, before: Timestamp, now: Timestamp) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let old: Vec<Vec<u8>> = sessions::table
                .filter(sessions::seen_at.le(V(before)))
                .order(sessions::seen_at)
                .limit(DELETED_AT_ONCE)
                .select(sessions::digest)
                .load(conn)
                .await?;
            let has_more = i64::try_from(old.len()).is_ok_and(|found| found == DELETED_AT_ONCE);
            diesel::delete(sessions::table)
                .filter(sessions::digest.eq_any(old))
                .filter(sessions::seen_at.le(V(before)))
                .execute(conn)
                .await?;
            diesel::delete(links::table)
                .filter(links::expires_at.le(V(now)))
                .execute(conn)
                .await?;
            delete_unread(conn, now).await?;
            second_factors::forget_old_halves(conn, now).await?;
            passkeys::forget_old_challenges(conn, now).await?;
            Ok(has_more | attempts::forget_old(conn, now).await?)
        })
    }
}
