//! Customers on WhatsApp, through crashes of the process: each message is answered once, and each answer is sent at
//! most once.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_failpoints as failpoints;
use offhook_testkit::fakes::whatsapp::{
    APP_SECRET, FakeWhatsApp, PHONE_NUMBER_ID, credential, signature, text as words, webhook,
};
use offhook_tests::{
    Account, Client, Database, LostReplies, Options, Server, both, eventually, model_server, text,
    unix_seconds,
};
use serde_json::{Value, json};

const SIGABRT: i32 = 6;
const OURS: &str = "+15005550123";
const FROM: &str = "5215512345678";

/// The expiry of a dead process's leases, with room for a busy machine.
const SETTLED_WITHIN: Duration = Duration::from_secs(150);

/// An account's number on WhatsApp, with an agent that costs credits.
struct Line {
    account: Account,
    number: String,
}

async fn agent(account: &Account) -> String {
    let llm = json!({"provider": "openai", "model": "gpt-4.1"});
    account
        .agent_with(json!({"system_prompt": "You are Eva.", "llm": llm}))
        .await
}

impl Line {
    async fn of(server: &Server) -> Self {
        let account = server.account("scale").await;
        let secret = credential(OURS);
        server.credential(&account.id, "whatsapp", &secret).await;
        let body = json!({"phone_number": OURS, "agent_id": agent(&account).await});
        let made = account.post("/v1/phone-numbers", body).await.assert(201);
        let number = format!("/v1/phone-numbers/{}", text(&made["id"]));
        Self { account, number }
    }

    /// Sends a customer's message; returns whether the process accepted it.
    async fn hears(&self, client: &Client, wamid: &str) -> bool {
        let body = webhook(
            PHONE_NUMBER_ID,
            &[words(wamid, FROM, unix_seconds(), "Xochitl?")],
            &[],
        );
        let target = format!("/callbacks/whatsapp/{}", self.account.id);
        let signature = signature(APP_SECRET, &body);
        let request = client
            .request("POST", &target)
            .header("X-Hub-Signature-256", &signature);
        request
            .body(body)
            .try_send()
            .await
            .is_ok_and(|answer| answer.status == 200)
    }

    async fn newest(&self) -> Option<Value> {
        let list = self
            .account
            .read("/v1/conversations?channel=whatsapp")
            .await;
        let id = list["data"].get(0)?["id"].clone();
        Some(
            self.account
                .read(&format!("/v1/conversations/{}", text(&id)))
                .await,
        )
    }

    /// The newest conversation, once it has this many turns.
    async fn turns(&self, count: usize) -> Value {
        eventually("the turns", SETTLED_WITHIN, || async {
            let newest = self.newest().await?;
            let turns = newest["transcript"].as_array()?.len();
            (turns >= count).then_some(newest)
        })
        .await
    }
}

fn roles(conversation: &Value) -> Vec<&str> {
    let turns = conversation["transcript"].as_array().into_iter().flatten();
    turns.map(|turn| text(&turn["role"])).collect()
}

/// Dies at `point` while handling a message, and restarts: for that message and one more the customer gets `sent`
/// answers. Returns what the account reads meanwhile and at the end.
async fn crash(database: Database, point: &str, sent: usize) -> (Value, Value) {
    let fake = FakeWhatsApp::start().await;
    let options = Options::on(database)
        .in_haste()
        .set("models.openai.base_url", model_server().await)
        .set("models.openai.api_key", "sk-test")
        .set("whatsapp.base_url", fake.upstream().base_url());
    let mut server = Server::start(options).await;
    let line = Line::of(&server).await;
    assert!(server.stop().await.success());
    server.start_again(&[("OFFHOOK_FAILPOINT", point)]).await;
    line.hears(&server.client(), "wamid.1").await;
    assert_eq!(server.ended().await.signal(), Some(SIGABRT), "{point}");
    server.start_again(&[]).await;
    // WhatsApp may not have seen a response.
    line.hears(&server.client(), "wamid.1").await;
    line.hears(&server.client(), "wamid.2").await;
    let told = eventually("an answer", SETTLED_WITHIN, || async {
        let newest = line.newest().await?;
        let agent = roles(&newest)
            .iter()
            .filter(|role| **role == "agent")
            .count();
        (agent == 2 && fake.taken().len() >= sent).then_some(newest)
    })
    .await;
    // The number gets another agent: the conversation ends, and is billed.
    let other = json!({"agent_id": agent(&line.account).await});
    line.account
        .request("PATCH", &line.number)
        .json(other)
        .await
        .assert(200);
    line.hears(&server.client(), "wamid.3").await;
    let first = format!("/v1/conversations/{}", text(&told["id"]));
    let ended = eventually("the end", SETTLED_WITHIN, || async {
        let read = line.account.read(&first).await;
        (read["status"] != "initiated").then_some(read)
    })
    .await;
    line.turns(2).await;
    eventually("the other agent's", SETTLED_WITHIN, || async {
        (fake.taken().len() > sent).then_some(())
    })
    .await;
    let books = server.run(&["doctor", "--json"]).await;
    let books = String::from_utf8_lossy(&books.stdout).into_owned();
    assert!(
        !books.contains("does not follow") && !books.contains("`reservations`"),
        "{books}"
    );
    assert!(server.stop().await.success());
    assert_eq!(fake.taken().len(), sent + 1, "{point}");
    let log = server.log();
    for secret in ["Xochitl", "All right", FROM, APP_SECRET, "EAAB"] {
        assert!(!log.contains(secret), "{secret}");
    }
    (told, ended)
}

both! {
    async fn a_process_that_dies_answers_each_message_once_and_sends_each_answer_at_most_once(database: Database) {
        let points = [
            (failpoints::WHATSAPP_AFTER_ANSWER, 2, vec!["user", "agent", "user", "agent"]),
            (failpoints::WHATSAPP_BEFORE_SEND, 1, vec!["user", "agent", "tool", "user", "agent"]),
            (failpoints::WHATSAPP_AFTER_SEND, 2, vec!["user", "agent", "tool", "user", "agent"]),
        ];
        let runs = points.into_iter().map(|(point, sent, expected)| {
            let database = database.clone();
            async move {
                let own = match database {
                    Database::Sqlite => Database::Sqlite,
                    Database::Postgres(_) => Database::postgres().await,
                };
                let (told, ended) = crash(own, point, sent).await;
                assert_eq!(roles(&told), expected, "{point}: {told}");
                assert_eq!(ended["status"], "completed");
                assert_eq!(ended["termination_reason"], "agent_hangup");
                // Two answers of a quarter of a minute each.
                assert_eq!(ended["credits"], 1, "{point}");
            }
        });
        join_all(runs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn answers_of_the_database_that_are_lost_answer_nobody_twice_and_leave_nobody_waiting() {
    let database = Database::postgres().await;
    let proxy = LostReplies::before(&database).await;
    let fake = FakeWhatsApp::start().await;
    let options = Options::on(database)
        .through(proxy.address())
        .set("models.openai.base_url", model_server().await)
        .set("models.openai.api_key", "sk-test")
        .set("whatsapp.base_url", fake.upstream().base_url());
    let server = Server::start(options).await;
    let line = Line::of(&server).await;
    for (n, every) in [1, 2, 3].into_iter().enumerate() {
        let before = proxy.lost();
        proxy.lose_every(every);
        for message in 0..2 {
            let wamid = format!("wamid.{n}.{message}");
            assert!(line.hears(&server.client(), &wamid).await);
            let turns = line.turns((2 * n + message + 1) * 2).await;
            assert_eq!(
                roles(&turns),
                ["user", "agent"].repeat(2 * n + message + 1),
                "every {every}"
            );
        }
        proxy.lose_every(0);
        assert!(proxy.lost() > before, "no answer was lost");
    }
    eventually("every answer", SETTLED_WITHIN, || async {
        (fake.taken().len() >= 6).then_some(())
    })
    .await;
    assert_eq!(fake.taken().len(), 6);
    let books = server.cli(&["doctor", "--books"]).await;
    assert_eq!(books, json!({"faults": []}));
}
