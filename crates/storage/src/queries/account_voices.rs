//! Accounts' own voices, and the credentials that list them.

use super::voices::renew_generation;
use crate::prelude::*;
use crate::schema::{account_voices as voices, lost_account_voices as lost, voices as everybodys};

#[boxed]
impl Store {
    /// An account's own voices, by provider and id.
    pub fn account_voices(&self, account: AccountId) -> Answer<'_, Vec<AccountVoice>> {
        voices::table
            .filter(voices::account_id.eq(V(account)))
            .order((voices::provider, voices::voice_id))
            .select(AccountVoice::as_select())
            .read_all(self)
    }

    /// The accounts that have their own voices. [`Store::voices_generation`] changes with each change of the list.
    pub fn accounts_with_voices(&self) -> Answer<'_, Vec<AccountId>> {
        voices::table
            .select(voices::account_id)
            .distinct()
            .read_all(self)
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

    /// Who owns a voice that the account's agent names.
    pub fn voice_owner(
        &self,
        account: AccountId,
        provider: VoiceProvider,
        voice_id: &str,
    ) -> Answer<'_, VoiceOwner> {
        let voice_id = voice_id.to_owned();
        read!(self, |conn| {
            let key = (V(account), V(provider), &voice_id);
            let own = voices::table.find(key).select(voices::voice_id);
            if own.found::<String, _>(conn).await?.is_some() {
                return Ok(VoiceOwner::Account);
            }
            let was_own = lost::table.find(key).select(lost::voice_id);
            if was_own.found::<String, _>(conn).await?.is_none() {
                return Ok(VoiceOwner::Service);
            }
            let listed: Option<String> = everybodys::table
                .find((V(provider), &voice_id))
                .select(everybodys::voice_id)
                .found(conn)
                .await?;
            Ok(match listed {
                Some(_) => VoiceOwner::Service,
                None => VoiceOwner::Nobody,
            })
        })
    }

    /// The secret of a credential, if the credential still exists. `StoreError::Corrupt` if it cannot be opened.
    pub async fn voice_credential_secret(&self, id: CredentialId) -> Result<Option<String>> {
        let sealed: Option<Vec<u8>> = credentials::table
            .find(V(id))
            .select(credentials::sealed)
            .read_first(self)
            .await?;
        let opened = sealed.map(|sealed| self.master_key.open(&sealed, &id.uuid()));
        opened.transpose()
    }

    /// Claims credentials at voice providers that are due for a synchronization, up to `most` per provider. Each
    /// belongs to the caller for `lease`, and is due again after that.
    pub fn take_due_voice_credentials(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<VoiceCredential>> {
        transact!(self, |conn| {
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
                    // Another node may have claimed it first; then it is no longer due.
                    let row = diesel::update(credentials::table.find(V(id)))
                        .filter(credentials::next_sync_at.le(V(now)))
                        .set(credentials::next_sync_at.eq(V(now.plus(lease))))
                        .returning((credentials::id, credentials::account_id))
                        .returned(conn)
                        .await?;
                    taken.extend(row.map(|row| credential(row, provider)));
                }
            }
            Ok(Verdict::keep_if(!taken.is_empty(), taken))
        })
    }

    /// Replaces an account's own voices of a provider, and sets the next synchronization. `None` if the credential is
    /// gone or replaced; then nothing has changed.
    pub fn replace_account_voices(
        &self,
        credential: VoiceCredential,
        rows: Vec<AccountVoice>,
        (at, next): (Timestamp, Timestamp),
    ) -> Answer<'_, Option<VoiceChanges>> {
        let (id, account, provider) = (credential.id, credential.account, credential.provider);
        transact!(self, |conn| {
            // Keeps the credential from being removed meanwhile.
            locks::lock_account(conn, account).await?;
            let there = credentials::table.find(V(id)).select(credentials::id);
            if there.found::<CredentialId, _>(conn).await?.is_none() {
                return Ok(Rollback(None));
            }
            let had = has(conn, account).await?;
            let changes = replace(conn, (account, provider), &rows).await?;
            if let Some(word) = CredentialProvider::of_voices(provider) {
                super::credentials::answered(conn, (account, word), (at, next)).await?;
            }
            if had != has(conn, account).await? {
                let generation: EventId = mint(at);
                renew_generation(conn, &generation.to_string()).await?;
            }
            Ok(Commit(Some(changes)))
        })
    }
}

/// Whether the account has its own voices.
pub(crate) async fn has(conn: &mut Conn, account: AccountId) -> Result<bool> {
    voices::table
        .filter(voices::account_id.eq(V(account)))
        .select(voices::voice_id)
        .exists(conn)
        .await
}

/// Makes the account's voices of a provider equal to `rows`. Unchanged voices are not written.
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
        insert! {
            conn, voices of row: account_id = account, provider = provider, voice_id, voice
        }?;
    }
    changes.deleted = known.len();
    for voice_id in known.into_keys() {
        delete(conn, (account, provider), &voice_id).await?;
        insert! { conn, lost: account_id = account, provider, voice_id }?;
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
