//! Second factors: the secret of a person's authenticator app, recovery codes, and sign-ins that wait for a code.

use super::{
    attempts,
    people::{audit, hold_password, member_of},
    sessions,
};
use crate::prelude::*;
use crate::schema::{half_sign_ins as halves, recovery_codes as codes, second_factors as factors};

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
    let theirs = factors::table.find(V(&member.email));
    if !theirs.select(factors::email).exists(conn).await? {
        sessions::insert(conn, session, member).await?;
        return Ok(Begun::Session);
    }
    insert! {
        conn, halves of member: digest = session.digest, email, account_id, changed_at = changed_at,
        expires_at = session.at.plus(HALF_LASTS)
    }?;
    Ok(Begun::Half)
}

/// Deletes a person's second factor and what depends on it. Returns whether there was one.
pub(super) async fn forget(conn: &mut Conn, email: &EmailAddress) -> Result<bool> {
    delete(conn, halves::table.filter(halves::email.eq(V(email)))).await?;
    delete(conn, codes::table.filter(codes::email.eq(V(email)))).await?;
    Ok(delete(conn, factors::table.find(V(email))).await? > 0)
}

/// Deletes the sign-ins that have waited too long for their code.
pub(super) async fn forget_old_halves(conn: &mut Conn, now: Timestamp) -> Result<()> {
    delete(conn, halves::table.filter(halves::expires_at.le(V(now)))).await?;
    Ok(())
}

/// Uses up a code of a factor. `false` if the code was used before, or the factor has been replaced.
async fn use_up(conn: &mut Conn, email: &EmailAddress, proof: &Proof) -> Result<bool> {
    let theirs = factors::table.find(V(email));
    match *proof {
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
    }
}

#[boxed]
impl Store {
    /// The person's second factor with its secret. [`crate::StoreError::Corrupt`] if that cannot be opened.
    pub async fn second_factor(&self, email: EmailAddress) -> Result<Option<SecondFactor>> {
        let found = read!(self, |conn| {
            let factor: Option<(CredentialId, Vec<u8>)> = factors::table
                .find(V(&email))
                .select((factors::id, factors::sealed))
                .found(conn)
                .await?;
            let factor = some_or!(factor, None);
            let codes = codes::table.filter(codes::email.eq(V(&email)));
            let left: i64 = codes.count().get_result(conn).await?;
            Ok(Some((factor, left)))
        })
        .await?;
        let opened = found.map(|((id, sealed), recovery_codes)| {
            let secret = self.master_key.open(&sealed, &id.uuid())?;
            Ok(SecondFactor {
                id,
                secret,
                recovery_codes,
            })
        });
        opened.transpose()
    }

    /// Gives a person a second factor, unless they have one, and ends their other sessions. `step` is the time step of
    /// the code that they confirmed it with, and `recovery` has the digests of their recovery codes. `false` if they
    /// have one, or the password was not set at `changed_at`.
    pub async fn set_second_factor(
        &self,
        (member, changed_at): (Member, Timestamp),
        (secret, step): (&str, i64),
        recovery: Vec<[u8; 32]>,
        session: NewSession,
    ) -> Result<bool> {
        let (actor, at) = (self.actor, session.at);
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        transact!(self, |conn| {
            let email = &member.email;
            ensure!(
                hold_password(conn, email, changed_at).await?,
                Rollback(false)
            );
            let is_first = insert_new! {
                conn, factors: email, id, sealed = sealed, last_step = step, begun_at = at
            }?;
            ensure!(is_first, Rollback(false));
            for digest in recovery {
                insert! { conn, codes: email, digest }?;
            }
            sessions::end_others(conn, email, session.digest).await?;
            let line = (actor, "two_step.on", member.id);
            audit(conn, member.account_id, line, at).await?;
            Ok(Commit(true))
        })
        .await
    }

    /// Removes a person's second factor with one of its codes, and ends their other sessions. `false` if the code was
    /// used before, or the password was not set at `changed_at`.
    pub fn remove_second_factor(
        &self,
        (member, changed_at): (Member, Timestamp),
        proof: Proof,
        session: NewSession,
    ) -> Answer<'_, bool> {
        let (actor, at) = (self.actor, session.at);
        transact!(self, |conn| {
            let email = &member.email;
            let is_proven = hold_password(conn, email, changed_at).await?
                && use_up(conn, email, &proof).await?;
            ensure!(is_proven, Rollback(false));
            forget(conn, email).await?;
            sessions::end_others(conn, email, session.digest).await?;
            let line = (actor, "two_step.off", member.id);
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

    /// Ends a sign-in that waits for a code, with the code: begins the session, and takes back the attempt as
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
            let is_proven = hold_password(conn, &email, changed_at).await?
                && use_up(conn, &email, &proof).await?;
            ensure!(is_proven, Rollback(None));
            let member = some_or!(member_of(conn, account, &email).await?, Rollback(None));
            sessions::insert(conn, &session, &member).await?;
            if let Proof::Recovery(_) = proof {
                let actor = Actor::Member(member.id);
                let line = (actor, "recovery_code.use", member.id);
                audit(conn, account, line, at).await?;
            }
            Ok(Commit(Some(member)))
        })
    }
}
