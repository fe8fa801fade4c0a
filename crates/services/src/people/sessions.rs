//! Signing in and out, and who a session is.

use offhook_boxed::boxed;
use std::net::IpAddr;
use std::time::Duration;

use offhook_domain::{AccountId, EmailAddress, Timestamp};
use offhook_storage::{AttemptKey, AttemptRule, Membership, NewSession, Password, StoreError};
use ring::rand::{SecureRandom, SystemRandom};

use super::passwords::{self, PasswordFault};
use super::{People, Person};
use crate::keys::sha256;
use crate::{Result, Shared};

/// A session that was not used for so long has ended.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// No session lasts longer.
const LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often it is written at most that a session is used.
const SEEN_EVERY: Duration = Duration::from_secs(60);

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Attempts of one address of the network for one of e-mail without success, from which on there is a wait: nobody keeps
/// those out who sign in from elsewhere. The same of somebody who has signed in and gives their password again.
const TRIES_OF_PERSON: i32 = 5;

/// The same of one address of the network for all, behind which an office may sit.
const TRIES_FROM_ADDRESS: i32 = 20;

/// The same for one address of e-mail from all of the network: more than one address gets to in a window.
const TRIES_FOR_PERSON: i32 = 50;

const TRIES: AttemptRule = AttemptRule {
    window: Duration::from_secs(15 * 60),
    first_wait: Duration::from_secs(60),
    longest_wait: Duration::from_secs(15 * 60),
};

/// A session that has just begun.
#[derive(Debug)]
pub struct SignedIn {
    /// Its token, for the cookie: it is here and nowhere else.
    pub token: String,
    /// Who it is.
    pub person: Person,
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The address and the password do not belong together, or to nobody who is a member of anything.
    #[error("the e-mail address and the password do not belong together")]
    Wrong,
    /// Too many attempts have failed.
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// For how long none is looked at.
        seconds: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a password was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangePasswordError {
    /// The one that was given as the present one is not.
    #[error("the present password is another one")]
    Wrong,
    /// Too many attempts have failed.
    #[error("too many attempts; try again in {seconds} s")]
    Throttled {
        /// For how long none is looked at.
        seconds: u64,
    },
    /// The new one cannot be used.
    #[error("the new password {0}")]
    Password(#[from] PasswordFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SignInError> for ChangePasswordError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Wrong => Self::Wrong,
            SignInError::Throttled { seconds } => Self::Throttled { seconds },
            SignInError::Store(error) => Self::Store(error),
        }
    }
}

/// What an attempt is counted by.
#[derive(Debug)]
pub(super) struct Tried {
    /// A success forgets what was counted.
    own: AttemptKey,
    /// A success counts for none of these, in the order in which they are counted.
    shared: Vec<AttemptKey>,
}

impl Tried {
    /// By somebody at `address` who says to have this e-mail address. Guesses at a password from before the one of
    /// `changed_at` count no more.
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

    /// By somebody who has signed in, whatever others do, in whichever of their accounts.
    fn inside(email: &EmailAddress) -> Self {
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

    /// What a success takes back.
    fn taken_back(self) -> ([u8; 32], Vec<[u8; 32]>) {
        let shared = self.shared.iter().map(|key| key.digest).collect();
        (self.own.digest, shared)
    }
}

/// What is counted for an address of e-mail from everywhere.
pub(super) fn email_key(email: &str) -> [u8; 32] {
    sha256(format!("email {}", plain(email)).as_bytes())
}

fn plain(email: &str) -> String {
    email.trim().to_lowercase()
}

/// IPv6 counts per /64, as in the rate limits.
fn network(address: IpAddr) -> String {
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
    /// Begins a session of the person with this e-mail address and password, in the account that they joined first.
    /// `address` is the client's.
    ///
    /// # Errors
    /// [`SignInError::Wrong`] whatever it is that does not fit, after the same time.
    pub async fn sign_in(
        &self,
        email: &str,
        password: &str,
        address: IpAddr,
    ) -> Result<SignedIn, SignInError> {
        let (kept, memberships) = match email.parse::<EmailAddress>() {
            Ok(email) => self.shared.store.person(email).await?,
            Err(_) => (None, Vec::new()),
        };
        let tried = self.take_attempt(email, address, kept.as_ref()).await?;
        let kept = self.verify(password, kept).await?;
        let Some(Membership { member, .. }) = memberships.first() else {
            return Err(SignInError::Wrong);
        };
        let at = self.shared.clock.now();
        let (token, session) = begin(at)?;
        let store = &self.shared.store;
        let begun =
            store.begin_session(session, member.clone(), kept.changed_at, tried.taken_back());
        if !begun.await? {
            return Err(SignInError::Wrong);
        }
        tracing::info!(member = %member.id, account = %member.account_id, "signed in");
        self.signed_in(token).await
    }

    /// The person of a session that has just begun.
    pub(super) async fn signed_in(&self, token: String) -> Result<SignedIn, SignInError> {
        let person = self.who(&token).await?.ok_or(SignInError::Wrong)?;
        Ok(SignedIn { token, person })
    }

    /// Counts an attempt of somebody who has not signed in before `kept` is compared.
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

    /// Counts an attempt before it is looked at, so that of many at once no more get through than one after the other.
    async fn take(&self, tried: Tried) -> Result<Tried, SignInError> {
        let (now, keys) = (self.shared.clock.now(), tried.keys());
        match self.shared.store.take_attempt(keys, TRIES, now).await? {
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

    /// Takes back an attempt that succeeded and began no session.
    pub(super) async fn give_back(&self, tried: Tried) -> Result<()> {
        let now = self.shared.clock.now();
        let back = tried.taken_back();
        self.shared.store.give_back_attempt(back, now).await
    }

    /// The stored password, if it is this one.
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

    /// Who a session's token is; `None` if it is none, or the session has ended.
    pub async fn who(&self, token: &str) -> Result<Option<Person>> {
        self.look(token, true).await
    }

    /// As [`People::who`], for what a page asks by itself: it is no use of the session, which ends behind whoever has
    /// walked away.
    pub async fn glance(&self, token: &str) -> Result<Option<Person>> {
        self.look(token, false).await
    }

    async fn look(&self, token: &str, is_use: bool) -> Result<Option<Person>> {
        let Some(digest) = token_digest(token) else {
            return Ok(None);
        };
        let store = &self.shared.store;
        let Some(session) = store.session(digest).await? else {
            return Ok(None);
        };
        let now = self.shared.clock.now();
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
        Ok(Some(Person {
            caller: self.caller(here.account),
            member: here.member,
            accounts,
            session: digest,
        }))
    }

    /// Ends a session; one that is none is no error.
    pub async fn sign_out(&self, token: &str) -> Result<()> {
        match token_digest(token) {
            Some(digest) => self.shared.store.end_session(digest).await,
            None => Ok(()),
        }
    }

    /// Moves a session to another account of the person; `false` if they are no member of it.
    pub async fn switch(&self, token: &str, account: AccountId) -> Result<bool> {
        match token_digest(token) {
            Some(digest) => self.shared.store.switch_session(digest, account).await,
            None => Ok(false),
        }
    }

    /// How many other sessions the person has.
    pub async fn other_sessions(&self, person: &Person) -> Result<i64> {
        let now = self.shared.clock.now();
        let since = (now.minus(IDLE), now.minus(LASTS));
        let (email, but) = (person.member.email.clone(), person.session);
        let store = &self.shared.store;
        store.count_other_sessions(email, but, since).await
    }

    /// Ends every other session of the person; how many rows there were, of sessions that had ended by themselves too.
    pub async fn end_other_sessions(&self, person: &Person) -> Result<usize> {
        let email = person.member.email.clone();
        let store = &self.shared.store;
        store.end_other_sessions(email, person.session).await
    }

    /// Changes the person's password, ends their sessions, and begins another one in this one's place, whose token it returns:
    /// whoever else knows the present one has nothing any more. Wrong ones count for the person, wherever they are.
    ///
    /// # Errors
    /// [`ChangePasswordError`] says which of the two is wrong.
    pub async fn change_password(
        &self,
        person: &Person,
        present: &str,
        new: &str,
    ) -> Result<String, ChangePasswordError> {
        let email = &person.member.email;
        passwords::check(new, email)?;
        let tried = self.take(Tried::inside(email)).await?;
        let (kept, _) = self.shared.store.person(email.clone()).await?;
        let kept = self.verify(present, kept).await?;
        self.give_back(tried).await?;
        let hash = self.passwords.hash(new).await?;
        let at = self.shared.clock.now();
        let store = self.shared.store.acting(person.actor());
        let member = person.member.clone();
        let (token, session) = begin(at)?;
        let changed = store.change_password(member, kept.changed_at, hash, session);
        if !changed.await? {
            return Err(ChangePasswordError::Wrong);
        }
        Ok(token)
    }
}

/// Deletes sessions, links and counts of attempts whose time is over; whether there may be more of them.
pub(crate) async fn delete_ended(shared: &Shared) -> Result<bool> {
    let now = shared.clock.now();
    let store = &shared.store;
    store.delete_ended_sessions(now.minus(IDLE), now).await
}

/// The digest under which a token of the right form is kept.
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
