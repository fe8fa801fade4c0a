//! Accounts and keys.

use super::{audit::line, people, team, wallets};
use crate::prelude::*;
use crate::schema::wallets as purses;

/// Writes an account with its wallet, first credits and first member, and a line of the audit log.
pub(crate) async fn begin(
    conn: &mut Conn,
    account: &Account,
    credits: Option<NewLedgerEntry>,
    owner: Option<Member>,
    actor: &str,
) -> Result<()> {
    let at = account.created_at;
    diesel::insert_into(accounts::table)
        .values((
            accounts::id.eq(V(account.id)),
            accounts::name.eq(&account.name),
            accounts::plan.eq(V(account.plan)),
            accounts::engine_module.eq(account.engine_module),
            accounts::created_at.eq(V(at)),
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
        .execute(conn)
        .await?;
    if let Some(entry) = credits {
        wallets::append(conn, account.id, mint(at), entry, None).await?;
    }
    team::begin_seats(conn, account.id, i64::from(owner.is_some())).await?;
    if let Some(owner) = owner {
        people::distrust(conn, &owner.email).await?;
        team::insert_member(conn, &owner).await?;
    }
    line(
        conn,
        account.id,
        (actor, "account.create", &account.name),
        at,
    )
    .await
}

pub(crate) async fn find(conn: &mut Conn, id: AccountId) -> Result<Option<Account>> {
    Ok(accounts::table
        .find(V(id))
        .select(Account::as_select())
        .found(conn)
        .await?)
}

impl Store {
    /// Creates an account with its wallet, first credits and first member.
    pub fn create_account(
        &self,
        account: Account,
        credits: Option<NewLedgerEntry>,
        owner: Option<Member>,
    ) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| begin(conn, &account, credits, owner, &actor)
            .await)
    }

    pub fn account(&self, id: AccountId) -> Answer<'_, Option<Account>> {
        read!(self, |conn| find(conn, id).await)
    }

    /// Every account, oldest first.
    pub fn accounts(&self) -> Answer<'_, Vec<Account>> {
        read!(self, |conn| {
            Ok(accounts::table
                .order((accounts::created_at, accounts::id))
                .select(Account::as_select())
                .load(conn)
                .await?)
        })
    }

    /// An account's keys, oldest first.
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

    pub fn create_key(&self, NewApiKey { key, digest }: NewApiKey) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| {
            diesel::insert_into(api_keys::table)
                .values((
                    api_keys::id.eq(V(key.id)),
                    api_keys::account_id.eq(V(key.account_id)),
                    api_keys::name.eq(&key.name),
                    api_keys::prefix.eq(&key.prefix),
                    api_keys::digest.eq(digest.to_vec()),
                    api_keys::scopes.eq(V(key.scopes)),
                    api_keys::read_only.eq(key.read_only),
                    api_keys::monthly_credit_budget.eq(key.monthly_credit_budget),
                    api_keys::created_at.eq(V(key.created_at)),
                    api_keys::expires_at.eq(key.expires_at),
                ))
                .execute(conn)
                .await?;
            let words = (actor.as_str(), "key.create", key.name.as_str());
            line(conn, key.account_id, words, key.created_at).await
        })
    }

    /// The key with this token's digest, whatever its state, its account, and the time by the clock for keys: the
    /// database's on PostgreSQL, else `now`. One index look-up.
    pub fn key_by_digest(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(ApiKey, Account, Timestamp)>> {
        let clock = (now, self.offset());
        read!(self, |conn| dialect!(conn, find_by_digest(digest, clock)))
    }

    /// Revokes a key; `None` if it does not exist. A key that is already revoked keeps its first time.
    pub fn revoke_key(&self, id: KeyId, at: Timestamp) -> Answer<'_, Option<ApiKey>> {
        let actor = self.actor();
        keep!(self, |conn| {
            diesel::update(api_keys::table.find(V(id)))
                .filter(api_keys::revoked_at.is_null())
                .set(api_keys::revoked_at.eq(V(at)))
                .execute(conn)
                .await?;
            let key = api_keys::table.find(V(id)).select(ApiKey::as_select());
            let key: Option<ApiKey> = key.found(conn).await?;
            if let Some(key) = &key {
                line(conn, key.account_id, (&actor, "key.revoke", &key.name), at).await?;
            }
            Ok(key)
        })
    }

    /// Records when keys were last used.
    pub fn touch_keys(&self, mut used: Vec<(KeyId, Timestamp)>) -> Answer<'_, ()> {
        // In id order, so that two processes never deadlock.
        used.sort_unstable();
        keep!(self, |conn| {
            for (id, at) in used {
                let is_earlier = api_keys::last_used_at.lt(V(at));
                diesel::update(api_keys::table.find(V(id)))
                    .filter(api_keys::last_used_at.is_null().or(is_earlier))
                    .set(api_keys::last_used_at.eq(V(at)))
                    .execute(conn)
                    .await?;
            }
            Ok(())
        })
    }
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
            audit_log::id.eq(V(EventId::from_uuid(id))),
            audit_log::account_id.eq(account),
            audit_log::actor.eq(actor),
            audit_log::action.eq(action),
            audit_log::target.eq(target),
            audit_log::at.eq(V(at)),
        ))
        .run(conn)
        .await
}
