//! Members and invitations.

use diesel::prelude::*;
use offhook_domain::{AccountId, EmailAddress, InvitationId, MemberId, MemberRole, Timestamp};

use crate::schema;

/// Somebody who works with an account.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::members)]
pub struct Member {
    /// The member's id.
    pub id: MemberId,
    /// The account.
    pub account_id: AccountId,
    /// The member's name.
    pub name: String,
    /// Unique within the account.
    pub email: EmailAddress,
    /// What the member may do.
    pub role: MemberRole,
    /// Since when.
    pub joined_at: Timestamp,
}

/// A one-time link to an account's team; it holds a seat until it has expired.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::invitations)]
pub struct Invitation {
    /// The invitation's id.
    pub id: InvitationId,
    /// The account.
    pub account_id: AccountId,
    /// Who is invited.
    pub name: String,
    /// Unique among the account's invitations.
    pub email: EmailAddress,
    /// What the member will be.
    pub role: MemberRole,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on the link opens nothing.
    pub expires_at: Timestamp,
}
