//! Endpoints that change or are disabled while the dispatcher works.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use offhook_domain::{Clock, DeliveryId, EndpointId, EventType};
use offhook_signing::sign;
use offhook_storage::{DeliveryState, EndpointStatus, Recovered};

use crate::it::hook::{Answer, Hook};
use crate::it::world::{Dispatching, World, secret};

const HOUR: Duration = Duration::from_secs(3_600);

/// A receiver that answers its first request at once, and holds the next eight.
async fn holding() -> Hook {
    Hook::new(|number| match number {
        2..10 => Answer::Held(200),
        _ => Answer::Status(200),
    })
    .await
}

/// Of 30 deliveries, eight are in flight, and the others are claimed and wait.
async fn claimed_ahead(world: &World, hook: &Hook, endpoint: EndpointId) -> Vec<DeliveryId> {
    let first = world.event(endpoint).await;
    // The endpoint has responded quickly, so from now on more is claimed than can begin.
    world.until_state(first, DeliveryState::Delivered).await;
    let ids = world.events(endpoint, 30).await;
    hook.received(9).await;
    ids
}

/// A receiver with a variable status code, and a dispatcher that tries each delivery once and may disable the
/// endpoint.
async fn failing(world: &World) -> (Arc<AtomicU16>, EndpointId, Dispatching) {
    let status = Arc::new(AtomicU16::new(500));
    let said = status.clone();
    let hook = Hook::new(move |_| Answer::Status(said.load(Ordering::SeqCst))).await;
    let endpoint = world.endpoint(&hook.url).await;
    let mut config = world.config();
    config.retry_offsets.clear();
    config.auto_disable = true;
    (status, endpoint, Dispatching::start(config))
}

async fn exhaust(world: &World, endpoint: EndpointId, count: usize) {
    let ids = world.events(endpoint, count).await;
    world.all_until_state(&ids, DeliveryState::Exhausted).await;
}

offhook_testkit::contract! {
    async fn what_was_claimed_is_not_sent_once_its_endpoint_is_disabled(world: World) {
        let hook = holding().await;
        let endpoint = world.endpoint(&hook.url).await;
        let running = world.dispatch();
        let ids = claimed_ahead(&world, &hook, endpoint).await;
        world.set_status(endpoint, EndpointStatus::Disabled).await;
        hook.let_through(8);
        let (mut delivered, mut cancelled) = (0, 0);
        for id in ids {
            let story = world
                .until(id, |s| {
                    s.delivery.state == DeliveryState::Delivered || s.attempts.is_empty()
                })
                .await;
            match story.delivery.state {
                DeliveryState::Delivered => delivered += 1,
                state => {
                    assert_eq!(state, DeliveryState::Cancelled);
                    cancelled += 1;
                }
            }
        }
        assert_eq!((delivered, cancelled, hook.count()), (8, 22, 9));
        running.stop().await;
    }

    async fn a_claimed_delivery_is_signed_with_the_secret_valid_at_sending(world: World) {
        let hook = holding().await;
        let (endpoint, _) = world.endpoint_with_secret(&hook.url).await;
        let running = world.dispatch();
        let ids = claimed_ahead(&world, &hook, endpoint).await;
        let new = secret(2);
        let (words, now) = ((new.expose(), new.prefix()), world.clock.now());
        let store = &world.store;
        let rotated = store.rotate_secret(world.account, endpoint, words, Duration::ZERO, now);
        assert!(rotated.await.unwrap().is_some());
        world.count_change();
        hook.let_through(8);
        world.all_until_state(&ids, DeliveryState::Delivered).await;
        assert_eq!(hook.count(), 31);
        // Without an overlap the old secret no longer signs.
        let alone = [new];
        for request in 9..31 {
            let signature = sign(&alone, now.unix_seconds(), &hook.body(request));
            assert_eq!(hook.header(request, "X-Service-Signature"), signature);
        }
        running.stop().await;
    }

    async fn a_lot_that_is_open_is_cancelled_and_none_of_it_is_sent(world: World) {
        let hook = Hook::new(|_| Answer::Status(200)).await;
        let (endpoint, other) = (world.endpoint(&hook.url).await, world.endpoint(&hook.url).await);
        let ids = world.events(endpoint, 2_100).await;
        let sent = world.event(other).await;
        world.set_status(endpoint, EndpointStatus::Disabled).await;
        assert_eq!(world.store.delivery_backlog().await.unwrap(), 2_101);
        let running = world.dispatch();
        world.until_state(sent, DeliveryState::Delivered).await;
        world.all_until_state(&ids, DeliveryState::Cancelled).await;
        running.stop().await;
        assert_eq!(hook.count(), 1);
        assert_eq!(world.store.delivery_backlog().await.unwrap(), 0);
    }

    async fn an_endpoint_that_fails_for_72_hours_is_disabled_and_recover_brings_everything_back(world: World) {
        let (status, endpoint, running) = failing(&world).await;
        let since = world.clock.now();
        exhaust(&world, endpoint, 19).await;
        world.clock.advance(72 * HOUR);
        exhaust(&world, endpoint, 1).await;
        assert_eq!(world.until_disabled(endpoint).await.as_deref(), Some("failing"));
        // Events meanwhile are stored but not sent.
        let call = world.place_call().await;
        world.end_call(call).await;
        let missed = world.delivery_of(EventType::CallFailed).await;
        let story = world.story(missed).await;
        assert_eq!(story.delivery.state, DeliveryState::Cancelled);
        assert_eq!(story.delivery.next_attempt_at, None);
        let now = world.clock.now();
        let recover = || world.store.recover_endpoint(world.account, endpoint, since, now);
        assert_eq!(recover().await.unwrap(), Recovered::EndpointDisabled);
        status.store(200, Ordering::SeqCst);
        world.set_status(endpoint, EndpointStatus::Enabled).await;
        assert_eq!(recover().await.unwrap(), Recovered::Asked(22));
        world.wake();
        world.until_state(missed, DeliveryState::Delivered).await;
        running.stop().await;
    }

    async fn a_success_and_an_enabling_begin_the_72_hours_anew(world: World) {
        let (status, endpoint, running) = failing(&world).await;
        let is_enabled = async || {
            let view = world.store.endpoint(world.account, endpoint).await;
            view.unwrap().unwrap().endpoint.status == EndpointStatus::Enabled
        };
        exhaust(&world, endpoint, 20).await;
        status.store(200, Ordering::SeqCst);
        let received = world.event(endpoint).await;
        world.until_state(received, DeliveryState::Delivered).await;
        status.store(500, Ordering::SeqCst);
        world.clock.advance(73 * HOUR);
        exhaust(&world, endpoint, 20).await;
        assert!(is_enabled().await);
        world.set_status(endpoint, EndpointStatus::Enabled).await;
        world.clock.advance(73 * HOUR);
        exhaust(&world, endpoint, 20).await;
        assert!(is_enabled().await);
        world.clock.advance(73 * HOUR);
        exhaust(&world, endpoint, 1).await;
        world.until_disabled(endpoint).await;
        running.stop().await;
    }
}
