//! What an account uses of trials.

use offhook_storage::Store;
use offhook_testkit::contract;

use crate::it::shop::Shop;

contract! {
    async fn trials_are_counted_by_account_and_day_and_stop_at_the_most(store: Store) {
        let (shop, other) = (Shop::new(&store).await.account, Shop::new(&store).await.account);
        let count = async |account, day, used| store.count_trial(account, day, used, [2, 100, 1]).await.unwrap();
        assert!(count(shop, 7, [1, 0, 0]).await);
        assert!(count(shop, 7, [1, 100, 0]).await);
        assert!(!count(shop, 7, [1, 0, 0]).await);
        assert!(!count(shop, 7, [0, 1, 0]).await);
        assert!(count(shop, 7, [0, -40, 0]).await);
        assert!(!count(shop, 7, [0, 41, 0]).await);
        assert!(count(shop, 7, [0, 40, 0]).await);
        assert!(count(shop, 7, [0, 0, 1]).await);
        assert!(!count(shop, 7, [0, 0, 1]).await);
        assert!(count(other, 7, [1, 0, 0]).await);
        assert!(count(shop, 8, [2, 100, 0]).await);
    }

    async fn trials_of_one_moment_never_exceed_the_most(store: Store) {
        let shop = Shop::new(&store).await.account;
        let all = (0..12).map(|_| store.count_trial(shop, 7, [1, 0, 0], [5, 0, 0]));
        let counted = futures_util::future::join_all(all).await;
        let counted = counted.into_iter().filter(|one| *one.as_ref().unwrap());
        assert_eq!(counted.count(), 5);
    }
}
