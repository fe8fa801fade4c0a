//! People who sign in, and their sessions and links.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, EmailAddress, EventId, MemberId, Timestamp};

use super::attempts::DELETED_AT_ONCE;
use crate::database::{Conn, Db};
use crate::schema::{
    accounts, audit_log, members, people, portal_sessions as sessions,
    service_settings as settings, sign_in_links as links,
};
use crate::sql::V;
use crate::{
    Account, AuditEntry, Member, Membership, NewSession, PageKey, Password, Result, SignInLink,
    Store,
};

/// The setting that names the first account that was made in the portal.
const FIRST_ACCOUNT: &str = "first_account";

/// The person's password, if one was ever set.
pub(crate) async fn password(conn: &mut Conn, email: &EmailAddress) -> Result<Option<Password>> {
    let found: Option<(String, Timestamp)> = people::table
        .find(V(email.clone()))
        .select((people::password, people::changed_at))
        .found(conn)
        .await?;
    Ok(found.map(|(hash, changed_at)| Password { hash, changed_at }))
}

/// Sets the person's password, whether there was one or not.
pub(crate) async fn set_password(
    conn: &mut Conn,
    email: &EmailAddress,
    hash: &str,
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(people::table)
        .values((
            people::email.eq(V(email.clone())),
            people::password.eq(hash),
            people::changed_at.eq(V(at)),
            people::by_invitation.eq(false),
        ))
        .on_conflict(people::email)
        .do_update()
        .set((people::password.eq(hash), people::changed_at.eq(V(at))))
        .run(conn)
        .await
}

/// Sets the person's first password; `false` if there is one.
pub(crate) async fn set_first_password(
    conn: &mut Conn,
    email: &EmailAddress,
    hash: &str,
    at: Timestamp,
) -> Result<bool> {
    diesel::insert_into(people::table)
        .values((
            people::email.eq(V(email.clone())),
            people::password.eq(hash),
            people::changed_at.eq(V(at)),
            people::by_invitation.eq(true),
        ))
        .on_conflict_do_nothing()
        .changes(conn)
        .await
}

/// Whether the password is still the one that was set at `changed_at`; if so nobody changes it until the transaction ends.
pub(crate) async fn hold_password(
    conn: &mut Conn,
    email: &EmailAddress,
    changed_at: Timestamp,
) -> Result<bool> {
    diesel::update(people::table.find(V(email.clone())))
        .filter(people::changed_at.eq(V(changed_at)))
        .set(people::changed_at.eq(people::changed_at))
        .changes(conn)
        .await
}

/// The person's password is one of an operator's link: whoever has it is who the operator says.
pub(crate) async fn vouch(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    diesel::update(people::table.find(V(email.clone())))
        .set(people::by_invitation.eq(false))
        .run(conn)
        .await
}

/// Whoever set the person's password with an invitation may be somebody else: before the operator gives the address a
/// place in an account, password and sessions go.
pub(crate) async fn distrust(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    let gone = diesel::delete(people::table.find(V(email.clone())))
        .filter(people::by_invitation.eq(true))
        .execute(conn)
        .await?;
    if gone > 0 {
        end_sessions(conn, email).await?;
    }
    Ok(())
}

/// Every account that the person is a member of, the oldest membership first.
pub(crate) async fn memberships(conn: &mut Conn, email: &EmailAddress) -> Result<Vec<Membership>> {
    let rows: Vec<(Member, Account)> = members::table
        .inner_join(accounts::table)
        .filter(members::email.eq(V(email.clone())))
        .order((members::joined_at, members::id))
        .select((Member::as_select(), Account::as_select()))
        .load(conn)
        .await?;
    let membership = |(member, account)| Membership { member, account };
    Ok(rows.into_iter().map(membership).collect())
}

pub(crate) async fn insert_session(
    conn: &mut Conn,
    session: &NewSession,
    member: &Member,
) -> Result<()> {
    diesel::insert_into(sessions::table)
        .values((
            sessions::digest.eq(session.digest.to_vec()),
            sessions::email.eq(V(member.email.clone())),
            sessions::account_id.eq(V(member.account_id)),
            sessions::member_id.eq(V(member.id)),
            sessions::created_at.eq(V(session.at)),
            sessions::seen_at.eq(V(session.at)),
        ))
        .run(conn)
        .await
}

/// A session: whose, as which member, since when, and when it was used last.
type SessionRow = (EmailAddress, MemberId, Timestamp, Timestamp);

pub(crate) async fn session(conn: &mut Conn, digest: [u8; 32]) -> Result<Option<SessionRow>> {
    Ok(sessions::table
        .find(digest.to_vec())
        .select((
            sessions::email,
            sessions::member_id,
            sessions::created_at,
            sessions::seen_at,
        ))
        .found(conn)
        .await?)
}

/// Moves a session to another account.
pub(crate) async fn move_session(
    conn: &mut Conn,
    digest: [u8; 32],
    (account, member): (AccountId, MemberId),
) -> Result<bool> {
    diesel::update(sessions::table.find(digest.to_vec()))
        .set((
            sessions::account_id.eq(V(account)),
            sessions::member_id.eq(V(member)),
        ))
        .changes(conn)
        .await
}

/// Ends every session of a person but for one; how many there were.
pub(crate) async fn end_other_sessions(
    conn: &mut Conn,
    email: &EmailAddress,
    but: [u8; 32],
) -> Result<usize> {
    Ok(diesel::delete(sessions::table)
        .filter(sessions::email.eq(V(email.clone())))
        .filter(sessions::digest.ne(but.to_vec()))
        .execute(conn)
        .await?)
}

/// Sessions of a person that are in use after `seen`, but for one.
pub(crate) async fn count_other_sessions(
    conn: &mut Conn,
    email: &EmailAddress,
    but: [u8; 32],
    (seen, created): (Timestamp, Timestamp),
) -> Result<i64> {
    Ok(sessions::table
        .filter(sessions::email.eq(V(email.clone())))
        .filter(sessions::digest.ne(but.to_vec()))
        .filter(sessions::seen_at.gt(V(seen)))
        .filter(sessions::created_at.gt(V(created)))
        .count()
        .get_result(conn)
        .await?)
}

/// Ends every session of a person.
pub(crate) async fn end_sessions(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    diesel::delete(sessions::table)
        .filter(sessions::email.eq(V(email.clone())))
        .run(conn)
        .await
}

/// Ends what somebody who is no longer the same in an account has there: sessions and links.
pub(crate) async fn end_stay(conn: &mut Conn, member: &Member) -> Result<()> {
    diesel::delete(sessions::table)
        .filter(sessions::member_id.eq(V(member.id)))
        .execute(conn)
        .await?;
    diesel::delete(links::table)
        .filter(links::email.eq(V(member.email.clone())))
        .filter(links::account_id.eq(V(member.account_id)))
        .run(conn)
        .await
}

/// Deletes sessions that were not used after `before`, and links that opened nothing any more at `now`; whether there
/// may be more of them.
pub(crate) async fn delete_ended(
    conn: &mut Conn,
    (before, now): (Timestamp, Timestamp),
) -> Result<bool> {
    let old: Vec<Vec<u8>> = sessions::table
        .filter(sessions::seen_at.le(V(before)))
        .order(sessions::seen_at)
        .limit(DELETED_AT_ONCE)
        .select(sessions::digest)
        .load(conn)
        .await?;
    let has_more = i64::try_from(old.len()).is_ok_and(|found| found == DELETED_AT_ONCE);
    diesel::delete(sessions::table)
        .filter(sessions::digest.eq_any(old))
        .filter(sessions::seen_at.le(V(before)))
        .execute(conn)
        .await?;
    diesel::delete(links::table)
        .filter(links::expires_at.le(V(now)))
        .execute(conn)
        .await?;
    Ok(has_more)
}

pub(crate) async fn insert_link(
    conn: &mut Conn,
    digest: [u8; 32],
    link: &SignInLink,
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(links::table)
        .values((
            links::digest.eq(digest.to_vec()),
            links::email.eq(V(link.email.clone())),
            links::account_id.eq(V(link.account_id)),
            links::created_at.eq(V(at)),
            links::expires_at.eq(V(link.expires_at)),
        ))
        .run(conn)
        .await
}

/// A link that opens something at `now`.
pub(crate) async fn link(
    conn: &mut Conn,
    digest: [u8; 32],
    now: Timestamp,
) -> Result<Option<SignInLink>> {
    let found: Option<(EmailAddress, AccountId, Timestamp)> = links::table
        .find(digest.to_vec())
        .filter(links::expires_at.gt(V(now)))
        .select((links::email, links::account_id, links::expires_at))
        .found(conn)
        .await?;
    Ok(found.map(|(email, account_id, expires_at)| SignInLink {
        email,
        account_id,
        expires_at,
    }))
}

/// Uses a link up, with the person's other ones; whose it was, if it opened anything at `now`.
pub(crate) async fn use_link(
    conn: &mut Conn,
    digest: [u8; 32],
    now: Timestamp,
) -> Result<Option<(EmailAddress, AccountId)>> {
    let used: Option<(EmailAddress, AccountId)> =
        diesel::delete(links::table.find(digest.to_vec()))
            .filter(links::expires_at.gt(V(now)))
            .returning((links::email, links::account_id))
            .get_result(conn)
            .await
            .optional()?;
    if let Some((email, _)) = &used {
        diesel::delete(links::table)
            .filter(links::email.eq(V(email.clone())))
            .execute(conn)
            .await?;
    }
    Ok(used)
}

/// The account's member with this address.
pub(crate) async fn member_of(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Member>> {
    Ok(members::table
        .filter(members::account_id.eq(V(account)))
        .filter(members::email.eq(V(email.clone())))
        .select(Member::as_select())
        .found(conn)
        .await?)
}

/// Whether there is any account.
pub(crate) async fn has_account(conn: &mut Conn) -> Result<bool> {
    let found: Option<AccountId> = accounts::table.select(accounts::id).found(conn).await?;
    Ok(found.is_some())
}

/// Says which account is the first one, if no other was said to be: of two at once the second waits, and hears `false`.
pub(crate) async fn name_first_account(conn: &mut Conn, account: AccountId) -> Result<bool> {
    diesel::insert_into(settings::table)
        .values((
            settings::name.eq(FIRST_ACCOUNT),
            settings::value.eq(account.to_string()),
        ))
        .on_conflict_do_nothing()
        .changes(conn)
        .await
}

impl Store {
    /// A page of the account's audit log, newest first, with one more than `limit` if there is a next page.
    pub fn audit(
        &self,
        account: AccountId,
        after: Option<PageKey<EventId>>,
        limit: i64,
    ) -> Answer<'_, Vec<AuditEntry>> {
        read!(self, |conn| {
            let mut query = audit_log::table
                .filter(audit_log::account_id.eq(V(account)))
                .order((audit_log::at.desc(), audit_log::id.desc()))
                .limit(limit + 1)
                .select(AuditEntry::as_select())
                .into_boxed::<Db>();
            if let Some((at, id)) = after {
                query = query
                    .filter(audit_log::at.le(V(at)))
                    .filter(audit_log::at.lt(V(at)).or(audit_log::id.lt(V(id))));
            }
            Ok(query.load(conn).await?)
        })
    }

    /// Writes that a session is used at `at`, unless another process has written so after `before`.
    pub fn touch_session(
        &self,
        digest: [u8; 32],
        (before, at): (Timestamp, Timestamp),
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            diesel::update(sessions::table.find(digest.to_vec()))
                .filter(sessions::seen_at.le(V(before)))
                .set(sessions::seen_at.eq(V(at)))
                .run(conn)
                .await
        })
    }

    /// Ends a session.
    pub fn end_session(&self, digest: [u8; 32]) -> Answer<'_, ()> {
        keep!(self, |conn| {
            diesel::delete(sessions::table.find(digest.to_vec()))
                .run(conn)
                .await
        })
    }
}
