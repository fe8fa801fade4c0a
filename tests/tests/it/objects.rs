//! Files in an S3-compatible store: uploaded, read, played from any node, and deleted; and failures of the store.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use offhook_failpoints as failpoints;
use offhook_tests::{Account, ObjectServer, Options, Server, both, eventually, must, text};
use serde_json::{Value, json};

use crate::legacy;

const DOCUMENTS: &str = "/v1/knowledge/documents";
const LIMIT: Duration = Duration::from_secs(60);
const SIGABRT: i32 = 6;

/// No request waits longer for the store.
const PATIENCE: Duration = Duration::from_secs(20);

async fn send(account: &Account, name: &str) -> Value {
    let body = json!({"name": name, "text": "The pool opens at nine."});
    account.post(DOCUMENTS, body).await.assert(202)
}

async fn read(account: &Account, made: &Value) -> Value {
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    eventually("a document that has been read", LIMIT, || async {
        let document = account.read(&target).await;
        (document["status"] != "processing").then_some(document)
    })
    .await
}

/// The path of the audio of a recorded call.
async fn recorded(server: &Server, account: &Account) -> String {
    let agents = legacy::agents(server, account).await;
    let handle = account.call(text(&agents[0]["id"]), "+5215512345678").await;
    let call = account.ended(&handle).await;
    assert_eq!(call["has_audio"], true, "{call}");
    format!("/v1/conversations/{}/audio", text(&call["conversation_id"]))
}

/// Leaves a recording with this many samples of both sides, as a process that dies while recording does.
fn left(server: &Server, account: &Account, id: &str, pairs: u32) -> Vec<u8> {
    let header = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\0\0\0\0";
    let sound: Vec<u8> = (0..pairs)
        .flat_map(|pair| (pair * 7).to_le_bytes())
        .collect();
    let directory = server.data_dir().join("recordings");
    must("a directory", std::fs::create_dir_all(&directory));
    let file = directory.join(format!("{}_{id}.part", account.id));
    must(
        "a file",
        std::fs::write(file, [&header[..], &sound].concat()),
    );
    sound
}

both! {
    async fn a_document_is_taken_in_read_and_its_file_deleted(database: Database) {
        let objects = ObjectServer::start().await;
        let server = Server::start(objects.used_by(Options::on(database).in_haste())).await;
        let account = server.account("scale").await;
        let document = read(&account, &send(&account, "Hours").await).await;
        assert_eq!(document["status"], "ready", "{document}");
        eventually("a store without uploads", LIMIT, || async {
            objects.keys("uploads").is_empty().then_some(())
        })
        .await;
        let query = json!({"query": "When does the pool open?"});
        let found = account.post("/v1/knowledge/search", query).await.assert(200);
        assert_eq!(found["data"][0]["document_id"], document["id"]);
    }

    async fn a_recording_is_played_in_ranges_from_any_node(database: Database) {
        let objects = ObjectServer::start().await;
        let server = Server::start(objects.used_by(Options::on(database).in_haste())).await;
        let account = server.account("scale").await;
        let audio = recorded(&server, &account).await;
        let id = audio.split('/').nth(3).unwrap_or_default();
        assert_eq!(objects.keys("recordings"), [format!("recordings/{}/{id}.wav", account.id)]);
        // This node stores no file locally.
        assert!(!server.data_dir().join("objects").exists());
        let whole = account.get(&audio).await;
        assert_eq!((whole.status, &whole.body[..4]), (200, b"RIFF".as_slice()));
        let size = whole.body.len();
        for (range, first, last) in [
            ("bytes=8-11".to_owned(), 8, 11),
            ("bytes=-4".to_owned(), size - 4, size - 1),
            (format!("bytes={}-", size / 2), size / 2, size - 1),
        ] {
            let part = account.get(&audio).header("Range", &range).await;
            assert_eq!((part.status, part.body.as_slice()), (206, &whole.body[first..=last]), "{range}");
            let told = format!("bytes {first}-{last}/{size}");
            assert_eq!(part.header("content-range"), Some(told.as_str()));
        }
    }

    async fn without_the_store_uploads_are_refused_reading_waits_and_audio_comes_later(database: Database) {
        let objects = ObjectServer::start().await;
        let mut server = Server::start(objects.used_by(Options::on(database).in_haste())).await;
        let account = server.account("scale").await;
        let audio = recorded(&server, &account).await;
        for silent in [false, true] {
            if silent { objects.fall_silent() } else { objects.go_down() }
            let began = Instant::now();
            let body = json!({"name": "Hours", "text": "Nine."});
            let refused = account.post(DOCUMENTS, body).await;
            refused.assert_error(503, "service_unavailable");
            assert_eq!(refused.header("retry-after"), Some("5"));
            let refused = account.get(&audio).await;
            refused.assert_error(503, "service_unavailable");
            assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
            let list = account.read(DOCUMENTS).await;
            assert_eq!(list["data"], json!([]), "nothing half taken in");
            // Everything else still works.
            let agent = account.agent().await;
            let handle = account.call(&agent, "+5215512345678").await;
            assert_eq!(account.ended(&handle).await["status"], "completed");
            objects.recover();
            assert_eq!(account.get(&audio).await.status, 200);
        }
        // The store fails after an upload and before the document is read: the next process waits for the store.
        assert!(server.stop().await.success());
        server.start_again(&[("OFFHOOK_FAILPOINT", failpoints::UPLOAD_AFTER_OBJECT)]).await;
        let body = json!({"name": "Lost", "text": "Nine."});
        assert!(account.post(DOCUMENTS, body).try_send().await.is_err(), "the process is gone");
        assert_eq!(server.ended().await.signal(), Some(SIGABRT));
        assert_eq!(objects.keys("uploads").len(), 1, "an object that no row waits for");
        server.start_again(&[]).await;
        let list = account.read(DOCUMENTS).await;
        assert_eq!(list["data"], json!([]));
        let made = send(&account, "Hours").await;
        assert_eq!(read(&account, &made).await["status"], "ready");
    }

    async fn what_a_dead_process_recorded_is_kept_once_the_store_is_there_and_another_death_costs_nothing(database: Database) {
        let objects = ObjectServer::start().await;
        let mut server = Server::start(objects.used_by(Options::on(database).in_haste())).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        let call = account.ended(&handle).await;
        assert_eq!(call["has_audio"], false);
        let id = text(&call["conversation_id"]).to_owned();
        server.kill().await;
        // More than one part: 5 minutes and more.
        let sound = left(&server, &account, &id, 1_400_000);
        objects.go_down();
        server.start_again(&[("OFFHOOK_FAILPOINT", failpoints::RECORDING_AFTER_OBJECT)]).await;
        eventually("a recording that waits", LIMIT, || async {
            server.log().contains("recordings wait on this machine").then_some(())
        })
        .await;
        assert_eq!(account.ended(&handle).await["has_audio"], false);
        objects.recover();
        // It dies between storing the object and updating the row.
        assert_eq!(server.ended_within(LIMIT).await.signal(), Some(SIGABRT));
        assert_eq!(objects.keys("recordings"), [format!("recordings/{}/{id}.wav", account.id)]);
        server.start_again(&[]).await;
        eventually("a conversation that tells of its recording", LIMIT, || async {
            (account.ended(&handle).await["has_audio"] == true).then_some(())
        })
        .await;
        let audio = account.get(&format!("/v1/conversations/{id}/audio")).await;
        assert_eq!((audio.status, audio.body.len()), (200, 44 + sound.len()));
        assert!(audio.body[44..] == sound);
        let left = || std::fs::read_dir(server.data_dir().join("recordings")).map_or(0, Iterator::count);
        eventually("an empty directory", LIMIT, || async { (left() == 0).then_some(()) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_waits_for_the_store_and_is_read_then() {
    let objects = ObjectServer::start().await;
    let options = objects.used_by(Options::on(offhook_tests::Database::Sqlite));
    let mut server = Server::start(options).await;
    let account = server.account("scale").await;
    // A reader contacts the store at once, so only a process that has just started finds it silent.
    let made = send(&account, "Hours").await;
    objects.go_down();
    server.crash_and_restart().await;
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    let read_already = account.read(&target).await["status"] == "ready";
    if !read_already {
        eventually("a reader that waits", LIMIT, || async {
            server
                .log()
                .contains("a document waits for the object store")
                .then_some(())
        })
        .await;
        assert_eq!(account.read(&target).await["status"], "processing");
    }
    objects.recover();
    assert_eq!(read(&account, &made).await["status"], "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_the_machine_are_not_looked_for() {
    let options = Options::on(offhook_tests::Database::Sqlite).set("storage.objects", "s3://files");
    let refused = Server::refused(options).await;
    assert!(
        refused.contains("setting `storage.s3.access_key_id` is missing"),
        "{refused}"
    );
    let options =
        Options::on(offhook_tests::Database::Sqlite).set("storage.s3.region", "eu-west-1");
    let refused = Server::refused(options).await;
    assert!(
        refused.contains("`storage.s3.region` is without effect"),
        "{refused}"
    );
}
