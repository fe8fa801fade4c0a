//! The recordings of legacy agents' calls: fetched after the call, whatever format the provider has and however late.

use std::time::Duration;

use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::RECORDING;
use offhook_testkit::upstream::Fault;
use serde_json::{Value, json};

use super::{BRISK, World, left, until};
use crate::it::app::text;
use crate::it::client::must;

/// Places a call and ends it as a recorded one; returns its handle.
async fn recorded(world: &World) -> String {
    world.fake.state().recording = Some(("audio/mpeg", RECORDING.to_vec()));
    let (handle, call) = world.placed().await;
    world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
    world.fake.end(&call.id, 5, "");
    handle
}

/// How often the service requested recordings from the provider.
fn fetches(world: &World) -> usize {
    let asked = world
        .fake
        .upstream()
        .asked_of("GET", "/v1/convai/conversations/");
    asked
        .iter()
        .filter(|asked| asked.path.ends_with("/audio"))
        .count()
}

both! {
    async fn a_recording_is_asked_for_until_it_comes_and_its_call_ends_without_it(database) {
        let world = World::start(database, BRISK).await;
        let faults = [
            // It does not exist yet.
            Fault::Status(404),
            Fault::Status(500),
            Fault::RetryAfter(429, 1),
            Fault::Status(401),
            Fault::CutBody,
            Fault::Close,
        ];
        for fault in faults {
            world.fake.upstream().fail("GET", "/v1/convai/conversations/conv_0001/audio", fault, 1);
        }
        let handle = recorded(&world).await;
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["has_audio"]), (&json!("completed"), &json!(false)), "{ended}");
        until("the recording", || async {
            must(world.app.services.recording_keeper().sweep().await);
            (world.conversation(&handle).await["has_audio"] == true).then_some(())
        })
        .await;
        assert_eq!(fetches(&world), faults.len() + 1);
        until("nothing on its way", || async { (left(&world) == 0).then_some(()) }).await;
        let audio = text(&world.conversation(&handle).await["recording_url"]);
        assert_eq!(world.app.get(&audio).await.status, 200);
        // It is stored, so it is not requested again.
        must(world.app.services.recording_keeper().sweep().await);
        assert_eq!(fetches(&world), faults.len() + 1);
        world.books_add_up().await;
    }

    async fn a_recording_that_never_comes_is_given_up_after_a_day(database) {
        let world = World::start(database, BRISK).await;
        world.fake.state().hides_recordings = true;
        let handle = recorded(&world).await;
        assert_eq!(world.ended(&handle).await["status"], "completed");
        let (asked, keeper) = (fetches(&world), world.app.services.recording_keeper());
        until("another question", || async {
            must(keeper.sweep().await);
            (fetches(&world) > asked).then_some(())
        })
        .await;
        // Its note stays, and nothing else of the finished request.
        until("its note alone", || async { (left(&world) == 1).then_some(()) }).await;
        world.app.clock.advance(Duration::from_secs(24 * 3_600));
        until("the end of it", || async {
            must(keeper.sweep().await);
            (left(&world) == 0).then_some(())
        })
        .await;
        let read = world.conversation(&handle).await;
        assert_eq!((&read["has_audio"], &read["recording_url"]), (&json!(false), &Value::Null));
        world.books_add_up().await;
    }

    async fn what_is_no_recording_is_asked_for_once_and_leaves_nothing(database) {
        let world = World::start(database, BRISK).await;
        for (nth, fault) in [Fault::Unknown, Fault::Malformed, Fault::Endless].into_iter().enumerate() {
            let audio = format!("/v1/convai/conversations/conv_{:04}/audio", nth + 1);
            world.fake.upstream().fail("GET", &audio, fault, 1);
            let handle = recorded(&world).await;
            let ended = world.ended(&handle).await;
            assert_eq!((&ended["status"], &ended["has_audio"]), (&json!("completed"), &json!(false)), "{ended}");
            until("the end of it", || async { (left(&world) == 0).then_some(()) }).await;
            must(world.app.services.recording_keeper().sweep().await);
            assert_eq!(fetches(&world), nth + 1, "{fault:?}");
            let target = format!("/v1/conversations/{}/audio", handle.trim_start_matches("call_"));
            world.app.get(&target).await.assert_error(404, "not_found");
        }
        world.books_add_up().await;
    }

    async fn a_wav_file_becomes_a_recording_as_all_others(database) {
        let world = World::start(database, BRISK).await;
        // One channel of 16 kHz: half a second.
        let mut wav = [b"RIFF".as_slice(), &16_036_u32.to_le_bytes(), b"WAVEfmt ", &16_u32.to_le_bytes()].concat();
        for word in [1_u16, 1] {
            wav.extend(word.to_le_bytes());
        }
        wav.extend([16_000_u32, 32_000].into_iter().flat_map(u32::to_le_bytes));
        wav.extend([2_u16, 16].into_iter().flat_map(u16::to_le_bytes));
        wav.extend(b"data");
        wav.extend(16_000_u32.to_le_bytes());
        wav.resize(44 + 16_000, 0);
        world.fake.state().recording = Some(("audio/wav", wav));
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 5, "");
        let ended = world.ended(&handle).await;
        assert_eq!(ended["has_audio"], true, "{ended}");
        let audio = text(&world.conversation(&handle).await["recording_url"]);
        let whole = world.app.get(&audio).await;
        assert_eq!((whole.status, whole.body.len()), (200, 44 + 16_000), "two channels of 8 kHz");
        world.books_add_up().await;
    }
}
