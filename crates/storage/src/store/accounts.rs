//! Accounts, keys and wallets.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, Credits, KeyId, Timestamp};

use super::{mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{Account, ApiKey, Member, NewApiKey, NewLedgerEntry, Result, Store, Verdict, Wallet};

impl Store {
    /// Makes an account with its wallet, its first credits and its first member.
    #[boxed]
    pub async fn create_account(
        &self,
        account: Account,
        credits: Option<NewLedgerEntry>,
        owner: Option<Member>,
    ) -> Result<()> {
        let actor = self.actor();
        write!(self, |conn| {
            queries::accounts::begin(conn, &account, credits, owner, &actor).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// An account.
    #[boxed]
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>> {
        read!(self, |conn| queries::accounts::find(conn, id).await)
    }

    /// Every account, the oldest first.
    #[boxed]
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        read!(self, |conn| queries::accounts::list(conn).await)
    }

    /// Makes a key.
    #[boxed]
    pub async fn create_key(&self, new: NewApiKey) -> Result<()> {
        let actor = self.actor();
        write!(self, |conn| {
            let (account, name, at) =
                (new.key.account_id, new.key.name.clone(), new.key.created_at);
            queries::accounts::insert_key(conn, new).await?;
            let id: offhook_domain::EventId = mint(at);
            let words = (actor.as_str(), "key.create", name.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// An account's keys, the oldest first.
    #[boxed]
    pub async fn keys(&self, account: AccountId) -> Result<Vec<ApiKey>> {
        read!(self, |conn| queries::accounts::keys_of(conn, account).await)
    }

    /// The key with this token's digest, whatever its state, its account, and the present by the clock that keys are
    /// judged by: the database's on PostgreSQL, else `now` (decision 8.7). One indexed look-up.
    #[boxed]
    pub async fn key_by_digest(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Result<Option<(ApiKey, Account, Timestamp)>> {
        let clock = (now, self.offset());
        read!(self, |conn| dialect!(conn, find_by_digest(digest, clock)))
    }

    /// Revokes a key; `None` if there is no such key.
    #[boxed]
    pub async fn revoke_key(&self, id: KeyId, at: Timestamp) -> Result<Option<ApiKey>> {
        let actor = self.actor();
        write!(self, |conn| {
            let key = queries::accounts::revoke_key(conn, id, at).await?;
            if let Some(key) = &key {
                let audit_id: offhook_domain::EventId = mint(at);
                let words = (actor.as_str(), "key.revoke", key.name.as_str());
                let account = Some(key.account_id);
                queries::accounts::audit(conn, audit_id.uuid(), account, words, at).await?;
            }
            Ok(Verdict::Commit(key))
        })
    }

    /// Writes when keys were last used.
    #[boxed]
    pub async fn touch_keys(&self, used: Vec<(KeyId, Timestamp)>) -> Result<()> {
        let mut used = used;
        // In id order, so that two processes never wait for each other.
        used.sort_unstable();
        write!(self, |conn| {
            for (id, at) in used {
                queries::accounts::touch_key(conn, id, at).await?;
            }
            Ok(Verdict::Commit(()))
        })
    }

    /// What an account's wallet holds.
    #[boxed]
    pub async fn wallet(&self, account: AccountId) -> Result<Option<Wallet>> {
        read!(self, |conn| queries::accounts::wallet(conn, account).await)
    }

    /// Writes a ledger row and moves the balance; returns the new balance.
    #[boxed]
    pub async fn change_wallet(
        &self,
        account: AccountId,
        entry: NewLedgerEntry,
    ) -> Result<Credits> {
        write!(self, |conn| {
            let id = mint(entry.at);
            Ok(Verdict::Commit(
                queries::wallets::append(conn, account, id, entry, None).await?,
            ))
        })
    }
}
