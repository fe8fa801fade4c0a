//! Webhook endpoints and their secrets.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{CallState, EventType, EventTypes};
use offhook_storage::{
    ClaimSlots, DeliveryFilter, DeliveryState, Endpoint, EndpointChange, EndpointStatus,
    EndpointView, MASTER_KEY_LEN, MasterKey, Resent, Store,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, event, new_endpoint, node, paged, race, settlement};

const HOUR: Duration = Duration::from_secs(3600);

/// The secrets that sign for the endpoint at `at`, found by claiming a test event.
async fn signing(
    shop: &Shop,
    endpoint: offhook_domain::EndpointId,
    at: offhook_domain::Timestamp,
) -> Vec<String> {
    let store = &shop.store;
    let asked = store
        .send_test_event(
            shop.account,
            endpoint,
            event(EventType::CallCompleted, at),
            at,
        )
        .await
        .unwrap();
    assert!(matches!(asked, Resent::Asked(_)), "{asked:?}");
    let slots = vec![one_first(endpoint)];
    let claimed = store
        .claim_deliveries(slots, vec![], (at, at))
        .await
        .unwrap();
    claimed[0].secrets.clone()
}

fn one_first(endpoint: offhook_domain::EndpointId) -> ClaimSlots {
    ClaimSlots {
        endpoint,
        firsts: 1,
        retries: 0,
        resends: 0,
    }
}

fn disabled() -> EndpointChange {
    EndpointChange {
        status: Some(EndpointStatus::Disabled),
        ..Default::default()
    }
}

contract! {
    async fn an_endpoint_gets_the_events_that_it_chose_and_else_the_calls_own(store: Store) {
        use EventType::{BillingThreshold, CallCompleted, CallFailed, CallInitiated};
        let shop = Shop::new(&store).await;
        let chosen = |kinds: &[EventType]| -> Option<EventTypes> { Some(kinds.iter().copied().collect()) };
        let mut ids = Vec::new();
        for events in [None, chosen(&[CallCompleted, CallFailed]), chosen(&[BillingThreshold])] {
            let endpoint = Endpoint { events, ..new_endpoint(shop.account, T0) };
            ids.push(endpoint.id);
            assert!(store.create_endpoint(endpoint, "s", "s", 9).await.unwrap());
        }
        let (id, claim) = shop.closing(node()).await;
        let settled = settlement(CallState::Completed, 7);
        store.settle_call((shop.account, id, claim), settled).await.unwrap().unwrap();
        // Once more from then on, without what is no longer chosen.
        let all_again = EndpointChange { events: Some(None), ..Default::default() };
        store.change_endpoint(shop.account, ids[1], all_again, after(50)).await.unwrap().unwrap();
        let failures = EndpointChange { events: Some(chosen(&[CallFailed])), ..Default::default() };
        store.change_endpoint(shop.account, ids[0], failures, after(50)).await.unwrap().unwrap();
        shop.place(after(60)).await;
        let sent = store.deliveries(shop.account, DeliveryFilter::default(), None, 20).await.unwrap();
        let sent: HashSet<_> = sent.iter().map(|sent| (sent.endpoint_id, sent.kind, sent.created_at)).collect();
        let first = |kind, at| (ids[0], kind, at);
        let second = |kind, at| (ids[1], kind, at);
        let began = sent.iter().map(|(_, _, at)| *at).min().unwrap();
        assert_eq!(sent, HashSet::from([
            first(CallInitiated, began), first(CallCompleted, after(46)), second(CallCompleted, after(46)),
            second(CallInitiated, after(60)),
        ]));
    }

    async fn an_account_has_at_most_so_many_endpoints_also_when_they_race(store: Store) {
        let shop = Shop::new(&store).await;
        let made = race(12, |_| {
            let (store, endpoint) = (store.clone(), new_endpoint(shop.account, T0));
            async move { store.create_endpoint(endpoint, "whsec_x", "whsec_", 5).await.unwrap() }
        });
        assert_eq!(made.await.iter().filter(|made| **made).count(), 5);
        let page = store.endpoints(shop.account, None, 100).await.unwrap();
        assert_eq!(page.len(), 5);

        assert!(store.delete_endpoint(shop.account, page[0].endpoint.id, after(1)).await.unwrap());
        let one_more = new_endpoint(shop.account, after(2));
        assert!(store.create_endpoint(one_more, "whsec_x", "whsec_", 5).await.unwrap());
    }

    async fn pages_of_endpoints_show_each_once(store: Store) {
        let shop = Shop::new(&store).await;
        let mut made = HashSet::new();
        for number in 0..7 {
            let endpoint = new_endpoint(shop.account, after(number / 3));
            made.insert(endpoint.id);
            store.create_endpoint(endpoint, "whsec_x", "whsec_", 20).await.unwrap();
        }
        let key = |view: &EndpointView| (view.endpoint.created_at, view.endpoint.id);
        let seen = paged(2, key, async |place| store.endpoints(shop.account, place, 2).await).await;
        assert_eq!(seen.len(), 7);
        assert_eq!(seen.iter().map(|view| view.endpoint.id).collect::<HashSet<_>>(), made);
    }

    async fn a_change_touches_only_what_it_names(store: Store) {
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        let change = EndpointChange {
            description: Some(Some("mine".to_owned())),
            ..Default::default()
        };
        let view = store.change_endpoint(shop.account, id, change, after(1)).await.unwrap().unwrap();
        assert_eq!(view.endpoint.description.as_deref(), Some("mine"));
        assert_eq!(view.endpoint.url, "https://hooks.example.com/in");
        assert_eq!(view.endpoint.updated_at, after(1));
        assert_eq!(view.secret_prefix, "whsec_o");
        let change = EndpointChange { description: Some(None), ..disabled() };
        let view = store.change_endpoint(shop.account, id, change, after(2)).await.unwrap().unwrap();
        assert_eq!(view.endpoint.description, None);
        assert_eq!(view.endpoint.disabled_reason.as_deref(), Some("customer"));
        let enabled = EndpointChange { status: Some(EndpointStatus::Enabled), ..Default::default() };
        let view = store.change_endpoint(shop.account, id, enabled, after(3)).await.unwrap().unwrap();
        assert_eq!((view.endpoint.status, view.endpoint.disabled_reason), (EndpointStatus::Enabled, None));
    }

    async fn disabling_and_deleting_cancel_what_is_due(store: Store) {
        let shop = Shop::new(&store).await;
        let (off, gone) = (shop.endpoint().await, shop.endpoint().await);
        shop.place(T0).await;
        store.change_endpoint(shop.account, off, disabled(), after(1)).await.unwrap();
        assert!(store.delete_endpoint(shop.account, gone, after(1)).await.unwrap());
        assert!(!store.delete_endpoint(shop.account, gone, after(1)).await.unwrap());
        let deliveries = store.deliveries(shop.account, DeliveryFilter::default(), None, 10).await.unwrap();
        assert_eq!(deliveries.len(), 2);
        for delivery in deliveries {
            assert_eq!((delivery.state, delivery.next_attempt_at), (DeliveryState::Cancelled, None));
        }
        assert!(store.endpoint(shop.account, gone).await.unwrap().is_none());
        let asked = store
            .send_test_event(shop.account, off, event(EventType::CallFailed, T0), T0)
            .await;
        assert!(matches!(asked.unwrap(), Resent::EndpointDisabled));
        shop.place(T0).await;
        assert_eq!(store.delivery_backlog().await.unwrap(), 0);
    }

    async fn test_events_sent_at_once_reach_their_own_enabled_endpoints_alone(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let (on, off) = (shop.endpoint().await, shop.endpoint().await);
        let foreign = other.endpoint().await;
        store.change_endpoint(shop.account, off, disabled(), after(1)).await.unwrap();
        let sent = race(30, |number| {
            let to = [on, off, foreign][number % 3];
            let test = event(EventType::CallFailed, after(2));
            let (store, account) = (store.clone(), shop.account);
            async move { store.send_test_event(account, to, test, after(2)).await.unwrap() }
        });
        let mut asked = HashSet::new();
        for (number, sent) in sent.await.into_iter().enumerate() {
            match (number % 3, sent) {
                (0, Resent::Asked(delivery)) => {
                    let stored = store.delivery(shop.account, delivery.id).await.unwrap().unwrap();
                    assert_eq!(format!("{:?}", stored.delivery), format!("{delivery:?}"));
                    assert_eq!(stored.payload, Some(event(EventType::CallFailed, T0).body));
                    asked.insert(delivery.id);
                }
                (1, Resent::EndpointDisabled) | (2, Resent::Absent) => {}
                (_, sent) => panic!("{number}: {sent:?}"),
            }
        }
        assert_eq!(asked.len(), 10);
        for account in [shop.account, other.account] {
            let all = store.deliveries(account, DeliveryFilter::default(), None, 20).await.unwrap();
            assert!(all.iter().all(|one| asked.contains(&one.id)), "{all:?}");
        }
    }

    async fn at_most_five_rotated_secrets_sign_along_and_the_newest_is_last(store: Store) {
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        for secret in ["s2", "s3", "s4", "s5", "s6", "s7", "s8"] {
            // All at one instant, as fast clients do.
            store.rotate_secret(shop.account, id, (secret, secret), HOUR, after(1)).await.unwrap();
        }
        let secrets = signing(&shop, id, after(2)).await;
        assert_eq!(secrets.len(), 6, "{secrets:?}");
        assert_eq!(secrets.last().map(String::as_str), Some("s8"));
        let view = store.endpoint(shop.account, id).await.unwrap().unwrap();
        assert_eq!(view.secret_prefix, "s8");
    }

    async fn parallel_rotations_leave_one_secret_in_force(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        let rotated = race(8, |_| {
            let (store, account) = (store.clone(), shop.account);
            async move { store.rotate_secret(account, id, ("whsec_n", "whsec_n"), HOUR, after(1)).await.unwrap() }
        });
        assert!(rotated.await.iter().all(Option::is_some));
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("webhook_secrets WHERE expires_at IS NULL").await, 1);
        assert_eq!(raw.count("webhook_secrets").await, 6);
    }

    async fn secrets_are_sealed_and_open_with_the_right_key_alone(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        let mut raw = Raw::open(&database).await;
        let sealed = match store.is_embedded() {
            true => raw.line("SELECT hex(sealed) AS line FROM webhook_secrets").await,
            false => raw.line("SELECT upper(encode(sealed, 'hex')) AS line FROM webhook_secrets").await,
        };
        let plain: String = b"whsec_one".iter().map(|byte| format!("{byte:02X}")).collect();
        assert!(!sealed.contains(&plain));

        // A secret's row that was moved to another id cannot be decrypted.
        let row = raw.id(offhook_storage::mint::<offhook_domain::EventId>(T0).uuid());
        raw.run(&format!("UPDATE webhook_secrets SET id = {row}")).await;
        let test = event(EventType::CallFailed, T0);
        store.send_test_event(shop.account, id, test, T0).await.unwrap();
        let slots = vec![one_first(id)];
        let claimed = store.claim_deliveries(slots, vec![], (T0, T0)).await.unwrap();
        assert_eq!(claimed[0].secrets, Vec::<String>::new());

        let other = MasterKey::from_bytes(&[8; MASTER_KEY_LEN]).unwrap();
        let refused = Store::open(database.config(), other).await;
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("sealed with another master key"), "{message}");
        database.open().await;
    }

    async fn reading_endpoints_while_they_are_deleted_is_no_fault(store: Store) {
        let shop = Shop::new(&store).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(shop.endpoint().await);
        }
        let deleting = tokio::spawn({
            let shop = shop.clone();
            async move {
                for id in ids {
                    shop.store.delete_endpoint(shop.account, id, after(1)).await.unwrap();
                }
            }
        });
        loop {
            let page = store.endpoints(shop.account, None, 100).await.unwrap();
            if page.is_empty() {
                break;
            }
        }
        deleting.await.unwrap();
    }
}

mod only_postgres {
    use offhook_domain::{DeliveryId, Timestamp};
    use offhook_storage::{AttemptReport, ClaimedAttempt, Placed, Recovered};

    use super::*;

    fn report(attempt: &ClaimedAttempt, retry_after: Option<Duration>) -> AttemptReport {
        AttemptReport {
            claim_id: attempt.claim_id,
            attempt_id: attempt.attempt_id,
            delivery_id: attempt.delivery_id,
            endpoint_id: attempt.endpoint_id,
            number: attempt.number,
            at: T0,
            success: retry_after.is_none(),
            status_code: None,
            duration_ms: 1,
            error: None,
            response_snippet: None,
            ended: T0,
            retry_after,
        }
    }

    async fn claim(store: &Store, slots: ClaimSlots, now: Timestamp) -> Vec<ClaimedAttempt> {
        let claimed = store
            .claim_deliveries(vec![slots], vec![], (now, now))
            .await;
        claimed.unwrap()
    }

    /// Deliveries are found in order of due time, but reported in order of completion.
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn disabling_an_endpoint_and_recording_its_attempts_never_wait_for_each_other() {
        const MANY: usize = 100;
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        for _ in 0..5 {
            let id = shop.endpoint().await;
            for _ in 0..MANY {
                let test = event(EventType::CallFailed, T0);
                let asked = store.send_test_event(shop.account, id, test, T0).await;
                assert!(matches!(asked.unwrap(), Resent::Asked(_)));
            }
            let slots = ClaimSlots {
                endpoint: id,
                firsts: MANY,
                retries: 0,
                resends: 0,
            };
            let mut claimed = claim(&store, slots, T0).await;
            claimed.sort_by_key(|attempt| attempt.delivery_id);
            let failed = claimed.iter().enumerate();
            let failed = failed
                .map(|(n, attempt)| report(attempt, Some(Duration::from_millis(500 - n as u64))))
                .collect();
            store.finish_attempts(failed, T0).await.unwrap();
            let slots = ClaimSlots {
                endpoint: id,
                firsts: 0,
                retries: MANY,
                resends: 0,
            };
            let mut claimed = Vec::new();
            while claimed.len() < MANY {
                claimed.extend(claim(&store, slots, T0).await);
            }
            let received: Vec<AttemptReport> = claimed.iter().map(|a| report(a, None)).collect();
            let (forth, back): (Vec<_>, Vec<_>) =
                (received.clone(), received.into_iter().rev().collect());
            let (one, other, off) = tokio::join!(
                store.finish_attempts(forth, T0),
                store.finish_attempts(back, T0),
                store.change_endpoint(shop.account, id, disabled(), T0),
            );
            one.unwrap();
            other.unwrap();
            assert!(off.unwrap().is_some());
            let ids: HashSet<DeliveryId> = claimed.iter().map(|a| a.delivery_id).collect();
            for id in ids {
                let story = store.delivery(shop.account, id).await.unwrap().unwrap();
                assert_eq!(story.delivery.state, DeliveryState::Delivered);
            }
        }
    }

    /// No delivery is written after a disabling that is being committed.
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn whoever_writes_deliveries_waits_for_an_endpoint_that_is_being_disabled() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        let mut raw = Raw::open(&database).await;
        let mut watch = Raw::open(&database).await;
        raw.run("BEGIN; UPDATE webhook_endpoints SET status = 'disabled'")
            .await;
        let placing = tokio::spawn({
            let shop = shop.clone();
            async move { shop.store.place_call(shop.call(T0)).await.unwrap() }
        });
        let asking = tokio::spawn({
            let shop = shop.clone();
            let test = event(EventType::CallFailed, T0);
            async move {
                let asked = shop.store.send_test_event(shop.account, id, test, T0);
                asked.await.unwrap()
            }
        });
        let recovering = tokio::spawn({
            let shop = shop.clone();
            async move {
                let recovered = shop.store.recover_endpoint(shop.account, id, T0, T0);
                recovered.await.unwrap()
            }
        });
        let waiting =
            "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watch.count(waiting).await < 3 {
            assert!(!placing.is_finished() && !asking.is_finished() && !recovering.is_finished());
            tokio::task::yield_now().await;
        }
        raw.run("COMMIT").await;
        assert_eq!(placing.await.unwrap(), Placed::Accepted(vec![]));
        assert!(matches!(asking.await.unwrap(), Resent::EndpointDisabled));
        assert_eq!(recovering.await.unwrap(), Recovered::EndpointDisabled);
        assert_eq!(raw.count("deliveries").await, 0);
    }
}
