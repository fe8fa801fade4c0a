//! What accounts have connected.

use offhook_domain::IntegrationStatus::{self, Active, Connecting, Disconnected, Error, Expired};
use offhook_domain::Timestamp;
use offhook_storage::{Connection, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::raw::Raw;
use crate::shop::{Shop, T0, after};

async fn set(
    shop: &Shop,
    toolkit: &str,
    status: IntegrationStatus,
    error: Option<&str>,
    at: Timestamp,
) -> Connection {
    let (toolkit, error) = (toolkit.to_owned(), error.map(str::to_owned));
    let set = shop
        .store
        .set_connection(shop.account, toolkit, status, error, at);
    set.await.unwrap()
}

contract! {
    async fn a_connection_is_the_accounts_alone(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let ours = set(&shop, "slack", Active, None, T0).await;
        let theirs = set(&stranger, "slack", Error, Some("Denied"), T0).await;
        assert_eq!(store.connections(shop.account).await.unwrap(), [ours]);
        assert_eq!(store.connections(stranger.account).await.unwrap(), [theirs]);
    }

    async fn it_is_connected_since_it_last_became_active(store: Store) {
        let shop = Shop::new(&store).await;
        let mut expected = Connection {
            account_id: shop.account,
            toolkit: "slack".to_owned(),
            status: Connecting,
            connected_at: None,
            last_error: None,
            updated_at: T0,
        };
        let steps = [
            (Connecting, None, None),
            (Error, Some("Denied"), None),
            (Active, None, Some(after(2))),
            (Active, None, Some(after(2))),
            (Expired, Some("Revoked"), Some(after(2))),
            (Active, None, Some(after(5))),
            (Disconnected, None, Some(after(5))),
        ];
        for (at, (status, error, connected_at)) in (0..).zip(steps) {
            let connection = set(&shop, "slack", status, error, after(at)).await;
            expected.status = status;
            expected.last_error = error.map(str::to_owned);
            (expected.connected_at, expected.updated_at) = (connected_at, after(at));
            assert_eq!(connection, expected);
            assert_eq!(store.connections(shop.account).await.unwrap(), [expected.clone()]);
        }
    }

    async fn a_change_is_in_the_audit_log(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        set(&shop, "slack", Expired, None, T0).await;
        let mut raw = Raw::open(&database).await;
        let told = raw.lines("SELECT target AS line FROM audit_log WHERE action = 'integration.set'");
        assert_eq!(told.await, ["slack expired"]);
    }
}
