//! Passkeys, and the challenges that their authenticators are to sign.

use super::{
    attempts::{self, DELETED_AT_ONCE},
    people::{audit, member_of},
    second_factors::{confirm, is_on, note_use, removed, set_codes, use_up},
    sessions,
};
use crate::prelude::*;
use crate::schema::passkey_challenges as challenges;

/// How long a challenge waits for its answer.
const CHALLENGE_LASTS: Duration = Duration::from_secs(5 * 60);

/// Challenges that wait for one source, and for all. Beyond that the oldest ones go, so that a stranger who asks for many
/// takes away few but their own.
const MOST_OF_SOURCE: i64 = 100;
const MOST: i64 = 20_000;

/// Deletes the challenges that have waited too long.
pub(super) async fn forget_old_challenges(conn: &mut Conn, now: Timestamp) -> Result<()> {
    delete(
        conn,
        challenges::table.filter(challenges::expires_at.le(V(now))),
    )
    .await?;
    Ok(())
}

/// Stores a challenge in place of the browser's earlier one.
async fn insert_challenge(conn: &mut Conn, new: NewChallenge) -> Result<()> {
    forget_old_challenges(conn, new.at).await?;
    delete(conn, challenges::table.find(new.digest.to_vec())).await?;
    insert! {
        conn, challenges of new: digest = new.digest, source = new.source, state,
        expires_at = new.at.plus(CHALLENGE_LASTS)
    }?;
    let newest_first = challenges::table
        .order((challenges::expires_at.desc(), challenges::digest))
        .select(challenges::digest)
        .limit(DELETED_AT_ONCE);
    let of_source = challenges::source.eq(new.source.to_vec());
    let mut beyond: Vec<Vec<u8>> = newest_first
        .filter(of_source)
        .offset(MOST_OF_SOURCE)
        .load(conn)
        .await?;
    let of_all: Vec<Vec<u8>> = newest_first.offset(MOST).load(conn).await?;
    beyond.extend(of_all);
    if !beyond.is_empty() {
        let these = challenges::table.filter(challenges::digest.eq_any(beyond));
        delete(conn, these).await?;
    }
    Ok(())
}

impl Store {
    /// Keeps a challenge for the browser's answer.
    pub fn keep_challenge(&self, new: NewChallenge) -> Answer<'_, ()> {
        keep!(self, |conn| insert_challenge(conn, new).await)
    }

    /// The same for a passkey that a person adds, who has entered the password of `changed_at`, and a proof if they have a
    /// second factor. `false` if that is no longer so.
    pub fn keep_challenge_of(
        &self,
        (email, changed_at): (EmailAddress, Timestamp),
        proof: Option<Proof>,
        new: NewChallenge,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let is_confirmed = confirm(conn, (&email, changed_at), proof.as_ref(), new.at).await?;
            ensure!(is_confirmed, Rollback(false));
            insert_challenge(conn, new).await?;
            Ok(Commit(true))
        })
    }

    /// Takes what the browser's challenge is verified with; `None` if it was taken or has expired.
    pub fn take_challenge(&self, digest: [u8; 32], now: Timestamp) -> Answer<'_, Option<String>> {
        keep!(self, |conn| {
            let taken: Option<(String, Timestamp)> =
                diesel::delete(challenges::table.find(digest.to_vec()))
                    .returning((challenges::state, challenges::expires_at))
                    .returned(conn)
                    .await?;
            Ok(taken
                .filter(|(_, until)| now < *until)
                .map(|(state, _)| state))
        })
    }

    /// The passkey with this id of its authenticator.
    pub fn passkey(&self, credential_id: Vec<u8>) -> Answer<'_, Option<Passkey>> {
        passkeys::table
            .filter(passkeys::credential_id.eq(credential_id))
            .select(Passkey::as_select())
            .read_first(self)
    }

    /// Adds a passkey of a member. If it is their first second factor, they get the recovery codes with these digests, and
    /// their other sessions end.
    pub fn add_passkey(
        &self,
        member: Member,
        new: Passkey,
        recovery: Vec<[u8; 32]>,
        session: NewSession,
    ) -> Answer<'_, PasskeyAdded> {
        let (actor, at) = (self.actor, session.at);
        transact!(self, |conn| {
            let (email, account) = (&member.email, member.account_id);
            // Of two first ones at once, one waits and is not the first.
            diesel::update(people::table.find(V(email)))
                .set(people::changed_at.eq(people::changed_at))
                .execute(conn)
                .await?;
            let is_first = !is_on(conn, email).await?;
            let is_new = insert_new! {
                conn, passkeys of new: id, email, credential_id, user_handle, name, credential, created_at
            }?;
            ensure!(is_new, Rollback(PasskeyAdded::Known));
            audit(conn, account, (actor, "passkey.add", new.id), at).await?;
            ensure!(is_first, Commit(PasskeyAdded::Another));
            set_codes(conn, email, recovery).await?;
            sessions::end_others(conn, email, session.digest).await?;
            audit(conn, account, (actor, "two_step.on", member.id), at).await?;
            Ok(Commit(PasskeyAdded::First))
        })
    }

    /// Removes a passkey of a member, and ends their other sessions. `false` if the proof was used before, the password was
    /// not set at `changed_at`, or the passkey is not theirs.
    pub fn remove_passkey(
        &self,
        (member, changed_at): (Member, Timestamp),
        id: CredentialId,
        proof: Proof,
        session: NewSession,
    ) -> Answer<'_, bool> {
        let (actor, at) = (self.actor, session.at);
        transact!(self, |conn| {
            let (email, account) = (&member.email, member.account_id);
            let is_proven = confirm(conn, (email, changed_at), Some(&proof), at).await?;
            ensure!(is_proven, Rollback(false));
            let this = passkeys::table.find(V(id));
            let is_gone = delete(conn, this.filter(passkeys::email.eq(V(email)))).await? > 0;
            ensure!(is_gone, Rollback(false));
            audit(conn, account, (actor, "passkey.remove", id), at).await?;
            if let Some(action) = removed(conn, email).await? {
                audit(conn, account, (actor, action, member.id), at).await?;
            }
            sessions::end_others(conn, email, session.digest).await?;
            Ok(Commit(true))
        })
    }

    /// Begins a session of a member whose passkey has signed, and takes back the attempt as [`Store::begin_session`] does.
    /// `None` if the proof was used before, or the member has changed.
    pub fn begin_session_by_passkey(
        &self,
        member: Member,
        proof: Proof,
        session: NewSession,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
    ) -> Answer<'_, Option<Member>> {
        transact!(self, |conn| {
            let at = session.at;
            attempts::take_back(conn, own, shared, at).await?;
            let is_proven = use_up(conn, &member.email, &proof, at).await?;
            ensure!(is_proven, Rollback(None));
            let found = member_of(conn, member.account_id, &member.email).await?;
            let found = some_or!(found.filter(|found| found.id == member.id), Rollback(None));
            sessions::insert(conn, &session, &found).await?;
            note_use(conn, (found.account_id, found.id), &proof, at).await?;
            Ok(Commit(Some(found)))
        })
    }
}
