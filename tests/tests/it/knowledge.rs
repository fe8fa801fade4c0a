//! Documents from the binary: read by its own child, found, and kept across a crash.

use std::time::Duration;

use offhook_testkit::files;
use offhook_tests::{Account, Options, Server, both, eventually, text};
use serde_json::{Value, json};

const DOCUMENTS: &str = "/v1/knowledge/documents";

/// Sends a file and waits until it has been read.
async fn read(account: &Account, name: &str, content: &[u8]) -> Value {
    let mut body = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    )
    .into_bytes();
    body.extend(content);
    body.extend(b"\r\n--XX--\r\n");
    let sent = account
        .client
        .request("POST", DOCUMENTS)
        .header("Content-Type", "multipart/form-data; boundary=XX")
        .body(body);
    let made = sent.send().await.assert(202);
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    eventually("a document", Duration::from_secs(60), || async {
        let document = account.client.read(&target).await;
        (document["status"] != "processing").then_some(document)
    })
    .await
}

both! {
    async fn files_are_read_by_a_child_with_limits(database: Database) {
        let mut server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let pdf = read(&account, "a.pdf", &files::pdf("The pool opens at nine.")).await;
        assert_eq!(pdf["status"], "ready", "{pdf}");
        let docx = read(&account, "a.docx", &files::docx(&["Towels are free."])).await;
        assert_eq!(docx["status"], "ready", "{docx}");
        for (name, content, why) in [
            ("b.pdf", files::encrypted_pdf(), "password"),
            ("b.docx", files::docx_bomb(), "unpacks"),
        ] {
            let failed = read(&account, name, &content).await;
            assert_eq!(failed["status"], "failed");
            assert!(text(&failed["error"]).contains(why), "{failed}");
        }
        server.crash_and_restart().await;
        let query = json!({"query": "When does the pool open?"});
        let found = account.client.post("/v1/knowledge/search", query).send().await.assert(200);
        assert_eq!(found["data"][0]["document_id"], pdf["id"]);
    }
}
