//! People who sign in, their sessions and their sign-in attempts.

use crate::prelude::*;
use std::fmt;

/// Who makes a change, for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A user of the command line.
    Operator,
    /// A member, in the portal.
    Member(MemberId),
    /// A client of the API.
    Key(KeyId),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("cli"),
            Self::Member(id) => write!(f, "member:{id}"),
            Self::Key(id) => write!(f, "key:{id}"),
        }
    }
}

/// A person's stored password.
#[derive(Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = people)]
pub struct Password {
    /// The hash in PHC form.
    #[diesel(column_name = password)]
    pub hash: String,
    pub changed_at: Timestamp,
}

/// Hides the hash.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Password")
            .field("changed_at", &self.changed_at)
            .finish_non_exhaustive()
    }
}

/// A person's membership in an account.
#[derive(Debug, Clone, Queryable, Selectable)]
pub struct Membership {
    #[diesel(embed)]
    pub member: Member,
    #[diesel(embed)]
    pub account: Account,
}

#[derive(Debug, Clone)]
pub struct NewSession {
    /// The SHA-256 of its token.
    pub digest: [u8; 32],
    pub at: Timestamp,
}

/// What a right password has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    Session,
    /// A sign-in that waits for a code of the second factor.
    Half,
}

/// A person's authenticator app.
#[derive(Clone)]
pub struct SecondFactor {
    pub id: CredentialId,
    /// The secret that is shared with the app, as it was given.
    pub secret: String,
}

/// A person's passkey.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = passkeys)]
pub struct Passkey {
    pub id: CredentialId,
    pub email: EmailAddress,
    /// The authenticator's own id of it.
    pub credential_id: Vec<u8>,
    /// What authenticators know the person by.
    pub user_handle: Vec<u8>,
    /// How the person calls it.
    pub name: String,
    /// The public key and the signature counter, as the caller writes them.
    pub credential: String,
    pub created_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// What a person proves a sign-in with after their password.
#[derive(Clone)]
pub struct SecondFactors {
    pub app: Option<SecondFactor>,
    /// The oldest first.
    pub passkeys: Vec<Passkey>,
    /// How many recovery codes are left.
    pub recovery_codes: i64,
}

impl SecondFactors {
    /// Whether a password needs one of them.
    pub fn is_on(&self) -> bool {
        self.app.is_some() || !self.passkeys.is_empty()
    }
}

/// What a second factor has proved. Each proof is accepted once.
#[derive(Debug, Clone)]
pub enum Proof {
    /// The app's code of a time step.
    Code { factor: CredentialId, step: i64 },
    /// The digest of a recovery code.
    Recovery([u8; 32]),
    /// A passkey that has signed: its credential when that was verified, and with the new counter.
    Passkey {
        id: CredentialId,
        before: String,
        after: String,
    },
}

/// A challenge that an authenticator is to sign.
#[derive(Debug, Clone)]
pub struct NewChallenge {
    /// The SHA-256 of the browser's token.
    pub digest: [u8; 32],
    /// Where it was asked for.
    pub source: [u8; 32],
    /// What the answer is verified with.
    pub state: String,
    pub at: Timestamp,
}

/// Whether a passkey was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAdded {
    /// It is the person's first second factor: they have the recovery codes now.
    First,
    Another,
    /// The authenticator has one that is stored already.
    Known,
}

/// A session, and all memberships of its person.
#[derive(Debug, Clone)]
pub struct Session {
    /// The member that the session acts as.
    pub member: MemberId,
    pub created_at: Timestamp,
    /// When it was used last, to the minute.
    pub seen_at: Timestamp,
    /// The name of the zone that the session's account has set.
    pub time_zone: Option<String>,
    /// Whether the account's identity provider began it.
    pub by_single_sign_on: bool,
    /// Every account that it opens, oldest membership first.
    pub memberships: Vec<Membership>,
}

/// A one-time link with which a person sets a password.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = sign_in_links)]
pub struct SignInLink {
    pub email: EmailAddress,
    /// The account that it was made for.
    pub account_id: AccountId,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A key by which sign-in attempts are counted.
#[derive(Debug, Clone, Copy)]
pub struct AttemptKey {
    /// The digest of an e-mail address, of a network address, or of both.
    pub digest: [u8; 32],
    /// Failed attempts in a window. From this one on, each is followed by a wait.
    pub most: i32,
}

/// How attempts are counted.
#[derive(Debug, Clone, Copy)]
pub struct AttemptRule {
    /// Attempts within this time count together.
    pub window: Duration,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
    pub longest_wait: Duration,
}

/// The password with which a person joins a team.
#[derive(Debug, Clone)]
pub enum JoinsWith {
    /// A first one, hashed.
    First(String),
    /// The existing one, set at this time. The caller has checked it.
    Known(Timestamp),
}

/// Which lines of the audit log are shown.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Only those of this actor.
    pub actor: Option<String>,
    /// Only this action, such as `key.create`, or all on one kind of thing, such as `key`.
    pub action: Option<String>,
}

/// An account's identity provider (OpenID Connect).
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = single_sign_on)]
pub struct SingleSignOn {
    /// Another one after each change.
    pub id: CredentialId,
    pub issuer: String,
    pub client_id: String,
    /// The sealed secret of the client.
    pub(crate) sealed: Vec<u8>,
    /// The domain of its members' addresses.
    pub email_domain: Option<String>,
    /// Whether only owners may sign in with a password.
    pub is_required: bool,
    /// Whether people who are no members become viewers.
    pub creates_viewers: bool,
}

/// What an identity provider is set to.
#[derive(Debug, Clone)]
pub struct NewSingleSignOn {
    pub issuer: String,
    pub client_id: String,
    pub email_domain: Option<String>,
    pub is_required: bool,
    pub creates_viewers: bool,
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = audit_log)]
pub struct AuditEntry {
    pub id: EventId,
    /// The actor: `cli`, or `member:` and an id.
    pub actor: String,
    /// The action, such as `key.create`.
    pub action: String,
    pub target: String,
    pub at: Timestamp,
    /// What has changed, in the form of [`Changes::of_stored`].
    pub changes: Option<String>,
}
