//! Members and invitations.

use crate::prelude::*;

/// A person who works with an account.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = members)]
pub struct Member {
    pub id: MemberId,
    pub account_id: AccountId,
    pub name: String,
    /// Unique within the account.
    pub email: EmailAddress,
    pub role: MemberRole,
    pub joined_at: Timestamp,
}

/// A one-time link to an account's team. It takes a seat until it expires.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = invitations)]
pub struct Invitation {
    pub id: InvitationId,
    pub account_id: AccountId,
    /// The invited person's name.
    pub name: String,
    /// Unique among the account's invitations.
    pub email: EmailAddress,
    /// The role that the member will have.
    pub role: MemberRole,
    pub created_at: Timestamp,
    /// When the link expires.
    pub expires_at: Timestamp,
}
