//! Conversations that the provider starts by itself: reported like those placed here, but free of charge.

use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::{AGENT, NUMBER};
use serde_json::{Value, json};

use super::{BRISK, World, until};
use crate::it::app::{CUSTOMER, text};
use crate::it::client::must;

/// The phone details of an incoming call, and of an outgoing call that the provider placed.
fn phone(direction: &str) -> Value {
    json!({
        "type": "twilio", "direction": direction, "phone_number_id": "phnum_1", "agent_number": NUMBER,
        "external_number": CUSTOMER, "call_sid": "CA1",
    })
}

async fn listed(world: &World) -> Vec<Value> {
    let list = world.app.read("/v1/conversations?limit=100").await;
    list["data"].as_array().cloned().unwrap_or_default()
}

async fn sync(world: &World) {
    must(world.app.services.legacy().sync(world.app.account).await);
}

both! {
    async fn what_the_provider_had_by_itself_is_listed_once_and_costs_nothing(database) {
        let world = World::start(database, BRISK).await;
        world.app.clock.step(90_000_000);
        let (placed, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 12, "");
        world.ended(&placed).await;
        let wallet = world.app.read("/v1/billing/credits").await;
        for (id, phone_call, text_only) in [
            ("conv_in", phone("inbound"), false),
            ("conv_out", phone("outbound"), false),
            ("conv_page", Value::Null, false),
            ("conv_chat", Value::Null, true),
        ] {
            world.fake.begins(id, AGENT, phone_call, text_only);
            world.fake.talk(id, &[("agent", "Good morning.", 0), ("user", "Is there a table?", 2)]);
            world.fake.end(id, 12, "");
        }
        world.fake.begins("conv_nobodys", "agent_of_nobody", Value::Null, false);
        for _ in 0..2 {
            sync(&world).await;
            let mut told: Vec<Value> = listed(&world).await.into_iter()
                .map(|one| json!([one["channel"], one["from"], one["to"], one["status"], one["duration_seconds"], one["credits"]]))
                .collect();
            told.sort_by_key(Value::to_string);
            assert_eq!(json!(told), json!([
                ["phone", NUMBER, CUSTOMER, "completed", 12, 0],
                ["phone", NUMBER, CUSTOMER, "completed", 12, 1],
                ["phone", CUSTOMER, NUMBER, "completed", 12, 0],
                ["widget_chat", null, null, "completed", 12, 0],
                ["widget_voice", null, null, "completed", 12, 0],
            ]));
        }
        for one in listed(&world).await {
            let read = world.app.read(&format!("/v1/conversations/{}", text(&one["id"]))).await;
            assert_eq!(read["runtime"], "legacy");
            let said = if one["credits"] == 0 { 2 } else { 1 };
            assert_eq!(read["transcript"].as_array().map(Vec::len), Some(said), "{read}");
        }
        // A text conversation is not a call.
        let calls = world.app.read("/v1/calls?limit=100").await;
        assert_eq!(calls["data"].as_array().map(Vec::len), Some(4), "{calls}");
        assert_eq!(world.app.read("/v1/billing/credits").await, wallet);
        world.books_add_up().await;
    }

    async fn one_that_goes_on_is_followed_to_its_end(database) {
        let world = World::start(database, BRISK).await;
        world.app.clock.step(90_000_000);
        world.fake.begins("conv_chat", AGENT, Value::Null, true);
        world.fake.talk("conv_chat", &[("agent", "Good morning.", 0), ("user", "B", 3)]);
        sync(&world).await;
        let chat = until("the chat", || async { listed(&world).await.pop() }).await;
        world.fake.end("conv_chat", 5, "");
        let chat = format!("call_{}", text(&chat["id"]));
        until("the end of the chat", || async {
            let read = world.conversation(&chat).await;
            (read["status"] == "completed").then_some(())
        })
        .await;
        let calls = world.app.read("/v1/calls?limit=100").await;
        assert_eq!(calls["data"], json!([]));
        world.fake.begins("conv_in", AGENT, phone("inbound"), false);
        // The last turn may still continue.
        world.fake.talk("conv_in", &[("agent", "Good morning.", 0), ("user", "B", 3)]);
        sync(&world).await;
        let one = until("its first word", || async {
            let one = listed(&world).await.into_iter().find(|one| one["channel"] == "phone")?;
            let read = world.app.read(&format!("/v1/conversations/{}", text(&one["id"]))).await;
            (read["transcript"].as_array().map(Vec::len) == Some(1)).then_some(one)
        })
        .await;
        assert_eq!(one["status"], "unknown");
        world.fake.talk("conv_in", &[("agent", "Good morning.", 0), ("user", "Bye.", 3)]);
        world.fake.end("conv_in", 5, "");
        let handle = format!("call_{}", text(&one["id"]));
        assert_eq!(world.ended(&handle).await["duration_seconds"], 5);
    }

    async fn a_report_has_one_taken_in_at_once(database) {
        let world = World::start(database, BRISK).await;
        world.app.clock.step(90_000_000);
        world.fake.begins("conv_page", AGENT, Value::Null, false);
        world.fake.talk("conv_page", &[("agent", "Good morning.", 0)]);
        world.fake.end("conv_page", 7, "");
        for _ in 0..2 {
            world.tell_now(&world.fake.transcription("conv_page")).await;
        }
        let told = until("the conversation", || async {
            let one = listed(&world).await.pop()?;
            (one["status"] == "completed").then_some(one)
        })
        .await;
        assert_eq!((&told["channel"], &told["duration_seconds"]), (&json!("widget_voice"), &json!(7)));
        assert_eq!(listed(&world).await.len(), 1);
        world.books_add_up().await;
    }
}
