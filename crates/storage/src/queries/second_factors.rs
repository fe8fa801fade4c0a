//! Second factors: the secret of a person's authenticator app, recovery codes, and sign-ins that wait for one of them or a
//! passkey.

use super::{
    attempts,
    people::{audit, hold_password, member_of},
    sessions,
};
use crate::prelude::*;
use crate::schema::{half_sign_ins as halves, recovery_codes as codes, second_factors as factors};

type Digests = Vec<[u8; 32]>;

/// How long a sign-in waits for its code.
const HALF_LASTS: Duration = Duration::from_secs(10 * 60);

/// Begins a session of a member whose password was checked. If they have a second factor, a sign-in that waits for its
/// code begins under the same digest.
pub(super) async fn begin(
    conn: &mut Conn,
    session: &NewSession,
    member: &Member,
    changed_at: Timestamp,
) -> Result<Begun> {
    if !is_on(conn, &member.email).await? {
        sessions::insert(conn, session, member).await?;
        return Ok(Begun::Session);
    }
    insert! {
        conn, halves of member: digest = session.digest, email, account_id, changed_at = changed_at,
        expires_at = session.at.plus(HALF_LASTS)
    }?;
    Ok(Begun::Half)
}

/// Whether a person's password needs a second factor.
pub(super) async fn is_on(conn: &mut Conn, email: &EmailAddress) -> Result<bool> {
    let app = factors::table.find(V(email)).select(factors::email);
    let theirs = passkeys::table.filter(passkeys::email.eq(V(email)));
    Ok(app.exists(conn).await? || theirs.select(passkeys::id).exists(conn).await?)
}

/// Deletes a person's second factors and what depends on them. Returns whether there were any.
pub(super) async fn forget(conn: &mut Conn, email: &EmailAddress) -> Result<bool> {
    let keys = delete(conn, passkeys::table.filter(passkeys::email.eq(V(email)))).await?;
    let apps = delete(conn, factors::table.find(V(email))).await?;
    forget_codes(conn, email).await?;
    Ok(keys + apps > 0)
}

/// Deletes what nothing but a second factor needs.
async fn forget_codes(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    delete(conn, halves::table.filter(halves::email.eq(V(email)))).await?;
    delete(conn, codes::table.filter(codes::email.eq(V(email)))).await?;
    Ok(())
}

/// After a second factor was removed: without another one, what depends on them goes too. Then returns the action for the
/// audit log.
pub(super) async fn removed(conn: &mut Conn, email: &EmailAddress) -> Result<Option<&'static str>> {
    ensure!(!is_on(conn, email).await?, None);
    forget_codes(conn, email).await?;
    Ok(Some("two_step.off"))
}

/// Replaces a person's recovery codes.
pub(super) async fn set_codes(
    conn: &mut Conn,
    email: &EmailAddress,
    digests: Digests,
) -> Result<()> {
    delete(conn, codes::table.filter(codes::email.eq(V(email)))).await?;
    for digest in digests {
        insert! { conn, codes: email, digest }?;
    }
    Ok(())
}

/// Deletes the sign-ins that have waited too long for their code.
pub(super) async fn forget_old_halves(conn: &mut Conn, now: Timestamp) -> Result<()> {
    delete(conn, halves::table.filter(halves::expires_at.le(V(now)))).await?;
    Ok(())
}

/// Uses up a proof. `false` if it was used before, or the factor has been replaced.
pub(super) async fn use_up(
    conn: &mut Conn,
    email: &EmailAddress,
    proof: &Proof,
    at: Timestamp,
) -> Result<bool> {
    let theirs = factors::table.find(V(email));
    match proof {
        Proof::Code { factor, step } => {
            diesel::update(theirs.filter(factors::id.eq(V(factor))))
                .filter(factors::last_step.lt(step))
                .set(factors::last_step.eq(step))
                .changes(conn)
                .await
        }
        Proof::Recovery(digest) => {
            let this = codes::table.find((V(email), digest.to_vec()));
            Ok(delete(conn, this).await? > 0)
        }
        // Of two signatures with one counter, one is accepted.
        Proof::Passkey { id, before, after } => {
            diesel::update(passkeys::table.find(V(id)))
                .filter(passkeys::email.eq(V(email)))
                .filter(passkeys::credential.eq(before))
                .set(row! { passkeys: credential = after, used_at = Some(at) })
                .changes(conn)
                .await
        }
    }
}

/// Uses up the proof of a signed-in person whose password was set at `changed_at`. A person without a second factor needs
/// none.
pub(super) async fn confirm(
    conn: &mut Conn,
    (email, changed_at): (&EmailAddress, Timestamp),
    proof: Option<&Proof>,
    at: Timestamp,
) -> Result<bool> {
    ensure!(hold_password(conn, email, changed_at).await?, false);
    match proof {
        Some(proof) => use_up(conn, email, proof, at).await,
        None => Ok(!is_on(conn, email).await?),
    }
}

/// The line of the audit log for a second factor that was used and is not a code of an app.
pub(super) async fn note_use(
    conn: &mut Conn,
    (account, member): (AccountId, MemberId),
    proof: &Proof,
    at: Timestamp,
) -> Result<()> {
    let actor = Actor::Member(member);
    let line = match proof {
        Proof::Code { .. } => return Ok(()),
        Proof::Recovery(_) => (actor, "recovery_code.use", member.to_string()),
        Proof::Passkey { id, .. } => (actor, "passkey.use", id.to_string()),
    };
    audit(conn, account, line, at).await
}

#[boxed]
impl Store {
    /// The person's second factors. [`crate::StoreError::Corrupt`] if the app's secret cannot be opened.
    pub async fn second_factors(&self, email: EmailAddress) -> Result<SecondFactors> {
        let (app, passkeys, recovery_codes) = read!(self, |conn| {
            let app: Option<(CredentialId, Vec<u8>)> = factors::table
                .find(V(&email))
                .select((factors::id, factors::sealed))
                .found(conn)
                .await?;
            let passkeys: Vec<Passkey> = passkeys::table
                .filter(passkeys::email.eq(V(&email)))
                .order((passkeys::created_at, passkeys::id))
                .select(Passkey::as_select())
                .load(conn)
                .await?;
            let codes = codes::table.filter(codes::email.eq(V(&email)));
            let left: i64 = codes.count().get_result(conn).await?;
            Ok((app, passkeys, left))
        })
        .await?;
        let app: Option<Result<_>> = app.map(|(id, sealed)| {
            let secret = self.master_key.open(&sealed, &id.uuid())?;
            Ok(SecondFactor { id, secret })
        });
        Ok(SecondFactors {
            app: app.transpose()?,
            passkeys,
            recovery_codes,
        })
    }

    /// Gives a person an authenticator app, unless they have one, and ends their other sessions. `step` is the time step
    /// of the code that they confirmed it with, `recovery` has the digests of their new recovery codes, and `proof` is of
    /// a second factor that they have already. `false` if they have an app, or the password was not set at `changed_at`.
    pub async fn set_second_factor(
        &self,
        (member, changed_at): (Member, Timestamp),
        (secret, step): (&str, i64),
        (recovery, proof): (Digests, Option<Proof>),
        session: NewSession,
    ) -> Result<bool> {
        let (actor, at) = (self.actor, session.at);
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        transact!(self, |conn| {
            let email = &member.email;
            let is_confirmed = confirm(conn, (email, changed_at), proof.as_ref(), at).await?;
            ensure!(is_confirmed, Rollback(false));
            let action = match is_on(conn, email).await? {
                true => "authenticator_app.add",
                false => "two_step.on",
            };
            let is_first = insert_new! {
                conn, factors: email, id, sealed = sealed, last_step = step, begun_at = at
            }?;
            ensure!(is_first, Rollback(false));
            set_codes(conn, email, recovery).await?;
            sessions::end_others(conn, email, session.digest).await?;
            let line = (actor, action, member.id);
            audit(conn, member.account_id, line, at).await?;
            Ok(Commit(true))
        })
        .await
    }

    /// Removes a person's authenticator app, and ends their other sessions. `false` if the proof was used before, or the
    /// password was not set at `changed_at`.
    pub fn remove_second_factor(
        &self,
        (member, changed_at): (Member, Timestamp),
        proof: Proof,
        session: NewSession,
    ) -> Answer<'_, bool> {
        let (actor, at) = (self.actor, session.at);
        transact!(self, |conn| {
            let email = &member.email;
            let is_proven = confirm(conn, (email, changed_at), Some(&proof), at).await?;
            ensure!(is_proven, Rollback(false));
            delete(conn, factors::table.find(V(email))).await?;
            let action = removed(conn, email).await?;
            let action = action.unwrap_or("authenticator_app.remove");
            sessions::end_others(conn, email, session.digest).await?;
            let line = (actor, action, member.id);
            audit(conn, member.account_id, line, at).await?;
            Ok(Commit(true))
        })
    }

    /// Replaces a person's recovery codes. `false` if the proof was used before, or the password was not set at
    /// `changed_at`.
    pub fn renew_recovery_codes(
        &self,
        (member, changed_at): (Member, Timestamp),
        (recovery, proof): (Digests, Proof),
        at: Timestamp,
    ) -> Answer<'_, bool> {
        let actor = self.actor;
        transact!(self, |conn| {
            let email = &member.email;
            let is_proven = confirm(conn, (email, changed_at), Some(&proof), at).await?;
            ensure!(is_proven, Rollback(false));
            set_codes(conn, email, recovery).await?;
            let line = (actor, "recovery_codes.renew", member.id);
            audit(conn, member.account_id, line, at).await?;
            Ok(Commit(true))
        })
    }

    /// The person whose sign-in with this digest waits for a code at `now`.
    pub fn half_sign_in(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<EmailAddress>> {
        halves::table
            .find(digest.to_vec())
            .filter(halves::expires_at.gt(V(now)))
            .select(halves::email)
            .read_first(self)
    }

    /// Ends a sign-in that waits for a second factor, with its proof: begins the session, and takes back the attempt as
    /// [`Store::begin_session`] does. `None` if it waits no longer, the code was used before, or the password has
    /// changed.
    pub fn finish_sign_in(
        &self,
        digest: [u8; 32],
        proof: Proof,
        session: NewSession,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
    ) -> Answer<'_, Option<Member>> {
        transact!(self, |conn| {
            let at = session.at;
            attempts::take_back(conn, own, shared, at).await?;
            let half: Option<(EmailAddress, AccountId, Timestamp)> =
                diesel::delete(halves::table.find(digest.to_vec()))
                    .filter(halves::expires_at.gt(V(at)))
                    .returning((halves::email, halves::account_id, halves::changed_at))
                    .returned(conn)
                    .await?;
            let (email, account, changed_at) = some_or!(half, Rollback(None));
            let is_proven = confirm(conn, (&email, changed_at), Some(&proof), at).await?;
            ensure!(is_proven, Rollback(None));
            let member = some_or!(member_of(conn, account, &email).await?, Rollback(None));
            sessions::insert(conn, &session, &member).await?;
            note_use(conn, (account, member.id), &proof, at).await?;
            Ok(Commit(Some(member)))
        })
    }
}
