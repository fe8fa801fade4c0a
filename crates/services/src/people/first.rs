//! The first account of a service. A user who can read the log creates it in the portal.

use std::sync::atomic::Ordering;

use ring::rand::{SecureRandom, SystemRandom};

use super::passwords::{self, PasswordFault};
use super::sessions::begin;
use super::{People, SignedIn};
use crate::Result;
use crate::accounts::{first_credits, new_account};
use crate::digest::sha256;
use crate::error::InputError;
use crate::prelude::*;
use crate::team::checked_name;

/// The characters of a code: digits and letters without those that look alike (Crockford's base 32).
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Characters of a code, in groups of [`GROUP`]: 80 bits.
const CODE: usize = 16;
const GROUP: usize = 4;

/// A request to create the first account.
#[derive(Debug)]
pub struct NewService<'a> {
    /// The code from the log.
    pub code: &'a str,
    pub account_name: &'a str,
    pub plan: Plan,
    /// Its owner's e-mail address.
    pub email: &'a str,
    /// Its owner's name.
    pub name: &'a str,
    /// Its owner's password.
    pub password: &'a str,
}

/// Why the first account was not created.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error("there is an account already")]
    Begun,
    /// The code is not the one in the log of this process.
    #[error("the code is not the one of the log")]
    Code,
    #[error("the account's name must have 1 to 120 characters")]
    AccountName,
    #[error("the e-mail address is none")]
    Email,
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    #[error("the password {0}")]
    Password(#[from] PasswordFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl People {
    /// Whether there is no account yet.
    pub async fn awaits_first_account(&self) -> Result<bool> {
        if self.has_begun.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let has_account = self.ctx.store.has_account().await?;
        self.has_begun.store(has_account, Ordering::Relaxed);
        Ok(!has_account)
    }

    /// The code that creates the first account, for the log of this process, which keeps it in memory only. `None` once
    /// there is an account.
    pub async fn first_run_code(&self) -> Result<Option<String>> {
        if !self.awaits_first_account().await? {
            return Ok(None);
        }
        let mut kept = self.first_code.lock();
        if let Some(code) = &*kept {
            return Ok(Some(code.clone()));
        }
        let code = new_code()?;
        *kept = Some(code.clone());
        Ok(Some(code))
    }

    /// Creates the first account and its owner, and starts a session. Refused with [`BeginError::Begun`] once there is
    /// an account.
    pub async fn begin(&self, new: NewService<'_>) -> Result<SignedIn, BeginError> {
        if !self.awaits_first_account().await? {
            return Err(BeginError::Begun);
        }
        if !self.is_code(new.code) {
            return Err(BeginError::Code);
        }
        let at = self.ctx.clock.now();
        let account = new_account(new.account_name, new.plan, None, at);
        let account = account.map_err(|_| BeginError::AccountName)?;
        let email: EmailAddress = new.email.parse().map_err(|_| BeginError::Email)?;
        let name = checked_name(new.name).map_err(|_| BeginError::Name)?;
        passwords::check(new.password, &email)?;
        let hash = self.passwords.hash(new.password).await?;
        let owner = Member {
            id: mint(at),
            account_id: account.id,
            name,
            email,
            role: MemberRole::Owner,
            joined_at: at,
        };
        let credits = first_credits(&self.ctx, &account, None);
        let (token, session) = begin(at)?;
        let store = &self.ctx.store;
        let begun = store.begin_service(account.clone(), credits, (owner, hash), session);
        if !begun.await? {
            return Err(BeginError::Begun);
        }
        self.has_begun.store(true, Ordering::Relaxed);
        *self.first_code.lock() = None;
        tracing::info!(account = %account.id, "the first account was made in the portal");
        // As in `Accounts::create`: the next run over the months makes up for a failure here.
        if let Err(error) = crate::billing::enter(&self.ctx, &account, None).await {
            tracing::warn!(%error, "the account's first invoice is begun later");
        }
        let person = self.who(&token).await?.ok_or(BeginError::Begun)?;
        Ok(SignedIn { token, person })
    }

    fn is_code(&self, given: &str) -> bool {
        let kept = self.first_code.lock();
        let Some(code) = &*kept else { return false };
        // Comparing digests leaks nothing about how similar the codes are.
        sha256(plain(code).as_bytes()) == sha256(plain(given).as_bytes())
    }
}

impl From<InputError> for BeginError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Invalid(_) | InputError::Secret(_) => Self::AccountName,
            InputError::Store(error) => Self::Store(error),
        }
    }
}

/// A code without separators, in upper case.
pub(super) fn plain(code: &str) -> String {
    let shown = code.chars().filter(|c| !c.is_whitespace() && *c != '-');
    shown.map(|c| c.to_ascii_uppercase()).collect()
}

pub(super) fn new_code() -> Result<String> {
    let mut random = [0; CODE];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    let mut code = String::with_capacity(CODE + CODE / GROUP);
    for (place, byte) in random.iter().enumerate() {
        if place > 0 && place % GROUP == 0 {
            code.push('-');
        }
        // 32 divides 256, so every character is equally likely.
        code.push(char::from(ALPHABET[usize::from(byte % 32)]));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_four_groups_and_is_typed_in_any_way() {
        let code = new_code().unwrap();
        assert_eq!(code.split('-').map(str::len).collect::<Vec<_>>(), [4; 4]);
        assert_ne!(code, new_code().unwrap());
        assert_eq!(plain(" 0abc-defg hjkm-npqr"), "0ABCDEFGHJKMNPQR");
    }
}
