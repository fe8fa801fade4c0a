//! Accounts and keys.

use super::{audit, audit::line, people, team, wallets};
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
    insert! { conn, accounts of account: id, name, plan, engine_module, created_at = at }?;
    insert! { conn, purses: account_id = account.id, balance = 0, reserved = 0, last_seq = 0 }?;
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
        accounts::table
            .order((accounts::created_at, accounts::id))
            .select(Account::as_select())
            .read_all(self)
    }

    /// An account's keys, oldest first.
    pub fn keys(&self, account: AccountId) -> Answer<'_, Vec<ApiKey>> {
        api_keys::table
            .filter(api_keys::account_id.eq(V(account)))
            .order((api_keys::created_at, api_keys::id))
            .select(ApiKey::as_select())
            .read_all(self)
    }

    pub fn create_key(&self, NewApiKey { key, digest }: NewApiKey) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| {
            insert! {
                conn, api_keys of key: id, account_id, name, prefix, digest = digest, scopes,
                read_only, monthly_credit_budget, created_at, expires_at
            }?;
            let words = (actor.as_str(), "key.create", key.name.as_str());
            let scopes: Json = key
                .scopes
                .iter()
                .map(|scope| scope.as_str().into())
                .collect();
            let after = Json::object([("scopes", scopes), ("read_only", key.read_only.into())]);
            let changes = Changes::between(&Json::Null, &after);
            audit::change(conn, key.account_id, words, &changes, key.created_at).await
        })
    }

    /// The key with this token's digest, whatever its state, its account, and the time by the clock for keys: the
    /// database's on PostgreSQL, else `now`. One index look-up.
    pub fn key_by_digest(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(ApiKey, Account, Timestamp)>> {
        if let Some(queues) = &self.queues {
            let offset = self.offset();
            return Box::pin(async move {
                let found = queues.lookups.keys.find(digest).await?;
                let by_its_clock = |(key, account, at): (_, _, Timestamp)| {
                    let at = Timestamp::from_micros(at.micros().saturating_add(offset));
                    (key, account, at)
                };
                Ok(found.map(by_its_clock))
            });
        }
        read!(self, |conn| {
            let found: Option<(ApiKey, Account)> = api_keys::table
                .inner_join(accounts::table)
                .filter(api_keys::digest.eq(digest.to_vec()))
                .select((ApiKey::as_select(), Account::as_select()))
                .found(conn)
                .await?;
            Ok(found.map(|(key, account)| (key, account, now)))
        })
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
