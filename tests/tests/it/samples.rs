//! Runs each program of the portal's quick start against a server, unchanged except for the address and the agent
//! that the portal fills in.

use std::path::Path;
use std::time::Duration;

use offhook_tests::{Database, Options, Server, has_program, must, within};
use tempfile::TempDir;
use tokio::process::Command;

/// A program polls its call every two seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// The output of the quick start's program `file`.
async fn run(server: &Server, program: &str, file: &str) -> String {
    let account = server.account("scale").await;
    let agent = account.agent().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/portal/snippets");
    let text = must("the sample", std::fs::read_to_string(path.join(file)));
    let own = format!("http://{}", server.address());
    let text = text
        .replace("https://offhook.example", &own)
        .replace("AGENT_ID", &agent);
    let folder = must("a folder", TempDir::new());
    must("its file", std::fs::write(folder.path().join(file), text));
    let running = Command::new(program)
        .arg(file)
        .current_dir(folder.path())
        .env("OFFHOOK_KEY", &account.token)
        .kill_on_drop(true)
        .output();
    let output = must("it ends", within("it runs", LIMIT, running).await);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}: {said}{complaint}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn the_samples_of_the_quick_start_place_calls() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    if has_program("curl", "curl") {
        let said = run(&server, "sh", "me.sh").await;
        assert!(said.contains("\"plan\":\"scale\""), "{said}");
        let said = run(&server, "sh", "call.sh").await;
        assert!(said.contains("\"status\":\"initiated\""), "{said}");
    }
    if has_program("python3", "python3") {
        let said = run(&server, "python3", "call.py").await;
        assert!(said.starts_with("completed The agent"), "{said}");
    }
    if has_program("node", "nodejs") {
        let said = run(&server, "node", "call.mjs").await;
        assert!(said.starts_with("completed The agent"), "{said}");
    }
}
