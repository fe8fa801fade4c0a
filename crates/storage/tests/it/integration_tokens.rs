//! Tokens of integrations: sealed, renewed by one process at a time, forgotten; and consents, which are good once.

use std::time::Duration;

use offhook_domain::{ClaimId, CredentialId, IntegrationStatus, ToolId};
use offhook_storage::{
    Connection, HeldTokens, MasterKey, NewConsent, Renewal, Store, StoreError, TokenTimes, ToolRow,
    mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::raw::Raw;
use crate::shop::{Shop, T0, after};

const CALENDAR: &str = "google_calendar";
const LEASE: Duration = Duration::from_secs(60);

/// As if so many seconds had passed for leases.
fn turn_lease_clock(store: &Store, seconds: i64) {
    store.turn_lease_clock(seconds * 1_000_000);
}

fn times(lapses: u64, refresh: u64) -> TokenTimes {
    TokenTimes {
        lapses_at: Some(after(lapses)),
        refresh_at: Some(after(refresh)),
    }
}

async fn connect(shop: &Shop, secret: &str, times: TokenTimes) -> Connection {
    let whose = (shop.account, CALENDAR.to_owned());
    let connected = shop
        .store
        .connect_integration(whose, secret, times, Vec::new(), T0);
    connected.await.unwrap()
}

async fn look(shop: &Shop) -> (Option<Connection>, Option<HeldTokens>) {
    let found = shop.store.integration(shop.account, CALENDAR.to_owned());
    found.await.unwrap()
}

async fn stands(shop: &Shop) -> (IntegrationStatus, Option<String>) {
    let connection = look(shop).await.0.unwrap();
    (connection.status, connection.last_error)
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

fn turn(held: &HeldTokens) -> (CredentialId, ClaimId) {
    (held.id, held.claim.unwrap())
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

    async fn tokens_are_sealed_for_their_row_and_key(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let connection = connect(&shop, "s3cret tokens", times(3_600, 2_700)).await;
        let expected = Connection {
            account_id: shop.account,
            toolkit: CALENDAR.to_owned(),
            status: IntegrationStatus::Active,
            connected_at: Some(T0),
            last_error: None,
            updated_at: T0,
        };
        assert_eq!(connection, expected);
        let (found, held) = look(&shop).await;
        assert_eq!((found, held.unwrap().secret.as_str()), (Some(expected), "s3cret tokens"));
        let mut raw = Raw::open(&database).await;
        let hex = match store.is_embedded() {
            true => "hex(sealed)",
            false => "encode(sealed, 'hex')",
        };
        let lines = raw.lines(&format!("SELECT {hex} AS line FROM integration_tokens")).await;
        let plain: String = "s3cret".bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!lines[0].to_lowercase().contains(&plain), "{lines:?}");
        let strange = match store.is_embedded() {
            true => "UPDATE integration_tokens SET id = randomblob(16)",
            false => "UPDATE integration_tokens SET id = gen_random_uuid()",
        };
        raw.run(strange).await;
        let moved = store.integration(shop.account, CALENDAR.to_owned()).await;
        assert!(matches!(moved, Err(StoreError::Corrupt(_))), "{moved:?}");
    }

    async fn an_exchange_of_the_key_reaches_tokens_and_consents(database: TestDatabase) {
        let key = |byte| MasterKey::from_bytes(&[byte; 32]).unwrap();
        let store = Store::open(database.config(), key(1)).await.unwrap();
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 2_700)).await;
        store.ask_consent(consent(&shop, 1, 7), "verifier").await.unwrap();
        let both = Store::open(database.config(), key(2).or_earlier(key(1))).await.unwrap();
        assert_eq!(both.rekey(T0).await.unwrap().secrets, 2);
        let store = Store::open(database.config(), key(2)).await.unwrap();
        let (_, held) = store.integration(shop.account, CALENDAR.to_owned()).await.unwrap();
        assert_eq!(held.unwrap().secret, "tokens");
        let taken = store.take_consent(shop.account, ([1; 32], [7; 32]), T0).await.unwrap();
        assert_eq!(taken.unwrap().1, "verifier");
    }

    async fn a_new_connection_takes_the_place_of_the_old_one_and_brings_its_tools(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "old", times(3_600, 2_700)).await;
        let old = look(&shop).await.1.unwrap();
        let whose = || (shop.account, CALENDAR.to_owned());
        let made = vec![tool(&shop, "book"), tool(&shop, "free")];
        let connected = store.connect_integration(whose(), "new", times(9, 8), made, after(5)).await;
        let connected = connected.unwrap();
        assert_eq!((connected.connected_at, connected.updated_at), (Some(after(5)), after(5)));
        let new = look(&shop).await.1.unwrap();
        assert_ne!(new.id, old.id, "a row of its own");
        assert_eq!(new.secret, "new");
        assert_eq!(store.tools(shop.account, None, 10).await.unwrap().len(), 2);
        let taken = store
            .connect_integration(whose(), "newer", times(9, 8), vec![tool(&shop, "book")], T0)
            .await;
        assert!(matches!(taken, Err(StoreError::Conflict(_))), "{taken:?}");
        assert_eq!(look(&shop).await.1.unwrap().secret, "new", "nothing was written");
    }

    async fn due_tokens_are_one_processes_turn_until_its_lease_is_over(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 2_700)).await;
        let take = async |seconds| {
            let is_due = store.has_due_tokens(after(seconds)).await.unwrap();
            let taken = store.take_due_tokens(8, LEASE, after(seconds)).await.unwrap();
            assert_eq!(is_due, !taken.is_empty());
            taken.into_iter().collect::<Result<Vec<_>, _>>().unwrap()
        };
        assert!(take(2_699).await.is_empty());
        let first = take(2_700).await.remove(0);
        assert_eq!((first.secret.as_str(), first.tries), ("tokens", 0));
        assert!(take(9_999).await.is_empty(), "it is somebody's, whatever this node's clock says");
        assert_eq!(store.take_tokens(&first, LEASE, after(9_999)).await.unwrap(), None);
        turn_lease_clock(&store, 61);
        let second = take(2_700).await.remove(0);
        assert_ne!(first.claim, second.claim);
        let renewed = |secret: &str| Renewal::Renewed(secret.to_owned(), times(7_000, 6_000));
        let late = store.end_renewal(turn(&first), renewed("late"), after(2_761)).await;
        assert!(!late.unwrap(), "the turn was lost");
        assert!(store.end_renewal(turn(&second), renewed("new"), after(2_762)).await.unwrap());
        let held = look(&shop).await.1.unwrap();
        assert_eq!((held.secret.as_str(), held.claim), ("new", None));
        assert_eq!(held.lapses_at, Some(after(7_000)));
        assert!(take(5_999).await.is_empty());
        // Whoever still has the ones before finds that there is nothing to renew.
        assert_eq!(store.take_tokens(&first, LEASE, after(5_999)).await.unwrap(), None);
        assert!(store.take_tokens(&held, LEASE, after(5_999)).await.unwrap().is_some());
    }

    async fn a_claim_that_its_process_left_is_taken_over_though_the_tokens_are_not_due(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 2_700)).await;
        let held = look(&shop).await.1.unwrap();
        let left = store.take_tokens(&held, LEASE, T0).await.unwrap().unwrap();
        assert!(!store.has_due_tokens(T0).await.unwrap());
        turn_lease_clock(&store, 61);
        assert!(store.has_due_tokens(T0).await.unwrap());
        let taken = store.take_due_tokens(8, LEASE, T0).await.unwrap().remove(0).unwrap();
        assert_ne!(taken.claim, left.claim);
        // A new process on the embedded database waits for nobody.
        assert_eq!(store.release_tokens().await.unwrap(), 1);
        assert!(store.take_tokens(&held, LEASE, T0).await.unwrap().is_some());
    }

    async fn the_status_tells_what_became_of_a_renewal(store: Store) {
        use IntegrationStatus::{Active, Error, Expired};
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 10)).await;
        let end = async |renewal, seconds| {
            let held = look(&shop).await.1.unwrap();
            // Tokens rest after each turn that failed.
            turn_lease_clock(&store, 16 * i64::from(held.tries));
            let taken = store.take_tokens(&held, LEASE, after(seconds)).await.unwrap();
            let taken = taken.unwrap();
            assert!(store.end_renewal(turn(&taken), renewal, after(seconds)).await.unwrap());
            taken.tries
        };
        assert_eq!(end(Renewal::Later(after(20), None), 10).await, 0);
        assert_eq!(stands(&shop).await, (Active, None));
        let said = || Some("Out of reach".to_owned());
        assert_eq!(end(Renewal::Later(after(30), said()), 20).await, 1);
        assert_eq!(stands(&shop).await, (Error, said()));
        // What is wrong now is said, not what was at first.
        let other = || Some("Does not know us".to_owned());
        assert_eq!(end(Renewal::Later(after(30), other()), 30).await, 2);
        assert_eq!(stands(&shop).await, (Error, other()));
        let renewed = Renewal::Renewed("new".to_owned(), times(99, 40));
        assert_eq!(end(renewed, 30).await, 3);
        assert_eq!(stands(&shop).await, (Active, None));
        assert_eq!(look(&shop).await.0.unwrap().connected_at, Some(T0), "nobody connected it anew");
        let refused = Renewal::Refused("Withdrawn".to_owned());
        assert_eq!(end(refused, 40).await, 0);
        assert_eq!(stands(&shop).await, (Expired, Some("Withdrawn".to_owned())));
        assert_eq!(look(&shop).await.1, None, "forgotten");
        assert!(!store.has_due_tokens(after(99_999)).await.unwrap());
    }

    async fn new_tokens_that_are_refused_are_an_error_until_a_call_gets_in(store: Store) {
        use IntegrationStatus::{Active, Error};
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 10)).await;
        let held = async || look(&shop).await.1.unwrap();
        let judge = async |held: &HeldTokens, refused: Option<&str>, seconds| {
            let judged = store.judge_tokens(held.clone(), refused.map(str::to_owned), after(seconds));
            judged.await.unwrap()
        };
        let renew = async |secret: &str, seconds| {
            let taken = store.take_tokens(&held().await, LEASE, after(seconds)).await.unwrap().unwrap();
            let renewed = Renewal::Renewed(secret.to_owned(), times(3_600, 10));
            assert!(store.end_renewal(turn(&taken), renewed, after(seconds)).await.unwrap());
        };
        let said = |text: &str| (Error, Some(text.to_owned()));
        let first = held().await;
        assert!(judge(&first, Some("Refused"), 1).await);
        assert_eq!(stands(&shop).await, said("Refused"));
        assert_eq!(held().await.refused_at, Some(after(1)));
        assert!(!judge(&first, Some("Refused"), 2).await, "another call of the same moment");
        // More of them end nothing, and what was said of those before says nothing of these.
        renew("new", 3).await;
        assert_eq!(stands(&shop).await, said("Refused"));
        assert!(!judge(&HeldTokens { refused_at: Some(after(1)), ..first.clone() }, None, 4).await);
        assert_eq!(stands(&shop).await, said("Refused"));
        assert!(judge(&held().await, Some("Refused still"), 5).await);
        assert_eq!((stands(&shop).await, held().await.refused_at), (said("Refused still"), Some(after(5))));
        assert!(judge(&held().await, None, 6).await);
        assert_eq!((stands(&shop).await, held().await.refused_at), ((Active, None), None));

        // What a renewal, the operator or a person who connects says is not taken back by a call.
        let again = async || {
            let before = held().await;
            assert!(judge(&before, Some("Refused"), 7).await);
            held().await
        };
        let marked = again().await;
        let taken = store.take_tokens(&marked, LEASE, after(8)).await.unwrap().unwrap();
        let later = Renewal::Later(after(9), Some("Out of reach".to_owned()));
        assert!(store.end_renewal(turn(&taken), later, after(8)).await.unwrap());
        assert_eq!((stands(&shop).await, held().await.refused_at), (said("Out of reach"), None));
        assert!(!judge(&marked, None, 9).await);
        turn_lease_clock(&store, 16);
        renew("newer", 10).await;
        assert_eq!(stands(&shop).await, (Active, None));
        let marked = again().await;
        let set = store.set_connection(shop.account, CALENDAR.to_owned(), Error, Some("Suspended".to_owned()), T0);
        set.await.unwrap();
        assert!(!judge(&marked, None, 11).await);
        assert_eq!((stands(&shop).await, held().await.refused_at), (said("Suspended"), None));
        connect(&shop, "connected", times(3_600, 10)).await;
        assert!(!judge(&marked, Some("Refused"), 12).await);
        assert_eq!((stands(&shop).await, held().await.refused_at), ((Active, None), None));
        store.disconnect_integration(shop.account, CALENDAR.to_owned(), after(13)).await.unwrap();
        assert!(!judge(&marked, None, 14).await, "gone");
    }

    async fn tokens_rest_after_a_turn_that_failed_for_whoever_needs_them_and_not_for_the_clock(store: Store) {
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 2_700)).await;
        let held = look(&shop).await.1.unwrap();
        let take = async || store.take_tokens(&held, LEASE, T0).await.unwrap();
        let rest = async || store.tokens_rest(&held).await.unwrap();
        let fail = async |taken: HeldTokens| {
            let later = Renewal::Later(after(30), None);
            assert!(store.end_renewal(turn(&taken), later, T0).await.unwrap());
        };
        assert!(!rest().await);
        let taken = take().await.unwrap();
        assert!(!rest().await, "somebody is at them");
        fail(taken).await;
        assert!(rest().await);
        assert_eq!(take().await, None);
        turn_lease_clock(&store, 16);
        assert!(!rest().await);
        assert!(!store.has_due_tokens(after(29)).await.unwrap(), "no claim that was left");
        assert!(store.take_due_tokens(8, LEASE, after(29)).await.unwrap().is_empty());
        fail(take().await.unwrap()).await;
        assert!(rest().await);
        let by_the_clock = store.take_due_tokens(8, LEASE, after(30)).await.unwrap();
        let by_the_clock = by_the_clock.into_iter().next().unwrap().unwrap();
        assert_eq!((by_the_clock.tries, rest().await), (2, false));
        fail(by_the_clock).await;
        // A new process on the embedded database begins without them.
        assert_eq!(store.release_tokens().await.unwrap(), 1);
        assert!(!rest().await);
    }

    async fn an_error_of_a_renewal_is_over_with_a_call_that_gets_in_unless_more_was_said(store: Store) {
        use IntegrationStatus::{Active, Error};
        let shop = Shop::new(&store).await;
        connect(&shop, "tokens", times(3_600, 10)).await;
        let held = async || look(&shop).await.1.unwrap();
        let fail = async |text: &str| {
            let taken = store.take_due_tokens(8, LEASE, after(10)).await.unwrap();
            let taken = taken.into_iter().next().unwrap().unwrap();
            let later = Renewal::Later(after(10), Some(text.to_owned()));
            assert!(store.end_renewal(turn(&taken), later, after(10)).await.unwrap());
        };
        let gets_in = async |used: HeldTokens| store.judge_tokens(used, None, after(11)).await.unwrap();
        let said = |text: &str| (Error, Some(text.to_owned()));
        fail("Out of reach").await;
        let used = held().await;
        fail("Does not know us").await;
        assert!(!gets_in(used).await, "of an earlier turn");
        assert_eq!(stands(&shop).await, said("Does not know us"));
        assert!(gets_in(held().await).await);
        assert_eq!(stands(&shop).await, (Active, None));
        assert_eq!(look(&shop).await.0.unwrap().connected_at, Some(T0));
        fail("Out of reach").await;
        let used = held().await;
        let set = store.set_connection(shop.account, CALENDAR.to_owned(), Error, Some("Suspended".to_owned()), T0);
        set.await.unwrap();
        assert_eq!(held().await.tries, 0, "the error is the operator's");
        assert!(!gets_in(used).await);
        assert_eq!(stands(&shop).await, said("Suspended"));
    }

    async fn what_is_taken_back_is_handed_out_once_and_no_turn_brings_it_back(store: Store) {
        use IntegrationStatus::Disconnected;
        let shop = Shop::new(&store).await;
        let disconnect = async || {
            let gone = store.disconnect_integration(shop.account, CALENDAR.to_owned(), after(1));
            gone.await.unwrap()
        };
        assert_eq!(disconnect().await, None, "never connected");
        connect(&shop, "tokens", times(3_600, 0)).await;
        let taken = store.take_due_tokens(8, LEASE, T0).await.unwrap().remove(0).unwrap();
        let gone = disconnect().await.unwrap().unwrap();
        assert_eq!(gone.secret, "tokens");
        let renewed = Renewal::Renewed("new".to_owned(), times(99, 40));
        assert!(!store.end_renewal(turn(&taken), renewed, after(2)).await.unwrap());
        assert_eq!(stands(&shop).await, (Disconnected, None));
        assert_eq!(look(&shop).await.1, None);
        assert_eq!(disconnect().await, None, "a second time");
        connect(&shop, "tokens", times(3_600, 0)).await;
        let set = store.set_connection(shop.account, CALENDAR.to_owned(), Disconnected, None, T0);
        set.await.unwrap();
        assert_eq!(look(&shop).await.1, None, "the operator's word too");
    }

    async fn tokens_that_do_not_open_keep_nobody_elses_waiting(database: TestDatabase) {
        let store = database.open().await;
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        connect(&shop, "lost", times(3_600, 5)).await;
        connect(&other, "tokens", times(3_600, 10)).await;
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE integration_tokens SET sealed = substr(sealed, 2) WHERE refresh_at = (SELECT \
                 min(refresh_at) FROM integration_tokens)").await;
        let taken = store.take_due_tokens(8, LEASE, after(20)).await.unwrap();
        let [Err(StoreError::Corrupt(_)), Ok(held)] = &*taken else {
            panic!("{taken:?}")
        };
        assert_eq!((held.account_id, held.secret.as_str()), (other.account, "tokens"));
        assert!(!store.has_due_tokens(after(9_999)).await.unwrap(), "not again at once");
    }

    async fn connecting_that_failed_is_said_of_what_does_not_work_otherwise(store: Store) {
        use IntegrationStatus::{Active, Error};
        let shop = Shop::new(&store).await;
        let fail = async || {
            let said = "Denied".to_owned();
            let failed = store.connecting_failed(shop.account, CALENDAR.to_owned(), said, T0);
            failed.await.unwrap();
        };
        fail().await;
        assert_eq!(stands(&shop).await, (Error, Some("Denied".to_owned())));
        connect(&shop, "tokens", times(3_600, 10)).await;
        fail().await;
        assert_eq!(stands(&shop).await, (Active, None));
    }
}
