//! Accounts' own voices, and the credentials that list them.

use std::time::Duration;

use offhook_domain::{AccountId, CredentialProvider, VoiceProvider};
use offhook_storage::{AccountVoice, Store, VoiceChanges, VoiceCredential, VoiceOwner};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after};

const DAY: Duration = Duration::from_secs(86_400);
const LEASE: Duration = Duration::from_secs(3_600);

fn voice(provider: VoiceProvider, id: &str, name: &str) -> AccountVoice {
    AccountVoice {
        provider,
        voice_id: id.to_owned(),
        voice: format!(r#"{{"name": "{name}"}}"#),
    }
}

/// Stores a credential; returns it as the owner of a voice list.
async fn credential(
    store: &Store,
    account: AccountId,
    word: CredentialProvider,
) -> VoiceCredential {
    let stored = store
        .set_credential(account, word, "key", None, T0)
        .await
        .unwrap();
    VoiceCredential {
        id: stored.id,
        account,
        provider: word.voices().unwrap(),
    }
}

contract! {
    async fn an_accounts_voices_are_its_own_and_go_with_the_credential(store: Store) {
        use VoiceProvider::{A, B};
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let of_a = credential(&store, shop.account, CredentialProvider::VoicesA).await;
        let of_b = credential(&store, shop.account, CredentialProvider::VoicesB).await;
        let theirs = credential(&store, stranger.account, CredentialProvider::VoicesA).await;
        let times = (T0, T0.plus(DAY));
        let replace = async |credential, rows| store.replace_account_voices(credential, rows, times).await.unwrap();
        let of = async |account| store.account_voices(account).await.unwrap();
        let none = store.voices_generation().await.unwrap();

        let two = vec![voice(A, "2", "Zoe"), voice(A, "1", "Ana")];
        let changes = replace(of_a, two.clone()).await;
        assert_eq!(changes, Some(VoiceChanges { written: 2, deleted: 0 }));
        let some = store.voices_generation().await.unwrap();
        assert_ne!(some, none);
        assert_eq!(replace(of_a, two).await, Some(VoiceChanges::default()));
        replace(of_b, vec![voice(B, "1", "Bea")]).await;
        let changes = replace(of_a, vec![voice(A, "1", "Eva")]).await;
        assert_eq!(changes, Some(VoiceChanges { written: 1, deleted: 1 }));
        // The set of accounts with voices is unchanged.
        assert_eq!(store.voices_generation().await.unwrap(), some);
        replace(theirs, vec![voice(A, "1", "Ida")]).await;
        assert_ne!(store.voices_generation().await.unwrap(), some);
        assert_eq!(of(shop.account).await, [voice(A, "1", "Eva"), voice(B, "1", "Bea")]);
        assert_eq!(of(stranger.account).await, [voice(A, "1", "Ida")]);
        let owner = async |account, provider, id| store.voice_owner(account, provider, id).await.unwrap();
        assert_eq!(owner(shop.account, A, "1").await, VoiceOwner::Account);
        assert_eq!(owner(stranger.account, A, "1").await, VoiceOwner::Account);
        assert_eq!(owner(shop.account, B, "1").await, VoiceOwner::Account);
        assert_eq!(owner(stranger.account, B, "1").await, VoiceOwner::Service);
        // It was listed once, and is no longer.
        assert_eq!(owner(shop.account, A, "2").await, VoiceOwner::Nobody);
        replace(of_a, vec![voice(A, "1", "Eva"), voice(A, "2", "Zoe")]).await;
        assert_eq!(owner(shop.account, A, "2").await, VoiceOwner::Account);
        replace(of_a, vec![voice(A, "1", "Eva")]).await;
        assert_eq!(owner(shop.account, A, "2").await, VoiceOwner::Nobody);
        let mut owners = store.accounts_with_voices().await.unwrap();
        owners.sort();
        let mut both = [shop.account, stranger.account];
        both.sort();
        assert_eq!(owners, both);
        assert_eq!(store.voice_credential_secret(of_a.id).await.unwrap().as_deref(), Some("key"));

        let before = store.voices_generation().await.unwrap();
        store.remove_credential(shop.account, CredentialProvider::VoicesA, after(1)).await.unwrap();
        assert_eq!(of(shop.account).await, [voice(B, "1", "Bea")]);
        assert_eq!(owner(shop.account, A, "1").await, VoiceOwner::Nobody);
        assert_eq!(owner(stranger.account, A, "1").await, VoiceOwner::Account);
        assert_ne!(store.voices_generation().await.unwrap(), before);
        // A result with the old credential comes too late.
        assert_eq!(replace(of_a, vec![voice(A, "1", "Eva")]).await, None);
        assert_eq!(store.voice_credential_secret(of_a.id).await.unwrap(), None);
        credential(&store, shop.account, CredentialProvider::VoicesA).await;
        assert_eq!(replace(of_a, vec![voice(A, "1", "Eva")]).await, None);
        store.remove_credential(shop.account, CredentialProvider::VoicesB, after(1)).await.unwrap();
        assert_eq!(of(shop.account).await, []);
        assert_eq!(of(stranger.account).await, [voice(A, "1", "Ida")]);
        assert_eq!(store.accounts_with_voices().await.unwrap(), [stranger.account]);
    }

    async fn a_voice_credential_is_due_at_once_then_after_its_pause_and_for_one_process(store: Store) {
        let shop = Shop::new(&store).await;
        store.set_credential(shop.account, CredentialProvider::Legacy, "key", None, T0).await.unwrap();
        let mut all = vec![
            credential(&store, shop.account, CredentialProvider::VoicesA).await,
            credential(&store, shop.account, CredentialProvider::VoicesB).await,
        ];
        let due = async |at| {
            let due = store.take_due_voice_credentials(8, LEASE, at);
            let mut due = due.await.unwrap();
            due.sort_by_key(|credential| credential.provider);
            due
        };
        assert_eq!(due(T0).await, all);
        assert_eq!(due(T0).await, []);
        store.replace_account_voices(all[0], Vec::new(), (T0, T0.plus(DAY))).await.unwrap();
        // A failed one is due again after its lease.
        assert_eq!(due(T0.plus(LEASE)).await, [all[1]]);
        assert_eq!(due(T0.plus(DAY)).await, all);
        let mut stored = store.voice_credentials().await.unwrap();
        stored.sort_by_key(|credential| credential.provider);
        all.sort_by_key(|credential| credential.provider);
        assert_eq!(stored, all);
    }
}
