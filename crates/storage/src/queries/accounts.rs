//! Accounts and keys.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, Credits, KeyId, Timestamp};

use super::{people, team, wallets};
use crate::database::Conn;
use crate::schema::{accounts, api_keys, audit_log, wallets as purses};
use crate::sql::V;
use crate::store::mint;
use crate::{
    Account, ApiKey, AutoRefill, Member, NewApiKey, NewLedgerEntry, Result, Store, Wallet,
};

pub(crate) async fn insert(conn: &mut Conn, account: &Account) -> Result<()> {
    diesel::insert_into(accounts::table)
        .values((
            accounts::id.eq(V(account.id)),
            accounts::name.eq(account.name.clone()),
            accounts::plan.eq(V(account.plan)),
            accounts::engine_module.eq(account.engine_module),
            accounts::created_at.eq(V(account.created_at)),
        ))
        .execute(conn)
        .await?;
    diesel::insert_into(purses::table)
        .values((
            purses::account_id.eq(V(account.id)),
            purses::balance.eq(0),
            purses::reserved.eq(0),
            purses::last_seq.eq(0),
        ))
        .run(conn)
        .await
}

/// Writes an account with its wallet, its first credits and its first member, and the line of the audit log.
pub(crate) async fn begin(
    conn: &mut Conn,
    account: &Account,
    credits: Option<NewLedgerEntry>,
    owner: Option<Member>,
    actor: &str,
) -> Result<()> {
    let at = account.created_at;
    insert(conn, account).await?;
    if let Some(entry) = credits {
        wallets::append(conn, account.id, mint(at), entry, None).await?;
    }
    team::begin_seats(conn, account.id, i64::from(owner.is_some())).await?;
    if let Some(owner) = owner {
        people::distrust(conn, &owner.email).await?;
        team::insert_member(conn, &owner).await?;
    }
    let id: offhook_domain::EventId = mint(at);
    let words = (actor, "account.create", account.name.as_str());
    audit(conn, id.uuid(), Some(account.id), words, at).await
}

pub(crate) async fn find(conn: &mut Conn, id: AccountId) -> Result<Option<Account>> {
    Ok(accounts::table
        .find(V(id))
        .select(Account::as_select())
        .found(conn)
        .await?)
}

impl Store {
    /// Every account, the oldest first.
    pub fn accounts(&self) -> Answer<'_, Vec<Account>> {
        read!(self, |conn| {
            Ok(accounts::table
                .order((accounts::created_at, accounts::id))
                .select(Account::as_select())
                .load(conn)
                .await?)
        })
    }

    /// An account's keys, the oldest first.
    pub fn keys(&self, account: AccountId) -> Answer<'_, Vec<ApiKey>> {
        read!(self, |conn| {
            Ok(api_keys::table
                .filter(api_keys::account_id.eq(V(account)))
                .order((api_keys::created_at, api_keys::id))
                .select(ApiKey::as_select())
                .load(conn)
                .await?)
        })
    }
}

pub(crate) async fn insert_key(conn: &mut Conn, new: NewApiKey) -> Result<()> {
    let NewApiKey { key, digest } = new;
    diesel::insert_into(api_keys::table)
        .values((
            api_keys::id.eq(V(key.id)),
            api_keys::account_id.eq(V(key.account_id)),
            api_keys::name.eq(key.name),
            api_keys::prefix.eq(key.prefix),
            api_keys::digest.eq(digest.to_vec()),
            api_keys::scopes.eq(V(key.scopes)),
            api_keys::read_only.eq(key.read_only),
            api_keys::monthly_credit_budget.eq(key.monthly_credit_budget),
            api_keys::created_at.eq(V(key.created_at)),
            api_keys::expires_at.eq(key.expires_at),
        ))
        .run(conn)
        .await
}

/// Revokes the key; `None` if there is no such key. A key once revoked keeps its first time.
pub(crate) async fn revoke_key(
    conn: &mut Conn,
    id: KeyId,
    at: Timestamp,
) -> Result<Option<ApiKey>> {
    diesel::update(api_keys::table.find(V(id)))
        .filter(api_keys::revoked_at.is_null())
        .set(api_keys::revoked_at.eq(V(at)))
        .execute(conn)
        .await?;
    Ok(api_keys::table
        .find(V(id))
        .select(ApiKey::as_select())
        .found(conn)
        .await?)
}

pub(crate) async fn touch_key(conn: &mut Conn, id: KeyId, at: Timestamp) -> Result<()> {
    diesel::update(api_keys::table.find(V(id)))
        .filter(
            api_keys::last_used_at
                .is_null()
                .or(api_keys::last_used_at.lt(V(at))),
        )
        .set(api_keys::last_used_at.eq(V(at)))
        .run(conn)
        .await
}

pub(crate) async fn audit(
    conn: &mut Conn,
    id: uuid::Uuid,
    account: Option<AccountId>,
    (actor, action, target): (&str, &str, &str),
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(audit_log::table)
        .values((
            audit_log::id.eq(V(offhook_domain::EventId::from_uuid(id))),
            audit_log::account_id.eq(account),
            audit_log::actor.eq(actor.to_owned()),
            audit_log::action.eq(action.to_owned()),
            audit_log::target.eq(target.to_owned()),
            audit_log::at.eq(V(at)),
        ))
        .run(conn)
        .await
}

/// Whether the account's audit log has such a line since then.
pub(crate) async fn is_audited(
    conn: &mut Conn,
    account: AccountId,
    (action, target): (&str, &str),
    since: Timestamp,
) -> Result<bool> {
    let found: Option<String> = audit_log::table
        .filter(audit_log::account_id.eq(V(account)))
        .filter(audit_log::at.ge(V(since)))
        .filter(audit_log::action.eq(action))
        .filter(audit_log::target.eq(target))
        .select(audit_log::action)
        .found(conn)
        .await?;
    Ok(found.is_some())
}

/// What the wallet of `account` holds.
pub(crate) async fn wallet(conn: &mut Conn, account: AccountId) -> Result<Option<Wallet>> {
    type Refill = (Option<Credits>, Option<Credits>, Option<i64>);
    let row: Option<(Credits, Credits, Refill)> = purses::table
        .find(V(account))
        .select((
            purses::balance,
            purses::reserved,
            (
                purses::refill_threshold,
                purses::refill_credits,
                purses::refill_cents,
            ),
        ))
        .found(conn)
        .await?;
    Ok(row.map(|(balance, reserved, refill)| Wallet {
        balance,
        reserved,
        auto_refill: match refill {
            (Some(threshold), Some(credits), cents) => Some(AutoRefill {
                threshold,
                credits,
                cents: cents.unwrap_or(0),
            }),
            _ => None,
        },
    }))
}
