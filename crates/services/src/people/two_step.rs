//! Two-step verification: a code of an authenticator app, or a recovery code, after the password.

use std::net::IpAddr;

use offhook_boxed::boxed;
use offhook_domain::Timestamp;
use offhook_storage::{NewSession, Proof, SecondFactor, StoreError};
use ring::rand::{SecureRandom, SystemRandom};

use super::first::{new_code, plain};
use super::sessions::{SignInError, Tried, begin, token_digest};
use super::{People, Person, SignedIn, totp};
use crate::Result;
use crate::digest::sha256;

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

/// Why two-step verification was not turned on or off.
#[derive(Debug, thiserror::Error)]
pub enum TwoStepError {
    #[error("the password is another one")]
    Password,
    /// The code is wrong, too old, or was used before.
    #[error("the code is wrong or was used before")]
    Code,
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

impl From<SignInError> for TwoStepError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Wrong
            | SignInError::CodeRequired { .. }
            | SignInError::SingleSignOnRequired => Self::Password,
            SignInError::Throttled { seconds } => Self::Throttled { seconds },
            SignInError::Store(error) => Self::Store(error),
        }
    }
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

impl From<SignInError> for CodeError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Wrong
            | SignInError::CodeRequired { .. }
            | SignInError::SingleSignOnRequired => Self::Expired,
            SignInError::Throttled { seconds } => Self::Throttled { seconds },
            SignInError::Store(error) => Self::Store(error),
        }
    }
}

#[boxed]
impl People {
    /// How many recovery codes the user has left; `None` if two-step verification is off.
    pub async fn recovery_codes_left(&self, person: &Person) -> Result<Option<i64>> {
        let email = person.member.email.clone();
        let factor = self.ctx.store.second_factor(email).await?;
        Ok(factor.map(|factor| factor.recovery_codes))
    }

    /// Turns two-step verification on, ends the user's other sessions, and returns the recovery codes, which are shown
    /// once. Wrong passwords and codes count against the user.
    pub async fn turn_on_two_step(
        &self,
        person: &Person,
        password: &str,
        (secret, code): (&str, &str),
    ) -> Result<Vec<String>, TwoStepError> {
        let email = &person.member.email;
        let tried = self.take(Tried::inside(email)).await?;
        let (kept, _) = self.ctx.store.person(email.clone()).await?;
        let kept = self.verify(password, kept).await?;
        let at = self.ctx.clock.now();
        let bytes = decoded(secret).ok_or(TwoStepError::Code)?;
        let step = totp::step_of(&bytes, &typed(code), at).ok_or(TwoStepError::Code)?;
        self.give_back(tried).await?;
        let codes: Result<Vec<String>> = (0..RECOVERY_CODES).map(|_| new_code()).collect();
        let codes = codes?;
        let digests = codes.iter().map(|code| recovery_digest(code)).collect();
        let store = self.ctx.store.acting(person.actor());
        let session = NewSession {
            digest: person.session,
            at,
        };
        let member = (person.member.clone(), kept.changed_at);
        let set = store.set_second_factor(member, (secret, step), digests, session);
        match set.await? {
            true => Ok(codes),
            false => Err(TwoStepError::Changed),
        }
    }

    /// Turns two-step verification off and ends the user's other sessions. Wrong passwords and codes count against the
    /// user.
    pub async fn turn_off_two_step(
        &self,
        person: &Person,
        password: &str,
        code: &str,
    ) -> Result<(), TwoStepError> {
        let email = &person.member.email;
        let tried = self.take(Tried::inside(email)).await?;
        let (kept, _) = self.ctx.store.person(email.clone()).await?;
        let kept = self.verify(password, kept).await?;
        let factor = self.ctx.store.second_factor(email.clone()).await?;
        let factor = factor.ok_or(TwoStepError::Changed)?;
        let at = self.ctx.clock.now();
        let proof = proof(&factor, code, at)?.ok_or(TwoStepError::Code)?;
        let store = self.ctx.store.acting(person.actor());
        let session = NewSession {
            digest: person.session,
            at,
        };
        let member = (person.member.clone(), kept.changed_at);
        if !store.remove_second_factor(member, proof, session).await? {
            return Err(TwoStepError::Code);
        }
        self.give_back(tried).await?;
        Ok(())
    }

    /// Whether the sign-in with this token waits for a code.
    pub async fn waits_for_code(&self, token: &str) -> Result<bool> {
        let Some(digest) = token_digest(token) else {
            return Ok(false);
        };
        let now = self.ctx.clock.now();
        let found = self.ctx.store.half_sign_in(digest, now).await?;
        Ok(found.is_some())
    }

    /// Ends a sign-in that waits for a code, and starts the session. `address` is the client's.
    pub async fn finish_sign_in(
        &self,
        token: &str,
        code: &str,
        address: IpAddr,
    ) -> Result<SignedIn, CodeError> {
        let half = token_digest(token).ok_or(CodeError::Expired)?;
        let now = self.ctx.clock.now();
        let found = self.ctx.store.half_sign_in(half, now).await?;
        let email = found.ok_or(CodeError::Expired)?;
        let tried = self.take(Tried::after_password(&email, address)).await?;
        let factor = self.ctx.store.second_factor(email).await?;
        let factor = factor.ok_or(CodeError::Expired)?;
        let proof = proof(&factor, code, now)?.ok_or(CodeError::Wrong)?;
        let (token, session) = begin(now)?;
        let store = &self.ctx.store;
        let finished = store.finish_sign_in(half, proof, session, tried.taken_back());
        let member = finished.await?.ok_or(CodeError::Wrong)?;
        tracing::info!(member = %member.id, account = %member.account_id, "signed in with a second factor");
        Ok(self.signed_in(token).await?)
    }
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

/// What a typed code proves, if it has not been used before; `None` if it is wrong.
fn proof(factor: &SecondFactor, code: &str, now: Timestamp) -> Result<Option<Proof>> {
    let code = typed(code);
    if code.len() != totp::DIGITS {
        return Ok(Some(Proof::Recovery(recovery_digest(&code))));
    }
    let secret = decoded(&factor.secret)
        .ok_or_else(|| StoreError::Corrupt("a second factor's secret".to_owned()))?;
    let step = totp::step_of(&secret, &code, now);
    Ok(step.map(|step| Proof::Code {
        factor: factor.id,
        step,
    }))
}
