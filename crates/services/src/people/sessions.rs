//! Signing in and out, and the user of a session.

use std::net::IpAddr;

use ring::rand::{SecureRandom, SystemRandom};
use uuid::Uuid;

use super::passwords::{self, PasswordFault};
use super::two_step::{CodeError, TwoStepError};
use super::{People, Person};
use crate::digest::sha256;
use crate::prelude::*;
use crate::{Result, Zone};

/// How long a session may be idle.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// The longest lifetime of a session.
const LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often a session's last use is written at most.
const SEEN_EVERY: Duration = Duration::from_secs(60);

/// How long a secret waits for the page that shows it once.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Failed attempts from one IP address for one e-mail address before a wait starts. An attacker thus does not lock out
/// the user who signs in from elsewhere. Also the limit for a signed-in user who enters their password again.
const TRIES_OF_PERSON: i32 = 5;

/// The same from one IP address for all e-mail addresses; an office may share it.
const TRIES_FROM_ADDRESS: i32 = 20;

/// The same for one e-mail address from all IP addresses: more than one IP address can use up in a window.
const TRIES_FOR_PERSON: i32 = 50;

const TRIES: AttemptRule = AttemptRule {
    window: Duration::from_secs(15 * 60),
    first_wait: Duration::from_secs(60),
    longest_wait: Duration::from_secs(15 * 60),
};

/// A session that has just begun.
#[derive(Debug)]
pub struct SignedIn {
    /// Its token, for the cookie; stored nowhere.
    pub token: String,
    pub person: Person,
}

/// Why a sign-in failed.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The address and the password do not match, or belong to a user who is not a member of any account.
    #[error("the e-mail address and the password do not belong together")]
    Wrong,
    /// The password is right; a code of the second factor finishes the sign-in with this token.
    #[error("a code of the second factor is needed")]
    CodeRequired { token: String },
    /// The password is right, but every account of the user requires single sign-on.
    #[error("the account requires single sign-on")]
    SingleSignOnRequired,
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// How long no attempt is checked.
        seconds: u64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a password was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangePasswordError {
    /// The current password is wrong.
    #[error("the present password is another one")]
    Wrong,
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// How long no attempt is checked.
        seconds: u64,
    },
    #[error("the new password {0}")]
    Password(#[from] PasswordFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What stands for a wrong password where an attempt is a step of something else.
macro_rules! steps {
    ($($step:ident::$wrong:ident)+) => {$(
        impl From<SignInError> for $step {
            fn from(error: SignInError) -> Self {
                match error {
                    SignInError::Wrong
                    | SignInError::CodeRequired { .. }
                    | SignInError::SingleSignOnRequired => Self::$wrong,
                    SignInError::Throttled { seconds } => Self::Throttled { seconds },
                    SignInError::Store(error) => Self::Store(error),
                }
            }
        }
    )+};
}
steps! { ChangePasswordError::Wrong TwoStepError::Password CodeError::Expired }

/// The keys that an attempt is counted by.
#[derive(Debug)]
pub(super) struct Tried {
    /// A success resets this count.
    own: AttemptKey,
    /// A success only takes its own attempt back from these, in the order in which they are counted.
    shared: Vec<AttemptKey>,
}

impl Tried {
    /// An attempt to sign in from `address` with this e-mail address. Attempts from before `changed_at`, the last
    /// change of the password, no longer count.
    fn at_the_door(email: &str, address: IpAddr, changed_at: Option<Timestamp>) -> Self {
        let (email, address) = (plain(email), network(address));
        let since = changed_at.map_or(0, Timestamp::micros);
        Self {
            own: AttemptKey {
                digest: sha256(format!("door {since} {address} {email}").as_bytes()),
                most: TRIES_OF_PERSON,
            },
            shared: vec![
                AttemptKey {
                    digest: sha256(format!("address {address}").as_bytes()),
                    most: TRIES_FROM_ADDRESS,
                },
                AttemptKey {
                    digest: email_key(&email),
                    most: TRIES_FOR_PERSON,
                },
            ],
        }
    }

    /// A code after the right password. Passwords and codes count apart.
    pub(super) fn after_password(email: &EmailAddress, address: IpAddr) -> Self {
        let address = network(address);
        Self {
            own: AttemptKey {
                digest: sha256(format!("code {email}").as_bytes()),
                most: TRIES_OF_PERSON,
            },
            shared: vec![AttemptKey {
                digest: sha256(format!("address {address}").as_bytes()),
                most: TRIES_FROM_ADDRESS,
            }],
        }
    }

    /// An attempt of a signed-in user, in any of their accounts. Attempts to sign in do not count here.
    pub(super) fn inside(email: &EmailAddress) -> Self {
        Self {
            own: AttemptKey {
                digest: sha256(format!("inside {email}").as_bytes()),
                most: TRIES_OF_PERSON,
            },
            shared: Vec::new(),
        }
    }

    fn keys(&self) -> Vec<AttemptKey> {
        std::iter::once(&self.own)
            .chain(&self.shared)
            .copied()
            .collect()
    }

    /// The counts that a success takes back.
    pub(super) fn taken_back(self) -> ([u8; 32], Vec<[u8; 32]>) {
        let shared = self.shared.iter().map(|key| key.digest).collect();
        (self.own.digest, shared)
    }
}

/// The key that counts an e-mail address across all IP addresses.
pub(super) fn email_key(email: &str) -> [u8; 32] {
    sha256(format!("email {}", plain(email)).as_bytes())
}

fn plain(email: &str) -> String {
    email.trim().to_lowercase()
}

/// IPv6 counts per /64, as in the rate limits.
pub(super) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:x?}", &address.segments()[..4]),
    }
}

/// A new token, and the session under its digest.
pub(super) fn begin(at: Timestamp) -> Result<(String, NewSession)> {
    let mut random = [0; TOKEN_BYTES];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    let token = hex::encode(random);
    let digest = sha256(token.as_bytes());
    Ok((token, NewSession { digest, at }))
}

#[boxed]
impl People {
    /// Starts a session of the user with this e-mail address and password, in the account that they joined first. With
    /// two-step verification that is [`SignInError::CodeRequired`], and [`People::finish_sign_in`] starts it.
    /// `address` is the client's. Every mismatch is [`SignInError::Wrong`], after the same time.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<SignedIn, SignInError> {
        let (kept, memberships) = match email.parse::<EmailAddress>() {
            Ok(email) => self.ctx.store.person(email).await?,
            Err(_) => (None, Vec::new()),
        };
        let tried = self.take_attempt(email, address, kept.as_ref()).await?;
        let kept = self.verify(password, kept).await?;
        let Some(Membership { member, .. }) = memberships.first() else {
            // `verify` has found a password, so this is an address.
            let is_member = match email.parse::<EmailAddress>() {
                Ok(email) => self.ctx.store.is_member(email).await?,
                Err(_) => false,
            };
            return Err(match is_member {
                true => SignInError::SingleSignOnRequired,
                false => SignInError::Wrong,
            });
        };
        let at = self.ctx.clock.now();
        let (token, session) = begin(at)?;
        let store = &self.ctx.store;
        let begun =
            store.begin_session(session, member.clone(), kept.changed_at, tried.taken_back());
        let begun = begun.await?.ok_or(SignInError::Wrong)?;
        tracing::info!(member = %member.id, account = %member.account_id, ?begun, "signed in");
        self.entered(token, begun).await
    }

    /// What a right password has begun.
    pub(super) async fn entered(
        &self,
        token: String,
        begun: Begun,
    ) -> Result<SignedIn, SignInError> {
        match begun {
            Begun::Session => self.signed_in(token).await,
            Begun::Half => Err(SignInError::CodeRequired { token }),
        }
    }

    /// The user of a session that has just begun.
    pub(super) async fn signed_in(&self, token: String) -> Result<SignedIn, SignInError> {
        let person = self.who(&token).await?.ok_or(SignInError::Wrong)?;
        Ok(SignedIn { token, person })
    }

    /// Counts an attempt to sign in, before the password is compared.
    pub(super) async fn take_attempt(
        &self,
        email: &str,
        address: IpAddr,
        kept: Option<&Password>,
    ) -> Result<Tried, SignInError> {
        let changed_at = kept.map(|kept| kept.changed_at);
        self.take(Tried::at_the_door(email, address, changed_at))
            .await
    }

    /// Counts an attempt before it is checked, so that no more pass in parallel than in sequence.
    pub(super) async fn take(&self, tried: Tried) -> Result<Tried, SignInError> {
        let (now, keys) = (self.ctx.clock.now(), tried.keys());
        match self.ctx.store.take_attempt(keys, TRIES, now).await? {
            Ok(()) => Ok(tried),
            Err(until) => Err(SignInError::Throttled {
                seconds: until
                    .since(now)
                    .as_millis()
                    .div_ceil(1_000)
                    .try_into()
                    .unwrap_or(u64::MAX),
            }),
        }
    }

    /// Takes back an attempt that succeeded and started no session.
    pub(super) async fn give_back(&self, tried: Tried) -> Result<()> {
        let now = self.ctx.clock.now();
        let back = tried.taken_back();
        self.ctx.store.give_back_attempt(back, now).await
    }

    /// The stored password, if it matches.
    pub(super) async fn verify(
        &self,
        password: &str,
        kept: Option<Password>,
    ) -> Result<Password, SignInError> {
        let hash = kept.as_ref().map(|kept| kept.hash.clone());
        match (self.passwords.verify(password, hash).await?, kept) {
            (Ok(true), Some(kept)) => Ok(kept),
            (Ok(_), _) => Err(SignInError::Wrong),
            (Err(passwords::Crowded), _) => Err(SignInError::Throttled { seconds: 5 }),
        }
    }

    /// The user of a session's token; `None` if the token is invalid or the session has ended.
    pub async fn who(&self, token: &str) -> Result<Option<Person>> {
        self.look(token, true).await
    }

    /// As [`People::who`], for requests that a page makes by itself. They do not count as use, so the session of a user
    /// who has walked away still ends.
    pub async fn glance(&self, token: &str) -> Result<Option<Person>> {
        self.look(token, false).await
    }

    async fn look(&self, token: &str, is_use: bool) -> Result<Option<Person>> {
        let digest = some_or!(token_digest(token), None);
        let store = &self.ctx.store;
        let session = some_or!(store.session(digest).await?, None);
        let now = self.ctx.clock.now();
        let (idle, age) = (now.since(session.seen_at), now.since(session.created_at));
        if idle >= IDLE || age >= LASTS {
            return Ok(None);
        }
        let accounts = session.memberships.iter();
        let accounts = accounts
            .map(|one| (one.account.id, one.account.name.clone()))
            .collect();
        let mut memberships = session.memberships.into_iter();
        let Some(here) = memberships.find(|one| one.member.id == session.member) else {
            return Ok(None);
        };
        if is_use && idle >= SEEN_EVERY {
            let moments = (now.minus(SEEN_EVERY), now);
            if let Err(error) = store.touch_session(digest, moments).await {
                tracing::warn!(%error, "the use of a session could not be written");
            }
        }
        let zone = session.time_zone.as_deref();
        let zone = zone.map_or_else(Zone::default, Zone::stored);
        Ok(Some(Person {
            zone,
            caller: self.caller(here.account),
            member: here.member,
            accounts,
            by_single_sign_on: session.by_single_sign_on,
            session: digest,
        }))
    }

    /// Ends a session; an invalid token is not an error.
    pub async fn sign_out(&self, token: &str) -> Result<()> {
        match token_digest(token) {
            Some(digest) => self.ctx.store.end_session(digest).await,
            None => Ok(()),
        }
    }

    /// Moves a session to another account of the user; `false` if they are not a member of it.
    pub async fn switch(&self, token: &str, account: AccountId) -> Result<bool> {
        match token_digest(token) {
            Some(digest) => self.ctx.store.switch_session(digest, account).await,
            None => Ok(false),
        }
    }

    /// Keeps a secret for the page that shows it once to this session: the change that made it answers with a redirect,
    /// so that a reload does not repeat it. `id` is the row that it belongs to.
    pub async fn show_once(&self, person: &Person, id: Uuid, secret: &str) -> Result<()> {
        let now = self.ctx.clock.now();
        let (secret, until) = ((EventId::from_uuid(id), secret), now.plus(SHOWN_WITHIN));
        let store = &self.ctx.store;
        store
            .keep_shown_once(person.session, secret, (now, until))
            .await
    }

    /// That secret; `None` if it was shown, is older than a minute, or is another session's.
    pub async fn shown_once(&self, person: &Person, id: Uuid) -> Result<Option<String>> {
        let (id, now) = (EventId::from_uuid(id), self.ctx.clock.now());
        self.ctx
            .store
            .take_shown_once(person.session, id, now)
            .await
    }

    /// How many other sessions the user has.
    pub async fn other_sessions(&self, person: &Person) -> Result<i64> {
        let now = self.ctx.clock.now();
        let since = (now.minus(IDLE), now.minus(LASTS));
        let (email, but) = (person.member.email.clone(), person.session);
        let store = &self.ctx.store;
        store.count_other_sessions(email, but, since).await
    }

    /// Ends every other session of the user. Returns the number of rows, which includes expired sessions. A session by
    /// single sign-on has no say over those of other accounts, and ends none.
    pub async fn end_other_sessions(&self, person: &Person) -> Result<usize> {
        if person.by_single_sign_on {
            return Ok(0);
        }
        let email = person.member.email.clone();
        let store = &self.ctx.store;
        store.end_other_sessions(email, person.session).await
    }

    /// Changes the user's password, ends their sessions, and returns the token of a new one that replaces this one.
    /// Others who know the old password thereby lose access. Wrong passwords count against the user, from any address.
    pub async fn change_password(
        &self,
        person: &Person,
        present: &str,
        new: &str,
    ) -> Result<String, ChangePasswordError> {
        let email = &person.member.email;
        passwords::check(new, email)?;
        let tried = self.take(Tried::inside(email)).await?;
        let (kept, _) = self.ctx.store.person(email.clone()).await?;
        let kept = self.verify(present, kept).await?;
        self.give_back(tried).await?;
        let hash = self.passwords.hash(new).await?;
        let at = self.ctx.clock.now();
        let store = self.ctx.store.acting(person.actor());
        let member = person.member.clone();
        let (token, session) = begin(at)?;
        let changed = store.change_password(member, kept.changed_at, hash, session);
        if !changed.await? {
            return Err(ChangePasswordError::Wrong);
        }
        Ok(token)
    }
}

/// Deletes expired sessions, links and attempt counts; returns whether there may be more.
pub(crate) async fn delete_ended(shared: &Context) -> Result<bool> {
    let now = shared.clock.now();
    let store = &shared.store;
    store.delete_ended_sessions(now.minus(IDLE), now).await
}

/// The stored digest of a well-formed token.
pub(super) fn token_digest(token: &str) -> Option<[u8; 32]> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let well_formed = token.len() == 2 * TOKEN_BYTES && token.bytes().all(is_hex);
    well_formed.then(|| sha256(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_counts_with_its_network_and_a_mapped_one_as_ipv4() {
        let key = |text: &str| network(text.parse().unwrap());
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(email_key(" Ana@Example.com"), email_key("ana@example.com"));
    }

    #[test]
    fn only_what_looks_like_a_token_is_looked_for() {
        assert!(token_digest(&"0f".repeat(32)).is_some());
        for text in [
            "",
            "0f",
            &"0F".repeat(32),
            &"0f".repeat(33),
            &"zz".repeat(32),
        ] {
            assert!(token_digest(text).is_none(), "{text}");
        }
    }
}
