//! Documents in the binary: read by its own child process, found, and kept across a crash.

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
    let made = sent.await.assert(202);
    let target = format!("{DOCUMENTS}/{}", text(&made["id"]));
    eventually("a document", Duration::from_secs(60), || async {
        let document = account.client.read(&target).await;
        (document["status"] != "processing").then_some(document)
    })
    .await
}

both! {
    async fn files_are_read_by_a_child_with_limits(database: Database) {
        let (mut server, account) = Server::furnished(database).await;
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
        let found = account.client.post("/v1/knowledge/search", query).await.assert(200);
        assert_eq!(found["data"][0]["document_id"], pdf["id"]);
    }

    async fn a_file_that_kills_its_reader_does_so_three_times_and_others_are_read(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let failed = read(&account, "bomb.pdf", &files::pdf_bomb()).await;
        assert_eq!(failed["status"], "failed");
        assert_eq!(
            failed["error"],
            "Reading the file failed, perhaps for want of memory: save it anew, or send its text."
        );
        let log = server.log();
        let deaths = log.lines().filter(|line| line.contains("a reader of documents died"));
        assert_eq!(deaths.count(), 2, "the third is the end:\n{log}");
        let good = read(&account, "a.pdf", &files::pdf("The pool opens at nine.")).await;
        assert_eq!(good["status"], "ready");
    }

    async fn a_model_looks_things_up_by_the_search_tool(database: Database) {
        // A callee answers 600 ms after the agent's last word, by the clock of the call: enough time for a search on
        // a busy machine.
        let server = Server::start(Options::on(database).set("simulator.speed", 3)).await;
        let account = server.account("scale").await;
        let pool = read(&account, "pool.txt", b"The pool opens at nine.").await;
        let menu = read(&account, "menu.txt", b"Breakfast is served until ten.").await;
        let bye = json!({"name": "bye", "description": "Ends the call.", "kind": "end_call"});
        let bye = account.post("/v1/agents/tools", bye).await.assert(201);
        let agent = account
            .agent_with(json!({
                "system_prompt": "say: Let me look.\ncall: search_knowledge {\"query\":\"When does the POOL open?\"}\n\
                                  then: And breakfast?\ncall: search_knowledge {\"query\":\"breakfast\"}\n\
                                  then: Goodbye.\ncall: search_knowledge {\"question\":1}\ncall: bye",
                "first_message": "Hello.",
                "llm": {"provider": "scripted", "model": "scripted"},
                "conversation": {"turns": {"silence_timeout_s": 120}},
                "knowledge_base": {"mode": "tool", "doc_ids": [pool["id"]], "top_k": 1},
                "tool_ids": [bye["id"]],
            }))
            .await;
        let handle = account.call(&agent, "+5215512345678").await;
        let call = account.ended(&handle).await;
        let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
        let conversation = account.read(&target).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let turns: Vec<_> = turns
            .filter(|turn| turn["role"] != "user")
            .map(|turn| format!("{}: {}", text(&turn["role"]), text(&turn["text"])))
            .collect();
        assert_eq!(turns[0], "agent: Hello.");
        // If the customer speaks between two steps, the turn starts again.
        let turn = [
            "agent: Let me look.",
            "tool: search_knowledge({\"query\":\"When does the POOL open?\"}) → [pool.txt]\nThe pool opens at nine.",
            "agent: And breakfast?",
            "tool: search_knowledge({\"query\":\"breakfast\"}) → The documents say nothing about it.",
            "agent: Goodbye.",
            "tool: search_knowledge({\"question\":1}) → `query` must be a string that says what to look for.",
            "tool: bye({}) → Done.",
        ];
        let last = turns.len().saturating_sub(turn.len());
        assert_eq!(turns[last..], turn, "{call}");
        // Documents that the agent's version does not name are not used in its answers.
        let query = json!({"query": "breakfast"});
        let found = account.post("/v1/knowledge/search", query).await.assert(200);
        assert_eq!(found["data"][0]["document_id"], menu["id"]);
    }
}
