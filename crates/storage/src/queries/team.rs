//! Members, invitations and seats.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, EmailAddress, MemberId, MemberRole, Timestamp};

use crate::database::{Conn, Db};
use crate::schema::{account_seats as seats, invitations, members};
use crate::sql::V;
use crate::{Invitation, Member, PageKey, Result, Store};

/// Makes the account's count of members; `owners` of them are there from the beginning.
pub(crate) async fn begin_seats(conn: &mut Conn, account: AccountId, owners: i64) -> Result<()> {
    diesel::insert_into(seats::table)
        .values((seats::account_id.eq(V(account)), seats::members.eq(owners)))
        .run(conn)
        .await
}

/// Counts `more` members, and keeps everybody else from taking a seat until the transaction ends; `false` without such
/// an account.
pub(crate) async fn hold_seats(conn: &mut Conn, account: AccountId, more: i64) -> Result<bool> {
    diesel::update(seats::table.find(V(account)))
        .set(seats::members.eq(seats::members + more))
        .changes(conn)
        .await
}

/// Seats that are taken: by members and by invitations that have not expired.
pub(crate) async fn seats_used(conn: &mut Conn, account: AccountId, now: Timestamp) -> Result<i64> {
    let members: Option<i64> = seats::table
        .find(V(account))
        .select(seats::members)
        .found(conn)
        .await?;
    let pending: i64 = invitations::table
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::expires_at.gt(V(now)))
        .count()
        .get_result(conn)
        .await?;
    Ok(members.unwrap_or(0) + pending)
}

/// Whether the account has a member with this address.
pub(crate) async fn is_member(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<bool> {
    let found: Option<MemberId> = members::table
        .filter(members::account_id.eq(V(account)))
        .filter(members::email.eq(V(email.clone())))
        .select(members::id)
        .found(conn)
        .await?;
    Ok(found.is_some())
}

pub(crate) async fn insert_member(conn: &mut Conn, member: Member) -> Result<()> {
    diesel::insert_into(members::table)
        .values((
            members::id.eq(V(member.id)),
            members::account_id.eq(V(member.account_id)),
            members::name.eq(member.name),
            members::email.eq(V(member.email)),
            members::role.eq(V(member.role)),
            members::joined_at.eq(V(member.joined_at)),
        ))
        .run(conn)
        .await
}

/// A page of members, the oldest first, and one more if there is a next page.
pub(crate) async fn page(
    conn: &mut Conn,
    account: AccountId,
    after: Option<PageKey<MemberId>>,
    limit: i64,
) -> Result<Vec<Member>> {
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
    Ok(query.load(conn).await?)
}

/// Until when this address is invited, if it is.
pub(crate) async fn invited_until(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
    now: Timestamp,
) -> Result<Option<Timestamp>> {
    Ok(invitations::table
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::email.eq(V(email.clone())))
        .filter(invitations::expires_at.gt(V(now)))
        .select(invitations::expires_at)
        .found(conn)
        .await?)
}

pub(crate) async fn insert_invitation(
    conn: &mut Conn,
    invitation: Invitation,
    digest: [u8; 32],
) -> Result<()> {
    diesel::insert_into(invitations::table)
        .values((
            invitations::id.eq(V(invitation.id)),
            invitations::account_id.eq(V(invitation.account_id)),
            invitations::name.eq(invitation.name),
            invitations::email.eq(V(invitation.email)),
            invitations::role.eq(V(invitation.role)),
            invitations::digest.eq(digest.to_vec()),
            invitations::created_at.eq(V(invitation.created_at)),
            invitations::expires_at.eq(V(invitation.expires_at)),
        ))
        .run(conn)
        .await
}

/// Deletes the account's invitations that have expired, which would hold their addresses for ever.
pub(crate) async fn delete_expired(
    conn: &mut Conn,
    account: AccountId,
    now: Timestamp,
) -> Result<()> {
    diesel::delete(invitations::table)
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::expires_at.le(V(now)))
        .run(conn)
        .await
}

/// Deletes the account's invitation of this address; what there was.
pub(crate) async fn delete_invitation(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Invitation>> {
    Ok(diesel::delete(invitations::table)
        .filter(invitations::account_id.eq(V(account)))
        .filter(invitations::email.eq(V(email.clone())))
        .returning(Invitation::as_returning())
        .get_result(conn)
        .await
        .optional()?)
}

/// Deletes the account's member of this address; who it was.
pub(crate) async fn delete_member(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Member>> {
    Ok(diesel::delete(members::table)
        .filter(members::account_id.eq(V(account)))
        .filter(members::email.eq(V(email.clone())))
        .returning(Member::as_returning())
        .get_result(conn)
        .await
        .optional()?)
}

/// A member of the account.
pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: MemberId,
) -> Result<Option<Member>> {
    Ok(members::table
        .find(V(id))
        .filter(members::account_id.eq(V(account)))
        .select(Member::as_select())
        .found(conn)
        .await?)
}

pub(crate) async fn count_owners(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(members::table
        .filter(members::account_id.eq(V(account)))
        .filter(members::role.eq(V(MemberRole::Owner)))
        .count()
        .get_result(conn)
        .await?)
}

/// Gives a member of the account another name; `false` if there is no such member, or that is their name.
pub(crate) async fn rename(
    conn: &mut Conn,
    account: AccountId,
    id: MemberId,
    name: &str,
) -> Result<bool> {
    diesel::update(members::table.find(V(id)))
        .filter(members::account_id.eq(V(account)))
        .filter(members::name.ne(name))
        .set(members::name.eq(name))
        .changes(conn)
        .await
}

pub(crate) async fn set_role(conn: &mut Conn, id: MemberId, role: MemberRole) -> Result<()> {
    diesel::update(members::table.find(V(id)))
        .set(members::role.eq(V(role)))
        .run(conn)
        .await
}

/// The invitation of this token's digest, if it has not expired.
pub(crate) async fn invitation(
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

impl Store {
    /// The account's invitations that have not expired at `now`, the oldest first.
    pub fn invitations(&self, account: AccountId, now: Timestamp) -> Answer<'_, Vec<Invitation>> {
        read!(self, |conn| {
            Ok(invitations::table
                .filter(invitations::account_id.eq(V(account)))
                .filter(invitations::expires_at.gt(V(now)))
                .order((invitations::created_at, invitations::id))
                .select(Invitation::as_select())
                .load(conn)
                .await?)
        })
    }
}
