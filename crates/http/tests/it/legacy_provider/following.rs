//! Calls that are followed to their ends while the provider loses them, refuses, or reports another time.

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

/// Places a call and ends it after 12 s at a provider that still lacks the summary and reported turns; returns its
/// handle.
async fn processed(world: &World) -> String {
    let (handle, call) = world.placed().await;
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

/// Checks that this call ends as its provider reported.
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
        world.books_add_up().await;
    }

    async fn a_call_that_its_provider_does_not_list_is_known_by_its_report(database) {
        let world = World::start(database, LegacyPace { appears_within: LIMIT, ..BRISK }).await;
        world.fake.state().lists_none = true;
        world.fake.upstream().fail("POST", "/v1/convai/", Fault::LoseAnswer, 1);
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 2)]);
        world.fake.end(&call.id, 12, "");
        world.tell_now(&world.fake.transcription(&call.id)).await;
        ends_as_told(&world, &handle, "reported").await;
        assert_eq!(world.conversation(&handle).await["messages_count"], 2);
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
    }

    async fn the_providers_last_word_is_the_transcript(database) {
        let world = World::start(database, BRISK).await;
        let added = [("agent", "Hello there.", 0), ("user", "Yes.", 2), ("agent", "A moment.", 3), ("agent", "Good.", 5)];
        let dropped = [("user", "Yes.", 2)];
        let same = [("agent", "Hello.", 0), ("user", "Yes.", 2), ("agent", "Good.", 4), ("user", "Well", 6), ("agent", "Bye.", 8)];
        let none: [(&str, &str, i64); 0] = [];
        for last in [&added[..], &dropped[..], &same[..], &none[..]] {
            let (handle, call) = world.placed().await;
            world.fake.talk(&call.id, &same[..4]);
            until("what was said first", || async {
                (world.conversation(&handle).await["messages_count"] == 3).then_some(())
            })
            .await;
            // In one change, because the worker polls all the time.
            let turns = last.iter().map(|(role, words, at)| json!({"role": role, "message": words, "time_in_call_secs": at}));
            let turns: Vec<Value> = turns.collect();
            world.fake.change(&call.id, |conversation| conversation["transcript"] = json!(turns));
            world.fake.end(&call.id, 12, "");
            ends_as_told(&world, &handle, "corrected").await;
            let read = world.conversation(&handle).await;
            let turns = read["transcript"].as_array().cloned().unwrap_or_default();
            let said: Vec<_> = turns.iter().map(|turn| (turn["role"].as_str().unwrap(), turn["text"].as_str().unwrap())).collect();
            // A report without turns removes none.
            let expected = if last.is_empty() { &same[..3] } else { last };
            let expected: Vec<_> = expected.iter().map(|(role, words, _)| (*role, *words)).collect();
            assert_eq!(said, expected);
            assert_eq!(read["messages_count"], expected.len());
        }
        world.books_add_up().await;
    }

    async fn what_is_reported_of_a_call_that_was_given_up_changes_nothing(database) {
        let world = World::start(database, BRISK).await;
        world.fake.state().hides_calls = true;
        world.fake.upstream().fail("POST", "/v1/convai/", Fault::LoseAnswer, 1);
        let (handle, call) = world.placed().await;
        assert_eq!(world.ended(&handle).await["failure_reason"], "carrier_error");
        let read = world.conversation(&handle).await;
        world.fake.appear();
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 30, "");
        for _ in 0..2 {
            world.tell_now(&world.fake.transcription(&call.id)).await;
        }
        assert_eq!(world.conversation(&handle).await, read);
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
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
        world.books_add_up().await;
    }

    async fn a_provider_that_asks_for_no_patience_is_left_alone_all_the_same(database) {
        let world = World::start(database, BRISK).await;
        world.fake.upstream().fail("POST", "/v1/convai/", Fault::RetryAfter(429, 0), 1);
        let began = Instant::now();
        let (handle, call) = world.placed().await;
        assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
        assert_eq!(world.placings(), 2);
        world.fake.fail(&call.id, "busy");
        assert_eq!(world.ended(&handle).await["failure_reason"], "busy");
        world.books_add_up().await;
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
            let accepted = world.app.clock.now();
            let (handle, call) = world.placed().await;
            world.fake.change(&call.id, |conversation| {
                conversation["metadata"]["start_time_unix_secs"] = start.clone();
            });
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
        world.books_add_up().await;
    }

    async fn a_call_that_no_call_is_as_long_as_costs_the_time_that_there_was_for_it(database) {
        let world = World::start(database, BRISK).await;
        for seconds in [8_000, 100_000] {
            let (handle, call) = world.placed().await;
            world.fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 2)]);
            world.fake.end(&call.id, seconds, "");
            let ended = world.ended(&handle).await;
            for (name, value) in [
                ("status", json!("completed")),
                ("duration_seconds", json!(90)),
                ("credits", json!(2)),
                ("ended_at", json!(world.app.clock.now().to_string())),
            ] {
                assert_eq!(ended[name], value, "{seconds}, {name}: {ended}");
            }
        }
        world.books_add_up().await;
    }

    async fn an_absurd_value_keeps_no_call_from_its_end(database) {
        let world = World::start(database, BRISK).await;
        for (place, odd) in [
            ("/metadata/error", json!({"code": "1008"})),
            ("/transcript/0/role", Value::Null),
            ("/transcript/0/message", json!(5)),
            ("/transcript/0/message", json!("Hel\0lo.")),
            ("/metadata/phone_call/call_result", json!(5)),
            ("/metadata/call_duration_secs", json!("4")),
            ("/analysis/transcript_summary", json!([1])),
            ("/analysis/transcript_summary", json!("They\0 spoke.")),
            ("/has_audio", json!("yes")),
        ] {
            let (handle, call) = world.placed().await;
            world.fake.change(&call.id, |conversation| {
                conversation["transcript"] = json!([{"role": "agent", "message": "Hello.", "time_in_call_secs": 0}]);
            });
            world.fake.end(&call.id, 4, "");
            world.fake.change(&call.id, |conversation| {
                *conversation.pointer_mut(place).unwrap() = odd.clone();
            });
            let ended = world.ended(&handle).await;
            assert_eq!(ended["status"], "completed", "{place} {odd}: {ended}");
            if odd == "They\0 spoke." {
                assert_eq!(ended["summary"], "They spoke.");
            }
        }
        world.books_add_up().await;
    }

    async fn a_call_of_which_nothing_can_be_read_may_go_on_unless_it_is_reported_that_it_never_began(database) {
        let pace = LegacyPace { answered_within: Duration::from_millis(300), over_within: LIMIT, ..BRISK };
        let world = World::start(database, pace).await;
        for fault in [Fault::Status(401), Fault::Status(500), Fault::Malformed] {
            let conversations = "/v1/convai/conversations";
            world.fake.upstream().fail("GET", conversations, fault, 100_000);
            let (handle, call) = world.placed().await;
            tokio::time::sleep(2 * pace.answered_within).await;
            assert_eq!(world.conversation(&handle).await["status"], "initiated", "{fault:?}");
            world.fake.end(&call.id, 12, "");
            world.fake.upstream().behave();
            ends_as_told(&world, &handle, &format!("{fault:?}")).await;
            world.fake.upstream().fail("GET", conversations, fault, 100_000);
            let (handle, call) = world.placed().await;
            until("the call's name", || async {
                let asked = format!("{conversations}/{}", call.id);
                (!world.fake.upstream().asked_of("GET", &asked).is_empty()).then_some(())
            })
            .await;
            world.tell_now(&world.fake.initiation_failure(&call.id, "busy")).await;
            assert_eq!(world.ended(&handle).await["failure_reason"], "busy", "{fault:?}");
            world.fake.upstream().behave();
        }
        assert_eq!(world.placings(), 6);
        world.books_add_up().await;
    }

    async fn a_report_with_an_id_that_no_database_keeps_is_one_of_no_call_of_ours(database) {
        let world = World::start(database, BRISK).await;
        for body in [
            json!({"type": "post_call_transcription", "data": {"conversation_id": "conv\0_1"}}),
            json!({"type": "call_initiation_failure", "data": {"conversation_id": "\0", "failure_reason": "busy"}}),
        ] {
            world.tell_now(&body.to_string()).await;
        }
        world.books_add_up().await;
    }

    async fn a_call_under_way_is_followed_with_the_key_that_its_account_has_now(database) {
        let world = World::start(database, BRISK).await;
        let (handle, call) = world.placed().await;
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
        world.books_add_up().await;
    }
}
