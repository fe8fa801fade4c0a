//! Accepting a call: one transaction, one Idempotency-Key.

use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{CallState, Channel, ConversationStatus, EventType};
use offhook_storage::{DeliveryFilter, Placed, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{CUSTOMER, OPERATION, OURS, Shop, T0, after, answer, pass, phone, race};

const DAY: u64 = 24 * 60 * 60;

contract! {
    async fn an_accepted_call_is_written_whole(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let call = shop.keyed_call("k1", 1, T0);
        let (id, stored) = (call.id, answer(&call, 1));
        let expected = Placed::Accepted(vec![endpoint]);
        assert_eq!(store.place_call(call).await.unwrap(), expected);

        let written = shop.conversation(id).await;
        assert_eq!(written.state, CallState::Queued);
        assert_eq!(written.status, ConversationStatus::Unknown);
        assert_eq!(written.channel, Some(Channel::Phone));
        assert_eq!(written.from_number, Some(phone(OURS)));
        assert_eq!(written.to_number, Some(phone(CUSTOMER)));
        assert_eq!(written.customer_phone, Some(phone(CUSTOMER)));
        assert_eq!(written.metadata, r#"{"z": 1.50, "a": 1E3}"#, "the client's own text");
        assert_eq!(written.started_at, T0);
        assert_eq!(written.price().millicredits_per_minute(), 1_000);
        assert_eq!((written.ended_at, written.duration_seconds, written.credits), (None, None, None));
        assert_eq!((written.key_id, written.agent_id), (Some(shop.key), shop.agent));

        assert_eq!(shop.wallet().await, (1_000, 10));
        let replay = store.stored_answer(shop.account, OPERATION, "k1".to_owned(), T0).await;
        assert_eq!(replay.unwrap(), Some(stored));
        let deliveries = store
            .deliveries(shop.account, DeliveryFilter::default(), None, 10)
            .await
            .unwrap();
        assert_eq!(deliveries.len(), 1);
        assert_eq!(deliveries[0].kind, EventType::CallInitiated);
        assert_eq!(deliveries[0].endpoint_id, endpoint);
        let story = store.delivery(shop.account, deliveries[0].id).await.unwrap().unwrap();
        assert_eq!(story.payload.as_deref(), Some(&br#"{"type":"call.initiated"}"#[..]));
        assert_eq!(store.queue_length().await.unwrap(), 1);
    }

    async fn a_used_key_gives_its_answer_whatever_the_new_value_is(store: Store) {
        let shop = Shop::new(&store).await;
        let first = shop.keyed_call("k1", 1, T0);
        let stored = answer(&first, 1);
        assert_eq!(store.place_call(first).await.unwrap(), Placed::Accepted(vec![]));
        for fingerprint in [1, 2] {
            let again = shop.keyed_call("k1", fingerprint, after(1));
            let expected = Placed::KeyUsed(stored.clone());
            assert_eq!(store.place_call(again).await.unwrap(), expected);
        }
        assert_eq!(store.queue_length().await.unwrap(), 1);
        assert_eq!(shop.wallet().await, (1_000, 10));
    }

    async fn a_key_belongs_to_its_account_and_is_compared_byte_by_byte(store: Store) {
        let (one, other) = (Shop::new(&store).await, Shop::new(&store).await);
        for call in [
            one.keyed_call("k1", 1, T0),
            one.keyed_call("K1", 1, T0),
            one.keyed_call("k1 ", 1, T0),
            other.keyed_call("k1", 1, T0),
        ] {
            assert_eq!(store.place_call(call).await.unwrap(), Placed::Accepted(vec![]));
        }
        assert_eq!(store.queue_length().await.unwrap(), 4);
    }

    async fn a_key_is_new_again_after_exactly_24_hours(store: Store) {
        let shop = Shop::new(&store).await;
        let first = shop.keyed_call("k1", 1, T0);
        let stored = answer(&first, 1);
        store.place_call(first).await.unwrap();

        // PostgreSQL's clock runs during the test, so its margin is wider.
        let margin = if store.is_embedded() { 1_000 } else { 60_000_000 };
        let day = i64::try_from(DAY).unwrap() * 1_000_000;
        store.turn_lease_clock(day - margin);
        let just_before = after(DAY).minus(Duration::from_micros(u64::try_from(margin).unwrap()));
        let retried = shop.keyed_call("k1", 2, just_before);
        assert_eq!(store.place_call(retried).await.unwrap(), Placed::KeyUsed(stored));

        let now = pass(&store, DAY);
        let key = || "k1".to_owned();
        let answered = store.stored_answer(shop.account, OPERATION, key(), now).await;
        assert_eq!(answered.unwrap(), None);
        let taken_over = shop.keyed_call("k1", 2, now);
        let stored = answer(&taken_over, 2);
        assert_eq!(store.place_call(taken_over).await.unwrap(), Placed::Accepted(vec![]));
        let answered = store.stored_answer(shop.account, OPERATION, key(), now).await;
        assert_eq!(answered.unwrap(), Some(stored));
        assert_eq!(store.queue_length().await.unwrap(), 2);
    }

    async fn an_expired_key_is_taken_over_once(store: Store) {
        let shop = Shop::new(&store).await;
        store.place_call(shop.keyed_call("k1", 1, T0)).await.unwrap();
        let now = pass(&store, DAY + 60);
        let racing = (0..16).map(|_| store.place_call(shop.keyed_call("k1", 2, now)));
        let placed: Vec<_> = join_all(racing).await.into_iter().map(Result::unwrap).collect();
        let accepted = placed.iter().filter(|p| matches!(p, Placed::Accepted(_))).count();
        let used = placed.iter().filter(|p| matches!(p, Placed::KeyUsed(_))).count();
        assert_eq!((accepted, used), (1, 15), "{placed:?}");
    }

    async fn of_64_parallel_requests_with_one_key_one_is_accepted(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        shop.endpoint().await;
        let placed = race(64, |_| {
            let (store, call) = (store.clone(), shop.keyed_call("k1", 1, T0));
            async move { store.place_call(call).await.unwrap() }
        });
        let placed = placed.await;
        let accepted = placed.iter().filter(|p| matches!(p, Placed::Accepted(_))).count();
        let mut bodies: Vec<_> = placed
            .iter()
            .filter_map(|p| match p {
                Placed::KeyUsed(answer) => Some(answer.body.clone()),
                _ => None,
            })
            .collect();
        assert_eq!((accepted, bodies.len()), (1, 63), "{placed:?}");
        bodies.dedup();
        assert_eq!(bodies.len(), 1, "one answer for all");

        let mut raw = Raw::open(&database).await;
        for table in ["conversations", "idempotency_keys", "reservations", "events", "deliveries"] {
            assert_eq!(raw.count(table).await, 1, "{table}");
        }
        assert_eq!(shop.wallet().await, (1_000, 10));
    }

    async fn a_call_that_the_wallet_cannot_cover_leaves_nothing(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 19).await;
        shop.endpoint().await;
        shop.place(T0).await;
        let refused = shop.keyed_call("k1", 1, T0);
        assert_eq!(store.place_call(refused).await.unwrap(), Placed::WalletTooLow);
        let mut raw = Raw::open(&database).await;
        for (table, rows) in [
            ("conversations", 1),
            ("idempotency_keys", 0),
            ("reservations", 1),
            ("events", 1),
            ("deliveries", 1),
        ] {
            assert_eq!(raw.count(table).await, rows, "{table}");
        }
        assert_eq!(shop.wallet().await, (19, 10));

        // The key is free: it works once there are credits.
        store.change_wallet(shop.account, crate::it::shop::entry("purchase", 1)).await.unwrap();
        let paid = shop.keyed_call("k1", 1, T0);
        assert!(matches!(store.place_call(paid).await.unwrap(), Placed::Accepted(_)));
        assert_eq!(shop.wallet().await, (20, 20));
    }

    async fn a_call_that_the_keys_budget_cannot_cover_leaves_nothing(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let budgeted = |key: &str, at| {
            let mut call = shop.keyed_call(key, 1, at);
            call.key_budget = Some(25);
            call
        };
        for key in ["k1", "k2"] {
            let expected = Placed::Accepted(vec![]);
            assert_eq!(store.place_call(budgeted(key, T0)).await.unwrap(), expected);
        }
        assert_eq!(store.place_call(budgeted("k3", T0)).await.unwrap(), Placed::BudgetTooLow);
        assert_eq!(shop.wallet().await, (1_000, 20), "the wallet's hold is undone too");
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("conversations").await, 2);
        assert_eq!(raw.count("idempotency_keys").await, 2);

        // The start is the last day of April: two days later another month's budget counts.
        let may = after(2 * DAY);
        assert_eq!(store.place_call(budgeted("k4", may)).await.unwrap(), Placed::Accepted(vec![]));
    }

    async fn a_free_call_holds_nothing(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 0).await;
        let mut call = shop.call(T0);
        call.reserve = 0;
        assert_eq!(store.place_call(call).await.unwrap(), Placed::Accepted(vec![]));
        assert_eq!(Raw::open(&database).await.count("reservations").await, 0);
        assert_eq!(shop.wallet().await, (0, 0));
    }

    async fn parallel_calls_never_hold_more_than_the_wallet_has(store: Store) {
        let shop = Shop::with_credits(&store, 55).await;
        let placed = race(20, |_| {
            let (store, call) = (store.clone(), shop.call(T0));
            async move { store.place_call(call).await.unwrap() }
        });
        let accepted = placed.await.into_iter().filter(|p| matches!(p, Placed::Accepted(_)));
        assert_eq!(accepted.count(), 5);
        assert_eq!(shop.wallet().await, (55, 50));
    }

    async fn keys_are_deleted_an_hour_after_they_expire_a_thousand_at_a_time(store: Store) {
        let shop = Shop::with_credits(&store, 0).await;
        for number in 0..3 {
            let mut call = shop.keyed_call(&format!("k{number}"), 1, T0);
            call.reserve = 0;
            store.place_call(call).await.unwrap();
        }
        let now = pass(&store, DAY + 60);
        assert_eq!(store.purge_keys(now).await.unwrap(), 0);
        let now = pass(&store, DAY + 3_660);
        assert_eq!(store.purge_keys(now).await.unwrap(), 3);
        assert_eq!(store.purge_keys(now).await.unwrap(), 0);
    }
}

mod only_postgres {
    use std::time::Instant;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn calls_that_share_a_transaction_are_written_as_one_alone_is() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shops = [Shop::new(&store).await, Shop::new(&store).await];
        for shop in &shops {
            shop.endpoint().await;
            store
                .place_call(shop.keyed_call("alone", 1, T0))
                .await
                .unwrap();
        }
        let placed = race(60, |number| {
            let call = shops[number % 2].keyed_call(&format!("k{number}"), 1, T0);
            let store = store.clone();
            async move { store.place_call(call).await.unwrap() }
        });
        for placed in placed.await {
            assert!(
                matches!(&placed, Placed::Accepted(to) if to.len() == 1),
                "{placed:?}"
            );
        }
        let mut raw = Raw::open(&database).await;
        let own = "'id', 'conversation_id', 'event_id', 'queued_at', 'idempotency_key', 'location', 'body', 'created_at', 'expires_at'";
        for table in [
            "conversations",
            "idempotency_keys",
            "reservations",
            "events",
            "deliveries",
        ] {
            assert_eq!(raw.count(table).await, 62, "{table}");
            let kinds = format!(
                "SELECT DISTINCT (to_jsonb(t) - ARRAY[{own}])::text AS line FROM {table} t"
            );
            let kinds = raw.lines(&kinds).await;
            assert_eq!(kinds.len(), 2, "one per account: {table} {kinds:#?}");
        }
        for shop in &shops {
            assert_eq!(shop.wallet().await, (1_000, 310));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn calls_of_an_account_whose_wallet_is_locked_delay_no_other() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let (locked, free) = (Shop::new(&store).await, Shop::new(&store).await);
        let mut raw = Raw::open(&database).await;
        let account = raw.id(locked.account.uuid());
        raw.run(&format!(
            "BEGIN; UPDATE wallets SET last_seq = last_seq WHERE account_id = {account}"
        ))
        .await;
        let place = |shop: &Shop| {
            let (store, call) = (store.clone(), shop.call(T0));
            tokio::spawn(async move { store.place_call(call).await.unwrap() })
        };
        let mut waiting = Vec::new();
        let mut others = Vec::new();
        for number in 0..40 {
            match number % 4 {
                0 => waiting.push(place(&locked)),
                _ => others.push(place(&free)),
            }
        }
        for other in others {
            assert_eq!(other.await.unwrap(), Placed::Accepted(vec![]));
        }
        // After two seconds they would have been refused.
        raw.run("COMMIT").await;
        for waiting in waiting {
            assert_eq!(waiting.await.unwrap(), Placed::Accepted(vec![]));
        }
        assert_eq!(locked.wallet().await, (1_000, 100));
        assert_eq!(free.wallet().await, (1_000, 300));
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_key_is_waited_for_two_seconds_in_all_however_many_hold_it_up() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        store
            .place_call(shop.keyed_call("k1", 1, T0))
            .await
            .unwrap();
        let (mut raw, mut other) = (Raw::open(&database).await, Raw::open(&database).await);
        let mut watch = Raw::open(&database).await;
        // The INSERT waits for one transaction, the takeover of the expired key for another.
        raw.run(
            "UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 s'; \
             CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$; \
             CREATE TRIGGER wait BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION wait()",
        )
        .await;
        raw.run("BEGIN; SELECT pg_advisory_xact_lock(1)").await;
        other
            .run("BEGIN; SELECT 1 FROM idempotency_keys FOR UPDATE")
            .await;
        let began = Instant::now();
        let placing = tokio::spawn({
            let (store, call) = (store.clone(), shop.keyed_call("k1", 1, T0));
            async move { store.place_call(call).await.unwrap() }
        });
        let waiting =
            "pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'";
        while watch.count(waiting).await < 1 || began.elapsed() < Duration::from_millis(1_500) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let commits = Instant::now();
        raw.run("COMMIT").await;
        assert_eq!(placing.await.unwrap(), Placed::KeyInFlight);
        // Half a second is left of two; without a limit on the whole it would be two more.
        let took = commits.elapsed();
        assert!(took < Duration::from_millis(1_900), "{took:?}");
        other.run("ROLLBACK").await;
        let placed = store.place_call(shop.keyed_call("k1", 1, T0)).await;
        assert_eq!(placed.unwrap(), Placed::Accepted(vec![]));
    }

    /// A lock of the key itself means "still being written"; any other lock is the database's problem.
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_key_that_is_being_written_for_two_seconds_is_in_flight_and_then_free() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        let (account, now) = (raw.id(shop.account.uuid()), raw.at(T0));
        raw.run(&format!(
            "BEGIN; INSERT INTO idempotency_keys VALUES \
             ({account}, '{OPERATION}', 'k1', '', 201, '', '', {now}, clock_timestamp() + interval '1 day')"
        ))
        .await;
        let placed = store
            .place_call(shop.keyed_call("k1", 1, T0))
            .await
            .unwrap();
        assert_eq!(placed, Placed::KeyInFlight);
        raw.run("ROLLBACK").await;
        let placed = store
            .place_call(shop.keyed_call("k1", 1, T0))
            .await
            .unwrap();
        assert_eq!(placed, Placed::Accepted(vec![]));

        raw.run(&format!(
            "BEGIN; SELECT 1 FROM wallets WHERE account_id = {account} FOR UPDATE"
        ))
        .await;
        let refused = store.place_call(shop.keyed_call("k2", 1, T0)).await;
        assert!(
            matches!(refused, Err(offhook_storage::StoreError::Locked)),
            "{refused:?}"
        );
        raw.run("ROLLBACK").await;
    }
}
