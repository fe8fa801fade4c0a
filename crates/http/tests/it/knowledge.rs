//! `/v1/knowledge`, and agents that use it.

use offhook_domain::Plan;
use offhook_testkit::files;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, members, rows, text};
use crate::it::client::{Request, eventually};

pub(crate) const DOCUMENTS: &str = "/v1/knowledge/documents";
pub(crate) const FOLDERS: &str = "/v1/knowledge/folders";
pub(crate) const SEARCH: &str = "/v1/knowledge/search";

const DOCUMENT: &str = "id name folder_id source mime_type size_bytes chunks_count status \
    error created_at updated_at";

pub(crate) async fn reading() -> TestApp {
    let app = TestApp::start().await;
    app.read_documents();
    app
}

/// Sends a text and waits until it has been read.
pub(crate) async fn document(app: &TestApp, name: &str, content: &str) -> String {
    let body = json!({"name": name, "text": content});
    let made = app.post(DOCUMENTS, body).await.assert(202);
    read(app, &text(&made["id"])).await;
    text(&made["id"])
}

/// Waits until a document has been read.
pub(crate) async fn read(app: &TestApp, id: &str) -> Value {
    let target = format!("{DOCUMENTS}/{id}");
    app.until(&target, |document| document["status"] != "processing")
        .await
}

pub(crate) async fn folder(app: &TestApp, name: &str) -> String {
    let made = app.post(FOLDERS, json!({"name": name})).await;
    text(&made.assert(201)["id"])
}

/// An upload of one file, with other fields before it.
fn upload(request: Request, fields: &[(&str, &str)], file: &str, content: &[u8]) -> Request {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .into_bytes(),
        );
    }
    body.extend(
        format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\r\n"
        )
        .into_bytes(),
    );
    body.extend(content);
    body.extend(b"\r\n--XX--\r\n");
    request
        .header("Content-Type", "multipart/form-data; boundary=XX")
        .body(body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_taken_in_read_and_given_out() {
    let app = TestApp::start().await;
    let content = "The pool opens at nine. ".repeat(100);
    let body = json!({"name": "Hours", "text": content});
    let made = app.post(DOCUMENTS, body).await.assert(202);
    assert_eq!(members(&made), DOCUMENT);
    assert_eq!(made["name"], "Hours");
    assert_eq!(made["folder_id"], json!(null));
    assert_eq!(made["source"], "text");
    assert_eq!(made["mime_type"], "text/plain");
    assert_eq!(made["size_bytes"], 2_400);
    assert_eq!(made["chunks_count"], 0);
    assert_eq!(made["status"], "processing");
    assert_eq!(made["error"], json!(null));
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    let early = app.get(&format!("{target}/content")).await;
    let message = early.assert_error(409, "conflict");
    assert!(message.contains("still being read"), "{message}");
    app.read_documents();
    let ready = read(&app, &text(&made["id"])).await;
    assert_eq!(ready["status"], "ready");
    assert!(ready["chunks_count"].as_i64() > Some(1), "{ready}");
    let list = app.read(DOCUMENTS).await;
    let expected = json!({"data": [ready], "has_more": false, "next_cursor": null});
    assert_eq!(list, expected);
    let answer = app.get(&format!("{target}/content")).await;
    assert_eq!(answer.status, 200);
    let expected = Some("text/plain; charset=utf-8");
    assert_eq!(answer.header("content-type"), expected);
    assert_eq!(
        answer.header("content-disposition"),
        Some("attachment; filename=\"document.txt\"; filename*=UTF-8''Hours.txt")
    );
    assert_eq!(String::from_utf8_lossy(&answer.body), content);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_renamed_moved_filtered_and_deleted() {
    let app = reading().await;
    let id = document(&app, "Año nuevo", "Closed.").await;
    let other = document(&app, "Other", "Open.").await;
    let rooms = folder(&app, "Rooms").await;
    let target = format!("{DOCUMENTS}/{id}");
    let patch = async |body: Value| app.patch(&target, body).await;
    let moved = patch(json!({"name": "AÑO", "folder_id": rooms})).await;
    let moved = moved.assert(200);
    assert_eq!(moved["name"], "AÑO");
    assert_eq!(moved["folder_id"], json!(rooms));
    let listed = async |query: &str| {
        let list = app.read(&format!("{DOCUMENTS}?{query}")).await;
        let data = list["data"].as_array().cloned().unwrap_or_default();
        data.iter()
            .map(|item| text(&item["id"]))
            .collect::<Vec<_>>()
    };
    let expected = std::slice::from_ref(&id);
    assert_eq!(listed(&format!("folder_id={rooms}")).await, expected);
    assert_eq!(listed("folder_id=root").await, std::slice::from_ref(&other));
    let expected = std::slice::from_ref(&id);
    assert_eq!(listed("status=ready&q=a%C3%B1o").await, expected);
    assert_eq!(listed("status=failed").await, Vec::<String>::new());
    let folder = "`folder_id`: must be a folder's UUID or `root`";
    let status = "`status`: must be `processing`, `ready` or `failed`";
    app.refuses_queries(DOCUMENTS, &[("folder_id=x", folder), ("status=x", status)])
        .await;
    let null = patch(json!({"name": null})).await;
    let null = null.assert_error(400, "invalid_body");
    assert_eq!(null, "`name`: must not be null");
    let back = patch(json!({"folder_id": null})).await.assert(200);
    assert_eq!(back["folder_id"], json!(null));
    assert_eq!(patch(json!({})).await.assert(200), back);
    let deleted = app.delete(&target).await.assert(200);
    let expected = json!({"id": id, "deleted": true, "agents_affected": []});
    assert_eq!(deleted, expected);
    for method in ["GET", "DELETE"] {
        let answer = app.request(method, &target).await;
        answer.assert_error(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_have_names_of_their_own_and_let_their_documents_go() {
    let app = reading().await;
    let made = app.post(FOLDERS, json!({"name": "Menú"})).await.assert(201);
    let expected = "id name documents_count created_at updated_at";
    assert_eq!(members(&made), expected);
    let id = text(&made["id"]);
    let taken = app.post(FOLDERS, json!({"name": "MENU\u{301}"})).await;
    let expected = "`name`: another folder has this name";
    assert_eq!(taken.assert_error(409, "conflict"), expected);
    let target = format!("{FOLDERS}/{id}");
    let body = json!({"name": "Lunch", "text": "Soup.", "folder_id": id});
    app.post(DOCUMENTS, body).await.assert(202);
    let renamed = app.patch(&target, json!({"name": "Food"})).await;
    assert_eq!(renamed.assert(200)["documents_count"], 1);
    let list = app.read(FOLDERS).await;
    assert_eq!(list["data"][0]["name"], "Food");
    let deleted = app.delete(&target).await.assert(200);
    let expected = json!({"id": id, "deleted": true, "documents_moved_to_root": 1});
    assert_eq!(deleted, expected);
    app.get(&target).await.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_file_is_read_and_a_broken_one_says_why() {
    let app = reading().await;
    let (docx, pdf) = (
        files::docx(&["The spa closes late."]),
        files::pdf("Breakfast is served early."),
    );
    let good: [(&str, &[u8], &str, &str); 6] = [
        ("a.txt", b"Towels are free.", "text/plain", "towels"),
        ("a.md", b"# Gym\n\nAlways *open*.", "text/markdown", "gym"),
        (
            "a.html",
            b"<p>Parking costs <b>ten</b></p>",
            "text/html",
            "parking",
        ),
        ("a.csv", b"room,price\nSuite,900\n", "text/csv", "suite"),
        (
            "a.docx",
            &docx,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "spa",
        ),
        ("a.pdf", &pdf, "application/pdf", "breakfast"),
    ];
    for (name, content, mime_type, query) in good {
        let sent = upload(
            app.request("POST", DOCUMENTS),
            &[("name", query)],
            name,
            content,
        );
        let made = sent.await.assert(202);
        assert_eq!(made["name"], json!(query));
        assert_eq!(made["source"], "file");
        let ready = read(&app, &text(&made["id"])).await;
        assert_eq!(
            (&ready["status"], &ready["mime_type"]),
            (&json!("ready"), &json!(mime_type)),
            "{ready}"
        );
        let found = app.post(SEARCH, json!({"query": query})).await.assert(200);
        assert_eq!(found["data"][0]["document_id"], made["id"], "{query}");
    }
    let (encrypted, bomb) = (files::encrypted_pdf(), files::docx_bomb());
    let broken: [(&str, &[u8], &str); 4] = [
        ("b.pdf", &encrypted, "password"),
        ("b.docx", &bomb, "unpacks"),
        ("b.docx", b"no archive", "could not be read"),
        ("b.txt", b"\0\x01\x02", "not text"),
    ];
    for (name, content, why) in broken {
        let sent = upload(app.request("POST", DOCUMENTS), &[], name, content);
        let made = sent.await.assert(202);
        assert_eq!(made["name"], name, "its own");
        let failed = read(&app, &text(&made["id"])).await;
        assert_eq!(failed["status"], "failed");
        assert!(text(&failed["error"]).contains(why), "{failed}");
        let content = format!("{DOCUMENTS}/{}/content", text(&made["id"]));
        app.get(&content).await.assert_error(409, "conflict");
    }
    let base64 = json!({"name": "Notes", "content_base64": "VG93ZWxz"});
    let made = app.post(DOCUMENTS, base64).await.assert(202);
    assert_eq!(made["mime_type"], "text/plain");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_documents_are_refused_by_their_field() {
    let app = TestApp::start().await;
    let nobody = "01890000-0000-7000-8000-000000000000";
    for [body, message] in rows(include_str!("../cases/documents.txt")) {
        let said = app.post(DOCUMENTS, body).await;
        let said = said.assert_error(400, "invalid_body");
        assert!(said.starts_with(message), "{body}: {said}");
    }
    let post = || app.request("POST", DOCUMENTS);
    for (request, message) in [
        (
            upload(post(), &[], "a.xlsx", b"x"),
            "`file`: must be a txt, md",
        ),
        (
            upload(post(), &[], "a.txt", b""),
            "`file`: must not be empty",
        ),
        (upload(post(), &[], "", b"x"), "`name`: is required"),
        (
            upload(post(), &[("colour", "1")], "a.txt", b"x"),
            "`colour`: unknown field",
        ),
        (
            upload(post(), &[("name", "a"), ("name", "b")], "a.txt", b"x"),
            "`name`: is given more than once",
        ),
        (
            upload(post(), &[("folder_id", nobody)], "a.txt", b"x"),
            "`folder_id`: the account has no such",
        ),
        (
            post()
                .header("Content-Type", "multipart/form-data; boundary=XX")
                .body("junk"),
            "The body",
        ),
        (
            post()
                .header("Content-Type", "multipart/form-data")
                .body("junk"),
            "The body",
        ),
    ] {
        let said = request.await.assert_error(400, "invalid_body");
        assert!(
            said.to_lowercase().starts_with(&message.to_lowercase()),
            "{message}: {said}"
        );
    }
    let plain = post().header("Content-Type", "text/plain").body("x");
    plain.await.assert_error(400, "invalid_json");
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_mebibytes_are_taken_and_one_byte_more_is_not() {
    let app = TestApp::start().await;
    let most = vec![b'x'; 20 * 1024 * 1024];
    let sent = upload(app.request("POST", DOCUMENTS), &[], "a.txt", &most);
    assert_eq!(sent.await.assert(202)["size_bytes"], most.len());
    let more = [&most[..], b"x"].concat();
    let sent = upload(app.request("POST", DOCUMENTS), &[], "a.txt", &more);
    sent.await.assert_error(413, "payload_too_large");
    let json = format!("{{\"name\":\"a\",\"text\":\"{}\"}}", "x".repeat(most.len()));
    let answer = app.post(DOCUMENTS, json).await;
    answer.assert_error(413, "payload_too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn search_finds_the_accounts_own_passages_best_first() {
    let app = reading().await;
    let pool = document(
        &app,
        "Pool",
        "The pool opens at nine. Pool towels are free at the pool.",
    )
    .await;
    let menu = document(
        &app,
        "Menu",
        "Breakfast is served at nine in the restaurant.",
    )
    .await;
    let find = async |body: Value| app.post(SEARCH, body).await.assert(200);
    let found = find(json!({"query": "When does the POOL open?"})).await;
    assert_eq!(members(&found), "data");
    let hits = found["data"].as_array().cloned().unwrap_or_default();
    assert_eq!(members(&hits[0]), "document_id document_name chunk score");
    assert_eq!(hits[0]["document_id"], json!(pool));
    assert_eq!(hits[0]["document_name"], "Pool");
    let expected = "The pool opens at nine. Pool towels are free at the pool.";
    assert_eq!(hits[0]["chunk"], expected);
    assert!(hits[0]["score"].as_f64() > hits[1]["score"].as_f64());
    assert_eq!(
        find(json!({"query": "nine", "top_k": 1})).await["data"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let only = find(json!({"query": "nine", "doc_ids": [menu]})).await;
    assert_eq!(only["data"][0]["document_id"], json!(menu));
    assert_eq!(only["data"].as_array().map(Vec::len), Some(1));
    for query in ["zebra", "…!"] {
        assert_eq!(find(json!({"query": query})).await, json!({"data": []}));
    }

    // Another account's documents change no score, and its ids do not exist here.
    let stranger = app.stranger(Plan::Scale).await;
    let body = json!({"name": "Theirs", "text": "pool pool pool nine"});
    let theirs = app.bare("POST", DOCUMENTS).key(&stranger).json(body).await;
    let theirs = theirs.assert(202);
    let target = format!("{DOCUMENTS}/{}", text(&theirs["id"]));
    let read = async || {
        let read = app.bare("GET", &target).key(&stranger).await.assert(200);
        (read["status"] == "ready").then_some(())
    };
    eventually(read).await;
    assert_eq!(
        find(json!({"query": "When does the POOL open?"})).await,
        found
    );
    let bad = [
        (
            json!({"query": "x", "doc_ids": [theirs["id"]]}),
            "`doc_ids[0]`: the account has no such document",
        ),
        (
            json!({"query": "x", "folder_ids": [pool]}),
            "`folder_ids[0]`: the account has no such folder",
        ),
        (
            json!({"query": "x", "doc_ids": ["y"]}),
            "`doc_ids[0]`: must be a UUID",
        ),
        (
            json!({"query": "x", "top_k": 21}),
            "`top_k`: must be an integer from 1 to 20",
        ),
        (json!({"query": ""}), "`query`: must not be empty"),
        (json!({}), "`query`: is required"),
    ];
    app.refuses_bodies(SEARCH, &bad).await;
    app.delete(&format!("{DOCUMENTS}/{pool}")).await.assert(200);
    assert_eq!(find(json!({"query": "towels"})).await, json!({"data": []}));
}

/// An agent that answers from these documents.
pub(crate) async fn agent(app: &TestApp, prompt: &str, knowledge: Value) -> String {
    let config = json!({
        "system_prompt": prompt,
        "first_message": "Hello. Is this a good moment?",
        "llm": {"provider": "scripted", "model": "scripted"},
        "knowledge_base": knowledge,
    });
    app.agent_with("en", config).await
}

/// The agent's words in a call, as one text.
async fn said(app: &TestApp, agent: &str) -> String {
    let call = app.call(agent, CUSTOMER).await;
    let ended = app.ended(&text(&call["id"])).await;
    let conversation = format!("/v1/conversations/{}", text(&ended["id"]));
    let conversation = app.read(&conversation).await;
    let turns = conversation["transcript"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let of_agent = turns.iter().filter(|turn| turn["role"] == "agent");
    of_agent
        .map(|turn| text(&turn["text"]))
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_from_what_was_published_until_it_is_deleted() {
    // Slow enough for callees to talk.
    let app = TestApp::at_speed(100.0).await;
    app.read_documents();
    app.dial();
    let rooms = folder(&app, "Rooms").await;
    // The scripted model repeats a `say:` line of its prompt.
    let content = "This is a good moment, yes.\nsay: The pool opens at nine.";
    let body = json!({"name": "Pool", "text": content, "folder_id": rooms});
    let id = text(&app.post(DOCUMENTS, body).await.assert(202)["id"]);
    read(&app, &id).await;
    let knowing = agent(
        &app,
        "You are Eva.",
        json!({"folder_ids": [rooms], "mode": "auto"}),
    )
    .await;
    let off = agent(&app, "You are Eva.", json!({"folder_ids": [rooms]})).await;
    let told = said(&app, &knowing).await;
    assert!(told.contains("The pool opens at nine."), "{told}");
    assert!(!said(&app, &off).await.contains("nine"));
    // Moving it out of the folder does not change the published version.
    let target = format!("{DOCUMENTS}/{id}");
    let answer = app.patch(&target, json!({"folder_id": null})).await;
    answer.assert(200);
    assert!(
        said(&app, &knowing)
            .await
            .contains("The pool opens at nine.")
    );
    let deleted = app.delete(&target).await.assert(200);
    let mut affected = deleted["agents_affected"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    affected.sort_by_key(|agent| text(&agent["id"]));
    // The clock stands still, so either may have the smaller id.
    let mut expected = [&knowing, &off].map(|id| json!({"id": id, "name": "Sofía"}));
    expected.sort_by_key(|agent| text(&agent["id"]));
    assert_eq!(affected, expected);
    assert!(
        !said(&app, &knowing).await.contains("nine"),
        "calls go on without it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_names_only_what_the_account_has() {
    let app = reading().await;
    let id = document(&app, "Mine", "x").await;
    let stranger = app.stranger(Plan::Scale).await;
    let body = json!({"name": "a", "text": "x"});
    let theirs = app.bare("POST", DOCUMENTS).key(&stranger).json(body).await;
    let theirs = theirs.assert(202);
    let body = |knowledge: Value| json!({"name": "a", "language": "en", "config": {"knowledge_base": knowledge}});
    let cases = [
        (
            json!({"doc_ids": [id, theirs["id"]]}),
            "`config.knowledge_base.doc_ids[1]`: the account has no such document",
        ),
        (
            json!({"folder_ids": [id]}),
            "`config.knowledge_base.folder_ids[0]`: the account has no such folder",
        ),
    ];
    let made = app.post("/v1/agents", body(json!({"doc_ids": [id]}))).await;
    let made = made.assert(201);
    let target = format!("/v1/agents/{}", text(&made["id"]));
    for (knowledge, message) in cases {
        let answer = app.post("/v1/agents", body(knowledge.clone())).await;
        assert_eq!(answer.assert_error(400, "invalid_body"), message);
        let patch = json!({"config": {"knowledge_base": knowledge}});
        let answer = app.patch(&target, patch).await;
        assert_eq!(answer.assert_error(400, "invalid_body"), message);
    }
}
