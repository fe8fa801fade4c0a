//! Accounts and keys.

use std::time::Duration;

use offhook_domain::{KeyId, MemberRole, Plan};
use offhook_storage::{Account, Member, Store, StoreError, mint};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, new_key, pass, race};

const HOUR: Duration = Duration::from_secs(3_600);

contract! {
    async fn a_key_is_found_by_its_digest_with_its_account(store: Store) {
        let shop = Shop::new(&store).await;
        let new = new_key(shop.account, shop.key);
        let (key, account, _) = store.key_by_digest(new.digest, T0).await.unwrap().unwrap();
        assert_eq!((key.id, account.id, account.plan), (shop.key, shop.account, Plan::Pro));
        assert_eq!(key.scopes, new.key.scopes);
        assert_eq!((key.created_at, key.revoked_at, key.last_used_at), (T0, None, None));
        assert!(store.key_by_digest([9; 32], T0).await.unwrap().is_none());
    }

    async fn a_key_is_judged_by_the_clock_of_all_nodes(store: Store) {
        let shop = Shop::new(&store).await;
        let digest = new_key(shop.account, shop.key).digest;
        let judged_at = async |now| store.key_by_digest(digest, now).await.unwrap().unwrap().2;
        let before = judged_at(T0).await;
        let later = judged_at(pass(&store, 3_600)).await;
        assert!(later >= before.plus(HOUR));
        // On PostgreSQL a node whose clock is an hour behind decides like the others.
        let stepped = judged_at(T0).await;
        assert_eq!(stepped >= later, !store.is_embedded());
    }

    async fn a_lookup_that_begins_after_a_revocation_sees_it_however_many_are_under_way(store: Store) {
        let shop = Shop::new(&store).await;
        let digest = new_key(shop.account, shop.key).digest;
        let lookup = || {
            let store = store.clone();
            async move { store.key_by_digest(digest, T0).await.unwrap().unwrap().0.revoked_at }
        };
        let earlier: Vec<_> = (0..200).map(|_| tokio::spawn(lookup())).collect();
        store.revoke_key(shop.key, after(1)).await.unwrap();
        let later = race(200, |_| lookup()).await;
        assert!(later.iter().all(|at| *at == Some(after(1))), "{later:?}");
        for lookup in earlier {
            lookup.await.unwrap();
        }
    }

    async fn no_two_keys_have_one_digest(store: Store) {
        let shop = Shop::new(&store).await;
        let mut twin = new_key(shop.account, mint(T0));
        twin.digest = new_key(shop.account, shop.key).digest;
        let refused = store.create_key(twin).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }

    async fn a_key_belongs_to_an_account_that_exists(store: Store) {
        let orphan = store.create_key(new_key(mint(T0), mint(T0))).await;
        assert!(matches!(orphan, Err(StoreError::Internal(_))), "{orphan:?}");
    }

    async fn a_revoked_key_keeps_its_first_time_and_every_node_sees_it(database: offhook_testkit::TestDatabase) {
        let (here, there) = (database.open().await, database.open().await);
        let shop = Shop::new(&here).await;
        let digest = new_key(shop.account, shop.key).digest;
        let revoked = there.revoke_key(shop.key, after(1)).await.unwrap().unwrap();
        assert_eq!(revoked.revoked_at, Some(after(1)));
        let (seen, ..) = here.key_by_digest(digest, T0).await.unwrap().unwrap();
        assert_eq!(seen.revoked_at, Some(after(1)));
        let again = here.revoke_key(shop.key, after(2)).await.unwrap().unwrap();
        assert_eq!(again.revoked_at, Some(after(1)));
        let unknown: KeyId = mint(T0);
        assert!(here.revoke_key(unknown, T0).await.unwrap().is_none());
    }

    async fn the_last_use_only_moves_on(store: Store) {
        let shop = Shop::new(&store).await;
        let used = async |at| {
            store.touch_keys(vec![(shop.key, at)]).await.unwrap();
            store.keys(shop.account).await.unwrap()[0].last_used_at
        };
        assert_eq!(used(after(60)).await, Some(after(60)));
        assert_eq!(used(after(1)).await, Some(after(60)));
        assert_eq!(used(after(120)).await, Some(after(120)));
    }

    async fn accounts_are_listed_oldest_first(store: Store) {
        for (name, at) in [("new", after(5)), ("old", T0)] {
            let id = mint(at);
            let account = Account {
                id,
                name: name.to_owned(),
                plan: Plan::Free,
                engine_module: Some(true),
                created_at: at,
            dialing: offhook_storage::Dialing::default(),
            has_own_keys: false,
            };
            let owner = Some(Member {
                id: mint(at),
                account_id: id,
                name: "Eva".to_owned(),
                email: "eva@example.com".parse().unwrap(),
                role: MemberRole::Owner,
                joined_at: at,
            });
            store.create_account(account, None, owner).await.unwrap();
        }
        let accounts = store.accounts().await.unwrap();
        let names: Vec<_> = accounts.iter().map(|account| account.name.as_str()).collect();
        assert_eq!(names, ["old", "new"]);
        let found = store.account(accounts[0].id).await.unwrap().unwrap();
        assert_eq!(found.engine_module, Some(true));
        assert!(store.account(mint(T0)).await.unwrap().is_none());
    }
}
