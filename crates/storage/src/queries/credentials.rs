//! Credentials of accounts at providers.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, CredentialId, CredentialProvider, Timestamp};

use crate::database::Conn;
use crate::schema::provider_credentials as credentials;
use crate::sql::V;
use crate::{Credential, Result, Store};

/// Writes a credential under `id`, in place of the one that the account had.
pub(crate) async fn replace(
    conn: &mut Conn,
    credential: &Credential,
    sealed: Vec<u8>,
) -> Result<Credential> {
    let created: Option<Timestamp> = diesel::delete(credentials::table)
        .filter(credentials::account_id.eq(V(credential.account_id)))
        .filter(credentials::provider.eq(V(credential.provider)))
        .returning(credentials::created_at)
        .get_result(conn)
        .await
        .optional()?;
    let at = credential.updated_at;
    Ok(diesel::insert_into(credentials::table)
        .values((
            credentials::id.eq(V(credential.id)),
            credentials::account_id.eq(V(credential.account_id)),
            credentials::provider.eq(V(credential.provider)),
            credentials::sealed.eq(sealed),
            credentials::created_at.eq(V(created.unwrap_or(credential.created_at))),
            credentials::updated_at.eq(V(at)),
            credentials::next_sync_at.eq(V(at)),
        ))
        .returning(Credential::as_returning())
        .get_result(conn)
        .await?)
}

impl Store {
    /// The account's credentials, by provider, without their secrets.
    pub fn credentials(&self, account: AccountId) -> Answer<'_, Vec<Credential>> {
        read!(self, |conn| {
            Ok(credentials::table
                .filter(credentials::account_id.eq(V(account)))
                .order(credentials::provider)
                .select(Credential::as_select())
                .load(conn)
                .await?)
        })
    }

    /// Whether any account's legacy agents are to be asked for.
    pub fn has_due_syncs(&self, now: Timestamp) -> Answer<'_, bool> {
        read!(self, |conn| {
            let due: Option<CredentialId> = credentials::table
                .filter(credentials::provider.eq(V(CredentialProvider::Legacy)))
                .filter(credentials::next_sync_at.le(V(now)))
                .order(credentials::next_sync_at)
                .select(credentials::id)
                .found(conn)
                .await?;
            Ok(due.is_some())
        })
    }
}

pub(crate) async fn remove(
    conn: &mut Conn,
    account: AccountId,
    provider: CredentialProvider,
) -> Result<Option<Credential>> {
    Ok(diesel::delete(credentials::table)
        .filter(credentials::account_id.eq(V(account)))
        .filter(credentials::provider.eq(V(provider)))
        .returning(Credential::as_returning())
        .get_result(conn)
        .await
        .optional()?)
}

pub(crate) async fn sealed(
    conn: &mut Conn,
    account: AccountId,
    provider: CredentialProvider,
) -> Result<Option<(CredentialId, Vec<u8>)>> {
    Ok(credentials::table
        .filter(credentials::account_id.eq(V(account)))
        .filter(credentials::provider.eq(V(provider)))
        .select((credentials::id, credentials::sealed))
        .found(conn)
        .await?)
}

/// Takes up to `most` accounts whose synchronisation is due; each is this caller's until `until`.
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
        // Another node may have been faster: then it is due no more.
        let account: Option<AccountId> = diesel::update(credentials::table.find(V(id)))
            .filter(credentials::next_sync_at.le(V(now)))
            .set(credentials::next_sync_at.eq(V(until)))
            .returning(credentials::account_id)
            .get_result(conn)
            .await
            .optional()?;
        taken.extend(account);
    }
    Ok(taken)
}

/// The provider was asked at `began` and said what the account has there; it is asked again at `next`. A credential that was
/// stored meanwhile is another one.
pub(crate) async fn answered(
    conn: &mut Conn,
    (account, provider): (AccountId, CredentialProvider),
    (began, next): (Timestamp, Timestamp),
) -> Result<()> {
    diesel::update(credentials::table)
        .filter(credentials::account_id.eq(V(account)))
        .filter(credentials::provider.eq(V(provider)))
        .filter(credentials::updated_at.le(V(began)))
        .set((
            credentials::next_sync_at.eq(V(next)),
            credentials::asked_at.eq(Some(began)),
            credentials::last_error.eq(None::<String>),
        ))
        .run(conn)
        .await
}

/// The provider was asked at `began`, and did not say.
pub(crate) async fn unanswered(
    conn: &mut Conn,
    (account, provider): (AccountId, CredentialProvider),
    began: Timestamp,
    why: &str,
) -> Result<()> {
    diesel::update(credentials::table)
        .filter(credentials::account_id.eq(V(account)))
        .filter(credentials::provider.eq(V(provider)))
        .filter(credentials::updated_at.le(V(began)))
        .set((
            credentials::asked_at.eq(Some(began)),
            credentials::last_error.eq(why),
        ))
        .run(conn)
        .await
}
