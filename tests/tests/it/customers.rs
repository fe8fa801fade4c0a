//! Customers' commands, which speak to a running service with a key.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use offhook_signing::{SigningSecret, verify};
use offhook_tests::{Account, Database, Options, Receiver, Server, both, text, unix_seconds};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const CUSTOMER: &str = "+5215512345678";
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands of a customer, whose key is in the environment.
pub(crate) struct Customer {
    pub(crate) url: String,
    pub(crate) account: Account,
}

impl Customer {
    pub(crate) async fn of(server: &Server) -> Self {
        let account = server.account("scale").await;
        let url = format!("http://{}", server.address());
        Self { url, account }
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::from(offhook_tests::command());
        command
            .args(line.split(' '))
            .env("OFFHOOK_API_URL", &self.url)
            .env("OFFHOOK_API_KEY", &self.account.token);
        command
    }

    /// What a command prints, and says of what failed.
    async fn run(&self, line: &str) -> Result<String, String> {
        let output = self.command(line).output().await.expect("a command");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        match output.status.success() {
            true => Ok(text(output.stdout)),
            false => Err(text(output.stderr)),
        }
    }

    async fn json(&self, line: &str) -> Value {
        let printed = self.run(&format!("{line} --json")).await.expect(line);
        serde_json::from_str(&printed).expect("JSON")
    }

    /// A command that goes on, and the JSON objects that it prints.
    fn tail(&self, line: &str) -> Tail {
        let mut command = self.command(&format!("{line} --json"));
        let command = command.stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("a command");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Tail { lines, child }
    }
}

struct Tail {
    lines: Lines<BufReader<ChildStdout>>,
    child: Child,
}

impl Tail {
    async fn next(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("a line in time");
        let line = line.expect("a line")?;
        Some(serde_json::from_str(&line).expect("JSON"))
    }

    async fn until(&mut self, wish: impl Fn(&Value) -> bool) -> Value {
        loop {
            let next = self.next().await.expect("more lines");
            if wish(&next) {
                return next;
            }
        }
    }
}

both! {
    async fn a_call_is_placed_followed_listed_and_shown(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let customer = Customer::of(&server).await;
        let agent = customer.account.agent().await;
        let place = format!("call --agent {agent} --to {CUSTOMER} --metadata name=Ann --idempotency-key k1");
        let placed = customer.json(&place).await;
        let handle = text(&placed["id"]);
        // The same key, the same call.
        assert_eq!(customer.json(&place).await, placed);
        let followed = customer.run(&format!("conversations tail {handle}")).await.expect("a tail");
        let lines: Vec<&str> = followed.lines().collect();
        assert_eq!((lines[0], lines[lines.len() - 1]), ("[dialing]", "[completed]"), "{followed}");
        assert!(lines.iter().any(|line| line.starts_with("customer ")), "{followed}");
        let listed = customer.json("conversations list --status completed --channel phone").await;
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
        let id = &handle["call_".len()..];
        let shown = customer.json(&format!("conversations show {handle}")).await;
        assert_eq!((&shown["id"], &shown["metadata"]), (&json!(id), &json!({"name": "Ann"})));
        let words = customer.run(&format!("conversations show {id}")).await.expect("words");
        assert!(words.contains("\ncustomer ") && words.contains("status             completed"), "{words}");
        let again = format!("call --agent {agent} --to {CUSTOMER} --follow");
        let again = customer.run(&again).await.expect("a call");
        assert!(again.contains(" was placed\n[dialing]\n") && again.ends_with("[completed]\n"), "{again}");
        let agents = customer.run("agents list").await.expect("agents");
        assert!(agents.starts_with("id ") && agents.contains(&agent), "{agents}");
        assert_eq!(customer.json(&format!("agents show {agent}")).await["id"], json!(agent));
    }

    async fn requests_are_told_as_they_are_logged(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let (customer, other) = (Customer::of(&server).await, Customer::of(&server).await);
        let mut logs = customer.tail("logs tail");
        let mut stream = customer.account.get("/v1/logs/stream").stream().await;
        // Its own request is logged when it ends; until it is there, others may be missed.
        let seen = tokio::spawn(async move { logs.until(|entry| entry["path"] == "/v1/me").await });
        while !seen.is_finished() {
            other.account.get("/v1/voices").await;
            customer.account.get("/v1/me").await;
        }
        let entry = seen.await.expect("an entry");
        assert_eq!((&entry["method"], &entry["status"]), (&json!("GET"), &json!(200)));
        assert_eq!(entry["key_id"], json!(customer.account.key_id));
        let told = stream.next().await.expect("an entry");
        assert_eq!((told.event.as_str(), &told.data["id"]), ("log", &json!(told.id)));
        assert_eq!(told.data["key_id"], json!(customer.account.key_id));
    }

    async fn events_are_forwarded_signed_to_a_receiver_without_an_endpoint(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let (customer, other) = (Customer::of(&server).await, Customer::of(&server).await);
        let receiver = Receiver::start().await;
        let listen = format!("webhooks listen --forward-to {}", receiver.url("/hook"));
        let mut listening = customer.tail(&listen);
        let mut stream = customer.account.get("/v1/webhooks/stream").stream().await;
        let ready = listening.next().await.expect("a secret");
        let secret: SigningSecret = text(&ready["secret"]).parse().expect("a secret");
        let (agent, others) = (customer.account.agent().await, other.account.agent().await);
        // The stream opens a moment after the secret is told.
        let first = loop {
            other.account.call(&others, CUSTOMER).await;
            let handle = customer.account.call(&agent, CUSTOMER).await;
            customer.account.ended(&handle).await;
            if !receiver.received().is_empty() {
                break handle;
            }
        };
        let events = receiver
            .wait("the end", |all| all.iter().any(|one| one.kind() == "call.completed" && one.call() == first))
            .await;
        let ids: std::collections::HashSet<_> = events.iter().map(|one| one.json()["id"].to_string()).collect();
        assert_eq!(ids.len(), events.len(), "each once");
        for event in &events {
            let signature = event.header("x-service-signature").unwrap_or_default();
            assert_eq!(verify(signature, &event.body, &secret, unix_seconds(), 300), Ok(()));
            assert_eq!(event.header("x-service-event"), Some(event.kind().as_str()));
            assert_eq!(event.json()["data"]["agent_id"], json!(agent), "another account's event");
        }
        let told = stream.next().await.expect("an event");
        assert_eq!((told.event.as_str(), &told.data["id"]), ("call.initiated", &json!(told.id)));
        let told = listening.until(|line| line["event"] == "call.completed").await;
        assert_eq!(told["status"], json!(200));
        listening.child.kill().await.expect("its end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said_in_a_line() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let mut customer = Customer::of(&server).await;
    for (line, said) in [
        ("conversations show call_x", "404 not_found"),
        ("agents list --limit 1000", "400 invalid_query: `limit`"),
        ("call --agent x --to +5215512345678", "403 agent_not_found"),
        ("call --agent x --to nobody", "400 invalid_body: `to`"),
        (
            "agents list --data-dir d",
            "this command takes no --config, --data-dir",
        ),
        ("logs tail --key service_live_x", "401 unauthorized"),
    ] {
        let error = customer.run(line).await.expect_err(line);
        assert!(
            error.starts_with("error: ") && error.contains(said),
            "{line}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    customer.url = "http://127.0.0.1:1".to_owned();
    let error = customer.run("agents list").await.expect_err("nobody there");
    let said = "error: nothing answers at http://127.0.0.1:1: is `offhook serve` running there? --url names another address\n";
    assert_eq!(error, said);
    customer.account.token.clear();
    let error = customer.run("agents list").await.expect_err("no key");
    assert!(error.starts_with("error: no API key"), "{error}");
}

/// An address that is the service's, wherever that is now.
async fn pass_on(to: Arc<Mutex<SocketAddr>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let to = *to.lock().expect("the address");
            tokio::spawn(async move {
                if let Ok(mut server) = TcpStream::connect(to).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_goes_on_where_it_was_when_the_service_is_there_again() {
    let mut server = Server::start(Options::on(Database::Sqlite)).await;
    let mut customer = Customer::of(&server).await;
    let front = Arc::new(Mutex::new(server.address()));
    customer.url = pass_on(front.clone()).await;
    let receiver = Receiver::start().await;
    let mut listening = customer.tail(&format!(
        "webhooks listen --forward-to {}",
        receiver.url("/")
    ));
    listening.next().await.expect("a secret");
    let agent = customer.account.agent().await;
    while receiver.received().is_empty() {
        let handle = customer.account.call(&agent, CUSTOMER).await;
        customer.account.ended(&handle).await;
    }
    assert!(server.stop().await.success());
    server.start_again(&[]).await;
    *front.lock().expect("the address") = server.address();
    let handle = customer.account.call(&agent, CUSTOMER).await;
    let events = receiver
        .wait("the end", |all| {
            all.iter()
                .any(|one| one.kind() == "call.completed" && one.call() == handle)
        })
        .await;
    let ids: std::collections::HashSet<_> = events
        .iter()
        .map(|one| one.json()["id"].to_string())
        .collect();
    assert_eq!(ids.len(), events.len(), "each once");
}
