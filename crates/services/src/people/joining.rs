//! One-time links: to set a password, and to come to a team.

use offhook_boxed::boxed;
use std::net::IpAddr;
use std::time::Duration;

use offhook_domain::{AccountId, EmailAddress, MemberRole, Timestamp};
use offhook_storage::{JoinsWith, SignInLink, StoreError};

use super::passwords::{self, PasswordFault};
use super::sessions::{begin, email_key, token_digest};
use super::{People, SignInError, SignedIn};
use crate::Result;
use crate::team::checked_name;

/// How long a link to set a password opens something.
const LINK_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// A one-time link that was just made.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its token; it is here and nowhere else. The page is `/portal/welcome/{token}`.
    pub token: String,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
}

/// What a link to set a password is for.
#[derive(Debug, Clone)]
pub struct LinkFor {
    /// Whose password is set.
    pub email: EmailAddress,
    /// The account that it was made for.
    pub account_name: String,
    /// Whether the person has a password, which the link replaces.
    pub has_password: bool,
}

#[derive(Debug, Clone)]
pub struct InvitationFor {
    /// Who is invited.
    pub email: EmailAddress,
    /// The name that the invitation was made for.
    pub name: String,
    pub account_name: String,
    /// As what.
    pub role: MemberRole,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
}

/// Why a link did nothing.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// It opens nothing: it was used, has expired or never was, or who it was for is no member.
    #[error("the link opens nothing any more")]
    Gone,
    /// The password cannot be used.
    #[error("the password {0}")]
    Password(#[from] PasswordFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an invitation was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// It opens nothing: it was accepted or withdrawn, has expired or never was.
    #[error("the invitation opens nothing any more")]
    Gone,
    /// The person has a password, and it is another one; or is a member elsewhere and has none: an invitation does not say
    /// who that is, a link of the operator does. Which of the two is nobody's business who merely holds an invitation.
    #[error(
        "the password is another one, or whoever runs this service has to make a link for this address first"
    )]
    Wrong,
    /// Too many attempts have failed.
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// For how long none is looked at.
        seconds: u64,
    },
    /// The name is empty, longer than 120 characters, or has control characters.
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    /// The new password cannot be used.
    #[error("the password {0}")]
    Password(#[from] PasswordFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SignInError> for JoinError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Wrong => Self::Wrong,
            SignInError::Throttled { seconds } => Self::Throttled { seconds },
            SignInError::Store(error) => Self::Store(error),
        }
    }
}

#[boxed]
impl People {
    /// Makes a one-time link with which a member of the account sets a password; `None` if it has no such member. Only
    /// the operator makes one: it opens every account that the person is a member of.
    pub async fn link(&self, account: AccountId, email: &EmailAddress) -> Result<Option<Link>> {
        let at = self.shared.clock.now();
        let expires_at = at.plus(LINK_LASTS);
        let (token, session) = begin(at)?;
        let link = SignInLink {
            email: email.clone(),
            account_id: account,
            expires_at,
        };
        let made = self.shared.store.create_link(link, session.digest, at);
        Ok(made.await?.then_some(Link { token, expires_at }))
    }

    /// Whether the person with this address has ever set a password.
    pub async fn has_password(&self, email: &EmailAddress) -> Result<bool> {
        let (password, _) = self.shared.store.person(email.clone()).await?;
        Ok(password.is_some())
    }

    /// What a link is for; `None` if it opens nothing. Looking does not use it up.
    pub async fn open_link(&self, token: &str) -> Result<Option<LinkFor>> {
        let Some(digest) = token_digest(token) else {
            return Ok(None);
        };
        let found = self.shared.store.link(digest, self.shared.clock.now());
        Ok(found.await?.map(|(link, account, password)| LinkFor {
            email: link.email,
            account_name: account.name,
            has_password: password.is_some(),
        }))
    }

    /// Sets the password of the person whom the link is for, ends all their sessions and begins one.
    ///
    /// # Errors
    /// [`LinkError::Gone`] if it opens nothing, [`LinkError::Password`] for a password that cannot be used.
    pub async fn set_password_by_link(
        &self,
        token: &str,
        password: &str,
    ) -> Result<SignedIn, LinkError> {
        let link = self.open_link(token).await?.ok_or(LinkError::Gone)?;
        let digest = token_digest(token).ok_or(LinkError::Gone)?;
        passwords::check(password, &link.email)?;
        let hash = self.passwords.hash(password).await?;
        let (token, session) = begin(self.shared.clock.now())?;
        let store = &self.shared.store;
        let key = email_key(link.email.as_str());
        let set = store.set_password_by_link(digest, hash, session, key);
        let member = set.await?.ok_or(LinkError::Gone)?;
        tracing::info!(member = %member.id, account = %member.account_id, "a password was set by a link");
        let person = self.who(&token).await?.ok_or(LinkError::Gone)?;
        Ok(SignedIn { token, person })
    }

    /// What an invitation is for; `None` if it opens nothing. Looking does not use it up.
    pub async fn invitation(&self, token: &str) -> Result<Option<InvitationFor>> {
        let Some(digest) = token_digest(token) else {
            return Ok(None);
        };
        let found = self
            .shared
            .store
            .invitation(digest, self.shared.clock.now());
        Ok(found.await?.map(|(invitation, account, _)| InvitationFor {
            email: invitation.email,
            name: invitation.name,
            account_name: account.name,
            role: invitation.role,
            expires_at: invitation.expires_at,
        }))
    }

    /// Makes a member of whom the invitation is for, and begins a session in its account. Somebody who has a password
    /// gives that one; for everybody else it is the first. Both are counted, and take as long. `address` is the client's.
    pub async fn accept_invitation(
        &self,
        token: &str,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<SignedIn, JoinError> {
        let digest = token_digest(token).ok_or(JoinError::Gone)?;
        let found = self
            .shared
            .store
            .invitation(digest, self.shared.clock.now());
        let (invitation, _, kept) = found.await?.ok_or(JoinError::Gone)?;
        let name = checked_name(name).map_err(|_| JoinError::Name)?;
        passwords::check(password, &invitation.email)?;
        let tried = self
            .take_attempt(invitation.email.as_str(), address, kept.as_ref())
            .await?;
        let with = if kept.is_some() {
            JoinsWith::Known(self.verify(password, kept).await?.changed_at)
        } else {
            JoinsWith::First(self.passwords.hash(password).await?)
        };
        let (token, session) = begin(self.shared.clock.now())?;
        let store = &self.shared.store;
        let joined = store.accept_invitation(digest, name, with, session);
        let Some(member) = joined.await? else {
            let (password, places) = store.person(invitation.email).await?;
            return Err(match password.is_none() && !places.is_empty() {
                true => JoinError::Wrong,
                false => JoinError::Gone,
            });
        };
        self.give_back(tried).await?;
        tracing::info!(member = %member.id, account = %member.account_id, "an invitation was accepted");
        let person = self.who(&token).await?.ok_or(JoinError::Gone)?;
        Ok(SignedIn { token, person })
    }
}
