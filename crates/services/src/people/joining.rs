//! One-time links: to set a password, and to join a team.

use std::net::IpAddr;

use super::passwords::{self, PasswordFault};
use super::sessions::{begin, email_key, token_digest};
use super::{People, SignInError, SignedIn};
use crate::Result;
use crate::prelude::*;
use crate::team::checked_name;

/// How long a link to set a password is valid.
const LINK_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// A new one-time link.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its token, which is stored nowhere. The page is `/portal/welcome/{token}`.
    pub token: String,
    pub expires_at: Timestamp,
}

/// The purpose of a link to set a password.
#[derive(Debug, Clone)]
pub struct LinkFor {
    /// The address whose password it sets.
    pub email: EmailAddress,
    /// The account that it was created for.
    pub account_name: String,
    /// Whether the user has a password, which the link replaces.
    pub has_password: bool,
    /// Whether two-step verification is on, which the link turns off.
    pub has_two_step: bool,
}

#[derive(Debug, Clone)]
pub struct InvitationFor {
    pub email: EmailAddress,
    /// The name that the inviter entered.
    pub name: String,
    pub account_name: String,
    pub role: MemberRole,
    pub expires_at: Timestamp,
}

/// Why a link did not work.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The link is invalid: it was used, has expired or never existed, or its recipient is no longer a member.
    #[error("the link opens nothing any more")]
    Gone,
    /// The password is set; the account requires single sign-on.
    #[error("the account requires single sign-on")]
    SingleSignOnRequired,
    #[error("the password {0}")]
    Password(#[from] PasswordFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an invitation was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The invitation is invalid: it was accepted or withdrawn, has expired or never existed.
    #[error("the invitation opens nothing any more")]
    Gone,
    /// The user has another password; or is a member elsewhere without a password. In the second case an invitation
    /// does not prove identity, but a link from the operator does. The error does not distinguish the two, because the
    /// holder of an invitation must not learn which.
    #[error(
        "the password is another one, or whoever runs this service has to make a link for this address first"
    )]
    Wrong,
    /// They are a member now; a code of the second factor finishes the sign-in with this token.
    #[error("a code of the second factor is needed")]
    CodeRequired { token: String },
    /// They are a member now; the account requires single sign-on.
    #[error("the account requires single sign-on")]
    SingleSignOnRequired,
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// How long no attempt is checked.
        seconds: u64,
    },
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    #[error("the password {0}")]
    Password(#[from] PasswordFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SignInError> for JoinError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Wrong => Self::Wrong,
            SignInError::CodeRequired { token } => Self::CodeRequired { token },
            SignInError::SingleSignOnRequired => Self::SingleSignOnRequired,
            SignInError::Throttled { seconds } => Self::Throttled { seconds },
            SignInError::Store(error) => Self::Store(error),
        }
    }
}

#[boxed]
impl People {
    /// Creates a one-time link with which a member of the account sets a password; `None` if it has no such member.
    /// Only the operator creates one, because it opens every account of the user.
    pub async fn link(&self, account: AccountId, email: &EmailAddress) -> Result<Option<Link>> {
        let at = self.ctx.clock.now();
        let expires_at = at.plus(LINK_LASTS);
        let (token, session) = begin(at)?;
        let link = SignInLink {
            email: email.clone(),
            account_id: account,
            expires_at,
        };
        let made = self.ctx.store.create_link(link, session.digest, at);
        Ok(made.await?.then_some(Link { token, expires_at }))
    }

    /// Whether the user with this address has turned two-step verification on.
    pub async fn has_two_step(&self, email: &EmailAddress) -> Result<bool> {
        let factors = self.ctx.store.second_factors(email.clone()).await?;
        Ok(factors.is_on())
    }

    /// Whether the user with this address has ever set a password.
    pub async fn has_password(&self, email: &EmailAddress) -> Result<bool> {
        let (password, _) = self.ctx.store.person(email.clone()).await?;
        Ok(password.is_some())
    }

    /// The purpose of a link; `None` if it is invalid. Reading does not use it up.
    pub async fn open_link(&self, token: &str) -> Result<Option<LinkFor>> {
        let digest = some_or!(token_digest(token), None);
        let found = self.ctx.store.link(digest, self.ctx.clock.now());
        let Some((link, account, password)) = found.await? else {
            return Ok(None);
        };
        let factors = self.ctx.store.second_factors(link.email.clone()).await?;
        Ok(Some(LinkFor {
            email: link.email,
            account_name: account.name,
            has_password: password.is_some(),
            has_two_step: factors.is_on(),
        }))
    }

    /// Sets the password of the link's user, turns their two-step verification off, ends all their sessions and starts
    /// one.
    pub async fn set_password_by_link(
        &self,
        token: &str,
        password: &str,
    ) -> Result<SignedIn, LinkError> {
        let link = self.open_link(token).await?.ok_or(LinkError::Gone)?;
        let digest = token_digest(token).ok_or(LinkError::Gone)?;
        passwords::check(password, &link.email)?;
        let hash = self.passwords.hash(password).await?;
        let (token, session) = begin(self.ctx.clock.now())?;
        let store = &self.ctx.store;
        let key = email_key(link.email.as_str());
        let set = store.set_password_by_link(digest, hash, session, key);
        let member = set.await?.ok_or(LinkError::Gone)?;
        tracing::info!(member = %member.id, account = %member.account_id, "a password was set by a link");
        let person = self.who(&token).await?;
        let person = person.ok_or(LinkError::SingleSignOnRequired)?;
        Ok(SignedIn { token, person })
    }

    /// The content of an invitation; `None` if it is invalid. Reading does not use it up.
    pub async fn invitation(&self, token: &str) -> Result<Option<InvitationFor>> {
        let digest = some_or!(token_digest(token), None);
        let found = self.ctx.store.invitation(digest, self.ctx.clock.now());
        Ok(found.await?.map(|(invitation, account, _)| InvitationFor {
            email: invitation.email,
            name: invitation.name,
            account_name: account.name,
            role: invitation.role,
            expires_at: invitation.expires_at,
        }))
    }

    /// Makes the invited user a member, and starts a session in its account. A user with a password enters it; for any
    /// other, `password` becomes their first. Both count as attempts and take equally long. `address` is the client's.
    pub async fn accept_invitation(
        &self,
        token: &str,
        name: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<SignedIn, JoinError> {
        let digest = token_digest(token).ok_or(JoinError::Gone)?;
        let found = self.ctx.store.invitation(digest, self.ctx.clock.now());
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
        let (token, session) = begin(self.ctx.clock.now())?;
        let store = &self.ctx.store;
        let joined = store.accept_invitation(digest, name, with, session);
        let Some((member, begun)) = joined.await? else {
            let (password, places) = store.person(invitation.email).await?;
            return Err(match password.is_none() && !places.is_empty() {
                true => JoinError::Wrong,
                false => JoinError::Gone,
            });
        };
        self.give_back(tried).await?;
        tracing::info!(member = %member.id, account = %member.account_id, "an invitation was accepted");
        match self.entered(token, begun).await {
            // The session opens no account: this one requires single sign-on.
            Err(SignInError::Wrong) => Err(JoinError::SingleSignOnRequired),
            entered => Ok(entered?),
        }
    }
}
