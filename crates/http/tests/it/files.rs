//! An uploaded document is an object until it has been read, and no longer.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use offhook_services::objects::{Objects, S3Settings};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::it::app::{Setup, TestApp, text};
use crate::it::client::{eventually, must};
use crate::it::knowledge;

const DOCUMENTS: &str = "/v1/knowledge/documents";

/// The files in a folder and below, by file name.
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = must(entry);
        if must(entry.file_type()).is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

/// Sends a text that no worker reads yet.
async fn sent(app: &TestApp, name: &str, content: &str) -> String {
    let body = json!({"name": name, "text": content});
    let made = app.post(DOCUMENTS, body).await.assert(202);
    text(&made["id"])
}

/// Waits until there is no file in a folder.
async fn emptied(folder: &Path) {
    eventually(async || files(folder).is_empty().then_some(())).await;
}

async fn collect(app: &TestApp) -> Option<usize> {
    let never = CancellationToken::new();
    must(app.services.upload_collector().sweep(&never).await)
}

/// Puts a file among the uploads, dated to the start of the test's clock.
fn left_behind(app: &TestApp, name: &str) {
    let folder = app.objects().join("uploads").join(app.account.to_string());
    must(std::fs::create_dir_all(&folder));
    let path = folder.join(name);
    must(std::fs::write(&path, b"abc"));
    let file = must(File::options().write(true).open(&path));
    let micros = u64::try_from(app.clock.advance(Duration::ZERO).micros()).unwrap_or(0);
    must(file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_micros(micros)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_kept_until_it_has_been_read() {
    let app = TestApp::start().await;
    let id = sent(&app, "Hours", "The pool opens at nine.").await;
    let uploads = app.objects().join("uploads");
    assert_eq!(files(&uploads), std::slice::from_ref(&id));
    let key = uploads.join(app.account.to_string()).join(&id);
    assert_eq!(must(std::fs::read(key)), b"The pool opens at nine.");
    app.read_documents();
    let read = knowledge::read(&app, &id).await;
    assert_eq!(read["status"], "ready");
    emptied(&uploads).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_deleted_unread_takes_what_was_sent_along() {
    let app = TestApp::start().await;
    let id = sent(&app, "Hours", "The pool opens at nine.").await;
    app.delete(&format!("{DOCUMENTS}/{id}")).await.assert(200);
    app.read_documents();
    let uploads = app.objects().join("uploads");
    emptied(&uploads).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_left_behind_is_collected_after_a_day_and_nothing_else() {
    let app = TestApp::start().await;
    let waiting = sent(&app, "Hours", "The pool opens at nine.").await;
    left_behind(&app, &waiting);
    left_behind(&app, "01a1fbb9-c138-7000-8000-000000000001");
    left_behind(&app, "01a1fbb9-c138-7000-8000-000000000002#1");
    left_behind(&app, "not-ours");
    app.clock.advance(Duration::from_secs(86_400));
    assert_eq!(collect(&app).await, Some(0), "it may be being written");
    assert_eq!(collect(&app).await, None, "done for an hour");
    app.clock.advance(Duration::from_secs(3_601));
    assert_eq!(collect(&app).await, Some(1));
    let mut left = [waiting, "not-ours".to_owned()];
    left.sort();
    assert_eq!(files(&app.objects().join("uploads")), left);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_not_there_leaves_nothing_behind() {
    let app = TestApp::start().await;
    let folder = "01a1fbb9-c138-7000-8000-000000000001";
    let body = json!({"name": "Hours", "text": "Nine.", "folder_id": folder});
    let refused = app.post(DOCUMENTS, body).await;
    refused.assert_error(400, "invalid_body");
    assert!(files(&app.objects().join("uploads")).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_was_lost_fails_its_document_in_words() {
    let app = TestApp::start().await;
    let id = sent(&app, "Hours", "The pool opens at nine.").await;
    let uploads = app.objects().join("uploads");
    must(std::fs::remove_dir_all(&uploads));
    app.read_documents();
    let read = knowledge::read(&app, &id).await;
    assert_eq!(
        (
            text(&read["status"]).as_str(),
            text(&read["error"]).as_str()
        ),
        (
            "failed",
            "The file is not in the object store any more: send it again."
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_object_store_nothing_is_taken_in() {
    // An address without a server.
    let nowhere = must(std::net::TcpListener::bind("127.0.0.1:0"));
    let port = must(nowhere.local_addr()).port();
    drop(nowhere);
    let files = Objects::s3(&S3Settings {
        bucket: "files".to_owned(),
        prefix: "offhook".to_owned(),
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        region: None,
        access_key_id: "id".to_owned(),
        secret_access_key: "secret".to_owned(),
        session_token: None,
    });
    let app = TestApp::with(Setup {
        files: Some(must(files)),
        ..Setup::default()
    })
    .await;
    let body = json!({"name": "Hours", "text": "The pool opens at nine."});
    let refused = app.post(DOCUMENTS, body).await;
    refused.assert_error(503, "service_unavailable");
    assert!(refused.header("retry-after").is_some());
    let list = app.read(DOCUMENTS).await;
    assert_eq!(list["data"], json!([]));
}
