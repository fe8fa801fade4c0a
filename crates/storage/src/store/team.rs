//! Members, invitations and seats.

use offhook_domain::{AccountId, EmailAddress, EventId, MemberId, MemberRole, Timestamp};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{Actor, Invitation, Member, MemberChange, MemberStep, PageKey, Store, Verdict};

/// What became of the wish for a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatTaken {
    /// It is taken.
    Done,
    /// There is no such account.
    NoAccount,
    /// The account has a member with this address.
    Member,
    /// The address is invited until then.
    Invited(Timestamp),
    /// So many seats are taken, and that is all that there are.
    Full(i64),
}

impl Store {
    /// A page of the account's members, the oldest first, with one more than `limit` if there is a next page; and how
    /// many seats are taken at `now`, by members and by invitations that have not expired.
    pub fn team(
        &self,
        account: AccountId,
        after: Option<PageKey<MemberId>>,
        limit: i64,
        now: Timestamp,
    ) -> Answer<'_, (Vec<Member>, i64)> {
        read!(self, |conn| {
            let members = queries::team::page(conn, account, after, limit).await?;
            let used = queries::team::seats_used(conn, account, now).await?;
            Ok((members, used))
        })
    }

    /// A member of the account; `None` if there is none of this id.
    pub fn member(&self, account: AccountId, id: MemberId) -> Answer<'_, Option<Member>> {
        read!(self, |conn| queries::team::find(conn, account, id).await)
    }

    /// Makes a member of the team, in place of a pending invitation of the same address. `seats_max` is how many seats
    /// the account has; `None` is unlimited.
    pub fn add_member(&self, member: Member, seats_max: Option<u32>) -> Answer<'_, SeatTaken> {
        let actor = self.actor();
        write!(self, |conn| {
            let (account, at) = (member.account_id, member.joined_at);
            // First, as it holds the seats: of two that want the last one, the second counts the first.
            if !queries::team::hold_seats(conn, account, 1).await? {
                return Ok(Verdict::Rollback(SeatTaken::NoAccount));
            }
            if queries::team::is_member(conn, account, &member.email).await? {
                return Ok(Verdict::Rollback(SeatTaken::Member));
            }
            queries::team::delete_invitation(conn, account, &member.email).await?;
            let used = queries::team::seats_used(conn, account, at).await?;
            if seats_max.is_some_and(|max| used > i64::from(max)) {
                return Ok(Verdict::Rollback(SeatTaken::Full(used - 1)));
            }
            let (audit_id, target): (EventId, _) = (mint(at), member.id.to_string());
            queries::people::distrust(conn, &member.email).await?;
            queries::team::insert_member(conn, member).await?;
            let words = (actor.as_str(), "member.add", target.as_str());
            queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(SeatTaken::Done))
        })
    }

    /// Invites somebody to the team. `digest` is the SHA-256 of the link's token, `seats_max` how many seats the account
    /// has; `None` is unlimited.
    pub fn invite(
        &self,
        invitation: Invitation,
        digest: [u8; 32],
        seats_max: Option<u32>,
    ) -> Answer<'_, SeatTaken> {
        let actor = self.actor();
        write!(self, |conn| {
            let (account, at) = (invitation.account_id, invitation.created_at);
            if !queries::team::hold_seats(conn, account, 0).await? {
                return Ok(Verdict::Rollback(SeatTaken::NoAccount));
            }
            if queries::team::is_member(conn, account, &invitation.email).await? {
                return Ok(Verdict::Rollback(SeatTaken::Member));
            }
            let invited = queries::team::invited_until(conn, account, &invitation.email, at);
            if let Some(until) = invited.await? {
                return Ok(Verdict::Rollback(SeatTaken::Invited(until)));
            }
            let used = queries::team::seats_used(conn, account, at).await?;
            if seats_max.is_some_and(|max| used >= i64::from(max)) {
                return Ok(Verdict::Rollback(SeatTaken::Full(used)));
            }
            queries::team::delete_expired(conn, account, at).await?;
            let (audit_id, target): (EventId, _) = (mint(at), invitation.id.to_string());
            queries::team::insert_invitation(conn, invitation, digest).await?;
            let words = (actor.as_str(), "member.invite", target.as_str());
            queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(SeatTaken::Done))
        })
    }

    /// Takes a member out of the team, which frees the seat; who it was, or `None` without such a member.
    pub fn remove_member(
        &self,
        account: AccountId,
        email: EmailAddress,
        at: Timestamp,
    ) -> Answer<'_, Option<Member>> {
        let actor = self.actor();
        write!(self, |conn| {
            // First, as whoever changes the team does.
            if !queries::team::hold_seats(conn, account, -1).await? {
                return Ok(Verdict::Rollback(None));
            }
            let Some(member) = queries::team::delete_member(conn, account, &email).await? else {
                return Ok(Verdict::Rollback(None));
            };
            queries::people::end_stay(conn, &member).await?;
            let (audit_id, target): (EventId, _) = (mint(at), member.id.to_string());
            let words = (actor.as_str(), "member.remove", target.as_str());
            queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(Some(member)))
        })
    }

    /// Withdraws an invitation, whose link opens nothing from then on; what it was, or `None` if the address is not
    /// invited at `at`.
    pub fn withdraw_invitation(
        &self,
        account: AccountId,
        email: EmailAddress,
        at: Timestamp,
    ) -> Answer<'_, Option<Invitation>> {
        let actor = self.actor();
        write!(self, |conn| {
            if !queries::team::hold_seats(conn, account, 0).await? {
                return Ok(Verdict::Rollback(None));
            }
            let found = queries::team::delete_invitation(conn, account, &email).await?;
            let Some(invitation) = found.filter(|invitation| invitation.expires_at > at) else {
                return Ok(Verdict::Rollback(None));
            };
            let (audit_id, target): (EventId, _) = (mint(at), invitation.id.to_string());
            let words = (actor.as_str(), "member.withdraw", target.as_str());
            queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(Some(invitation)))
        })
    }

    /// Changes somebody in a team on behalf of another member: both roles are read when nobody else changes the team,
    /// so that an owner is always left.
    pub fn change_member(
        &self,
        account: AccountId,
        (by, of): (MemberId, MemberId),
        step: MemberStep,
        at: Timestamp,
    ) -> Answer<'_, MemberChange> {
        write!(self, |conn| {
            let seats = match step {
                MemberStep::Role(_) => 0,
                MemberStep::Remove => -1,
            };
            if !queries::team::hold_seats(conn, account, seats).await? {
                return Ok(Verdict::Rollback(MemberChange::Absent));
            }
            let Some(acting) = queries::team::find(conn, account, by).await? else {
                return Ok(Verdict::Rollback(MemberChange::Forbidden));
            };
            let Some(mut member) = queries::team::find(conn, account, of).await? else {
                return Ok(Verdict::Rollback(MemberChange::Absent));
            };
            let is_allowed = match step {
                MemberStep::Role(role) => {
                    acting.role.may_change(member.role) && acting.role.may_change(role)
                }
                // Everybody may leave.
                MemberStep::Remove => by == of || acting.role.may_change(member.role),
            };
            if !is_allowed {
                return Ok(Verdict::Rollback(MemberChange::Forbidden));
            }
            let stays_owner = step == MemberStep::Role(MemberRole::Owner);
            if member.role == MemberRole::Owner && !stays_owner {
                let owners = queries::team::count_owners(conn, account).await?;
                if owners < 2 {
                    return Ok(Verdict::Rollback(MemberChange::LastOwner));
                }
            }
            let action = match step {
                MemberStep::Role(role) if role == member.role => {
                    return Ok(Verdict::Rollback(MemberChange::Done(member)));
                }
                MemberStep::Role(role) => {
                    queries::team::set_role(conn, of, role).await?;
                    member.role = role;
                    "member.role"
                }
                MemberStep::Remove => {
                    queries::team::delete_member(conn, account, &member.email).await?;
                    "member.remove"
                }
            };
            queries::people::end_stay(conn, &member).await?;
            let (id, actor): (EventId, _) = (mint(at), Actor::Member(by).to_string());
            let target = match step {
                MemberStep::Role(role) => format!("{of} {role}"),
                MemberStep::Remove => of.to_string(),
            };
            let words = (actor.as_str(), action, target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(MemberChange::Done(member)))
        })
    }

    /// Gives a member of the account another name, which they chose. The audit log tells that, not the names. `false`
    /// if there is no such member, or that is their name.
    pub fn rename_member(
        &self,
        account: AccountId,
        member: MemberId,
        name: String,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            if !queries::team::rename(conn, account, member, &name).await? {
                return Ok(Verdict::Rollback(false));
            }
            let (id, actor): (EventId, _) = (mint(at), Actor::Member(member).to_string());
            let target = member.to_string();
            let words = (actor.as_str(), "member.rename", target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(true))
        })
    }
}
