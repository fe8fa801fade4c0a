//! The exchange of the master key covers every encrypted column.

use std::collections::BTreeSet;

use offhook_domain::CredentialProvider;
use offhook_storage::{MasterKey, SealedColumn, Store, StoreError};
use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{Shop, T0};

const SCHEMA: &str = include_str!("../../src/schema.rs");

/// Binary columns without secrets: digests, compared values, outgoing bodies, and incoming bodies.
const PLAIN: [&str; 23] = [
    "api_keys.digest",
    "chat_messages.digest",
    "chat_sessions.token_digest",
    "events.body",
    "half_sign_ins.digest",
    "idempotency_keys.body",
    "idempotency_keys.fingerprint",
    "integration_consents.digest",
    "integration_consents.session_digest",
    "invitations.digest",
    "knowledge_documents.content_hash",
    "knowledge_embeddings.vectors",
    "knowledge_pins.content_hash",
    "knowledge_uploads.content",
    "passkey_challenges.digest",
    "passkey_challenges.source",
    "passkeys.credential_id",
    "passkeys.user_handle",
    "portal_sessions.digest",
    "recovery_codes.digest",
    "sign_in_failures.digest",
    "portal_shown_once.session_digest",
    "sign_in_links.digest",
];

#[test]
fn every_column_of_bytes_is_sealed_or_known_to_be_plain() {
    let (mut table, mut found) = ("", BTreeSet::new());
    for line in SCHEMA.lines().map(str::trim) {
        if let Some((name, "{")) = line.split_once(" (").and_then(|(name, rest)| {
            let (_, end) = rest.split_once(") ")?;
            Some((name, end))
        }) {
            table = name;
        } else if let Some((column, kind)) = line.split_once(" -> ")
            && kind.contains("Binary")
        {
            found.insert(format!("{table}.{column}"));
        }
    }
    let sealed = SealedColumn::ALL.map(SealedColumn::name);
    let known = PLAIN.map(str::to_owned).into_iter().chain(sealed).collect();
    assert_eq!(
        found, known,
        "a new column of bytes is either in SealedColumn, so that `offhook rekey` seals it anew, or in PLAIN"
    );
}

fn key(byte: u8) -> MasterKey {
    MasterKey::from_bytes(&[byte; 32]).unwrap()
}

async fn opened(database: &TestDatabase, key: MasterKey) -> Result<Store, StoreError> {
    Store::open(database.config(), key).await
}

contract! {
    async fn an_exchange_of_the_key_reaches_many_rows_and_ends_the_old_one(database: TestDatabase) {
        let store = opened(&database, key(1)).await.unwrap();
        let mut accounts = Vec::new();
        for n in 0..205 {
            let account = Shop::new(&store).await.account;
            let secret = format!("secret {n}");
            store.set_credential(account, CredentialProvider::Legacy, &secret, None, T0).await.unwrap();
            accounts.push((account, secret));
        }
        drop(store);
        assert!(opened(&database, key(2)).await.is_err(), "a strange key");
        let both = opened(&database, key(2).or_earlier(key(1))).await.unwrap();
        let (account, secret) = accounts[0].clone();
        both.set_credential(account, CredentialProvider::Simulator, &secret, None, T0).await.unwrap();
        assert!(opened(&database, key(1)).await.is_err(), "something may be sealed with the next one");
        assert!(opened(&database, key(1).or_earlier(key(2))).await.is_ok());
        let done = both.rekey(T0).await.unwrap();
        assert_eq!((done.secrets, done.is_new), (205, true));
        let done = both.rekey(T0).await.unwrap();
        assert_eq!((done.secrets, done.is_new), (0, false));
        assert!(opened(&database, key(1)).await.is_err(), "the old one");
        let store = opened(&database, key(2)).await.unwrap();
        for (account, secret) in &accounts {
            let found = store.credential_secret(*account, CredentialProvider::Legacy).await.unwrap();
            assert_eq!(found.as_ref(), Some(secret));
        }
    }
}
