//! Voices of accounts' own, and the credentials that list them.

use crate::store::{Answer, read};
use std::collections::HashMap;

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, CredentialId, CredentialProvider, Timestamp, VoiceProvider};

use crate::database::Conn;
use crate::schema::{
    account_voices as voices, lost_account_voices as lost, provider_credentials as credentials,
    voices as everybodys,
};
use crate::sql::V;
use crate::{AccountVoice, Result, Store, VoiceChanges, VoiceCredential, VoiceOwner};

impl Store {
    /// An account's own voices, by provider and id.
    pub fn account_voices(&self, account: AccountId) -> Answer<'_, Vec<AccountVoice>> {
        read!(self, |conn| {
            Ok(voices::table
                .filter(voices::account_id.eq(V(account)))
                .order((voices::provider, voices::voice_id))
                .select(AccountVoice::as_select())
                .load(conn)
                .await?)
        })
    }

    /// The accounts that have voices of their own. [`Store::voices_generation`] is another one after each change.
    pub fn accounts_with_voices(&self) -> Answer<'_, Vec<AccountId>> {
        read!(self, |conn| {
            Ok(voices::table
                .select(voices::account_id)
                .distinct()
                .load(conn)
                .await?)
        })
    }

    /// Every account's credentials at voice providers.
    pub fn voice_credentials(&self) -> Answer<'_, Vec<VoiceCredential>> {
        read!(self, |conn| {
            let mut all = Vec::new();
            for (word, provider) in voice_providers() {
                let of: Vec<(CredentialId, AccountId)> = credentials::table
                    .filter(credentials::provider.eq(V(word)))
                    .order(credentials::id)
                    .select((credentials::id, credentials::account_id))
                    .load(conn)
                    .await?;
                all.extend(of.into_iter().map(|row| credential(row, provider)));
            }
            Ok(all)
        })
    }
}

/// Whose a voice is that the account's agent names.
pub(crate) async fn owner(
    conn: &mut Conn,
    (account, provider): (AccountId, VoiceProvider),
    voice_id: &str,
) -> Result<VoiceOwner> {
    let key = (V(account), V(provider), voice_id);
    let own: Option<String> = voices::table
        .find(key)
        .select(voices::voice_id)
        .found(conn)
        .await?;
    if own.is_some() {
        return Ok(VoiceOwner::Account);
    }
    let was_own: Option<String> = lost::table
        .find(key)
        .select(lost::voice_id)
        .found(conn)
        .await?;
    if was_own.is_none() {
        return Ok(VoiceOwner::Service);
    }
    let listed: Option<String> = everybodys::table
        .find((V(provider), voice_id))
        .select(everybodys::voice_id)
        .found(conn)
        .await?;
    Ok(match listed {
        Some(_) => VoiceOwner::Service,
        None => VoiceOwner::Nobody,
    })
}

/// Whether an account has any.
pub(crate) async fn has(conn: &mut Conn, account: AccountId) -> Result<bool> {
    let first: Option<String> = voices::table
        .filter(voices::account_id.eq(V(account)))
        .select(voices::voice_id)
        .found(conn)
        .await?;
    Ok(first.is_some())
}

/// Makes the account's voices of a provider `rows`; what stays as it is, is not written.
pub(crate) async fn replace(
    conn: &mut Conn,
    (account, provider): (AccountId, VoiceProvider),
    rows: &[AccountVoice],
) -> Result<VoiceChanges> {
    let known: Vec<AccountVoice> = voices::table
        .filter(voices::account_id.eq(V(account)))
        .filter(voices::provider.eq(V(provider)))
        .select(AccountVoice::as_select())
        .load(conn)
        .await?;
    let known = known.into_iter().map(|row| (row.voice_id, row.voice));
    let mut known: HashMap<String, String> = known.collect();
    let mut changes = VoiceChanges::default();
    for row in rows {
        let before = known.remove(&row.voice_id);
        if before.as_ref() == Some(&row.voice) {
            continue;
        }
        changes.written += 1;
        if before.is_some() {
            delete(conn, (account, provider), &row.voice_id).await?;
        } else {
            diesel::delete(lost::table.find((V(account), V(provider), &row.voice_id)))
                .execute(conn)
                .await?;
        }
        diesel::insert_into(voices::table)
            .values((
                voices::account_id.eq(V(account)),
                voices::provider.eq(V(provider)),
                voices::voice_id.eq(&row.voice_id),
                voices::voice.eq(V(row.voice.clone())),
            ))
            .execute(conn)
            .await?;
    }
    changes.deleted = known.len();
    for voice_id in known.into_keys() {
        delete(conn, (account, provider), &voice_id).await?;
        diesel::insert_into(lost::table)
            .values((
                lost::account_id.eq(V(account)),
                lost::provider.eq(V(provider)),
                lost::voice_id.eq(voice_id),
            ))
            .execute(conn)
            .await?;
    }
    Ok(changes)
}

async fn delete(
    conn: &mut Conn,
    (account, provider): (AccountId, VoiceProvider),
    voice_id: &str,
) -> Result<()> {
    diesel::delete(voices::table.find((V(account), V(provider), voice_id)))
        .run(conn)
        .await
}

/// Whether a credential is still there, and not another one in its place.
pub(crate) async fn is_there(conn: &mut Conn, id: CredentialId) -> Result<bool> {
    let found: Option<CredentialId> = credentials::table
        .find(V(id))
        .select(credentials::id)
        .found(conn)
        .await?;
    Ok(found.is_some())
}

/// The sealed secret of a credential.
pub(crate) async fn sealed(conn: &mut Conn, id: CredentialId) -> Result<Option<Vec<u8>>> {
    Ok(credentials::table
        .find(V(id))
        .select(credentials::sealed)
        .found(conn)
        .await?)
}

/// Takes up to `most` credentials at each voice provider that are due; each is this caller's until `until`.
pub(crate) async fn take_due(
    conn: &mut Conn,
    most: i64,
    (now, until): (Timestamp, Timestamp),
) -> Result<Vec<VoiceCredential>> {
    let mut taken = Vec::new();
    for (word, provider) in voice_providers() {
        let due: Vec<CredentialId> = credentials::table
            .filter(credentials::provider.eq(V(word)))
            .filter(credentials::next_sync_at.le(V(now)))
            .order((credentials::next_sync_at, credentials::id))
            .limit(most)
            .select(credentials::id)
            .load(conn)
            .await?;
        for id in due {
            // Another node may have been faster: then it is due no more.
            let row: Option<(CredentialId, AccountId)> =
                diesel::update(credentials::table.find(V(id)))
                    .filter(credentials::next_sync_at.le(V(now)))
                    .set(credentials::next_sync_at.eq(V(until)))
                    .returning((credentials::id, credentials::account_id))
                    .get_result(conn)
                    .await
                    .optional()?;
            taken.extend(row.map(|row| credential(row, provider)));
        }
    }
    Ok(taken)
}

fn voice_providers() -> impl Iterator<Item = (CredentialProvider, VoiceProvider)> {
    let all = CredentialProvider::ALL.iter().copied();
    all.filter_map(|word| Some((word, word.voices()?)))
}

fn credential(
    (id, account): (CredentialId, AccountId),
    provider: VoiceProvider,
) -> VoiceCredential {
    VoiceCredential {
        id,
        account,
        provider,
    }
}
