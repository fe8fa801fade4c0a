//! Accounts, keys and wallets.

use offhook_domain::{AccountId, Credits, KeyId, Timestamp};

use super::{Answer, keep, mint, read};
use crate::dialect::dialect;
use crate::queries;
use crate::{Account, ApiKey, Member, NewApiKey, NewLedgerEntry, Store, Wallet};

impl Store {
    /// Makes an account with its wallet, its first credits and its first member.
    pub fn create_account(
        &self,
        account: Account,
        credits: Option<NewLedgerEntry>,
        owner: Option<Member>,
    ) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| queries::accounts::begin(
            conn, &account, credits, owner, &actor
        )
        .await)
    }

    /// An account.
    pub fn account(&self, id: AccountId) -> Answer<'_, Option<Account>> {
        read!(self, |conn| queries::accounts::find(conn, id).await)
    }

    /// Makes a key.
    pub fn create_key(&self, new: NewApiKey) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| {
            let (account, name, at) =
                (new.key.account_id, new.key.name.clone(), new.key.created_at);
            queries::accounts::insert_key(conn, new).await?;
            let id: offhook_domain::EventId = mint(at);
            let words = (actor.as_str(), "key.create", name.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await
        })
    }

    /// The key with this token's digest, whatever its state, its account, and the present by the clock that keys are
    /// judged by: the database's on PostgreSQL, else `now`. One indexed look-up.
    pub fn key_by_digest(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(ApiKey, Account, Timestamp)>> {
        let clock = (now, self.offset());
        read!(self, |conn| dialect!(conn, find_by_digest(digest, clock)))
    }

    /// Revokes a key; `None` if there is no such key.
    pub fn revoke_key(&self, id: KeyId, at: Timestamp) -> Answer<'_, Option<ApiKey>> {
        let actor = self.actor();
        keep!(self, |conn| {
            let key = queries::accounts::revoke_key(conn, id, at).await?;
            if let Some(key) = &key {
                let audit_id: offhook_domain::EventId = mint(at);
                let words = (actor.as_str(), "key.revoke", key.name.as_str());
                let account = Some(key.account_id);
                queries::accounts::audit(conn, audit_id.uuid(), account, words, at).await?;
            }
            Ok(key)
        })
    }

    /// Writes when keys were last used.
    pub fn touch_keys(&self, used: Vec<(KeyId, Timestamp)>) -> Answer<'_, ()> {
        let mut used = used;
        // In id order, so that two processes never wait for each other.
        used.sort_unstable();
        keep!(self, |conn| {
            for (id, at) in used {
                queries::accounts::touch_key(conn, id, at).await?;
            }
            Ok(())
        })
    }

    /// What an account's wallet holds.
    pub fn wallet(&self, account: AccountId) -> Answer<'_, Option<Wallet>> {
        read!(self, |conn| queries::accounts::wallet(conn, account).await)
    }

    /// Writes a ledger row and moves the balance; returns the new balance.
    pub fn change_wallet(&self, account: AccountId, entry: NewLedgerEntry) -> Answer<'_, Credits> {
        keep!(self, |conn| {
            let id = mint(entry.at);
            queries::wallets::append(conn, account, id, entry, None).await
        })
    }
}
