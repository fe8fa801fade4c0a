//! Accounts' connections: tokens that are encrypted, renewed by one process at a time, and deleted; and one-time
//! consents.

use std::time::Duration;

use offhook_domain::{ClaimId, CredentialId, IntegrationStatus, ToolId};
use offhook_storage::{
    Connection, MasterKey, NewConsent, Renewal, Store, StoreError, TokenTurn, ToolRow, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, pass};

const CALENDAR: &str = "google_calendar";
const LEASE: Duration = Duration::from_secs(60);

async fn connect(shop: &Shop, secret: &str) {
    let whose = (shop.account, CALENDAR.to_owned());
    let lapses_at = Some(after(3_600));
    let connected = shop
        .store
        .connect_integration(whose, secret, lapses_at, Vec::new(), T0);
    connected.await.unwrap();
}

async fn look(shop: &Shop) -> Connection {
    let found = shop.store.connection(shop.account, CALENDAR.to_owned());
    found.await.unwrap().unwrap()
}

async fn stands(shop: &Shop) -> (IntegrationStatus, Option<String>) {
    let connection = look(shop).await;
    (connection.status, connection.last_error)
}

async fn secret(shop: &Shop) -> Option<String> {
    shop.store.tokens_of(&look(shop).await).unwrap()
}

async fn take(shop: &Shop, id: CredentialId) -> TokenTurn {
    shop.store.take_tokens(id, LEASE, T0).await.unwrap()
}

/// The turn to renew the current tokens.
async fn turn(shop: &Shop) -> (CredentialId, ClaimId) {
    let id = look(shop).await.id;
    match take(shop, id).await {
        TokenTurn::Taken(claim) => (id, claim),
        other => panic!("{other:?}"),
    }
}

fn renewed(secret: &str) -> Renewal {
    Renewal::Renewed(mint(T0), secret.to_owned(), Some(after(7_000)))
}

fn consent(shop: &Shop, state: u8, session: u8) -> NewConsent {
    NewConsent {
        id: mint(T0),
        digest: [state; 32],
        session_digest: [session; 32],
        account_id: shop.account,
        toolkit: CALENDAR.to_owned(),
        expires_at: after(600),
    }
}

fn tool(shop: &Shop, name: &str) -> ToolRow {
    ToolRow {
        id: mint::<ToolId>(T0),
        account_id: shop.account,
        name: name.to_owned(),
        definition: "{}".to_owned(),
        revision: 1,
        created_at: T0,
        updated_at: T0,
    }
}

contract! {
    async fn a_consent_comes_back_once_in_time_and_to_whom_it_was_asked_for(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        store.ask_consent(consent(&shop, 1, 7), "verifier").await.unwrap();
        let take = async |shop: &Shop, state, session, seconds| {
            let digests = ([state; 32], [session; 32]);
            store.take_consent(shop.account, digests, after(seconds)).await.unwrap()
        };
        let asked = store.consents_asked_for(shop.account, after(599)).await.unwrap();
        assert_eq!(asked, [CALENDAR]);
        assert_eq!(take(&shop, 2, 7, 0).await, None, "another state");
        assert_eq!(take(&shop, 1, 8, 0).await, None, "another session");
        assert_eq!(take(&stranger, 1, 7, 0).await, None, "another account");
        assert_eq!(take(&shop, 1, 7, 600).await, None, "too late");
        let found = take(&shop, 1, 7, 599).await;
        assert_eq!(found, Some((CALENDAR.to_owned(), "verifier".to_owned())));
        assert_eq!(take(&shop, 1, 7, 0).await, None, "a second time");
        assert!(store.consents_asked_for(shop.account, T0).await.unwrap().is_empty());
    }

    async fn consents_that_nobody_gave_are_forgotten(store: Store) {
        let shop = Shop::new(&store).await;
        store.ask_consent(consent(&shop, 1, 7), "verifier").await.unwrap();
        assert!(store.consents_asked_for(shop.account, after(600)).await.unwrap().is_empty());
        assert_eq!(store.forget_consents(after(599)).await.unwrap(), 0);
        assert_eq!(store.forget_consents(after(600)).await.unwrap(), 1);
    }

    async fn a_connection_is_the_accounts_alone_and_its_tokens_are_sealed(database: TestDatabase) {
        let store = database.open().await;
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        connect(&shop, "s3cret tokens").await;
        let connection = look(&shop).await;
        assert_eq!(store.connections(shop.account).await.unwrap(), std::slice::from_ref(&connection));
        assert!(store.connections(stranger.account).await.unwrap().is_empty());
        let theirs = store.connection(stranger.account, CALENDAR.to_owned()).await.unwrap();
        assert_eq!(theirs, None);
        assert_eq!((connection.account_id, connection.toolkit.as_str()), (shop.account, CALENDAR));
        assert_eq!((connection.connected_at, connection.lapses_at), (Some(T0), Some(after(3_600))));
        assert_eq!(stands(&shop).await, (IntegrationStatus::Active, None));
        assert_eq!(secret(&shop).await.as_deref(), Some("s3cret tokens"));
        let mut raw = Raw::open(&database).await;
        let hex = match store.is_embedded() {
            true => "hex(sealed)",
            false => "encode(sealed, 'hex')",
        };
        let lines = raw.lines(&format!("SELECT {hex} AS line FROM integration_connections")).await;
        let plain: String = "s3cret".bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!lines[0].to_lowercase().contains(&plain), "{lines:?}");
        let strange = match store.is_embedded() {
            true => "UPDATE integration_connections SET id = randomblob(16)",
            false => "UPDATE integration_connections SET id = gen_random_uuid()",
        };
        raw.run(strange).await;
        let moved = store.tokens_of(&look(&shop).await);
        assert!(matches!(moved, Err(StoreError::Corrupt(_))), "{moved:?}");
    }

    async fn an_exchange_of_the_key_reaches_tokens_and_consents(database: TestDatabase) {
        let key = |byte| MasterKey::from_bytes(&[byte; 32]).unwrap();
        let store = Store::open(database.config(), key(1)).await.unwrap();
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens").await;
        store.ask_consent(consent(&shop, 1, 7), "verifier").await.unwrap();
        let both = Store::open(database.config(), key(2).or_earlier(key(1))).await.unwrap();
        assert_eq!(both.rekey(T0).await.unwrap().secrets, 2);
        let store = Store::open(database.config(), key(2)).await.unwrap();
        assert_eq!(secret(&shop.on(&store)).await.as_deref(), Some("tokens"));
        let taken = store.take_consent(shop.account, ([1; 32], [7; 32]), T0).await.unwrap();
        assert_eq!(taken.unwrap().1, "verifier");
    }

    async fn a_new_connection_takes_the_place_of_the_old_one_and_brings_its_tools(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "old").await;
        let old = turn(&shop).await;
        let connect = async |secret, tools| {
            let whose = (shop.account, CALENDAR.to_owned());
            store.connect_integration(whose, secret, None, tools, after(5)).await
        };
        connect("new", vec![tool(&shop, "book"), tool(&shop, "free")]).await.unwrap();
        let new = look(&shop).await;
        assert_eq!((new.connected_at, new.lapses_at), (Some(after(5)), None));
        assert_ne!(new.id, old.0);
        assert_eq!(store.tools(shop.account, None, 10).await.unwrap().len(), 2);
        assert!(!store.end_renewal(old, renewed("late")).await.unwrap(), "of the old ones");
        let taken = connect("newer", vec![tool(&shop, "book")]).await;
        assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
        assert_eq!(secret(&shop).await.as_deref(), Some("new"), "nothing was written");
        assert!(matches!(take(&shop, new.id).await, TokenTurn::Taken(_)), "nobody is at them");
    }

    async fn a_turn_is_one_processes_until_its_lease_is_over(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens").await;
        let first = turn(&shop).await;
        assert_eq!(take(&shop, first.0).await, TokenTurn::NotOurs);
        pass(&store, 61);
        let second = turn(&shop).await;
        assert_eq!(second.0, first.0);
        assert!(!store.end_renewal(first, renewed("late")).await.unwrap(), "the turn was lost");
        assert!(store.end_renewal(second, renewed("new")).await.unwrap());
        assert_eq!(secret(&shop).await.as_deref(), Some("new"));
        assert_eq!(look(&shop).await.lapses_at, Some(after(7_000)));
        // A process with the previous tokens finds nothing to renew.
        assert_eq!(take(&shop, first.0).await, TokenTurn::NotOurs);
        let left = turn(&shop).await;
        // A new process on the embedded database takes over at once.
        store.release_tokens().await.unwrap();
        assert_ne!(turn(&shop).await, left);
    }

    async fn the_status_tells_what_became_of_a_renewal(store: Store) {
        use IntegrationStatus::{Active, Error, Expired};
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens").await;
        let mut seconds = 0;
        let mut end = async |renewal| {
            // Tokens rest after each failed turn.
            seconds += 16;
            pass(&store, seconds);
            assert!(store.end_renewal(turn(&shop).await, renewal).await.unwrap());
            stands(&shop).await
        };
        assert_eq!(end(Renewal::Failed(None)).await, (Active, None));
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(end(Renewal::Failed(said("Out of reach"))).await, (Error, said("Out of reach")));
        // The current error replaces the first one.
        let other = || said("Does not know us");
        assert_eq!(end(Renewal::Failed(other())).await, (Error, other()));
        // The error dates from the last use, and there was no use since.
        assert_eq!(end(Renewal::Failed(None)).await, (Error, other()));
        assert_eq!(end(renewed("new")).await, (Error, other()));
        assert_eq!(look(&shop).await.connected_at, Some(T0), "nobody connected it anew");
        let refused = Renewal::Refused("Withdrawn".to_owned());
        assert_eq!(end(refused).await, (Expired, said("Withdrawn")));
        let gone = look(&shop).await;
        assert_eq!((secret(&shop).await, gone.lapses_at), (None, None), "forgotten");
        assert_eq!(take(&shop, gone.id).await, TokenTurn::NotOurs);
    }

    async fn an_error_is_over_with_a_call_that_gets_in(store: Store) {
        use IntegrationStatus::{Active, Error};
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens").await;
        let judge = async |id, refused: Option<&str>| {
            store.judge_tokens(id, refused.map(str::to_owned)).await.unwrap();
            stands(&shop).await
        };
        let said = || (Error, Some("Refused".to_owned()));
        let first = look(&shop).await.id;
        assert_eq!(judge(first, Some("Refused")).await, said());
        assert_eq!(take(&shop, first).await, TokenTurn::Rests, "new ones are not asked for again at once");
        assert_eq!(judge(first, None).await, (Active, None));
        assert_eq!(look(&shop).await.connected_at, Some(T0));
        let taken = turn(&shop).await;
        assert_eq!(judge(first, Some("Refused")).await, (Active, None), "somebody renews them");
        assert!(store.end_renewal(taken, renewed("new")).await.unwrap());
        let second = look(&shop).await.id;
        assert_eq!(judge(first, Some("Refused")).await, (Active, None), "there are others");
        assert_eq!(judge(second, Some("Refused")).await, said());
        assert_eq!(judge(first, None).await, said());
        connect(&shop, "connected").await;
        assert_eq!(judge(second, Some("Refused")).await, (Active, None));
    }

    async fn tokens_rest_after_a_turn_that_failed(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens").await;
        let taken = turn(&shop).await;
        let fail = async |taken| assert!(store.end_renewal(taken, Renewal::Failed(None)).await.unwrap());
        fail(taken).await;
        assert_eq!(take(&shop, taken.0).await, TokenTurn::Rests);
        pass(&store, 16);
        fail(turn(&shop).await).await;
        assert_eq!(take(&shop, taken.0).await, TokenTurn::Rests);
        // A new process on the embedded database ignores the rest period.
        store.release_tokens().await.unwrap();
        turn(&shop).await;
    }

    async fn what_is_taken_back_is_handed_out_once_and_no_turn_brings_it_back(store: Store) {
        let shop = Shop::new(&store).await;
        let disconnect = async || {
            let gone = store.disconnect_integration(shop.account, CALENDAR.to_owned());
            gone.await.unwrap()
        };
        assert_eq!(disconnect().await, None, "never connected");
        connect(&shop, "tokens").await;
        let taken = turn(&shop).await;
        assert_eq!(disconnect().await, Some(Some("tokens".to_owned())));
        assert!(!store.end_renewal(taken, renewed("new")).await.unwrap());
        store.judge_tokens(taken.0, None).await.unwrap();
        assert_eq!(stands(&shop).await, (IntegrationStatus::Disconnected, None));
        assert_eq!(secret(&shop).await, None);
        assert_eq!(look(&shop).await.connected_at, Some(T0));
        assert_eq!(disconnect().await, None, "a second time");
    }

    async fn what_has_lapsed_is_found_in_pages_whether_it_opens_or_not(database: TestDatabase) {
        let store = database.open().await;
        let (shop, other, gone) = (Shop::new(&store).await, Shop::new(&store).await, Shop::new(&store).await);
        for shop in [&shop, &other, &gone] {
            connect(shop, "tokens").await;
        }
        store.disconnect_integration(gone.account, CALENDAR.to_owned()).await.unwrap();
        let page = async |behind, seconds| {
            store.lapsed_connections(behind, 1, after(seconds)).await.unwrap()
        };
        assert!(page(CredentialId::nil(), 3_600).await.is_empty());
        let mut expected = [look(&shop).await, look(&other).await];
        expected.sort_by_key(|connection| connection.id);
        assert_eq!(page(CredentialId::nil(), 3_601).await, expected[..1]);
        assert_eq!(page(expected[0].id, 3_601).await, expected[1..]);
        assert!(page(expected[1].id, 3_601).await.is_empty());
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE integration_connections SET sealed = substr(sealed, 2)").await;
        let found = page(CredentialId::nil(), 3_601).await;
        let opened = store.tokens_of(&found[0]);
        assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
    }

    async fn connecting_that_failed_is_said_of_what_does_not_work_otherwise(store: Store) {
        use IntegrationStatus::{Active, Error};
        let shop = Shop::new(&store).await;
        let fail = async |said: &str| {
            let failed = store.connecting_failed(shop.account, CALENDAR.to_owned(), said.to_owned(), T0);
            failed.await.unwrap();
            stands(&shop).await
        };
        let said = |text: &str| (Error, Some(text.to_owned()));
        assert_eq!(fail("Denied").await, said("Denied"));
        assert_eq!(look(&shop).await.connected_at, None);
        assert_eq!(fail("Out of reach").await, said("Out of reach"));
        connect(&shop, "tokens").await;
        assert_eq!(fail("Denied").await, (Active, None));
        store.judge_tokens(look(&shop).await.id, Some("Refused".to_owned())).await.unwrap();
        assert_eq!(fail("Denied").await, said("Denied"));
        assert_eq!(secret(&shop).await.as_deref(), Some("tokens"), "they are tried all the same");
    }
}
