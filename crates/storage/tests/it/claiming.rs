//! Ownership of calls: claims, leases, orphans, and calls that no worker claimed in time.

use std::time::Duration;

use std::collections::HashSet;

use futures_util::future::join_all;
use offhook_domain::CallState;
use offhook_storage::{Fenced, NewTurn, Store, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{
    CANCELLED, MINUTE, Shop, T0, after, end, nobody_refuses, node, pass, race, settlement, top_up,
    turn,
};

contract! {
    async fn claimed_calls_are_dialing_and_owned_and_the_oldest_come_first(store: Store) {
        let shop = Shop::new(&store).await;
        let old = shop.place(T0).await;
        let new = shop.place(after(1)).await;
        let newest = shop.place(after(2)).await;
        let me = node();

        let claimed = shop.claim_at(2, me, after(3)).await;
        let ids: Vec<_> = claimed.iter().map(|call| call.id).collect();
        assert_eq!(ids, [old, new]);
        for call in &claimed {
            assert_eq!(call.state, CallState::Dialing);
            assert_eq!(call.node_id, Some(me));
            assert!(call.claim_id.is_some());
        }
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 2);
        assert_eq!(store.queue_length().await.unwrap(), 1);
        assert_eq!(shop.conversation(newest).await.state, CallState::Queued);
        let (state, moments) = store.moments(shop.account, old, 0, 10).await.unwrap().unwrap();
        assert_eq!(state, CallState::Dialing);
        assert_eq!(moments.len(), 1);
        assert_eq!((moments[0].seq, moments[0].state), (1, Some(CallState::Dialing)));
    }

    async fn no_claim_goes_beyond_what_the_process_can_take(store: Store) {
        let shop = Shop::new(&store).await;
        for _ in 0..4 {
            shop.place(T0).await;
        }
        let claimed = store.claim_calls(shop.account, (10, 3), 2 * MINUTE, (node(), mint(T0)), (T0, T0), nobody_refuses).await;
        assert_eq!(claimed.unwrap().calls.len(), 3);
        let claimed = store.claim_calls(shop.account, (0, 3), 2 * MINUTE, (node(), mint(T0)), (T0, T0), nobody_refuses).await;
        assert_eq!(claimed.unwrap().calls.len(), 0);
    }

    async fn two_nodes_that_race_stay_within_the_live_limit(database: TestDatabase) {
        let stores = [database.open().await, database.open().await];
        let shop = Shop::new(&stores[0]).await;
        for _ in 0..30 {
            shop.place(T0).await;
        }
        let claimed = race(16, |number| {
            let shop = shop.on(&stores[number % 2]);
            async move { shop.claim_at(7, node(), T0).await }
        });
        let claimed: Vec<_> = claimed.await.into_iter().flatten().collect();
        let ids: HashSet<_> = claimed.iter().map(|call| call.id).collect();
        assert_eq!(ids.len(), claimed.len(), "no call has two owners");
        assert_eq!(ids.len(), 7);
        assert_eq!(stores[1].live_calls(shop.account).await.unwrap(), 7);
    }

    async fn a_call_is_claimed_while_others_are_placed_without_a_pause(store: Store) {
        let shop = Shop::new(&store).await;
        let placing = (0..40).map(|_| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.place(T0).await })
        });
        let placing: Vec<_> = placing.collect();
        let mut claimed = 0;
        while claimed < 40 {
            claimed += shop.claim_at(100, node(), T0).await.len();
            tokio::task::yield_now().await;
        }
        join_all(placing).await;
        assert_eq!(claimed, 40);
    }

    async fn a_call_that_has_waited_too_long_is_overdue_and_never_claimed(store: Store) {
        let patience = Duration::from_secs(120);
        let shop = Shop::new(&store).await;
        let id = shop.place(T0).await;
        let now = pass(&store, 119);
        assert_eq!(store.overdue_calls(patience, now).await.unwrap().len(), 0);
        let now = pass(&store, 121);
        assert_eq!(shop.claim_at(5, node(), now).await.len(), 0);
        let overdue = store.overdue_calls(patience, now).await.unwrap();
        assert_eq!(overdue, [(shop.account, id)]);
    }

    async fn every_account_with_queued_calls_is_found_once(store: Store) {
        let mut expected = HashSet::new();
        for _ in 0..5 {
            let shop = Shop::new(&store).await;
            shop.place(T0).await;
            shop.place(T0).await;
            expected.insert(shop.account);
        }
        let idle = Shop::new(&store).await;
        let busy = Shop::new(&store).await;
        busy.dialing(node()).await;
        let waiting = store.waiting_accounts().await.unwrap();
        assert_eq!(waiting.len(), 5);
        let found: HashSet<_> = waiting.into_iter().map(|account| account.id).collect();
        assert_eq!(found, expected);
        assert!(!found.contains(&idle.account));
    }

    async fn a_renewed_lease_holds_and_one_that_ran_out_makes_an_orphan(store: Store) {
        let shop = Shop::new(&store).await;
        let (me, other) = (node(), node());
        let (id, claim) = shop.dialing(me).await;

        let now = pass(&store, 40);
        assert_eq!(store.take_orphans(false, 10, other, now).await.unwrap().len(), 0);
        assert_eq!(store.renew_claims(&[(id, claim)]).await.unwrap(), [claim]);
        let now = pass(&store, 80);
        assert_eq!(store.take_orphans(false, 10, other, now).await.unwrap().len(), 0);

        let now = pass(&store, 140);
        let taken = store.take_orphans(false, 10, other, now).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].id, taken[0].node_id), (id, Some(other)));
        assert_eq!(taken[0].state, CallState::Dialing, "what is done with it is the taker's to say");
        assert_ne!(taken[0].claim_id, Some(claim));
        assert_eq!(store.renew_claims(&[(id, claim)]).await.unwrap(), []);
        assert_eq!(store.take_orphans(false, 10, me, now).await.unwrap().len(), 0);
    }

    async fn an_orphan_is_taken_by_one_of_many(database: TestDatabase) {
        let stores = [database.open().await, database.open().await];
        let shop = Shop::new(&stores[0]).await;
        for _ in 0..10 {
            shop.dialing(node()).await;
        }
        for store in &stores {
            pass(store, 60);
        }
        let taken = race(8, |number| {
            let store = stores[number % 2].clone();
            async move { store.take_orphans(false, 100, node(), after(60)).await.unwrap() }
        });
        let taken: Vec<_> = taken.await.into_iter().flatten().map(|call| call.id).collect();
        assert_eq!(taken.len(), 10);
        assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 10);
    }

    async fn at_start_every_call_of_another_process_is_an_orphan(store: Store) {
        let shop = Shop::new(&store).await;
        let (before, me) = (node(), node());
        let (dead, _) = shop.live(before).await;
        let (mine, _) = shop.live(me).await;
        shop.place(T0).await;
        let taken = store.take_orphans(true, 10, me, after(1)).await.unwrap();
        assert_eq!(taken.iter().map(|call| call.id).collect::<Vec<_>>(), [dead]);
        assert_ne!(dead, mine);
        assert_eq!(store.take_orphans(true, 10, me, after(1)).await.unwrap().len(), 0);
    }

    async fn at_most_so_many_orphans_are_taken_at_once(store: Store) {
        let shop = Shop::new(&store).await;
        for _ in 0..3 {
            shop.dialing(node()).await;
        }
        let me = node();
        assert_eq!(store.take_orphans(true, 2, me, T0).await.unwrap().len(), 2);
        assert_eq!(store.take_orphans(true, 2, me, T0).await.unwrap().len(), 1);
    }

    async fn a_turn_keeps_how_long_it_was_waited_for_and_how_it_came_about(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.live(node()).await;
        let (steps, source) = ("{\"first_frame_ms\":900}", "{\"model\":\"m\"}");
        let reply = NewTurn {
            latency: Some(steps.to_owned()),
            source: Some(source.to_owned()),
            ..turn("agent", "Hola")
        };
        for said in [turn("user", "Hola"), reply] {
            assert_eq!(store.append_turn(id, claim, said).await.unwrap(), Fenced::Done);
        }
        let (_, moments) = store.moments(shop.account, id, 2, 10).await.unwrap().unwrap();
        let kept = moments.iter().map(|moment| (moment.latency.as_deref(), moment.source.as_deref()));
        assert_eq!(kept.collect::<Vec<_>>(), [(None, None), (Some(steps), Some(source))]);
    }

    async fn what_ends_a_call_is_kept_while_it_rings_and_until_it_is_over(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.dialing(node()).await;
        let dialed = store.call_dialed(id, claim, "its id".to_owned()).await;
        assert_eq!(dialed.unwrap(), Fenced::Done);
        let call = shop.conversation(id).await;
        assert_eq!((call.state, call.line.dialog.as_deref()), (CallState::Dialing, Some("its id")));
        assert_eq!(store.call_answered(id, claim, after(1), None).await.unwrap(), Fenced::Done);
        assert_eq!(shop.conversation(id).await.line.dialog.as_deref(), Some("its id"));
        assert_eq!(store.call_dialed(id, claim, "another".to_owned()).await.unwrap(), Fenced::Lost);
        assert_eq!(store.close_call(id, claim, end()).await.unwrap(), Fenced::Done);
        assert_eq!(shop.conversation(id).await.line.dialog, None);
    }

    async fn a_step_that_is_told_again_is_taken_once(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.dialing(node()).await;
        for _ in 0..2 {
            assert_eq!(store.call_answered(id, claim, after(1), None).await.unwrap(), Fenced::Done);
        }
        assert_eq!(store.call_answered(id, claim, after(2), None).await.unwrap(), Fenced::Lost);
        let said = |seq, text, second| NewTurn {
            seq: Some(seq),
            started_at: after(second),
            ..turn("user", text)
        };
        let (hello, bye) = (said(3, "Hello?", 2), said(4, "Bye.", 3));
        for told in [&hello, &hello, &bye, &hello, &bye] {
            assert_eq!(store.append_turn(id, claim, told.clone()).await.unwrap(), Fenced::Done);
        }
        // A number beyond the next one, a number with other content, and a number of another claim.
        for (claim, other) in [(claim, said(6, "No.", 4)), (claim, said(4, "No.", 4)), (mint(T0), bye)] {
            assert_eq!(store.append_turn(id, claim, other).await.unwrap(), Fenced::Lost);
        }
        let (_, moments) = store.moments(shop.account, id, 0, 10).await.unwrap().unwrap();
        let told: Vec<_> = moments.iter().map(|moment| (moment.seq, moment.content.as_deref())).collect();
        assert_eq!(told, [(1, None), (2, None), (3, Some("Hello?")), (4, Some("Bye."))]);
        assert_eq!(shop.conversation(id).await.messages_count, 2);
    }

    async fn steps_that_are_told_again_together_are_taken_once(store: Store) {
        let shop = Shop::new(&store).await;
        let mut calls = Vec::new();
        for _ in 0..40 {
            calls.push(shop.live(node()).await);
        }
        for _ in 0..2 {
            let told = calls.iter().map(|(id, claim)| {
                store.append_turn(*id, *claim, NewTurn { seq: Some(3), source: Some("{}".to_owned()), ..turn("user", "Hello?") })
            });
            for told in join_all(told).await {
                assert_eq!(told.unwrap(), Fenced::Done);
            }
        }
        for (id, _) in calls {
            assert_eq!(shop.conversation(id).await.messages_count, 1);
            let (_, moments) = store.moments(shop.account, id, 2, 10).await.unwrap().unwrap();
            assert_eq!(moments[0].source.as_deref(), Some("{}"));
        }
    }

    async fn calls_whose_claim_was_answered_to_nobody_are_found_by_it(store: Store) {
        let shop = Shop::new(&store).await;
        let first = shop.place(T0).await;
        let second = shop.place(after(1)).await;
        let (me, claim) = (node(), mint(T0));
        let limits = (10, 2);
        let claimed = store.claim_calls(shop.account, limits, 2 * MINUTE, (me, claim), (T0, T0), nobody_refuses).await;
        assert_eq!(claimed.unwrap().calls.len(), 2);
        let found = store.calls_claimed(shop.account, (me, claim), 2).await.unwrap();
        let mut ids: Vec<_> = found.iter().map(|call| call.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, [first, second]);
        assert_eq!(store.calls_claimed(shop.account, (me, mint(T0)), 2).await.unwrap().len(), 0);
        assert_eq!(store.calls_claimed(shop.account, (node(), claim), 2).await.unwrap().len(), 0);
    }

    async fn with_another_claim_no_step_is_taken(store: Store) {
        let shop = Shop::new(&store).await;
        let stale = |id| (shop.account, id, mint(T0));

        let (id, _) = shop.dialing(node()).await;
        let claim = stale(id).2;
        let before = format!("{:?}", shop.conversation(id).await);
        assert_eq!(store.call_answered(id, claim, T0, None).await.unwrap(), Fenced::Lost);
        assert_eq!(store.call_dialed(id, claim, "its id".to_owned()).await.unwrap(), Fenced::Lost);
        assert_eq!(store.close_call(id, claim, end()).await.unwrap(), Fenced::Lost);
        assert_eq!(format!("{:?}", shop.conversation(id).await), before);

        let (id, _) = shop.live(node()).await;
        assert_eq!(store.append_turn(id, claim, turn("user", "Hola")).await.unwrap(), Fenced::Lost);
        let (_, moments) = store.moments(shop.account, id, 0, 10).await.unwrap().unwrap();
        assert_eq!(moments.len(), 2);

        let (id, _) = shop.closing(node()).await;
        let wallet = shop.wallet().await;
        let settled = store.settle_call(stale(id), settlement(CallState::Completed, 1)).await;
        assert_eq!(settled.unwrap(), None);
        assert_eq!(shop.wallet().await, wallet);
        assert_eq!(shop.conversation(id).await.state, CallState::Closing);
    }

    async fn turns_of_many_calls_at_once_are_written_in_each_calls_order_and_under_its_claim(store: Store) {
        let shop = Shop::new(&store).await;
        let mut calls = Vec::new();
        for _ in 0..40 {
            calls.push(shop.dialing(node()).await);
        }
        let store = &store;
        let dialog = |id: &_| Some(format!("the way to end {id}"));
        let answers = calls.iter().map(|(id, claim)| store.call_answered(*id, *claim, after(1), dialog(id)));
        assert!(join_all(answers).await.into_iter().all(|done| done.unwrap() == Fenced::Done));
        let again = calls.iter().map(|(id, claim)| store.call_answered(*id, *claim, after(2), None));
        assert!(join_all(again).await.into_iter().all(|done| done.unwrap() == Fenced::Lost));
        let lost = calls[7].0;
        let rounds = ["user", "tool", "agent"];
        for (n, role) in rounds.into_iter().enumerate() {
            let writing = calls.iter().map(|(id, claim)| {
                let claim = if *id == lost { mint(T0) } else { *claim };
                let text = format!("{id} {n}");
                async move { (*id, store.append_turn(*id, claim, turn(role, &text)).await.unwrap()) }
            });
            for (id, written) in join_all(writing).await {
                assert_eq!(written, if id == lost { Fenced::Lost } else { Fenced::Done });
            }
        }
        for (id, _) in &calls {
            let (_, moments) = store.moments(shop.account, *id, 2, 10).await.unwrap().unwrap();
            let said: Vec<_> = moments.iter().map(|one| (one.seq, one.role.clone(), one.content.clone())).collect();
            let expected = rounds.into_iter().enumerate().map(|(n, role)| {
                (i32::try_from(n).unwrap() + 3, Some(role.to_owned()), Some(format!("{id} {n}")))
            });
            let expected: Vec<_> = if *id == lost { vec![] } else { expected.collect() };
            assert_eq!(said, expected);
            let (_, moments) = store.moments(shop.account, *id, 1, 1).await.unwrap().unwrap();
            assert_eq!((moments[0].seq, moments[0].state, moments[0].at), (2, Some(CallState::Live), after(1)));
            let call = shop.conversation(*id).await;
            assert_eq!((call.state, call.answered_at), (CallState::Live, Some(after(1))));
            assert_eq!(call.line.dialog, dialog(id));
            assert_eq!(call.messages_count, if *id == lost { 0 } else { 2 });
        }
    }

    async fn with_the_claim_but_in_another_state_no_step_is_taken(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.dialing(node()).await;
        assert_eq!(store.append_turn(id, claim, turn("user", "Hola")).await.unwrap(), Fenced::Lost);
        let settle = |state| store.settle_call((shop.account, id, claim), settlement(state, 0));
        assert_eq!(settle(CallState::Failed).await.unwrap(), None);
        store.call_answered(id, claim, after(3), None).await.unwrap();
        assert_eq!(store.call_answered(id, claim, after(4), None).await.unwrap(), Fenced::Lost);
        store.close_call(id, claim, end()).await.unwrap();
        assert_eq!(store.close_call(id, claim, end()).await.unwrap(), Fenced::Lost);
        assert_eq!(settle(CallState::Completed).await.unwrap(), Some(vec![]));
        assert_eq!(settle(CallState::Completed).await.unwrap(), None);
        let (_, moments) = store.moments(shop.account, id, 0, 10).await.unwrap().unwrap();
        let states: Vec<_> = moments.iter().map(|moment| moment.state.unwrap()).collect();
        assert_eq!(
            states,
            [CallState::Dialing, CallState::Live, CallState::Closing, CallState::Completed]
        );
    }

    async fn a_hangup_reaches_the_owner_of_a_dialing_or_live_call_alone(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        let me = node();
        let (live, _) = shop.live(me).await;
        let (other, _) = shop.live(node()).await;
        let (closing, _) = shop.closing(me).await;
        let queued = shop.place(T0).await;

        assert!(!store.request_hangup(stranger.account, live).await.unwrap());
        assert_eq!(store.hangups(me).await.unwrap(), []);
        assert!(store.request_hangup(shop.account, live).await.unwrap());
        assert!(store.request_hangup(shop.account, live).await.unwrap(), "asking twice is no fault");
        assert!(store.request_hangup(shop.account, other).await.unwrap());
        assert!(!store.request_hangup(shop.account, closing).await.unwrap());
        assert!(!store.request_hangup(shop.account, queued).await.unwrap());
        assert_eq!(store.hangups(me).await.unwrap(), [live]);
    }

    async fn a_queued_call_ends_once_and_gives_its_credits_back(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let id = shop.place(T0).await;
        let ended = |account| {
            store.end_queued_call((account, id), CANCELLED, settlement(CallState::Failed, 0))
        };
        assert_eq!(ended(stranger.account).await.unwrap(), None);
        assert_eq!(ended(shop.account).await.unwrap(), Some(vec![endpoint]));
        assert_eq!(ended(shop.account).await.unwrap(), None);
        let call = shop.conversation(id).await;
        assert_eq!(call.state, CallState::Failed);
        assert_eq!(call.failure_reason, Some(CANCELLED.0));
        assert_eq!((call.duration_seconds, call.credits), (Some(0), Some(0)));
        assert_eq!(shop.wallet().await, (1_000, 0));
        assert_eq!(shop.claim_at(5, node(), after(1)).await.len(), 0);

        let (dialing, _) = shop.dialing(node()).await;
        let late = store.end_queued_call(
            (shop.account, dialing),
            CANCELLED,
            settlement(CallState::Failed, 0),
        );
        assert_eq!(late.await.unwrap(), None, "a claimed call is its owner's to end");
    }

    async fn nodes_know_of_each_other_until_they_leave_or_their_lease_ends(store: Store) {
        let (first, second) = (node(), node());
        let alone = |node, redis, now| store.is_second_node_without_redis(node, redis, now);
        store.register_node(first, false, None, T0).await.unwrap();
        assert!(!alone(first, false, T0).await.unwrap().unwrap());
        let now = pass(&store, 1);
        store.register_node(second, false, None, now).await.unwrap();
        assert!(alone(second, false, now).await.unwrap().unwrap());
        assert!(!alone(first, false, now).await.unwrap().unwrap(), "the older one stays");
        let now = pass(&store, 30);
        store.register_node(second, false, None, now).await.unwrap();
        assert!(alone(second, false, now).await.unwrap().unwrap());
        let now = pass(&store, 50);
        assert!(!alone(second, false, now).await.unwrap().unwrap(), "the first one's lease has run out");
        store.register_node(first, false, None, now).await.unwrap();
        store.leave_node(first).await.unwrap();
        assert!(!alone(second, false, now).await.unwrap().unwrap());
    }

    async fn nodes_that_share_limits_may_be_many(store: Store) {
        let (first, second) = (node(), node());
        store.register_node(first, true, None, T0).await.unwrap();
        let now = pass(&store, 1);
        store.register_node(second, true, None, now).await.unwrap();
        assert!(!store.is_second_node_without_redis(second, true, now).await.unwrap().unwrap());
    }

    async fn a_node_that_counts_in_another_redis_than_an_older_one_is_told(store: Store) {
        let (first, second) = (node(), node());
        let beat = |node, redis: Option<&str>, now| store.register_node(node, true, redis.map(Into::into), now);
        assert!(!beat(first, Some("a"), T0).await.unwrap());
        let now = pass(&store, 1);
        assert!(!beat(second, None, now).await.unwrap(), "it does not know its own yet");
        assert!(beat(second, Some("b"), now).await.unwrap());
        assert!(!beat(first, Some("a"), now).await.unwrap(), "the older one stays");
        let mut both = store.redis_of_living_nodes(now).await.unwrap();
        both.sort();
        assert_eq!(both, ["a", "b"]);
        assert!(!beat(first, None, now).await.unwrap());
        assert!(!beat(second, Some("b"), now).await.unwrap(), "the older one's is out of its reach");
        beat(first, Some("b"), now).await.unwrap();
        assert!(!beat(second, Some("b"), now).await.unwrap());
        beat(first, Some("c"), now).await.unwrap();
        assert!(beat(second, Some("b"), now).await.unwrap());
        let now = pass(&store, 60);
        assert!(!beat(second, Some("b"), now).await.unwrap(), "the older one's lease has run out");
        assert_eq!(store.redis_of_living_nodes(now).await.unwrap(), ["b"]);
    }

    async fn a_node_without_shared_limits_gives_way_to_one_that_has_them(store: Store) {
        let (first, second) = (node(), node());
        let alone = |node, redis, now| store.is_second_node_without_redis(node, redis, now);
        store.register_node(first, false, None, T0).await.unwrap();
        let now = pass(&store, 1);
        store.register_node(second, true, None, now).await.unwrap();
        assert!(!alone(second, true, now).await.unwrap().unwrap());
        assert!(alone(first, false, now).await.unwrap().unwrap());
        store.leave_node(second).await.unwrap();
        assert!(!alone(first, false, now).await.unwrap().unwrap());
    }
}

mod only_postgres {
    use super::*;
    use crate::it::raw::Raw;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_wallet_that_is_never_free_holds_up_no_claim() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let id = shop.place(T0).await;
        let mut raw = Raw::open(&database).await;
        raw.run("BEGIN; SELECT 1 FROM wallets FOR UPDATE").await;
        let claimed = shop.claim_at(1, node(), T0).await;
        assert_eq!(claimed.iter().map(|call| call.id).collect::<Vec<_>>(), [id]);
        raw.run("ROLLBACK").await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_call_that_is_being_settled_is_not_topped_up() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (id, _) = shop.dialing(node()).await;
        let mut raw = Raw::open(&database).await;
        let mut watch = Raw::open(&database).await;
        let (call, account) = (raw.id(id.uuid()), raw.id(shop.account.uuid()));
        // The steps of a settlement, up to its commit.
        raw.run(&format!(
            "BEGIN; DELETE FROM reservations WHERE conversation_id = {call}; \
             UPDATE wallets SET reserved = reserved - 10 WHERE account_id = {account}"
        ))
        .await;
        let topping = tokio::spawn(async move { top_up(&store, id, 5).await });
        let waiting =
            "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watch.count(waiting).await < 1 {
            tokio::task::yield_now().await;
        }
        raw.run("COMMIT").await;
        assert!(!topping.await.unwrap());
        assert_eq!(shop.wallet().await, (1_000, 0));
    }
}
