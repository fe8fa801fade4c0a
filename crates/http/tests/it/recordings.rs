//! Recordings that were left on this machine: repaired, stored, reported, and deleted with their conversations.

use std::time::Duration;

use offhook_services::KeepError;
use tokio_util::sync::CancellationToken;

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::must;

/// The header of a recording, as saved before any audio.
const HEADER: [u8; 44] =
    *b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\0\0\0\0";

/// An ended call.
async fn ended(app: &TestApp) -> String {
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    app.ended(&handle).await;
    handle.trim_start_matches("call_").to_owned()
}

/// Leaves a recording with this many samples of both sides, as a dying process does.
fn left(app: &TestApp, id: &str, pairs: u8) {
    must(std::fs::create_dir_all(app.spool()));
    let mut bytes = HEADER.to_vec();
    bytes.extend((0..pairs).flat_map(|pair| [pair, 1, pair, 2]));
    // And half of a sample.
    bytes.extend([9, 9, 9]);
    let name = format!("{}_{id}.part", app.account);
    must(std::fs::write(app.spool().join(name), bytes));
}

fn waiting(app: &TestApp) -> usize {
    std::fs::read_dir(app.spool()).map_or(0, Iterator::count)
}

async fn sweep(app: &TestApp) -> Result<(), KeepError> {
    app.services.recording_keeper().sweep().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_recorded_is_repaired_kept_and_told_of() {
    let app = TestApp::start().await;
    app.dial();
    let id = ended(&app).await;
    let target = format!("/v1/conversations/{id}");
    let audio = format!("{target}/audio");
    app.get(&audio).await.assert_error(404, "not_found");
    left(&app, &id, 100);
    must(sweep(&app).await);
    assert_eq!(waiting(&app), 0);
    let conversation = app.read(&target).await;
    assert_eq!(conversation["has_audio"], true);
    assert_eq!(conversation["recording_url"], audio);
    let whole = app.get(&audio).await;
    assert_eq!((whole.status, whole.body.len()), (200, 44 + 400));
    assert_eq!(whole.body[40..44], 400_u32.to_le_bytes());
    assert_eq!(whole.body[44..52], [0, 1, 0, 2, 1, 1, 1, 2]);
    let part = app.get(&audio).header("range", "bytes=440-").await;
    assert_eq!(part.status, 206);
    assert_eq!(&part.body[..], [99, 1, 99, 2].as_slice());
    // A process died before it could delete the file.
    left(&app, &id, 3);
    must(sweep(&app).await);
    assert_eq!(waiting(&app), 0);
    assert_eq!(app.get(&audio).await.body.len(), 444, "what is kept stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_which_nothing_was_recorded_has_no_recording() {
    let app = TestApp::start().await;
    app.dial();
    let id = ended(&app).await;
    left(&app, &id, 0);
    must(sweep(&app).await);
    assert_eq!(waiting(&app), 0);
    let target = format!("/v1/conversations/{id}");
    let conversation = app.read(&target).await;
    assert_eq!(conversation["has_audio"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_waits_for_the_store_and_one_that_is_no_recording_keeps_none_from_it() {
    let app = TestApp::start().await;
    app.dial();
    let (id, other) = (ended(&app).await, ended(&app).await);
    // A file is in the place of the objects' folder.
    let folder = app.objects().join("recordings");
    must(std::fs::create_dir_all(app.objects()));
    must(std::fs::write(&folder, b""));
    left(&app, &id, 5);
    for _ in 0..2 {
        let failed = sweep(&app).await;
        assert!(matches!(failed, Err(KeepError::Objects(_))), "{failed:?}");
        assert_eq!(waiting(&app), 1);
    }
    let target = format!("/v1/conversations/{id}");
    let conversation = app.read(&target).await;
    assert_eq!(conversation["has_audio"], false);
    must(std::fs::remove_file(folder));
    // Broken by a power loss.
    let broken = app.spool().join(format!("{}_{other}.part", app.account));
    must(std::fs::write(&broken, [0; 1_000]));
    let told = sweep(&app).await;
    assert!(matches!(told, Err(KeepError::File(_))), "{told:?}");
    let conversation = app.read(&target).await;
    assert_eq!(conversation["has_audio"], true);
    must(sweep(&app).await);
    assert!(
        must(broken.with_extension("broken").try_exists()),
        "left for somebody to look at"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recording_of_a_deleted_conversation_is_deleted_however_late_it_comes() {
    let app = TestApp::start().await;
    app.dial();
    let id = ended(&app).await;
    app.clock.advance(Duration::from_secs(365 * 86_400));
    let never = CancellationToken::new();
    let retention = app.services.retention();
    assert_ne!(must(retention.behind().await), Duration::ZERO);
    assert!(must(retention.sweep(&never).await), "it was due");
    assert_eq!(must(retention.behind().await), Duration::ZERO);
    left(&app, &id, 5);
    // A process died between storing the object and updating the row.
    let object = app.recordings().join(format!("{id}.wav"));
    must(std::fs::create_dir_all(app.recordings()));
    must(std::fs::write(&object, b"RIFF"));
    must(sweep(&app).await);
    assert_eq!(waiting(&app), 0);
    assert!(!must(object.try_exists()));
}
