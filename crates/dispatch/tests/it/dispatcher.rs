//! The dispatcher on both databases: schedule, order, isolation, crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use offhook_dispatch::DispatchConfig;
use offhook_domain::{Clock, EventType};
use offhook_signing::{sign, verify};
use offhook_storage::{
    AttemptOutcome, DeliveryState, EndpointChange, EndpointStatus, Recovered, Resent,
};

use crate::it::hook::{Answer, Hook};
use crate::it::world::{Dispatching, World, secret};

const MINUTE: Duration = Duration::from_secs(60);

/// In microseconds.
const HOUR: i64 = 3_600_000_000;

offhook_testkit::contract! {
    async fn a_2xx_answer_is_delivered_and_what_was_sent_is_signed(world: World) {
        let hook = Hook::answering(204).await;
        let (endpoint, secret) = world.endpoint_with_secret(&hook.url).await;
        let running = world.dispatch();
        let id = world.event(endpoint).await;
        let story = world.until_state(id, DeliveryState::Delivered).await;
        assert_eq!(story.delivery.attempts_count, 1);
        assert_eq!(story.delivery.next_attempt_at, None);
        let [attempt] = &story.attempts[..] else {
            panic!("{:?}", story.attempts)
        };
        assert_eq!((attempt.number, attempt.status_code), (1, Some(204)));
        assert_eq!(attempt.outcome, AttemptOutcome::Succeeded);
        assert_eq!(attempt.at, world.clock.now());
        let payload = story.payload.unwrap();
        assert_eq!(hook.body(0), payload);
        assert_eq!(hook.event_id(0), story.delivery.event_id);
        assert_eq!(hook.attempt_id(0), attempt.id);
        assert_eq!(hook.header(0, "X-Service-Event"), "call.initiated");
        let signature = hook.header(0, "X-Service-Signature");
        let now = world.clock.now().unix_seconds();
        assert_eq!(verify(&signature, &payload, &secret, now, 0), Ok(()));
        running.stop().await;
    }

    async fn failures_are_repeated_after_5_min_30_min_and_2_h_and_the_fourth_is_the_last(world: World) {
        let clock = world.clock.clone();
        let hook = Hook::new(move |_| {
            // Each attempt takes three seconds, and the wait begins at its end.
            clock.advance(Duration::from_secs(3));
            Answer::Status(503)
        })
        .await;
        let bystander = Hook::answering(200).await;
        let endpoint = world.endpoint(&hook.url).await;
        let other = world.endpoint(&bystander.url).await;
        let id = world.event(endpoint).await;
        let running = world.dispatch();
        for (number, offset) in [(1, 5), (2, 30), (3, 120)] {
            let story = world.until(id, |s| s.delivery.attempts_count == number).await;
            assert_eq!(story.delivery.state, DeliveryState::Retrying);
            let due = world.clock.now().plus(offset * MINUTE);
            world.assert_due(&story, due);
            // PostgreSQL's clock advances by itself.
            let last = match world.store.is_embedded() {
                true => Duration::from_micros(1),
                false => Duration::from_secs(25),
            };
            world.pass(offset * MINUTE - last);
            // Once the bystander's event has arrived, the dispatcher has polled at this time.
            let marker = world.event(other).await;
            world.until_state(marker, DeliveryState::Delivered).await;
            assert_eq!(world.story(id).await.attempts.len(), usize::try_from(number).unwrap());
            world.pass(last);
        }
        let story = world.until_state(id, DeliveryState::Exhausted).await;
        assert_eq!(story.delivery.attempts_count, 4);
        assert_eq!(story.delivery.next_attempt_at, None);
        let numbers: Vec<i32> = story.attempts.iter().map(|a| a.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        let mut ids: Vec<_> = (0..4).map(|n| hook.attempt_id(n)).collect();
        assert!((0..4).all(|n| hook.event_id(n) == story.delivery.event_id));
        ids.dedup();
        assert_eq!(ids, story.attempts.iter().map(|a| a.id).collect::<Vec<_>>());
        running.stop().await;
    }

    async fn a_stepped_clock_neither_hurries_a_retry_nor_holds_up_a_first_attempt(world: World) {
        let failing = Hook::answering(503).await;
        let hook = Hook::answering(200).await;
        let dead = world.endpoint(&failing.url).await;
        let healthy = world.endpoint(&hook.url).await;
        let running = world.dispatch();
        let id = world.event(dead).await;
        world.until_state(id, DeliveryState::Retrying).await;
        for step in [HOUR, -2 * HOUR, HOUR] {
            world.step_clock(step);
            let marker = world.event(healthy).await;
            world.until_state(marker, DeliveryState::Delivered).await;
            assert_eq!(world.story(id).await.attempts.len(), 1);
        }
        running.stop().await;
        // Written before the clock was set back.
        let early = world.event(healthy).await;
        world.step_clock(-HOUR);
        let running = world.dispatch();
        world.until_state(early, DeliveryState::Delivered).await;
        world.pass(5 * MINUTE);
        world.until(id, |s| s.delivery.attempts_count == 2).await;
        running.stop().await;
    }

    async fn a_later_event_of_a_call_waits_for_the_first_attempt_of_the_earlier(world: World) {
        let hook = Hook::new(|number| match number {
            1 => Answer::Held(500),
            _ => Answer::Status(200),
        })
        .await;
        world.endpoint(&hook.url).await;
        let call = world.place_call().await;
        world.end_call(call).await;
        let running = world.dispatch();
        hook.received(1).await;
        let later = world.delivery_of(EventType::CallFailed).await;
        // A new event that waits for nothing overtakes it.
        let marker = world.place_call().await;
        hook.received(2).await;
        assert!(world.story(later).await.attempts.is_empty());
        hook.let_through(1);
        world.until_state(later, DeliveryState::Delivered).await;
        let kinds: Vec<_> = (0..3).map(|n| hook.header(n, "X-Service-Event")).collect();
        assert_eq!(kinds, ["call.initiated", "call.initiated", "call.failed"]);
        running.stop().await;
        world.end_call(marker).await;
    }

    async fn a_backlog_on_a_dead_endpoint_does_not_delay_a_healthy_one(world: World) {
        let dead = Hook::new(|_| Answer::Never).await;
        let healthy = Hook::answering(200).await;
        let black_hole = world.endpoint(&dead.url).await;
        let endpoint = world.endpoint(&healthy.url).await;
        world.events(black_hole, 1_000).await;
        let running = world.dispatch();
        dead.received(8).await;
        for _ in 0..50 {
            let id = world.event(endpoint).await;
            world.until_state(id, DeliveryState::Delivered).await;
        }
        assert_eq!((dead.count(), healthy.count()), (8, 50));
        running.crash().await;
    }

    async fn every_event_of_a_backlog_is_delivered_exactly_once(world: World) {
        let hook = Hook::answering(200).await;
        let endpoint = world.endpoint(&hook.url).await;
        let ids = world.events(endpoint, 500).await;
        let running = world.dispatch();
        world.all_until_state(&ids, DeliveryState::Delivered).await;
        let mut events: Vec<_> = (0..hook.count()).map(|n| hook.event_id(n)).collect();
        events.sort_unstable();
        events.dedup();
        assert_eq!((hook.count(), events.len()), (500, 500));
        assert_eq!(world.store.delivery_backlog().await.unwrap(), 0);
        running.stop().await;
    }

    async fn an_attempt_whose_process_died_is_made_again_under_its_number(world: World) {
        let hook = Hook::new(|number| match number {
            1 => Answer::Never,
            _ => Answer::Status(200),
        })
        .await;
        let endpoint = world.endpoint(&hook.url).await;
        let id = world.event(endpoint).await;
        let running = world.dispatch();
        hook.received(1).await;
        running.crash().await;
        world.clock.advance(MINUTE);
        world.end_leases();
        let running = world.dispatch();
        let story = world.until_state(id, DeliveryState::Delivered).await;
        let attempts: Vec<_> = story.attempts.iter().map(|a| (a.number, a.outcome)).collect();
        let expected = [(1, AttemptOutcome::Abandoned), (1, AttemptOutcome::Succeeded)];
        assert_eq!(attempts, expected);
        assert_eq!(story.delivery.attempts_count, 1);
        assert_eq!(hook.event_id(0), hook.event_id(1));
        assert_ne!(hook.attempt_id(0), hook.attempt_id(1));
        running.stop().await;
    }

    async fn a_crash_uses_no_attempt_but_the_third_in_a_row_delays_the_next(world: World) {
        let hook = Hook::new(|number| if number <= 4 { Answer::Never } else { Answer::Status(200) }).await;
        let endpoint = world.endpoint(&hook.url).await;
        let id = world.event(endpoint).await;
        let retry = || DispatchConfig { retry_offsets: vec![5 * MINUTE, 30 * MINUTE], ..world.config() };
        for attempt in 1..=3 {
            let running = Dispatching::start(retry());
            hook.received(attempt).await;
            running.crash().await;
            world.end_leases();
        }
        for (attempt, wait) in [(4, 5 * MINUTE), (5, 30 * MINUTE)] {
            let running = Dispatching::start(retry());
            let abandoned = (1, AttemptOutcome::Abandoned);
            let story = world.until(id, |s| s.attempts.iter().all(|a| (a.number, a.outcome) == abandoned)).await;
            assert_eq!((story.delivery.state, story.attempts.len()), (DeliveryState::Retrying, attempt - 1));
            world.assert_due(&story, world.clock.now().plus(wait));
            assert_eq!((story.delivery.attempts_count, hook.count()), (0, attempt - 1));
            world.pass(wait);
            hook.received(attempt).await;
            if attempt == 4 {
                running.crash().await;
                world.end_leases();
                continue;
            }
            let story = world.until_state(id, DeliveryState::Delivered).await;
            assert_eq!(story.delivery.attempts_count, 1);
            running.stop().await;
        }
        // The receiver did not fail.
        let all = world.store.endpoint_health(world.account).await.unwrap();
        let health = all.iter().find(|one| one.endpoint == endpoint).unwrap();
        assert_eq!((health.failing_since, health.exhausted_count), (None, 0));
    }

    async fn an_answer_that_comes_after_the_lease_is_recorded_and_changes_no_state(world: World) {
        let hook = Hook::new(|number| match number {
            1 => Answer::Held(200),
            _ => Answer::Status(500),
        })
        .await;
        let endpoint = world.endpoint(&hook.url).await;
        let id = world.event(endpoint).await;
        let slow = world.dispatch();
        hook.received(1).await;
        world.clock.advance(MINUTE);
        world.end_leases();
        world.until(id, |s| s.delivery.attempts_count == 1).await;
        assert_eq!(hook.count(), 2);
        hook.let_through(1);
        slow.stop().await;
        let story = world.story(id).await;
        assert_eq!(story.delivery.state, DeliveryState::Retrying);
        let outcomes: Vec<_> = story.attempts.iter().map(|a| a.outcome).collect();
        assert_eq!(outcomes, [AttemptOutcome::Succeeded, AttemptOutcome::Failed]);
    }

    async fn a_resend_is_one_attempt_without_retries_and_its_success_delivers(world: World) {
        let status = Arc::new(AtomicU16::new(500));
        let said = status.clone();
        let hook = Hook::new(move |_| Answer::Status(said.load(Ordering::SeqCst))).await;
        let endpoint = world.endpoint(&hook.url).await;
        let mut config = world.config();
        config.retry_offsets.clear();
        let running = Dispatching::start(config);
        let id = world.event(endpoint).await;
        world.until_state(id, DeliveryState::Exhausted).await;
        for attempts in [2, 3] {
            world.clock.advance(MINUTE);
            if attempts == 3 {
                status.store(200, Ordering::SeqCst);
            }
            let asked = world.store.resend_delivery(world.account, id, world.clock.now());
            assert!(matches!(asked.await.unwrap(), Resent::Asked(_)));
            world.wake();
            let state = match attempts {
                2 => DeliveryState::Exhausted,
                _ => DeliveryState::Delivered,
            };
            let story = world
                .until(id, |s| {
                    s.delivery.state == state
                        && s.attempts.len() == attempts
                        && s.attempts.iter().all(|a| a.outcome != AttemptOutcome::Begun)
                })
                .await;
            assert_eq!(story.delivery.next_attempt_at, None);
            assert_eq!(story.delivery.attempts_count, 1);
            assert_eq!(story.attempts[attempts - 1].number, 0);
        }
        running.stop().await;
        assert!(world.store.due_resends().await.unwrap().is_empty());
    }

    async fn recover_sends_again_what_was_missed(world: World) {
        let status = Arc::new(AtomicU16::new(500));
        let said = status.clone();
        let hook = Hook::new(move |_| Answer::Status(said.load(Ordering::SeqCst))).await;
        let endpoint = world.endpoint(&hook.url).await;
        let mut config = world.config();
        config.retry_offsets.clear();
        let running = Dispatching::start(config);
        let before = world.event(endpoint).await;
        world.clock.advance(MINUTE);
        let since = world.clock.now();
        let missed = world.events(endpoint, 20).await;
        world.all_until_state(&missed, DeliveryState::Exhausted).await;
        status.store(200, Ordering::SeqCst);
        let now = world.clock.now();
        let asked = world.store.recover_endpoint(world.account, endpoint, since, now).await;
        assert_eq!(asked.unwrap(), Recovered::Asked(20));
        world.wake();
        world.all_until_state(&missed, DeliveryState::Delivered).await;
        world.until_state(before, DeliveryState::Exhausted).await;
        running.stop().await;
    }

    async fn disabling_an_endpoint_cancels_what_is_due_but_a_success_under_way_still_counts(world: World) {
        let hook = Hook::new(|number| match number {
            1 => Answer::Status(500),
            2 => Answer::Held(200),
            _ => Answer::Held(500),
        })
        .await;
        let endpoint = world.endpoint(&hook.url).await;
        let running = world.dispatch();
        let waiting = world.event(endpoint).await;
        world.until_state(waiting, DeliveryState::Retrying).await;
        let received = world.event(endpoint).await;
        hook.received(2).await;
        let refused = world.event(endpoint).await;
        hook.received(3).await;
        let change = EndpointChange {
            status: Some(EndpointStatus::Disabled),
            ..EndpointChange::default()
        };
        let now = world.clock.now();
        let changed = world.store.change_endpoint(world.account, endpoint, change, now);
        assert!(changed.await.unwrap().is_some());
        let all = [waiting, received, refused];
        world.all_until_state(&all, DeliveryState::Cancelled).await;
        hook.let_through(2);
        running.stop().await;
        world.until_state(received, DeliveryState::Delivered).await;
        for id in [waiting, refused] {
            let story = world.until_state(id, DeliveryState::Cancelled).await;
            assert_eq!(story.delivery.attempts_count, 1);
            assert_eq!(story.delivery.next_attempt_at, None);
        }
    }

    async fn while_a_rotation_overlaps_both_secrets_sign_the_newest_last(world: World) {
        let hook = Hook::answering(200).await;
        let (endpoint, old) = world.endpoint_with_secret(&hook.url).await;
        let new = secret(2);
        let now = world.clock.now();
        let words = (new.expose(), new.prefix());
        let rotated = world
            .store
            .rotate_secret(world.account, endpoint, words, 60 * MINUTE, now)
            .await;
        assert!(rotated.unwrap().is_some());
        let running = world.dispatch();
        for after in [0, 60] {
            world.clock.set(now.plus(after * MINUTE));
            let id = world.event(endpoint).await;
            world.until_state(id, DeliveryState::Delivered).await;
        }
        let (first, last) = (now.unix_seconds(), now.plus(60 * MINUTE).unix_seconds());
        let during = sign(&[old, new.clone()], first, &hook.body(0));
        assert_eq!(hook.header(0, "X-Service-Signature"), during);
        let afterwards = sign(&[new], last, &hook.body(1));
        assert_eq!(hook.header(1, "X-Service-Signature"), afterwards);
        running.stop().await;
    }

    async fn a_graceful_stop_ends_what_is_under_way_and_gives_back_the_rest(world: World) {
        let hook = Hook::new(|number| match number {
            2..10 => Answer::Held(200),
            _ => Answer::Status(200),
        })
        .await;
        let endpoint = world.endpoint(&hook.url).await;
        let first = world.event(endpoint).await;
        let running = world.dispatch();
        // The endpoint has responded quickly, so from now on more is claimed than can begin.
        world.until_state(first, DeliveryState::Delivered).await;
        let ids = world.events(endpoint, 30).await;
        hook.received(9).await;
        running.ask_to_stop();
        hook.let_through(8);
        running.stop().await;
        let mut delivered = 0;
        for id in &ids {
            let story = world.story(*id).await;
            match story.delivery.state {
                DeliveryState::Delivered => delivered += 1,
                state => {
                    assert_eq!(state, DeliveryState::Pending);
                    assert!(story.attempts.is_empty(), "{:?}", story.attempts);
                }
            }
        }
        assert_eq!((delivered, hook.count()), (8, 9));
        // The next process does not have to wait for a lease.
        let running = world.dispatch();
        world.all_until_state(&ids, DeliveryState::Delivered).await;
        assert_eq!(hook.count(), 31);
        running.stop().await;
    }
}
