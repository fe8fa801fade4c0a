//! What the provider tells of a call that was given up: it is attached, and what was reported stays (decision 8.6).

use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::{Call, RECORDING};
use offhook_testkit::upstream::Fault;
use serde_json::{Value, json};

use super::{BRISK, World, left, until};
use crate::app::text;

/// A call whose answer was lost, and that could not be found in time; returns its handle and the call at the provider.
async fn given_up(world: &World) -> (String, Call) {
    world.fake.state().hides_calls = true;
    let lost = Fault::LoseAnswer;
    world.fake.upstream().fail("POST", "/v1/convai/", lost, 1);
    let handle = world.place().await;
    let call = world.taken(&handle).await;
    let ended = world.ended(&handle).await;
    assert_eq!(ended["failure_reason"], "carrier_error", "{ended}");
    world.fake.appear();
    (handle, call)
}

/// The webhooks that the account is sent, and what it has paid, by their ids.
async fn told(world: &World) -> Vec<String> {
    let mut ids = Vec::new();
    for target in ["/v1/webhooks/deliveries", "/v1/billing/transactions"] {
        let list = world.app.get(target).send().await.assert(200);
        let rows = list["data"].as_array().cloned().unwrap_or_default();
        ids.extend(rows.iter().map(|row| text(&row["id"])));
    }
    ids
}

fn said(read: &Value) -> Vec<(String, String)> {
    let turns = read["transcript"].as_array().cloned().unwrap_or_default();
    let said = turns
        .iter()
        .map(|turn| (text(&turn["role"]), text(&turn["text"])));
    said.collect()
}

both! {
    async fn what_was_said_in_a_call_that_was_given_up_is_attached_once_and_nothing_else_changes(database) {
        let world = World::start(database, BRISK).await;
        let hook = json!({"url": "https://example.com/hook"});
        world.app.post("/v1/webhooks", hook).send().await.assert(201);
        world.fake.state().recording = Some(("audio/mpeg", RECORDING.to_vec()));
        let (handle, call) = given_up(&world).await;
        let (ended, events) = (world.ended(&handle).await, told(&world).await);
        assert!(!events.is_empty());
        world.fake.talk(&call.id, &[("agent", "Hello Ana.", 0), ("user", "Hi.", 2)]);
        world.fake.end(&call.id, 30, "Call ended by remote party");
        world.tell_now(&world.fake.transcription(&call.id)).await;
        until("the recording", || async {
            (world.conversation(&handle).await["has_audio"] == true).then_some(())
        })
        .await;
        until("nothing on its way", || async { (left(&world) == 0).then_some(()) }).await;
        let read = world.conversation(&handle).await;
        let words = [("agent", "Hello Ana."), ("user", "Hi.")];
        assert_eq!(said(&read), words.map(|(role, text)| (role.to_owned(), text.to_owned())));
        assert_eq!(read["summary"], "They spoke of an appointment.");
        assert_eq!(read["messages_count"], 2);
        let after = world.ended(&handle).await;
        for name in [
            "status",
            "failure_reason",
            "termination_reason",
            "started_at",
            "ended_at",
            "duration_seconds",
            "credits",
        ] {
            assert_eq!(after[name], ended[name], "{name}: {after}");
        }
        assert_eq!(told(&world).await, events, "nothing was told, and nothing paid");
        // The same report again, and another one.
        world.fake.talk(&call.id, &[("agent", "Something else.", 0)]);
        world.fake.end(&call.id, 31, "");
        for _ in 0..2 {
            world.tell_now(&world.fake.transcription(&call.id)).await;
        }
        assert_eq!(world.conversation(&handle).await, read);
        assert_eq!(told(&world).await, events);
        assert_eq!(world.placings(), 1);
        world.close().await;
    }

    async fn what_the_provider_does_not_say_at_once_it_is_asked_for_again(database) {
        let world = World::start(database, BRISK).await;
        for fault in [Fault::Status(500), Fault::Status(429), Fault::Status(404), Fault::Malformed] {
            let (handle, call) = given_up(&world).await;
            let ended = world.ended(&handle).await;
            // It says that it is over, and not what was said.
            world.fake.fail(&call.id, "busy");
            world.tell_now(&world.fake.transcription(&call.id)).await;
            assert_eq!(world.ended(&handle).await, ended);
            world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
            world.fake.end(&call.id, 30, "");
            world.fake.upstream().fail("GET", "/v1/convai/conversations/", fault, 2);
            world.tell_now(&world.fake.transcription(&call.id)).await;
            let read = until("what was said", || async {
                let read = world.conversation(&handle).await;
                (read["messages_count"] == 1).then_some(read)
            })
            .await;
            assert_eq!(said(&read), [("agent".to_owned(), "Hello.".to_owned())], "{fault:?}");
            let after = world.ended(&handle).await;
            assert_eq!((&after["failure_reason"], &after["credits"]), (&ended["failure_reason"], &json!(0)));
        }
        world.close().await;
    }
}
