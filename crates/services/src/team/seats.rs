//! Who gets a seat of an account, and who may change whose. Seats are taken by members and by invitations that have not
//! expired. Each change locks the account's seats first: of two that want the last one, the second counts the first.

use crate::prelude::*;
use crate::transact::transact;

type Result<T> = std::result::Result<T, TeamRefusal>;

/// Why a team was not changed.
#[derive(Debug, thiserror::Error)]
pub enum TeamRefusal {
    /// The caller's role does not allow it.
    #[error("your role does not allow this")]
    Forbidden,
    #[error("there is no such member or invitation")]
    Absent,
    /// The account would have no owner.
    #[error("an account needs an owner")]
    LastOwner,
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    #[error("a member has this address already")]
    Member,
    /// The address is already invited, until then.
    #[error("invited already, until {0}")]
    Invited(Timestamp),
    #[error("no seat is free: {used} of {max} are taken")]
    NoSeat {
        used: i64,
        /// Seats of the plan.
        max: u32,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberStep {
    /// Give the member this role.
    Role(MemberRole),
    /// Remove the member from the team.
    Remove,
}

impl TxError for TeamRefusal {
    fn into_store(self) -> std::result::Result<StoreError, Self> {
        match self {
            Self::Store(error) => Ok(error),
            refusal => Err(refusal),
        }
    }
}

/// Adds a member to the team, and deletes a pending invitation of the same address. `max` is the account's limit of
/// seats; `None` is unlimited.
pub(crate) async fn add(store: &Store, member: Member, max: Option<u32>) -> Result<()> {
    transact!(store, |tx| {
        let (account, at) = (member.account_id, member.joined_at);
        found(tx.change_seats(account, 1).await?)?;
        if tx.has_member(account, &member.email).await? {
            return Err(TeamRefusal::Member);
        }
        tx.delete_invitation(account, &member.email).await?;
        check_free(tx.seats_used(account, at).await? - 1, max)?;
        tx.add_member(&member).await?;
        tx.audit(account, "member.add", member.id.to_string(), at)
            .await?;
        Ok(())
    })
}

/// Invites a person to the team. `digest` is the SHA-256 of the link's token.
pub(crate) async fn invite(
    store: &Store,
    invitation: Invitation,
    digest: [u8; 32],
    max: Option<u32>,
) -> Result<()> {
    transact!(store, |tx| {
        let (account, at) = (invitation.account_id, invitation.created_at);
        found(tx.change_seats(account, 0).await?)?;
        if tx.has_member(account, &invitation.email).await? {
            return Err(TeamRefusal::Member);
        }
        if let Some(until) = tx.invited_until(account, &invitation.email, at).await? {
            return Err(TeamRefusal::Invited(until));
        }
        check_free(tx.seats_used(account, at).await?, max)?;
        tx.add_invitation(invitation, digest).await?;
        Ok(())
    })
}

/// Removes a member from the team, which frees the seat.
pub(crate) async fn remove(
    store: &Store,
    account: AccountId,
    email: EmailAddress,
    at: Timestamp,
) -> Result<Member> {
    transact!(store, |tx| {
        found(tx.change_seats(account, -1).await?)?;
        let removed = tx.delete_member(account, &email).await?;
        let member = removed.ok_or(TeamRefusal::Absent)?;
        tx.end_stay(&member).await?;
        tx.end_invitations(&member).await?;
        tx.audit(account, "member.remove", member.id.to_string(), at)
            .await?;
        Ok(member)
    })
}

/// Withdraws an invitation, whose link is invalid from then on.
pub(crate) async fn withdraw(
    store: &Store,
    account: AccountId,
    email: EmailAddress,
    at: Timestamp,
) -> Result<Invitation> {
    transact!(store, |tx| {
        found(tx.change_seats(account, 0).await?)?;
        let deleted = tx.delete_invitation(account, &email).await?;
        let pending = deleted.filter(|invitation| invitation.expires_at > at);
        let invitation = pending.ok_or(TeamRefusal::Absent)?;
        tx.audit(account, "member.withdraw", invitation.id.to_string(), at)
            .await?;
        Ok(invitation)
    })
}

/// Changes a member of a team on behalf of another, who is the store's actor. Both roles are read while no other
/// transaction can change the team, so that an owner always remains.
pub(crate) async fn change(
    store: &Store,
    account: AccountId,
    (by, of): (MemberId, MemberId),
    step: MemberStep,
    at: Timestamp,
) -> Result<Member> {
    transact!(store, |tx| {
        let seats = match step {
            MemberStep::Role(_) => 0,
            MemberStep::Remove => -1,
        };
        found(tx.change_seats(account, seats).await?)?;
        let acting = tx
            .member(account, by)
            .await?
            .ok_or(TeamRefusal::Forbidden)?;
        let mut member = tx.member(account, of).await?.ok_or(TeamRefusal::Absent)?;
        let is_allowed = match step {
            MemberStep::Role(role) => {
                acting.role.may_change(member.role) && acting.role.may_change(role)
            }
            // Every member may leave.
            MemberStep::Remove => by == of || acting.role.may_change(member.role),
        };
        if !is_allowed {
            return Err(TeamRefusal::Forbidden);
        }
        let stays_owner = step == MemberStep::Role(MemberRole::Owner);
        if member.role == MemberRole::Owner && !stays_owner && tx.count_owners(account).await? < 2 {
            return Err(TeamRefusal::LastOwner);
        }
        let before = member.role;
        let action = match step {
            MemberStep::Role(role) if role == member.role => return Ok(member),
            MemberStep::Role(role) => {
                tx.set_role(of, role).await?;
                member.role = role;
                "member.role"
            }
            MemberStep::Remove => {
                tx.delete_member(account, &member.email).await?;
                "member.remove"
            }
        };
        tx.end_stay(&member).await?;
        if step == MemberStep::Remove || !member.role.may(MemberRole::Admin) {
            tx.end_invitations(&member).await?;
        }
        let role = |role: MemberRole| Json::object([("role", Json::from(role.as_str()))]);
        let changes = Changes::between(&role(before), &role(member.role));
        let words = (action, of.to_string());
        tx.audit_change(account, (words.0, &words.1), &changes, at)
            .await?;
        Ok(member)
    })
}

const fn found(account: bool) -> Result<()> {
    if account {
        Ok(())
    } else {
        Err(TeamRefusal::Absent)
    }
}

fn check_free(used: i64, max: Option<u32>) -> Result<()> {
    match max {
        Some(max) if used >= i64::from(max) => Err(TeamRefusal::NoSeat { used, max }),
        _ => Ok(()),
    }
}
