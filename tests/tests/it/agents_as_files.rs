//! `offhook agents pull|diff|plan|apply`: agents as a folder of files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use offhook_tests::{Database, Options, Server, both, eventually, text};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::customers::Customer;

const CHANGES: i32 = 3;

/// A customer's folder.
struct Folder {
    dir: TempDir,
    customer: Customer,
}

impl Folder {
    async fn of(server: &Server) -> Self {
        Self {
            dir: TempDir::new().expect("a folder"),
            customer: Customer::of(server).await,
        }
    }

    /// The same customer at another desk.
    fn another(&self) -> Self {
        let account = self.customer.account.clone();
        let url = self.customer.url.clone();
        Self {
            dir: TempDir::new().expect("a folder"),
            customer: Customer { url, account },
        }
    }

    /// The exit code of `offhook agents LINE FOLDER`, and what it printed: on standard output, or as an error.
    async fn run(&self, line: &str) -> (i32, String) {
        let mut command = self.customer.command(&format!("agents {line}"));
        let output = command.arg(self.dir.path()).output().await;
        let output = output.expect("a command");
        let said = match output.status.code() {
            Some(1) => output.stderr,
            _ => output.stdout,
        };
        let said = String::from_utf8(said).expect("text");
        (output.status.code().expect("an exit code"), said)
    }

    async fn done(&self, line: &str) -> String {
        let (code, said) = self.run(line).await;
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(path)).expect(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{text}");
        self.write(path, text.replace(from, to));
    }

    async fn agents(&self) -> Value {
        self.customer.account.read("/v1/agents?limit=100").await["data"].clone()
    }

    async fn agent(&self, id: &str) -> Value {
        self.customer
            .account
            .read(&format!("/v1/agents/{id}"))
            .await
    }
}

/// Each file below a folder with its text, sorted.
pub(crate) fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).expect("below").display();
                    found.push((name.to_string(), fs::read_to_string(&path).expect("text")));
                }
            }
        }
    }
    found.sort();
    found
}

/// Texts that a file format may mistake for something else.
fn odd_text() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "yes",
        "~",
        "null",
        "0x1F",
        "1_000",
        "2026-11-29",
        "---",
        "---\nname: x\n---\n",
        "\n\nleads",
        "trails\n\n",
        "a\r\nb\r\n",
        "  indented\n\tby a tab",
        "key: value # comment",
        "- [x] {y}: &z *z !z | > % @ `",
        "\"quoted\" 'twice' \\n",
        "é 漢字 🦀 \u{2028}\u{85}\u{feff}",
        "<<: *x",
        "${HOME} and ***",
    ];
    prop_oneof![
        proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
        "[\\p{L}\\p{N}\\p{P}\\p{S}\\p{Z}&&[^{}]]{0,300}",
        "([ -z|~]{0,120}\n){0,12}",
    ]
}

fn agent_of(tools: Vec<Value>, documents: Vec<Value>) -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        odd_text().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1_000_000i32..1_000_000).prop_map(|number| json!(f64::from(number) / 1_000.0)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let variables = proptest::collection::btree_map("[a-z][a-z0-9_]{0,20}", scalar, 0..5);
    let subset = |of: Vec<Value>| proptest::sample::subsequence(of.clone(), 0..=of.len());
    (odd_text(), odd_text(), variables, 0..=2_000i32, subset(tools), subset(documents)).prop_map(
        |(prompt, first, variables, degrees, tools, documents)| {
            let variables = variables.into_iter();
            let variables: Value = variables.map(|(name, default)| (name, json!({ "default": default }))).collect();
            json!({
                "system_prompt": prompt,
                "first_message": first,
                "llm": { "provider": "scripted", "model": "scripted", "temperature": f64::from(degrees) / 1_000.0 },
                "dynamic_variables": variables,
                "tool_ids": tools,
                "knowledge_base": { "doc_ids": documents },
            })
        },
    )
}

both! {
    async fn to_apply_what_was_pulled_changes_nothing(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let folder = Folder::of(&server).await;
        let account = &folder.customer.account;
        let http = json!({ "method": "GET", "url": "https://example.com/slots", "headers": { "Authorization": "Bearer s3cr3t" } });
        let mut tools = Vec::new();
        for tool in [
            json!({ "name": "find_slot", "description": "yes", "kind": "http", "http": http, "parameters": { "type": "object", "properties": { "no": { "type": "string", "default": "~" } } } }),
            json!({ "name": "goodbye", "description": "- ends", "kind": "end_call" }),
            json!({ "name": "person", "description": "A person.", "kind": "transfer", "transfer": { "targets": [{ "name": "on", "to": "+15005550111" }] } }),
        ] {
            tools.push(account.post("/v1/agents/tools", tool).await.assert(201)["id"].clone());
        }
        let mut documents = Vec::new();
        for (name, words) in [("hours", "Nine to six."), ("a/../b", "Twice."), ("a/../b", "Thrice.")] {
            let body = json!({ "name": name, "text": words });
            documents.push(account.post("/v1/knowledge/documents", body).await.assert(202)["id"].clone());
        }
        for id in &documents {
            let path = format!("/v1/knowledge/documents/{}", text(id));
            let is_ready = async || (account.read(&path).await["status"] == "ready").then_some(());
            eventually("a document that is read", Duration::from_secs(30), is_ready).await;
        }
        let mut runner = TestRunner::deterministic();
        let configs = agent_of(tools, documents);
        let mut made = 0;
        for round in 0..40 {
            let config = configs.new_tree(&mut runner).expect("a configuration").current();
            let body = json!({ "name": format!("Ann's {}", round / 2), "language": "en-US", "config": config });
            let answer = account.post("/v1/agents", body).await;
            if answer.status != 201 {
                // A text that the service refuses is no text of an agent.
                answer.assert_error(400, "invalid_body");
                continue;
            }
            made += 1;
            let path = format!("/v1/agents/{}", text(&answer.json()["id"]));
            let settings = json!({ "time_zone": "America/Mexico_City", "context_url": { "url": "https://example.com/context" } });
            if round % 3 == 0 {
                account.request("PUT", &format!("{path}/settings")).json(settings).await.assert(200);
            }
            if round % 4 == 0 {
                let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" }, "mood": { "enum": ["on", "off", null, 1.5] } } });
                account.request("PUT", &format!("{path}/analysis-schema")).json(json!({ "schema": schema })).await.assert(200);
            }
        }
        assert!(made > 25, "{made}");
        let before = (folder.agents().await, account.read("/v1/agents/tools").await);

        let pulled = folder.done("pull").await;
        assert_eq!(pulled.matches("agent.md").count(), made, "{pulled}");
        let all = files(folder.dir.path());
        assert_eq!(folder.done("plan").await, "no changes\n");
        // Only a file that was touched is compared.
        for (path, text) in &all {
            if path.ends_with(".yaml") {
                folder.write(path, format!("# reviewed\n{text}"));
            } else if path.ends_with("agent.md") {
                folder.write(path, text.replacen("---\n", "---\n# reviewed\n", 1));
            }
        }
        assert_eq!(folder.done("plan").await, "no changes\n");
        assert_eq!(folder.done("diff").await, "\n");
        assert_eq!(folder.done("apply").await, "no changes\n");
        assert_eq!((folder.agents().await, account.read("/v1/agents/tools").await), before);
        assert_eq!(folder.done("pull").await, "the files are up to date\n");

        let other = folder.another();
        other.done("pull").await;
        assert_eq!(files(other.dir.path()), all, "the form is stable");
        assert!(all.iter().all(|(_, text)| !text.contains("s3cr3t") && !text.contains("whsec_")), "{all:?}");
        assert_eq!(folder.read("knowledge/hours"), "Nine to six.");
    }

    async fn a_folder_becomes_agents_tools_and_documents(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let folder = Folder::of(&server).await;
        folder.write("desk/agent.md", "---\nname: Desk # at the door\nlanguage: en-US\nconfig:\n  llm: {provider: scripted, model: scripted}\n  tools: [find_slot]\n  knowledge_base: {documents: [hours.md], mode: tool}\nsettings: {context_url: {url: https://example.com/context}}\n---\n\nsay: hello\n\nsay: bye\n");
        folder.write("tools/find_slot.yaml", "description: Finds a slot.\nkind: http\nparameters: {type: object, properties: {}}\nhttp:\n  method: GET\n  url: https://example.com/slots\n  headers: {Authorization: \"Bearer ${SLOTS_KEY}\"}\n");
        folder.write("knowledge/hours.md", "Nine to six.");
        let (code, planned) = folder.run("plan").await;
        assert_eq!(code, CHANGES, "{planned}");
        for line in ["+ new: desk/agent.md\n", "  config.tools: [] → [\"find_slot\"]\n", "    +say: hello\n", "  ! set SLOTS_KEY in the environment to apply this\n", "3 to create, 0 to change\n"] {
            assert!(planned.contains(line), "{line}: {planned}");
        }
        let (code, error) = folder.run("apply").await;
        assert_eq!((code, error.contains("tools/find_slot.yaml needs the variable SLOTS_KEY")), (1, true), "{error}");
        assert_eq!(folder.agents().await, json!([]));

        let apply = |flags: &str| {
            let mut command = folder.customer.command(&format!("agents apply {flags}"));
            command.env("SLOTS_KEY", "k-1").arg(folder.dir.path());
            command
        };
        let applied = apply("--publish --json").output().await.expect("a command");
        let applied: Value = serde_json::from_slice(&applied.stdout).expect("JSON");
        let all = applied.as_array().expect("a list").iter();
        let desk = all.filter(|one| one["file"] == "desk/agent.md").map(|one| text(&one["done"]));
        let desk: Vec<&str> = desk.collect();
        assert!(desk[0].contains("are signed with whsec_") && desk[1] == "published version 2", "{desk:?}");
        let id = folder.agents().await[0]["id"].clone();
        let agent = folder.agent(text(&id)).await;
        assert_eq!((&agent["current_version"], &agent["published_version"]), (&json!(2), &json!(2)));
        assert_eq!(agent["config"]["system_prompt"], json!("say: hello\n\nsay: bye"));
        assert_eq!(agent["config"]["tool_ids"].as_array().map(Vec::len), Some(1));
        let old = agent["config"]["knowledge_base"]["doc_ids"].clone();
        assert_eq!(old.as_array().map(Vec::len), Some(1));
        assert_eq!(folder.done("plan").await, "no changes\n");

        // A comment is no change, an edit is one field, and a document that is edited is another document.
        folder.edit("desk/agent.md", "at the door", "in the hall");
        assert_eq!(folder.done("plan").await, "no changes\n");
        folder.write("knowledge/hours.md", "Nine to five.");
        let (_, planned) = folder.run("plan").await;
        assert!(planned.contains("  config.knowledge_base.documents: [\""), "{planned}");
        folder.edit("desk/agent.md", "say: bye", "say: farewell");
        let (code, planned) = folder.run("plan").await;
        assert_eq!(code, CHANGES);
        assert!(planned.contains("    -say: bye\n    +say: farewell\n") && planned.contains("+ new, in place of the document before: knowledge/hours.md\n"), "{planned}");
        let (code, differs) = folder.run("diff").await;
        assert_eq!((code, differs.contains("--- service/desk/agent.md\n+++ folder/desk/agent.md\n")), (CHANGES, true), "{differs}");
        let applied = apply("--publish").output().await.expect("a command");
        let applied = String::from_utf8(applied.stdout).expect("text");
        assert!(applied.ends_with("desk/agent.md: published version 3\n"), "{applied}");
        let agent = folder.agent(text(&id)).await;
        assert_ne!(agent["config"]["knowledge_base"]["doc_ids"], old);
        assert!(folder.read("desk/agent.md").contains("# in the hall"), "what a person wrote stays");

        // What cannot serve a call is saved, and the refusal of its publication shown.
        folder.edit("desk/agent.md", "provider: scripted, model: scripted", "provider: google, model: gemini-2.5-flash");
        let (code, error) = folder.run("apply --publish").await;
        assert_eq!(code, 1);
        assert!(error.starts_with("error: desk/agent.md is saved, not published: 409 conflict: `config.llm"), "{error}");
        assert_eq!(folder.agent(text(&id)).await["published_version"], json!(3));
    }

    async fn a_folder_goes_back_and_loses_what_it_leaves_out(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let folder = Folder::of(&server).await;
        let agent = "---\nname: Desk\nlanguage: en-US\nconfig:\n  llm: {provider: scripted, model: scripted}\n  tools: [look]\n---\n\nsay: hello\n";
        folder.write("desk/agent.md", agent);
        let tool = "description: Looks.\nkind: http\nparameters: {type: object}\nhttp: {method: GET, url: https://example.com/one}\n";
        folder.write("tools/look.yaml", tool);
        folder.write("desk/scenarios/greets.yaml", "name: Greets\nturns: [Hi.]\nchecks: [{kind: said, text: hello}]\n");
        folder.done("apply --publish").await;
        let id = text(&folder.agents().await[0]["id"]).to_owned();
        assert_eq!(folder.done("plan").await, "no changes\n");

        // What the next version adds and the file no longer has is taken back.
        let more = agent.replace("scripted}", "scripted, temperature: 1.5}\n  conversation: {max_duration_s: 120}");
        folder.write("desk/agent.md", more.replace("\n---\n\n", "\nsettings: {time_zone: America/Tijuana}\n---\n\n"));
        folder.done("apply --publish").await;
        let before = folder.agent(&id).await;
        assert_eq!(before["config"]["llm"]["temperature"], json!(1.5), "{before}");
        let publish = folder.customer.command(&format!("agents publish {id} --version 1")).output();
        let published = String::from_utf8(publish.await.expect("a command").stdout).expect("text");
        assert_eq!(published, "published version 1\n");
        let planned = folder.done("plan").await;
        assert!(planned.contains("is the latest and customers get version 1: `apply --publish` publishes"), "{planned}");
        folder.write("desk/agent.md", agent);
        let (code, planned) = folder.run("plan").await;
        assert_eq!(code, CHANGES);
        for field in ["config.llm.temperature: 1.5 → ", "config.conversation.max_duration_s: 120 → ", "settings.time_zone: \"America/Tijuana\" → null"] {
            assert!(planned.contains(field), "{field}: {planned}");
        }
        folder.done("apply --publish").await;
        assert_eq!(folder.done("plan").await, "no changes\n");
        let after = folder.agent(&id).await;
        assert_ne!(after["config"]["conversation"], before["config"]["conversation"], "{after}");
    }

    async fn a_changed_tool_reaches_customers_with_the_next_version(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let folder = Folder::of(&server).await;
        folder.write("desk/agent.md", "---\nname: Desk\nlanguage: en-US\nconfig:\n  llm: {provider: scripted, model: scripted}\n  tools: [look]\n---\n\nsay: hello\n");
        folder.write("tools/look.yaml", "description: Looks.\nkind: http\nparameters: {type: object}\nhttp: {method: GET, url: https://example.com/one}\n");
        folder.write("desk/scenarios/greets.yaml", "name: Greets\nturns: [Hi.]\nchecks: [{kind: said, text: hello}]\n");
        folder.done("apply --publish").await;
        let id = text(&folder.agents().await[0]["id"]).to_owned();
        folder.edit("tools/look.yaml", "/one", "/two");
        let test = folder.customer.command(&format!("test {}", folder.dir.path().join("desk").display())).output();
        let test = test.await.expect("a command");
        let warned = String::from_utf8(test.stderr).expect("text");
        assert_eq!(test.status.code(), Some(0), "{warned}");
        assert!(warned.starts_with("warning: tools/look.yaml was edited and not applied"), "{warned}");
        let (_, planned) = folder.run("plan").await;
        assert!(planned.contains("~ changes: desk/agent.md\n  the next version, for tools/look.yaml\n"), "{planned}");
        let applied = folder.done("apply --publish").await;
        assert!(applied.ends_with("desk/agent.md: saved as version 2\ndesk/agent.md: published version 2\n"), "{applied}");
        assert_eq!(folder.done("plan").await, "no changes\n");
        assert_eq!(folder.agent(&id).await["published_version"], json!(2));

        // A scenario whose file has another name is the same one.
        let scenarios = folder.dir.path().join("desk/scenarios");
        let before = folder.customer.account.read("/v1/scenarios").await;
        fs::rename(scenarios.join("greets.yaml"), scenarios.join("hello.yaml")).expect("a file");
        assert_eq!(folder.done("apply").await, "no changes\n");
        assert_eq!(folder.customer.account.read("/v1/scenarios").await, before);
        assert_eq!(folder.done("plan").await, "no changes\n");
        fs::rename(scenarios.join("hello.yaml"), scenarios.join("greets.yaml")).expect("a file");
        folder.done("apply").await;

        // What is left out of a tool has the default, and a scenario whose file is gone is deleted.
        folder.edit("tools/look.yaml", "/two}", "/two, timeout_ms: 900}");
        folder.done("apply").await;
        folder.edit("tools/look.yaml", ", timeout_ms: 900", "");
        fs::remove_file(folder.dir.path().join("desk/scenarios/greets.yaml")).expect("a file");
        let (_, planned) = folder.run("plan").await;
        for line in ["  http.timeout_ms: 900 → ", "- delete: desk/scenarios/greets.yaml\n"] {
            assert!(planned.contains(line), "{line}: {planned}");
        }
        folder.done("apply").await;
        assert_eq!(folder.customer.account.read("/v1/scenarios").await["data"], json!([]));
        assert!(folder.done("plan").await.ends_with("no changes\n"));
    }

    async fn of_two_people_who_apply_at_once_one_is_told(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let ann = Folder::of(&server).await;
        let config = json!({ "system_prompt": "Be brief.", "llm": { "provider": "scripted", "model": "scripted" } });
        let id = ann.customer.account.agent_with(config).await;
        let bob = ann.another();
        ann.done("pull").await;
        bob.done("pull").await;
        ann.edit("eva/agent.md", "Be brief.", "Be kind.");
        bob.edit("eva/agent.md", "Be brief.", "Be exact.");
        let (one, other) = tokio::join!(ann.run("apply"), bob.run("apply"));
        let (loser, error, kept) = match (one.0, other.0) {
            (0, 1) => (&bob, other.1, "Be kind."),
            (1, 0) => (&ann, one.1, "Be exact."),
            codes => panic!("{codes:?}: {} {}", one.1, other.1),
        };
        assert!(error.contains("409 conflict: ") || error.contains("nothing was written"), "{error}");
        assert_eq!(ann.agent(&id).await["config"]["system_prompt"], json!(kept));

        let key = &ann.customer.account.token[..12];
        // The log has a request a moment after its answer.
        let told = async || {
            let (code, planned) = loser.run("plan").await;
            assert_eq!(code, CHANGES, "{planned}");
            let told = planned.lines().find(|line| line.starts_with("  ! version 2 was saved at "));
            let told = told.expect(&planned);
            assert!(told.ends_with("; the file is based on version 1"), "{told}");
            told.contains(&format!(" by a request with the key {key}")).then_some(())
        };
        eventually("who has saved it", Duration::from_secs(30), told).await;
        let (code, error) = loser.run("apply").await;
        assert_eq!((code, error.contains("--overwrite replaces the service's; nothing was written")), (1, true), "{error}");
        let (code, error) = loser.run("pull").await;
        assert_eq!((code, error.contains("edited here and changed at the service: eva/agent.md")), (1, true), "{error}");
        loser.done("apply --overwrite").await;
        assert_ne!(ann.agent(&id).await["config"]["system_prompt"], json!(kept));

        // Who has edited nothing is told, and overwrites nothing.
        let winner = if std::ptr::eq(loser, &ann) { &bob } else { &ann };
        let planned = winner.done("plan").await;
        assert!(planned.starts_with("! eva/agent.md: version 3 was saved at ") && planned.ends_with("no changes\n"), "{planned}");
        winner.done("apply").await;
        assert_eq!(winner.done("pull").await, "wrote eva/agent.md\n");
        assert_eq!(ann.read("eva/agent.md"), bob.read("eva/agent.md"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_read_is_named_with_its_line() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let desk = Folder::of(&server).await;
    let agent = "---\nname: Desk\nlanguage: en-US\n";
    let bomb = (b'b'..b'z').fold("a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, name| {
        let (name, before) = (char::from(name), char::from(name - 1));
        let many = vec![format!("*{before}"); 9].join(",");
        format!("{text}{name}: &{name} [{many}]\n")
    });
    for (path, text, said) in [
        ("d/agent.md", "Hello.".to_owned(), "d/agent.md:1: must begin with a line `---`"),
        ("d/agent.md", format!("{agent}config: [\n---\nHello."), "d/agent.md:4: "),
        ("d/agent.md", format!("{agent}name: Again\n---\n"), "d/agent.md:4: "),
        ("d/agent.md", format!("{agent}voise: x\n---\n"), "d/agent.md:4: `voise` is not a field"),
        (
            "d/agent.md",
            format!("{agent}config:\n  llm:\n    temprature: 1\n---\n"),
            "d/agent.md:6: `temprature` is not a field: did you mean `temperature`?",
        ),
        ("d/agent.md", format!("{agent}config: {{tools: [nil]}}\n---\n"), "write tools/nil.yaml"),
        ("d/agent.md", format!("---\n{bomb}---\n"), "d/agent.md:"),
        ("d/agent.md", format!("---\na: {}\n---\n", "[".repeat(100_000)), "d/agent.md:2: "),
        ("d/agent.md", format!("{agent}---\n{}", "x".repeat(2 << 20)), "is larger than 1 MiB"),
        (
            "tools/t.yaml",
            "description: x\nkind: http\nhttp: {method: GET, url: https://example.com, headers: {X-Key: s3cr3t}}".to_owned(),
            "tools/t.yaml: `http.headers.X-Key` must name a variable of the environment, as `${NAME}`",
        ),
        (
            "tools/t.yaml",
            "description: x\nkind: http\nhttp:\n  metod: GET\n  url: https://example.com\n".to_owned(),
            "tools/t.yaml:1: `http.method`: is required",
        ),
        (
            "d/agent.md",
            format!("{agent}config:\n  llm:\n    temperature: hot\n---\n"),
            "d/agent.md:6: `config.llm.temperature`: must be",
        ),
        ("d/agent.md", format!("{agent}required_suite: x\n---\n"), "d/agent.md:4: `required_suite` goes below `settings`"),
        ("offhook.lock", "- 1\n".to_owned(), "offhook.lock: is not a mapping"),
    ] {
        let folder = desk.another();
        folder.write("d/agent.md", format!("{agent}---\n"));
        folder.write(path, &text);
        let (code, error) = folder.run("plan").await;
        assert_eq!((code, error.contains(said)), (1, true), "{said}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
        assert!(!error.contains("s3cr3t"), "{error}");
    }
    let folder = desk.another();
    folder.write("d/agent.md", b"---\nname: \xff\n---\n");
    assert!(folder.run("plan").await.1.contains("d/agent.md"));
    #[cfg(unix)]
    for link in ["d", "tools"] {
        let folder = desk.another();
        std::os::unix::fs::symlink("/etc", folder.dir.path().join(link)).expect("a link");
        let (code, error) = folder.run("pull").await;
        assert_eq!(
            (code, error.contains("is a symbolic link")),
            (1, true),
            "{error}"
        );
    }
    // An id in a lock leads nowhere but to what the account has.
    let folder = desk.another();
    folder.write("d/agent.md", format!("{agent}---\n"));
    folder.write(
        "offhook.lock",
        "d/agent.md: {id: ../team/members, at: '', sha256: ''}\n",
    );
    let (code, error) = folder.run("plan").await;
    assert_eq!(
        (code, error.contains("is not in this account")),
        (1, true),
        "{error}"
    );
}
