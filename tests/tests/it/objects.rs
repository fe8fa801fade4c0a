//! Files in an S3-compatible store: taken in, read, played from any node, and deleted; and what happens without it.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use offhook_failpoints as failpoints;
use offhook_tests::{Account, ObjectServer, Options, Server, both, eventually, text};
use serde_json::{Value, json};

use crate::legacy;

const DOCUMENTS: &str = "/v1/knowledge/documents";
const LIMIT: Duration = Duration::from_secs(60);
const SIGABRT: i32 = 6;

/// Nobody waits for the store longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

async fn send(account: &Account, name: &str) -> Value {
    let body = json!({"name": name, "text": "The pool opens at nine."});
    account.post(DOCUMENTS, body).send().await.assert(202)
}

async fn read(account: &Account, made: &Value) -> Value {
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    eventually("a document that has been read", LIMIT, || async {
        let document = account.read(&target).await;
        (document["status"] != "processing").then_some(document)
    })
    .await
}

/// The path of the audio of a call that has a recording.
async fn recorded(server: &Server, account: &Account) -> String {
    let agents = legacy::agents(server, account).await;
    let handle = account.call(text(&agents[0]["id"]), "+5215512345678").await;
    let call = account.ended(&handle).await;
    assert_eq!(call["has_audio"], true, "{call}");
    format!("/v1/conversations/{}/audio", text(&call["conversation_id"]))
}

both! {
    async fn a_document_is_taken_in_read_and_its_file_deleted(database: Database) {
        let objects = ObjectServer::start().await;
        let server = Server::start(objects.used_by(Options::on(database))).await;
        let account = server.account("scale").await;
        let document = read(&account, &send(&account, "Hours").await).await;
        assert_eq!(document["status"], "ready", "{document}");
        eventually("a store without uploads", LIMIT, || async {
            objects.keys("uploads").is_empty().then_some(())
        })
        .await;
        let query = json!({"query": "When does the pool open?"});
        let found = account.post("/v1/knowledge/search", query).send().await.assert(200);
        assert_eq!(found["data"][0]["document_id"], document["id"]);
    }

    async fn a_recording_is_played_in_ranges_from_any_node(database: Database) {
        let objects = ObjectServer::start().await;
        let server = Server::start(objects.used_by(Options::on(database))).await;
        let account = server.account("scale").await;
        let audio = recorded(&server, &account).await;
        let id = audio.split('/').nth(3).unwrap_or_default();
        assert_eq!(objects.keys("recordings"), [format!("recordings/{}/{id}.wav", account.id)]);
        // This node keeps no file.
        assert!(!server.data_dir().join("objects").exists());
        let whole = account.get(&audio).send().await;
        assert_eq!((whole.status, &whole.body[..4]), (200, b"RIFF".as_slice()));
        let size = whole.body.len();
        for (range, first, last) in [
            ("bytes=8-11".to_owned(), 8, 11),
            ("bytes=-4".to_owned(), size - 4, size - 1),
            (format!("bytes={}-", size / 2), size / 2, size - 1),
        ] {
            let part = account.get(&audio).header("Range", &range).send().await;
            assert_eq!((part.status, part.body.as_slice()), (206, &whole.body[first..=last]), "{range}");
            let told = format!("bytes {first}-{last}/{size}");
            assert_eq!(part.header("content-range"), Some(told.as_str()));
        }
    }

    async fn without_the_store_uploads_are_refused_reading_waits_and_audio_comes_later(database: Database) {
        let objects = ObjectServer::start().await;
        let mut server = Server::start(objects.used_by(Options::on(database))).await;
        let account = server.account("scale").await;
        let audio = recorded(&server, &account).await;
        for silent in [false, true] {
            if silent { objects.fall_silent() } else { objects.go_down() }
            let began = Instant::now();
            let body = json!({"name": "Hours", "text": "Nine."});
            let refused = account.post(DOCUMENTS, body).send().await;
            refused.assert_error(503, "service_unavailable");
            assert_eq!(refused.header("retry-after"), Some("5"));
            let refused = account.get(&audio).send().await;
            refused.assert_error(503, "service_unavailable");
            assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
            let list = account.read(DOCUMENTS).await;
            assert_eq!(list["data"], json!([]), "nothing half taken in");
            // The rest goes on.
            let agent = account.agent().await;
            let handle = account.call(&agent, "+5215512345678").await;
            assert_eq!(account.ended(&handle).await["status"], "completed");
            objects.recover();
            assert_eq!(account.get(&audio).send().await.status, 200);
        }
        // Taken in, and then the store goes before it is read: by the next process, which waits for it.
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_waits_for_the_store_and_is_read_then() {
    let objects = ObjectServer::start().await;
    let options = objects.used_by(Options::on(offhook_tests::Database::Sqlite));
    let mut server = Server::start(options).await;
    let account = server.account("scale").await;
    // Whoever reads asks the store at once: only a process that has just begun finds it silent.
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
