//! People who sign in, their sessions and what was tried.

use std::fmt;
use std::time::Duration;

use diesel::prelude::*;
use offhook_domain::{AccountId, EmailAddress, EventId, MemberId, MemberRole, Timestamp};

use crate::schema;
use crate::{Account, Member};

/// Who changes something, for the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// Whoever works the command line.
    Operator,
    /// A member, in the portal.
    Member(MemberId),
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("cli"),
            Self::Member(id) => write!(f, "member:{id}"),
        }
    }
}

/// A person's password, as it is kept.
#[derive(Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::people)]
pub struct Password {
    /// The hash in PHC form.
    #[diesel(column_name = password)]
    pub hash: String,
    /// Since when it is this one.
    pub changed_at: Timestamp,
}

/// The hash is not shown.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Password")
            .field("changed_at", &self.changed_at)
            .finish_non_exhaustive()
    }
}

/// Somebody's place in an account.
#[derive(Debug, Clone, Queryable, Selectable)]
pub struct Membership {
    /// The member.
    #[diesel(embed)]
    pub member: Member,
    /// The account.
    #[diesel(embed)]
    pub account: Account,
}

/// A session that is about to begin.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The SHA-256 of its token.
    pub digest: [u8; 32],
    /// When it begins.
    pub at: Timestamp,
}

/// A session, and all that its person may be in.
#[derive(Debug, Clone)]
pub struct Session {
    /// As which member.
    pub member: MemberId,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was used last, to the minute.
    pub seen_at: Timestamp,
    /// Every account that the person is a member of, the oldest membership first.
    pub memberships: Vec<Membership>,
}

/// A one-time link with which a person sets a password.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::sign_in_links)]
pub struct SignInLink {
    /// Whose it is.
    pub email: EmailAddress,
    /// The account that it was made for.
    pub account_id: AccountId,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
}

/// Something that attempts to sign in are counted by.
#[derive(Debug, Clone, Copy)]
pub struct AttemptKey {
    /// The digest of an e-mail address, of a network address, or of both.
    pub digest: [u8; 32],
    /// Attempts without success in a window; from this one on there is a wait after each.
    pub most: i32,
}

/// How attempts are counted.
#[derive(Debug, Clone, Copy)]
pub struct AttemptRule {
    /// How long attempts count together.
    pub window: Duration,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

/// With which password somebody comes to a team.
#[derive(Debug, Clone)]
pub enum JoinsWith {
    /// A first one, hashed.
    First(String),
    /// The one that was set then, which was checked.
    Known(Timestamp),
}

/// What became of a change of somebody in the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberChange {
    /// It is made; who it is now, or was.
    Done(Member),
    /// There is no such member.
    Absent,
    /// The role of whoever asks does not allow it.
    Forbidden,
    /// An account without an owner would be left.
    LastOwner,
}

/// A change of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberStep {
    /// They get this role.
    Role(MemberRole),
    /// They leave the team.
    Remove,
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::audit_log)]
pub struct AuditEntry {
    /// Its id.
    pub id: EventId,
    /// Who it was: `cli`, or `member:` and an id.
    pub actor: String,
    /// What was done, such as `key.create`.
    pub action: String,
    /// To what.
    pub target: String,
    /// When.
    pub at: Timestamp,
}
