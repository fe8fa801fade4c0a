//! Credentials of accounts at providers, sealed with the row's id as associated data.

use super::{account_voices, audit::line, voices::renew_generation};
use crate::prelude::*;

/// The account's credential at a provider.
macro_rules! of {
    ($account:expr, $provider:expr) => {
        credentials::table
            .filter(credentials::account_id.eq(V($account)))
            .filter(credentials::provider.eq(V($provider)))
    };
}

#[boxed]
impl Store {
    /// Seals and stores a credential, and keeps the end of its key in clear. It replaces the account's previous one for
    /// this provider.
    pub async fn set_credential(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        secret: &str,
        last_characters: Option<&str>,
        at: Timestamp,
    ) -> Result<Credential> {
        let id: CredentialId = mint(at);
        let sealed = self.master_key.seal(secret, &id.uuid())?;
        let actor = self.actor();
        let last_characters = last_characters.map(str::to_owned);
        keep!(self, |conn| {
            locks::lock_account(conn, account).await?;
            let created: Option<Timestamp> = diesel::delete(of!(account, provider))
                .returning(credentials::created_at)
                .returned(conn)
                .await?;
            let stored = diesel::insert_into(credentials::table)
                .values(row! {
                    credentials: id, account_id = account, provider, sealed,
                    created_at = created.unwrap_or(at), updated_at = at, next_sync_at = at, last_characters
                })
                .returning(Credential::as_returning())
                .get_result(conn)
                .await?;
            if provider.own_key().is_some() {
                diesel::update(accounts::table.find(V(account)))
                    .set(accounts::has_own_keys.eq(true))
                    .execute(conn)
                    .await?;
            }
            let words = (actor.as_str(), "account.credential.set", provider.as_str());
            line(conn, account, words, at).await?;
            Ok(stored)
        })
        .await
    }

    /// Records why a provider's request at `began` with the account's credential failed.
    pub fn credential_unanswered(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        began: Timestamp,
        why: &str,
    ) -> Answer<'_, ()> {
        diesel::update(of!(account, provider))
            .filter(credentials::updated_at.le(V(began)))
            .set(row! { credentials: asked_at = began, last_error = why })
            .commit(self)
    }

    /// Removes a credential and the voices that it listed; `None` if the account has none for this provider.
    pub fn remove_credential(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        at: Timestamp,
    ) -> Answer<'_, Option<Credential>> {
        let actor = self.actor();
        transact!(self, |conn| {
            // Locked, so that a synchronization cannot write its voices afterwards.
            locks::lock_account(conn, account).await?;
            let removed: Option<Credential> = diesel::delete(of!(account, provider))
                .returning(Credential::as_returning())
                .returned(conn)
                .await?;
            ensure!(removed.is_some(), Rollback(None));
            if let Some(provider) = provider.voices()
                && account_voices::has(conn, account).await?
            {
                account_voices::replace(conn, (account, provider), &[]).await?;
                let generation: EventId = mint(at);
                renew_generation(conn, &generation.to_string()).await?;
            }
            let words = (
                actor.as_str(),
                "account.credential.remove",
                provider.as_str(),
            );
            line(conn, account, words, at).await?;
            Ok(Commit(removed))
        })
    }

    /// The secret of the account's credential at a provider. `StoreError::Corrupt` if it cannot be opened.
    pub async fn credential_secret(
        &self,
        account: AccountId,
        provider: CredentialProvider,
    ) -> Result<Option<String>> {
        let found: Option<(CredentialId, Vec<u8>)> = of!(account, provider)
            .select((credentials::id, credentials::sealed))
            .read_first(self)
            .await?;
        found
            .map(|(id, sealed)| self.master_key.open(&sealed, &id.uuid()))
            .transpose()
    }

    /// The account's own keys for models and speech. `StoreError::Corrupt` if one cannot be opened.
    pub async fn own_keys(&self, account: AccountId) -> Result<Vec<(CredentialProvider, String)>> {
        let own = CredentialProvider::ALL.iter().copied();
        let own = own.filter(|provider| provider.own_key().is_some()).map(V);
        let found: Vec<(CredentialProvider, CredentialId, Vec<u8>)> = credentials::table
            .filter(credentials::account_id.eq(V(account)))
            .filter(credentials::provider.eq_any(own.collect::<Vec<_>>()))
            .select((credentials::provider, credentials::id, credentials::sealed))
            .read_all(self)
            .await?;
        let open = |(provider, id, sealed): (_, CredentialId, Vec<u8>)| {
            Ok((provider, self.master_key.open(&sealed, &id.uuid())?))
        };
        found.into_iter().map(open).collect()
    }

    /// The account's credentials, by provider, without their secrets.
    pub fn credentials(&self, account: AccountId) -> Answer<'_, Vec<Credential>> {
        credentials::table
            .filter(credentials::account_id.eq(V(account)))
            .order(credentials::provider)
            .select(Credential::as_select())
            .read_all(self)
    }

    /// Whether any account's synchronization of legacy agents is due.
    pub fn has_due_syncs(&self, now: Timestamp) -> Answer<'_, bool> {
        credentials::table
            .filter(credentials::provider.eq(V(CredentialProvider::Legacy)))
            .filter(credentials::next_sync_at.le(V(now)))
            .order(credentials::next_sync_at)
            .select(credentials::id)
            .read_exists(self)
    }
}

/// Claims up to `most` accounts whose synchronization is due. Each belongs to the caller until `until`.
pub(crate) async fn take_due(
    conn: &mut Conn,
    most: i64,
    (now, until): (Timestamp, Timestamp),
) -> Result<Vec<AccountId>> {
    let due: Vec<CredentialId> = credentials::table
        .filter(credentials::provider.eq(V(CredentialProvider::Legacy)))
        .filter(credentials::next_sync_at.le(V(now)))
        .order(credentials::next_sync_at)
        .limit(most)
        .select(credentials::id)
        .load(conn)
        .await?;
    let mut taken = Vec::with_capacity(due.len());
    for id in due {
        // Another node may have claimed it first; then it is no longer due.
        let account: Option<AccountId> = diesel::update(credentials::table.find(V(id)))
            .filter(credentials::next_sync_at.le(V(now)))
            .set(credentials::next_sync_at.eq(V(until)))
            .returning(credentials::account_id)
            .returned(conn)
            .await?;
        taken.extend(account);
    }
    Ok(taken)
}

/// Records that a provider's request at `began` succeeded, and schedules the next one at `next`. A credential that was
/// stored meanwhile is not changed.
pub(crate) async fn answered(
    conn: &mut Conn,
    (account, provider): (AccountId, CredentialProvider),
    (began, next): (Timestamp, Timestamp),
) -> Result<()> {
    diesel::update(of!(account, provider))
        .filter(credentials::updated_at.le(V(began)))
        .set(row! { credentials: next_sync_at = next, asked_at = began, last_error = NULL })
        .run(conn)
        .await
}
