//! Members, invitations and seats.

use super::{
    people::{audit, distrust, member_of},
    sessions::end_stay,
};
use crate::prelude::*;
use crate::schema::account_seats as seats;

/// The audit log's action for an invitation.
const INVITE: &str = "member.invite";

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

#[boxed]
impl Tx<'_> {
    /// Counts `more` members, and locks the seats until the transaction ends: first, in the lock order of all changes of
    /// the team. `false` if there is no such account.
    pub async fn change_seats(&mut self, account: AccountId, more: i64) -> Result<bool> {
        hold_seats(self.0, account, more).await
    }

    /// Seats taken by members and by invitations that have not expired.
    pub async fn seats_used(&mut self, account: AccountId, now: Timestamp) -> Result<i64> {
        seats_used(self.0, account, now).await
    }

    pub async fn member(&mut self, account: AccountId, id: MemberId) -> Result<Option<Member>> {
        find(self.0, account, id).await
    }

    pub async fn has_member(&mut self, account: AccountId, email: &EmailAddress) -> Result<bool> {
        Ok(member_of(self.0, account, email).await?.is_some())
    }

    pub async fn count_owners(&mut self, account: AccountId) -> Result<i64> {
        Ok(members::table
            .filter(members::account_id.eq(V(account)))
            .filter(members::role.eq(V(MemberRole::Owner)))
            .counted(self.0)
            .await?)
    }

    /// Adds a member that an operator vouches for.
    pub async fn add_member(&mut self, member: &Member) -> Result<()> {
        distrust(self.0, &member.email).await?;
        insert_member(self.0, member).await
    }

    pub async fn set_role(&mut self, member: MemberId, role: MemberRole) -> Result<()> {
        diesel::update(members::table.find(V(member)))
            .set(members::role.eq(V(role)))
            .run(self.0)
            .await
    }

    /// Deletes the account's member with this address, and returns it.
    pub async fn delete_member(
        &mut self,
        account: AccountId,
        email: &EmailAddress,
    ) -> Result<Option<Member>> {
        diesel::delete(members::table)
            .filter(members::account_id.eq(V(account)))
            .filter(members::email.eq(V(email)))
            .returning(Member::as_returning())
            .returned(self.0)
            .await
    }

    /// Ends a member's sessions in the account.
    pub async fn end_stay(&mut self, member: &Member) -> Result<()> {
        end_stay(self.0, member).await
    }

    /// Until when the address is invited, if it is.
    pub async fn invited_until(
        &mut self,
        account: AccountId,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>> {
        Ok(invitations::table
            .filter(invitations::account_id.eq(V(account)))
            .filter(invitations::email.eq(V(email)))
            .filter(invitations::expires_at.gt(V(now)))
            .select(invitations::expires_at)
            .found(self.0)
            .await?)
    }

    /// Adds an invitation, in place of expired ones, which would hold their addresses forever. `digest` is the SHA-256
    /// of the link's token.
    pub async fn add_invitation(&mut self, new: Invitation, digest: [u8; 32]) -> Result<()> {
        let (id, account, at) = (new.id, new.account_id, new.created_at);
        diesel::delete(invitations::table)
            .filter(invitations::account_id.eq(V(account)))
            .filter(invitations::expires_at.le(V(at)))
            .execute(self.0)
            .await?;
        insert! {
            self.0, invitations of new: id, account_id, name, email, role, digest = digest,
            created_at, expires_at
        }?;
        self.audit(account, INVITE, id.to_string(), at).await
    }

    /// Deletes the account's invitation of this address, and returns it.
    pub async fn delete_invitation(
        &mut self,
        account: AccountId,
        email: &EmailAddress,
    ) -> Result<Option<Invitation>> {
        delete_invitation(self.0, account, email).await
    }

    /// Deletes the invitations of a member who may no longer invite. The audit log tells which these are.
    pub async fn end_invitations(&mut self, member: &Member) -> Result<()> {
        let invited: Vec<String> = audit_log::table
            .filter(audit_log::account_id.eq(V(member.account_id)))
            .filter(audit_log::actor.eq(Actor::Member(member.id).to_string()))
            .filter(audit_log::action.eq(INVITE))
            .select(audit_log::target)
            .load(self.0)
            .await?;
        let invited = invited.iter().filter_map(|id| id.parse().ok());
        let invited: Vec<V<InvitationId>> = invited.map(V).collect();
        diesel::delete(invitations::table)
            .filter(invitations::account_id.eq(V(member.account_id)))
            .filter(invitations::id.eq_any(invited))
            .run(self.0)
            .await
    }

    /// Writes a line of the audit log.
    pub async fn audit(
        &mut self,
        account: AccountId,
        action: &'static str,
        target: String,
        at: Timestamp,
    ) -> Result<()> {
        audit(self.0, account, (self.2, action, target), at).await
    }

    /// The same with what has changed.
    pub async fn audit_change(
        &mut self,
        account: AccountId,
        (action, target): (&str, &str),
        changes: &Changes,
        at: Timestamp,
    ) -> Result<()> {
        let actor = self.2.to_string();
        let words = (actor.as_str(), action, target);
        super::audit::change(self.0, account, words, changes, at).await
    }
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
