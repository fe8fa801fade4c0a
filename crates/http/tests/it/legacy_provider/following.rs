//! Calls that are followed to their ends while the provider forgets them, refuses, or tells of another time.

use std::time::Duration;

use offhook_domain::{Clock as _, CredentialProvider};
use offhook_engine::legacy::LegacyPace;
use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::{BEGAN_AT, KEY};
use offhook_testkit::upstream::Fault;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{BRISK, LIMIT, World, until};

const NEW_KEY: &str = "xi_key_of_another_day";

/// Calls an agent, and ends the call after 12 s at a provider that has still to say what it was about, and was heard to;
/// returns its handle.
async fn processed(world: &World) -> String {
    let handle = world.place().await;
    let call = world.taken(&handle).await;
    world.fake.change(&call.id, |conversation| {
        conversation["status"] = json!("processing");
        let metadata = &mut conversation["metadata"];
        metadata["call_duration_secs"] = json!(12);
        metadata["phone_call"]["call_result"] = json!("answered");
    });
    let path = format!("/v1/convai/conversations/{}", call.id);
    let looks = || world.fake.upstream().asked_of("GET", &path).len();
    let seen = looks();
    until("some looks", || async {
        (looks() > seen + 1).then_some(())
    })
    .await;
    handle
}

/// That the call of that handle ends as its provider said.
async fn ends_as_told(world: &World, handle: &str, case: &str) {
    let ended = world.ended(handle).await;
    for (name, value) in [
        ("status", json!("completed")),
        ("failure_reason", Value::Null),
        ("duration_seconds", json!(12)),
        ("credits", json!(1)),
    ] {
        assert_eq!(ended[name], value, "{case}, {name}: {ended}");
    }
}

both! {
    async fn a_call_that_is_forgotten_after_its_end_was_told_ends_as_it_was_told(database) {
        let world = World::start(database, LegacyPace { told_within: LIMIT, ..BRISK }).await;
        let handle = processed(&world).await;
        world.fake.forget();
        ends_as_told(&world, &handle, "forgotten").await;
        world.close().await;
    }

    async fn what_was_told_of_an_end_counts_when_nothing_more_is_told_in_time(database) {
        let pace = LegacyPace { told_within: Duration::from_secs(1), ..BRISK };
        let world = World::start(database, pace).await;
        for fault in [
            Fault::Status(401),
            Fault::Status(500),
            Fault::Malformed,
            Fault::RetryAfter(429, 3_600),
        ] {
            let handle = processed(&world).await;
            world.fake.upstream().fail("GET", "/v1/convai/conversations", fault, 100_000);
            ends_as_told(&world, &handle, &format!("{fault:?}")).await;
            world.fake.upstream().behave();
        }
        world.close().await;
    }

    async fn a_provider_that_asks_for_no_patience_is_left_alone_all_the_same(database) {
        let world = World::start(database, BRISK).await;
        world.fake.upstream().fail("POST", "/v1/convai/", Fault::RetryAfter(429, 0), 1);
        let began = Instant::now();
        let handle = world.place().await;
        let call = world.taken(&handle).await;
        assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
        assert_eq!(world.placings(), 2);
        world.fake.fail(&call.id, "busy");
        assert_eq!(world.ended(&handle).await["failure_reason"], "busy");
        world.close().await;
    }

    async fn a_call_takes_place_between_its_acceptance_and_now_by_whatever_clock_it_is_told(database) {
        let world = World::start(database, BRISK).await;
        let hour = 3_600;
        for (start, is_behind) in [
            (Value::Null, false),
            (json!(0), false),
            (json!(BEGAN_AT + hour), false),
            (json!(BEGAN_AT * 1_000), false),
            (json!(BEGAN_AT * 1_000_000), false),
            (json!(BEGAN_AT - hour), true),
        ] {
            let handle = world.place().await;
            let call = world.taken(&handle).await;
            world.fake.change(&call.id, |conversation| {
                conversation["metadata"]["start_time_unix_secs"] = start.clone();
            });
            let accepted = world.app.clock.now();
            let now = world.app.clock.advance(Duration::from_secs(30));
            world.fake.end(&call.id, 12, "");
            let ended = world.ended(&handle).await;
            let ended_at = if is_behind { accepted.plus(Duration::from_secs(12)) } else { now };
            for (name, value) in [
                ("status", json!("completed")),
                ("duration_seconds", json!(12)),
                ("started_at", json!(accepted.to_string())),
                ("ended_at", json!(ended_at.to_string())),
            ] {
                assert_eq!(ended[name], value, "{start}, {name}: {ended}");
            }
        }
        world.close().await;
    }

    async fn a_call_under_way_is_followed_with_the_key_that_its_account_has_now(database) {
        let world = World::start(database, BRISK).await;
        let handle = world.place().await;
        let call = world.taken(&handle).await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 2), ("agent", "So", 3)]);
        until("the first turns", || async {
            (world.conversation(&handle).await["messages_count"] == 2).then_some(())
        })
        .await;
        {
            let mut state = world.fake.state();
            let workspace = state.workspaces.remove(KEY).unwrap();
            state.workspaces.insert(NEW_KEY.to_owned(), workspace);
            for call in &mut state.calls {
                NEW_KEY.clone_into(&mut call.key);
            }
        }
        world.credential(CredentialProvider::Legacy, NEW_KEY).await;
        world.fake.end(&call.id, 12, "");
        ends_as_told(&world, &handle, "another key").await;
        let read = world.conversation(&handle).await;
        assert_eq!(read["messages_count"], 3, "no turn twice, and none is missing: {read}");
        world.close().await;
    }
}
