//! Signing in by an account's identity provider. Its session opens that account alone: another account's provider could
//! name the same address.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_egress::TargetUrl;

use super::oidc::{Attempt, Identity, ProviderFault, Registration};
use super::sessions::{begin, token_digest};
use super::{People, Person, SignedIn};
use crate::Result;
use crate::digest::sha256;
use crate::prelude::*;
use crate::team::checked_name;
use crate::team::seats::{self, TeamRefusal};

/// A sign-in that continues at an identity provider.
#[derive(Debug)]
pub struct SingleSignOnBegun {
    /// For a cookie: it proves that the browser that comes back is the one that went.
    pub token: String,
    pub account_name: String,
    /// Where the person signs in.
    pub url: String,
}

/// Why an identity provider was not set.
#[derive(Debug, thiserror::Error)]
pub enum SingleSignOnFault {
    #[error("only an owner may change this")]
    Forbidden,
    #[error("the issuer must be an https URL")]
    Issuer,
    #[error("the client id and the client secret must have 1 to 500 characters")]
    Client,
    #[error("the domain must be that of your own address")]
    Domain,
    #[error("another account has this domain")]
    DomainTaken,
    /// The provider's configuration could not be read.
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an identity provider signed nobody in.
#[derive(Debug, thiserror::Error)]
pub enum SingleSignOnError {
    /// The account has no identity provider, or there is no such account.
    #[error("single sign-on is not set up")]
    NotSetUp,
    /// It was not begun in this browser, or too long ago.
    #[error("the sign-in has expired")]
    Stale,
    #[error("the identity provider refused")]
    Denied,
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    /// The provider did not name a verified address.
    #[error("the identity provider named no verified address")]
    NoEmail,
    #[error("no member of the account has this address")]
    NotMember,
    #[error("no seat is free")]
    NoSeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl People {
    /// The account's identity provider.
    pub async fn single_sign_on(&self, account: AccountId) -> Result<Option<SingleSignOn>> {
        self.ctx.store.single_sign_on(account).await
    }

    /// Sets the account's identity provider, whose configuration must be readable. Without a secret the present one
    /// stays, if the issuer does. Only an owner may: the provider can name each of them.
    pub async fn set_single_sign_on(
        &self,
        person: &Person,
        new: NewSingleSignOn,
        secret: &str,
    ) -> Result<(), SingleSignOnFault> {
        let account = person.member.account_id;
        is_owner(person)?;
        TargetUrl::parse(&new.issuer, self.oidc.policy()).map_err(|_| SingleSignOnFault::Issuer)?;
        let email = person.member.email.as_str();
        let own = email.rsplit_once('@').map(|(_, domain)| domain);
        if new.email_domain.is_some() && new.email_domain.as_deref() != own {
            return Err(SingleSignOnFault::Domain);
        }
        let store = &self.ctx.store;
        let before = store.single_sign_on(account).await?;
        let before = before.filter(|before| before.issuer == new.issuer);
        let secret = match (secret, before) {
            ("", Some(before)) => store.client_secret(&before)?,
            (secret, _) => secret.to_owned(),
        };
        let fits = |text: &str| (1..=500).contains(&text.chars().count());
        if !fits(&new.client_id) || !fits(&secret) {
            return Err(SingleSignOnFault::Client);
        }
        let at = self.ctx.clock.now();
        self.oidc.discover(&new.issuer, at).await?;
        let store = self.ctx.store.acting(person.actor());
        match store.set_single_sign_on(account, new, &secret, at).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(StoreError::Conflict(_)) => Err(SingleSignOnFault::DomainTaken),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the account's identity provider, and ends the sessions that it has begun.
    pub async fn remove_single_sign_on(&self, person: &Person) -> Result<(), SingleSignOnFault> {
        is_owner(person)?;
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let store = self.ctx.store.acting(person.actor());
        store.remove_single_sign_on(account, at).await?;
        Ok(())
    }

    /// The account that signs people with addresses of this domain in. The answer is the same for all addresses of a
    /// domain.
    pub async fn account_of_address(&self, email: &str) -> Result<Option<AccountId>> {
        let Ok(email) = email.parse::<EmailAddress>() else {
            return Ok(None);
        };
        let Some((_, domain)) = email.as_str().rsplit_once('@') else {
            return Ok(None);
        };
        let store = &self.ctx.store;
        store.account_of_domain(domain.to_owned()).await
    }

    /// Begins a sign-in at the account's identity provider, which sends the person back to `redirect_uri`. Nothing is
    /// stored: all values derive from the token in the browser's cookie.
    pub async fn begin_single_sign_on(
        &self,
        account: AccountId,
        redirect_uri: &str,
    ) -> Result<SingleSignOnBegun, SingleSignOnError> {
        let (provider, registration) = self.registration(account, redirect_uri).await?;
        let found = self.ctx.store.account(account).await?;
        let found = found.ok_or(SingleSignOnError::NotSetUp)?;
        let now = self.ctx.clock.now();
        let (token, _) = begin(now)?;
        let attempt = attempt(&provider, &token);
        let url = self.oidc.authorize(&registration, &attempt, now).await?;
        Ok(SingleSignOnBegun {
            token,
            account_name: found.name,
            url,
        })
    }

    /// Ends a sign-in with what the identity provider sent along: `state`, and a code or none.
    pub async fn finish_single_sign_on(
        &self,
        (account, redirect_uri): (AccountId, &str),
        token: &str,
        (state, code): (&str, Option<&str>),
    ) -> Result<SignedIn, SingleSignOnError> {
        let (provider, registration) = self.registration(account, redirect_uri).await?;
        token_digest(token).ok_or(SingleSignOnError::Stale)?;
        let attempt = attempt(&provider, token);
        if sha256(state.as_bytes()) != sha256(attempt.state.as_bytes()) {
            return Err(SingleSignOnError::Stale);
        }
        let code = code.ok_or(SingleSignOnError::Denied)?;
        let now = self.ctx.clock.now();
        let identity = self.oidc.identify(&registration, &attempt, code, now);
        let identity = identity.await?;
        let email = identity.email.as_deref().map(str::parse::<EmailAddress>);
        let Some(Ok(email)) = email else {
            return Err(SingleSignOnError::NoEmail);
        };
        let domain = email.as_str().rsplit_once('@').map(|(_, domain)| domain);
        if provider.email_domain.is_some() && provider.email_domain.as_deref() != domain {
            return Err(SingleSignOnError::NotMember);
        }
        let of = (account, provider.id);
        let (session_token, session) = begin(now)?;
        let store = &self.ctx.store;
        let begun = store.begin_session_by_provider(of, email.clone(), session.clone());
        let member = match begun.await? {
            Some(member) => member,
            None if provider.creates_viewers => {
                self.add_viewer(account, &email, identity, now).await?;
                let begun = store.begin_session_by_provider(of, email, session);
                begun.await?.ok_or(SingleSignOnError::NotMember)?
            }
            None => return Err(SingleSignOnError::NotMember),
        };
        tracing::info!(member = %member.id, account = %account, "signed in by the identity provider");
        let person = self.who(&session_token).await?;
        Ok(SignedIn {
            token: session_token,
            person: person.ok_or(SingleSignOnError::Stale)?,
        })
    }

    async fn registration(
        &self,
        account: AccountId,
        redirect_uri: &str,
    ) -> Result<(SingleSignOn, Registration), SingleSignOnError> {
        let store = &self.ctx.store;
        let found = store.single_sign_on(account).await?;
        let provider = found.ok_or(SingleSignOnError::NotSetUp)?;
        let registration = Registration {
            issuer: provider.issuer.clone(),
            client_id: provider.client_id.clone(),
            client_secret: store.client_secret(&provider)?,
            redirect_uri: redirect_uri.to_owned(),
        };
        Ok((provider, registration))
    }

    /// Makes a person whom the identity provider has named a member: in the role that they are invited with, or as a
    /// viewer.
    async fn add_viewer(
        &self,
        account: AccountId,
        email: &EmailAddress,
        identity: Identity,
        at: Timestamp,
    ) -> Result<(), SingleSignOnError> {
        let store = &self.ctx.store;
        // Whoever set that password could enter this account with it.
        if store.has_unproven_password(email.clone()).await? {
            return Err(SingleSignOnError::NotMember);
        }
        let found = store.account(account).await?;
        let found = found.ok_or(SingleSignOnError::NotSetUp)?;
        let invited = store.invitations(account, at).await?;
        let invited = invited.into_iter().find(|one| one.email == *email);
        let named = identity.name.and_then(|name| checked_name(&name).ok());
        let local = email.as_str().split('@').next().unwrap_or_default();
        let member = Member {
            id: mint(at),
            account_id: account,
            name: named.unwrap_or_else(|| local.chars().take(120).collect()),
            email: email.clone(),
            role: invited.map_or(MemberRole::Viewer, |invited| invited.role),
            joined_at: at,
        };
        let store = store.acting(Actor::Member(member.id));
        match seats::add(&store, member, self.seats_max(found.plan)).await {
            Ok(()) | Err(TeamRefusal::Member) => Ok(()),
            Err(TeamRefusal::NoSeat { .. }) => Err(SingleSignOnError::NoSeat),
            Err(TeamRefusal::Store(error)) => Err(error.into()),
            Err(_) => Err(SingleSignOnError::NotMember),
        }
    }
}

fn is_owner(person: &Person) -> Result<(), SingleSignOnFault> {
    match person.member.role {
        MemberRole::Owner => Ok(()),
        _ => Err(SingleSignOnFault::Forbidden),
    }
}

/// The values of the sign-in with this token. They are of one configuration of one account.
fn attempt(provider: &SingleSignOn, token: &str) -> Attempt {
    let value = |name: &str| {
        let digest = sha256(format!("{name} {} {token}", provider.id).as_bytes());
        URL_SAFE_NO_PAD.encode(digest)
    };
    Attempt {
        state: value("state"),
        nonce: value("nonce"),
        verifier: value("verifier"),
    }
}
