//! Members, invitations and seats.

use super::{
    people::{audit, distrust, member_of},
    sessions::end_stay,
};
use crate::prelude::*;
use crate::schema::account_seats as seats;

/// The audit log's action for an invitation.
const INVITE: &str = "member.invite";

/// The result of taking a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatTaken {
    Done,
    /// There is no such account.
    NoAccount,
    /// The account has a member with this address.
    Member,
    /// The address is invited until then.
    Invited(Timestamp),
    /// All seats are taken; this is how many.
    Full(i64),
}

/// Creates the account's count of members, beginning with `owners`.
pub(crate) async fn begin_seats(conn: &mut Conn, account: AccountId, owners: i64) -> Result<()> {
    diesel::insert_into(seats::table)
        .values((seats::account_id.eq(V(account)), seats::members.eq(owners)))
        .run(conn)
        .await
}

/// Counts `more` members, and locks the seats until the transaction ends. `false` if there is no such account.
pub(super) async fn hold_seats(conn: &mut Conn, account: AccountId, more: i64) -> Result<bool> {
    diesel::update(seats::table.find(V(account)))
        .set(seats::members.eq(seats::members + more))
        .changes(conn)
        .await
}

/// Seats taken by members and by invitations that have not expired.
async fn seats_used(conn: &mut Conn, account: AccountId, now: Timestamp) -> Result<i64> {
    let members: Option<i64> = seats::table
        .find(V(account))
        .select(seats::members)
        .found(conn)
        .await?;
    let pending: i64 = invitations::table
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::expires_at.gt(V(now)))
        .counted(conn)
        .await?;
    Ok(members.unwrap_or(0) + pending)
}

pub(crate) async fn insert_member(conn: &mut Conn, member: &Member) -> Result<()> {
    insert! { conn, members of member: id, account_id, name, email, role, joined_at }
}

/// Deletes the account's invitation of this address, and returns it.
pub(super) async fn delete_invitation(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Invitation>> {
    diesel::delete(invitations::table)
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::email.eq(V(email)))
        .returning(Invitation::as_returning())
        .returned(conn)
        .await
}

/// Deletes the account's member with this address, and returns it.
async fn delete_member(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Member>> {
    diesel::delete(members::table)
        .filter(members::account_id.eq(V(account)))
        .filter(members::email.eq(V(email)))
        .returning(Member::as_returning())
        .returned(conn)
        .await
}

async fn find(conn: &mut Conn, account: AccountId, id: MemberId) -> Result<Option<Member>> {
    Ok(members::table
        .find(V(id))
        .filter(members::account_id.eq(V(account)))
        .select(Member::as_select())
        .found(conn)
        .await?)
}

/// The invitation with this token's digest, if it has not expired.
pub(super) async fn invitation(
    conn: &mut Conn,
    digest: [u8; 32],
    now: Timestamp,
) -> Result<Option<Invitation>> {
    Ok(invitations::table
        .filter(invitations::digest.eq(digest.to_vec()))
        .filter(invitations::expires_at.gt(V(now)))
        .select(Invitation::as_select())
        .found(conn)
        .await?)
}

/// Deletes the invitations of a member who may no longer invite. The audit log tells which these are.
async fn end_invitations(conn: &mut Conn, member: &Member) -> Result<()> {
    let invited: Vec<String> = audit_log::table
        .filter(audit_log::account_id.eq(V(member.account_id)))
        .filter(audit_log::actor.eq(Actor::Member(member.id).to_string()))
        .filter(audit_log::action.eq(INVITE))
        .select(audit_log::target)
        .load(conn)
        .await?;
    let invited = invited.iter().filter_map(|id| id.parse().ok());
    let invited: Vec<V<InvitationId>> = invited.map(V).collect();
    diesel::delete(invitations::table)
        .filter(invitations::account_id.eq(V(member.account_id)))
        .filter(invitations::id.eq_any(invited))
        .run(conn)
        .await
}

impl Store {
    /// A page of the account's members, oldest first, with one more than `limit` if there is a next page; and how many
    /// seats are taken at `now`, by members and by invitations that have not expired.
    pub fn team(
        &self,
        account: AccountId,
        after: Option<PageKey<MemberId>>,
        limit: i64,
        now: Timestamp,
    ) -> Answer<'_, (Vec<Member>, i64)> {
        read!(self, |conn| {
            let mut query = members::table
                .filter(members::account_id.eq(V(account)))
                .order((members::joined_at, members::id))
                .limit(limit + 1)
                .select(Member::as_select())
                .into_boxed::<Db>();
            if let Some((at, id)) = after {
                query = query
                    .filter(members::joined_at.ge(V(at)))
                    .filter(members::joined_at.gt(V(at)).or(members::id.gt(V(id))));
            }
            let page = query.load(conn).await?;
            Ok((page, seats_used(conn, account, now).await?))
        })
    }

    pub fn member(&self, account: AccountId, id: MemberId) -> Answer<'_, Option<Member>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// The account's invitations that have not expired at `now`, oldest first.
    pub fn invitations(&self, account: AccountId, now: Timestamp) -> Answer<'_, Vec<Invitation>> {
        invitations::table
            .filter(invitations::account_id.eq(V(account)))
            .filter(invitations::expires_at.gt(V(now)))
            .order((invitations::created_at, invitations::id))
            .select(Invitation::as_select())
            .read_all(self)
    }

    /// Adds a member to the team, and deletes a pending invitation of the same address. `seats_max` is the account's
    /// limit of seats; `None` is unlimited.
    pub fn add_member(&self, member: Member, seats_max: Option<u32>) -> Answer<'_, SeatTaken> {
        let actor = self.actor;
        transact!(self, |conn| {
            let (account, email, at) = (member.account_id, &member.email, member.joined_at);
            // First, because it locks the seats: of two that want the last one, the second counts the first.
            if !hold_seats(conn, account, 1).await? {
                return Ok(Rollback(SeatTaken::NoAccount));
            }
            if member_of(conn, account, email).await?.is_some() {
                return Ok(Rollback(SeatTaken::Member));
            }
            delete_invitation(conn, account, email).await?;
            let used = seats_used(conn, account, at).await?;
            if seats_max.is_some_and(|max| used > i64::from(max)) {
                return Ok(Rollback(SeatTaken::Full(used - 1)));
            }
            distrust(conn, email).await?;
            insert_member(conn, &member).await?;
            audit(conn, account, (actor, "member.add", member.id), at).await?;
            Ok(Commit(SeatTaken::Done))
        })
    }

    /// Invites a person to the team. `digest` is the SHA-256 of the link's token. `seats_max` is the account's limit of
    /// seats; `None` is unlimited.
    pub fn invite(
        &self,
        invitation: Invitation,
        digest: [u8; 32],
        seats_max: Option<u32>,
    ) -> Answer<'_, SeatTaken> {
        let actor = self.actor;
        transact!(self, |conn| {
            let (id, account, at) = (invitation.id, invitation.account_id, invitation.created_at);
            if !hold_seats(conn, account, 0).await? {
                return Ok(Rollback(SeatTaken::NoAccount));
            }
            if member_of(conn, account, &invitation.email).await?.is_some() {
                return Ok(Rollback(SeatTaken::Member));
            }
            let invited: Option<Timestamp> = invitations::table
                .filter(invitations::account_id.eq(V(account)))
                .filter(invitations::email.eq(V(&invitation.email)))
                .filter(invitations::expires_at.gt(V(at)))
                .select(invitations::expires_at)
                .found(conn)
                .await?;
            if let Some(until) = invited {
                return Ok(Rollback(SeatTaken::Invited(until)));
            }
            let used = seats_used(conn, account, at).await?;
            if seats_max.is_some_and(|max| used >= i64::from(max)) {
                return Ok(Rollback(SeatTaken::Full(used)));
            }
            // Expired invitations would hold their addresses forever.
            diesel::delete(invitations::table)
                .filter(invitations::account_id.eq(V(account)))
                .filter(invitations::expires_at.le(V(at)))
                .execute(conn)
                .await?;
            insert! {
                conn, invitations of invitation: id = id, account_id = account, name, email, role,
                digest = digest, created_at = at, expires_at
            }?;
            audit(conn, account, (actor, INVITE, id), at).await?;
            Ok(Commit(SeatTaken::Done))
        })
    }

    /// Removes a member from the team, which frees the seat. Returns the member, or `None` if there is no such member.
    pub fn remove_member(
        &self,
        account: AccountId,
        email: EmailAddress,
        at: Timestamp,
    ) -> Answer<'_, Option<Member>> {
        let actor = self.actor;
        transact!(self, |conn| {
            // First, in the lock order of all changes of the team.
            ensure!(hold_seats(conn, account, -1).await?, Rollback(None));
            let member = some_or!(delete_member(conn, account, &email).await?, Rollback(None));
            end_stay(conn, &member).await?;
            end_invitations(conn, &member).await?;
            audit(conn, account, (actor, "member.remove", member.id), at).await?;
            Ok(Commit(Some(member)))
        })
    }

    /// Withdraws an invitation, whose link is invalid from then on. Returns it, or `None` if the address is not invited
    /// at `at`.
    pub fn withdraw_invitation(
        &self,
        account: AccountId,
        email: EmailAddress,
        at: Timestamp,
    ) -> Answer<'_, Option<Invitation>> {
        let actor = self.actor;
        transact!(self, |conn| {
            ensure!(hold_seats(conn, account, 0).await?, Rollback(None));
            let found = delete_invitation(conn, account, &email).await?;
            let Some(invitation) = found.filter(|invitation| invitation.expires_at > at) else {
                return Ok(Rollback(None));
            };
            audit(conn, account, (actor, "member.withdraw", invitation.id), at).await?;
            Ok(Commit(Some(invitation)))
        })
    }

    /// Changes a member of a team on behalf of another. Both roles are read while no other transaction can change the
    /// team, so that an owner always remains.
    pub fn change_member(
        &self,
        account: AccountId,
        (by, of): (MemberId, MemberId),
        step: MemberStep,
        at: Timestamp,
    ) -> Answer<'_, MemberChange> {
        transact!(self, |conn| {
            let seats = match step {
                MemberStep::Role(_) => 0,
                MemberStep::Remove => -1,
            };
            if !hold_seats(conn, account, seats).await? {
                return Ok(Rollback(MemberChange::Absent));
            }
            let Some(acting) = find(conn, account, by).await? else {
                return Ok(Rollback(MemberChange::Forbidden));
            };
            let Some(mut member) = find(conn, account, of).await? else {
                return Ok(Rollback(MemberChange::Absent));
            };
            let is_allowed = match step {
                MemberStep::Role(role) => {
                    acting.role.may_change(member.role) && acting.role.may_change(role)
                }
                // Every member may leave.
                MemberStep::Remove => by == of || acting.role.may_change(member.role),
            };
            ensure!(is_allowed, Rollback(MemberChange::Forbidden));
            let stays_owner = step == MemberStep::Role(MemberRole::Owner);
            if member.role == MemberRole::Owner && !stays_owner {
                let owners: i64 = members::table
                    .filter(members::account_id.eq(V(account)))
                    .filter(members::role.eq(V(MemberRole::Owner)))
                    .counted(conn)
                    .await?;
                ensure!(owners >= 2, Rollback(MemberChange::LastOwner));
            }
            let (action, target) = match step {
                MemberStep::Role(role) if role == member.role => {
                    return Ok(Rollback(MemberChange::Done(member)));
                }
                MemberStep::Role(role) => {
                    diesel::update(members::table.find(V(of)))
                        .set(members::role.eq(V(role)))
                        .execute(conn)
                        .await?;
                    member.role = role;
                    ("member.role", format!("{of} {role}"))
                }
                MemberStep::Remove => {
                    delete_member(conn, account, &member.email).await?;
                    ("member.remove", of.to_string())
                }
            };
            end_stay(conn, &member).await?;
            if step == MemberStep::Remove || !member.role.may(MemberRole::Admin) {
                end_invitations(conn, &member).await?;
            }
            let line = (Actor::Member(by), action, target);
            audit(conn, account, line, at).await?;
            Ok(Commit(MemberChange::Done(member)))
        })
    }

    /// Changes a member's name, at the member's own request. The audit log records the change, but not the names.
    /// `false` if there is no such member, or the name is the same.
    pub fn rename_member(
        &self,
        account: AccountId,
        member: MemberId,
        name: String,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let is_renamed = diesel::update(members::table.find(V(member)))
                .filter(members::account_id.eq(V(account)))
                .filter(members::name.ne(&name))
                .set(members::name.eq(&name))
                .changes(conn)
                .await?;
            ensure!(is_renamed, Rollback(false));
            let line = (Actor::Member(member), "member.rename", member);
            audit(conn, account, line, at).await?;
            Ok(Commit(true))
        })
    }
}
