//! Two-step verification: a code of an authenticator app, a recovery code or a passkey, after the password.

use std::net::IpAddr;

use ring::rand::{SecureRandom, SystemRandom};

use super::first::{new_code, plain};
use super::passkeys::RelyingParty;
use super::sessions::{Tried, begin, token_digest};
use super::{People, Person, SignedIn, totp};
use crate::Result;
use crate::digest::sha256;
use crate::prelude::*;

/// How many recovery codes a person gets.
const RECOVERY_CODES: usize = 10;

/// The secret of a second factor, which a person has not confirmed yet. It is stored nowhere.
#[derive(Debug)]
pub struct NewFactor {
    /// For the form that confirms it.
    pub secret: String,
    /// For the authenticator app: base 32, in groups.
    pub key: String,
}

/// What a person gives after their password.
#[derive(Debug, Clone, Copy)]
pub struct GivenFactor<'a> {
    /// A code of the app, or a recovery code.
    pub code: &'a str,
    /// A passkey's answer, in place of a code.
    pub passkey: Option<(&'a RelyingParty, &'a str)>,
}

/// What an entered password and a proof, if one is needed, have confirmed: when the password was set, the proof, and the
/// attempt.
pub(super) type Confirmed = (Timestamp, Option<Proof>, Tried);

/// Why a second factor was not added or removed.
#[derive(Debug, thiserror::Error)]
pub enum TwoStepError {
    #[error("the password is another one")]
    Password,
    /// The code is wrong, too old, or was used before; or the passkey was refused.
    #[error("the code is wrong or was used before")]
    Code,
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    #[error("there are 20 passkeys: remove one first")]
    TooMany,
    /// The new passkey was refused, or made too late.
    #[error("the passkey was not added")]
    Passkey,
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// How long no attempt is checked.
        seconds: u64,
    },
    /// It was turned on or off meanwhile.
    #[error("two-step verification has changed meanwhile")]
    Changed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a sign-in was not finished with a code.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The sign-in has waited too long, or was finished: the password is to be entered again.
    #[error("the sign-in has expired")]
    Expired,
    /// The code is wrong, too old, or was used before.
    #[error("the code is wrong or was used before")]
    Wrong,
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// How long no attempt is checked.
        seconds: u64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl People {
    /// What the user has turned on.
    pub async fn second_factors(&self, person: &Person) -> Result<SecondFactors> {
        let email = person.member.email.clone();
        self.ctx.store.second_factors(email).await
    }

    /// Verifies what a signed-in user enters before a change of their second factors: the password, and a proof if they
    /// have any. It counts as an attempt until it is given back.
    pub(super) async fn confirm(
        &self,
        person: &Person,
        password: &str,
        given: GivenFactor<'_>,
    ) -> Result<(SecondFactors, Confirmed), TwoStepError> {
        let email = &person.member.email;
        let tried = self.take(Tried::inside(email)).await?;
        let (kept, _) = self.ctx.store.person(email.clone()).await?;
        let kept = self.verify(password, kept).await?;
        let factors = self.ctx.store.second_factors(email.clone()).await?;
        let proof = match factors.is_on() {
            true => {
                let proof = self.proof((email, &factors), given, person.session);
                Some(proof.await?.ok_or(TwoStepError::Code)?)
            }
            false => None,
        };
        Ok((factors, (kept.changed_at, proof, tried)))
    }

    /// What was given proves, if it has not been used before; `None` if it is wrong. `digest` is of the browser's token.
    async fn proof(
        &self,
        (email, factors): (&EmailAddress, &SecondFactors),
        given: GivenFactor<'_>,
        digest: [u8; 32],
    ) -> Result<Option<Proof>> {
        if let Some((party, answer)) = given.passkey {
            return self.passkey_proof(party, digest, (email, answer)).await;
        }
        let code = typed(given.code);
        if code.len() != totp::DIGITS {
            return Ok(Some(Proof::Recovery(recovery_digest(&code))));
        }
        let app = some_or!(&factors.app, None);
        let secret = decoded(&app.secret)
            .ok_or_else(|| StoreError::Corrupt("a second factor's secret".to_owned()))?;
        let step = totp::step_of(&secret, &code, self.ctx.clock.now());
        Ok(step.map(|step| Proof::Code {
            factor: app.id,
            step,
        }))
    }

    /// Sets up an authenticator app, ends the user's other sessions, and returns new recovery codes, which are shown once.
    /// `given` is of a second factor that they have already. Wrong passwords and codes count against the user.
    pub async fn turn_on_two_step(
        &self,
        person: &Person,
        (password, given): (&str, GivenFactor<'_>),
        (secret, code): (&str, &str),
    ) -> Result<Vec<String>, TwoStepError> {
        let (_, (changed_at, proof, tried)) = self.confirm(person, password, given).await?;
        let at = self.ctx.clock.now();
        let bytes = decoded(secret).ok_or(TwoStepError::Code)?;
        let step = totp::step_of(&bytes, &typed(code), at).ok_or(TwoStepError::Code)?;
        self.give_back(tried).await?;
        let (codes, digests) = new_recovery_codes()?;
        let store = self.ctx.store.acting(person.actor());
        let session = NewSession {
            digest: person.session,
            at,
        };
        let member = (person.member.clone(), changed_at);
        let set = store.set_second_factor(member, (secret, step), (digests, proof), session);
        match set.await? {
            true => Ok(codes),
            false => Err(TwoStepError::Changed),
        }
    }

    /// Removes the authenticator app and ends the user's other sessions; without passkeys two-step verification is off.
    /// Wrong passwords and codes count against the user.
    pub async fn turn_off_two_step(
        &self,
        person: &Person,
        password: &str,
        given: GivenFactor<'_>,
    ) -> Result<(), TwoStepError> {
        let (_, (changed_at, proof, tried)) = self.confirm(person, password, given).await?;
        let proof = proof.ok_or(TwoStepError::Changed)?;
        let store = self.ctx.store.acting(person.actor());
        let session = NewSession {
            digest: person.session,
            at: self.ctx.clock.now(),
        };
        let member = (person.member.clone(), changed_at);
        if !store.remove_second_factor(member, proof, session).await? {
            return Err(TwoStepError::Code);
        }
        self.give_back(tried).await?;
        Ok(())
    }

    /// Replaces the user's recovery codes, and returns the new ones, which are shown once. Wrong passwords and codes count
    /// against the user.
    pub async fn renew_recovery_codes(
        &self,
        person: &Person,
        password: &str,
        given: GivenFactor<'_>,
    ) -> Result<Vec<String>, TwoStepError> {
        let (_, (changed_at, proof, tried)) = self.confirm(person, password, given).await?;
        let proof = proof.ok_or(TwoStepError::Changed)?;
        let (codes, digests) = new_recovery_codes()?;
        let store = self.ctx.store.acting(person.actor());
        let member = (person.member.clone(), changed_at);
        let renewed = store.renew_recovery_codes(member, (digests, proof), self.ctx.clock.now());
        if !renewed.await? {
            return Err(TwoStepError::Code);
        }
        self.give_back(tried).await?;
        Ok(codes)
    }

    /// Whether the sign-in with this token waits for a code.
    pub async fn waits_for_code(&self, token: &str) -> Result<bool> {
        let digest = some_or!(token_digest(token), false);
        let now = self.ctx.clock.now();
        let found = self.ctx.store.half_sign_in(digest, now).await?;
        Ok(found.is_some())
    }

    /// Ends a sign-in that waits for a second factor, and starts the session. `address` is the client's.
    pub async fn finish_sign_in(
        &self,
        token: &str,
        given: GivenFactor<'_>,
        address: IpAddr,
    ) -> Result<SignedIn, CodeError> {
        let half = token_digest(token).ok_or(CodeError::Expired)?;
        let now = self.ctx.clock.now();
        let found = self.ctx.store.half_sign_in(half, now).await?;
        let email = found.ok_or(CodeError::Expired)?;
        let tried = self.take(Tried::after_password(&email, address)).await?;
        let factors = self.ctx.store.second_factors(email.clone()).await?;
        let proof = self.proof((&email, &factors), given, half);
        let proof = proof.await?.ok_or(CodeError::Wrong)?;
        let (token, session) = begin(now)?;
        let store = &self.ctx.store;
        let finished = store.finish_sign_in(half, proof, session, tried.taken_back());
        let member = finished.await?.ok_or(CodeError::Wrong)?;
        tracing::info!(member = %member.id, account = %member.account_id, "signed in with a second factor");
        Ok(self.signed_in(token).await?)
    }

    /// Whether a passkey may end the sign-in that waits with this token.
    pub async fn waits_for_passkey(&self, token: &str) -> Result<bool> {
        let digest = some_or!(token_digest(token), false);
        let now = self.ctx.clock.now();
        let email = some_or!(self.ctx.store.half_sign_in(digest, now).await?, false);
        let factors = self.ctx.store.second_factors(email).await?;
        Ok(!factors.passkeys.is_empty())
    }
}

/// New recovery codes, and their digests.
pub(super) fn new_recovery_codes() -> Result<(Vec<String>, Vec<[u8; 32]>)> {
    let codes: Result<Vec<String>> = (0..RECOVERY_CODES).map(|_| new_code()).collect();
    let codes = codes?;
    let digests = codes.iter().map(|code| recovery_digest(code)).collect();
    Ok((codes, digests))
}

/// A new second factor, or the one with this secret, to be shown again. An unreadable secret gets a new one.
pub fn new_factor(secret: Option<&str>) -> Result<NewFactor> {
    let mut bytes = [0; totp::SECRET_BYTES];
    match secret.and_then(decoded) {
        Some(known) => bytes = known,
        None => SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?,
    }
    Ok(NewFactor {
        secret: hex::encode(bytes),
        key: totp::key(&bytes),
    })
}

fn decoded(secret: &str) -> Option<[u8; totp::SECRET_BYTES]> {
    let mut bytes = [0; totp::SECRET_BYTES];
    hex::decode_to_slice(secret, &mut bytes).ok()?;
    Some(bytes)
}

/// What was typed, without the spaces that apps show.
fn typed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

fn recovery_digest(code: &str) -> [u8; 32] {
    sha256(plain(code).as_bytes())
}
