//! Web pages that talk to an agent, through crashes of the process and on several processes.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use offhook_failpoints as failpoints;
use offhook_tests::{
    Account, Answer, Client, Database, LostReplies, Options, Request, Server, both, eventually,
    model_server, text,
};
use serde_json::{Value, json};

const PAGE: &str = "https://shop.example";
const SIGABRT: i32 = 6;

/// The expiry of a dead process's leases, with room for a busy machine.
const SETTLED_WITHIN: Duration = Duration::from_secs(150);

struct Session {
    client: Client,
    id: String,
    token: String,
}

impl Session {
    async fn begin(client: Client, agent: &str) -> Self {
        let begin = client.post("/widget/v1/sessions", json!({"agent_id": agent}));
        let begun = begin.header("Origin", PAGE).await.assert(201);
        Self {
            client,
            id: text(&begun["id"]).to_owned(),
            token: text(&begun["token"]).to_owned(),
        }
    }

    fn request(&self, method: &str, rest: &str) -> Request {
        let target = format!("/widget/v1/sessions/{}{rest}", self.id);
        let request = self.client.with_key(&self.token).request(method, &target);
        request.header("Origin", PAGE)
    }

    fn message(&self, key: &str) -> Request {
        let body = json!({"text": "Xochitl?", "message_id": key});
        self.request("POST", "/messages").json(body)
    }

    async fn answered(&self, key: &str) -> Answer {
        eventually("an answer", SETTLED_WITHIN, || async {
            let answer = self.message(key).try_send().await.ok()?;
            // The dead process still holds the claim, or the database is still starting.
            (!matches!(answer.status, 409 | 503)).then_some(answer)
        })
        .await
    }
}

/// An agent that costs credits, with its widget enabled.
async fn agent(account: &Account) -> String {
    let llm = json!({"provider": "openai", "model": "gpt-4.1"});
    let config = json!({"system_prompt": "You are Eva.", "llm": llm});
    let agent = account.agent_with(config).await;
    let widget = json!({"enabled": true, "allowed_origins": [PAGE]});
    let target = format!("/v1/agents/{agent}/widget");
    let set = account.request("PUT", &target).json(widget);
    set.await.assert(200);
    agent
}

async fn over(account: &Account, session: &Session) -> Value {
    let target = format!("/v1/conversations/{}", session.id);
    eventually("the end", SETTLED_WITHIN, || async {
        let conversation = account.read(&target).await;
        (conversation["status"] != "initiated").then_some(conversation)
    })
    .await
}

async fn options(database: offhook_tests::Database) -> Options {
    Options::on(database)
        .in_haste()
        .set("models.openai.base_url", model_server().await)
        .set("models.openai.api_key", "sk-test")
}

both! {
    async fn a_process_that_dies_with_an_answer_keeps_the_words_and_charges_once(database: Database) {
        let mut server = Server::start(options(database).await).await;
        let account = server.account("scale").await;
        let agent = agent(&account).await;
        let session = Session::begin(server.client(), &agent).await;
        session.answered("m1").await.assert(200);
        assert!(server.stop().await.success());
        server.start_again(&[("OFFHOOK_FAILPOINT", failpoints::CHAT_BEFORE_COMMIT)]).await;
        assert!(session.message("m2").try_send().await.is_err(), "the process is gone");
        assert_eq!(server.ended().await.signal(), Some(SIGABRT));
        server.start_again(&[]).await;
        let kept = session.request("GET", "").await.assert(200);
        let roles = |turns: &Value| -> Vec<String> {
            let turns = turns.as_array().into_iter().flatten();
            turns.map(|turn| text(&turn["role"]).to_owned()).collect()
        };
        assert_eq!(roles(&kept["transcript"]), ["user", "agent", "user"]);
        let answer = session.answered("m2").await.assert(200);
        assert_eq!(answer["usage"], json!({"answers": 2, "credits": 1}));
        assert_eq!(session.answered("m2").await.assert(200)["text"], answer["text"]);
        session.request("POST", "/end").await.assert(200);
        let conversation = over(&account, &session).await;
        assert_eq!(roles(&conversation["transcript"]), ["user", "agent", "user", "agent"]);
        assert_eq!(conversation["credits"], 1);
        let books = server.run(&["doctor", "--json"]).await;
        let books = String::from_utf8_lossy(&books.stdout).into_owned();
        assert!(!books.contains("does not follow") && !books.contains("`reservations`"), "{books}");
    }

    async fn what_a_dead_process_may_have_done_is_told_to_the_model_and_not_done_again(database: Database) {
        let mut server = Server::start(Options::on(database).in_haste()).await;
        let account = server.account("scale").await;
        let book = json!({
            "name": "book", "description": "Books a room.", "kind": "http",
            "http": {"method": "POST", "url": "https://rooms.example.com/book"},
        });
        let book = account.post("/v1/agents/tools", book).await.assert(201);
        let script = "say:\ncall: book {\"room\":7}\nthen: Somebody will look after it.";
        let agent = account
            .agent_with(json!({
                "system_prompt": script, "llm": {"provider": "scripted", "model": "scripted"}, "tool_ids": [book["id"]],
            }))
            .await;
        let widget = json!({"enabled": true, "allowed_origins": [PAGE]});
        account.request("PUT", &format!("/v1/agents/{agent}/widget")).json(widget).await.assert(200);
        let session = Session::begin(server.client(), &agent).await;
        assert!(server.stop().await.success());
        server.start_again(&[("OFFHOOK_FAILPOINT", failpoints::CHAT_TURNS_BEFORE_COMMIT)]).await;
        assert!(session.message("m1").try_send().await.is_err(), "the process is gone");
        assert_eq!(server.ended().await.signal(), Some(SIGABRT));
        server.start_again(&[]).await;
        let answer = session.answered("m1").await.assert(200);
        assert_eq!(answer["text"], "Somebody will look after it.", "{answer}");
        session.request("POST", "/end").await.assert(200);
        let conversation = over(&account, &session).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let used: Vec<&str> = turns.filter(|turn| turn["role"] == "tool").map(|turn| text(&turn["text"])).collect();
        let [used] = used[..] else { panic!("{conversation}") };
        assert!(used.starts_with("book({\"room\":7}) → Nobody knows whether this was done"), "{used}");
    }

    async fn no_word_and_no_token_of_a_chat_is_logged(database: Database) {
        let options = options(database).await.set("log.format", "json");
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let agent = agent(&account).await;
        let session = Session::begin(server.client(), &agent).await;
        session.answered("m1").await.assert(200);
        let stream = session.message("m2").header("Accept", "text/event-stream");
        let mut stream = stream.stream().await;
        let mut names = Vec::new();
        while let Some(event) = stream.next().await {
            names.push(event.event);
        }
        assert_eq!(names.first().map(String::as_str), Some("message.started"));
        assert_eq!(names.last().map(String::as_str), Some("message.completed"));
        for (origin, token) in [("https://evil.example", session.token.clone()), (PAGE, format!("{}0", session.token))] {
            let target = format!("/widget/v1/sessions/{}", session.id);
            let foreign = server.client().with_key(&token).get(&target).header("Origin", origin);
            assert!([401, 403].contains(&foreign.await.status));
        }
        session.request("POST", "/end").await.assert(200);
        over(&account, &session).await;
        assert!(server.stop().await.success());
        let log = server.log();
        assert!(log.contains("chat ended"));
        for secret in [&session.token[..], "Xochitl", "All right", "evil.example"] {
            assert!(!log.contains(secret), "{secret}");
        }
    }
}

/// Each message and each reply is written in its own transaction. The database loses every confirmation, then every
/// second, then every third.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn answers_of_the_database_that_are_lost_end_no_chat_and_double_no_words() {
    let database = Database::postgres().await;
    let proxy = LostReplies::before(&database).await;
    let server = Server::start(options(database).await.through(proxy.address())).await;
    let account = server.account("scale").await;
    let agent = agent(&account).await;
    for every in [1, 2, 3] {
        let session = Session::begin(server.client(), &agent).await;
        let before = proxy.lost();
        proxy.lose_every(every);
        for key in ["m1", "m2", "m3"] {
            let answer = session.message(key).await.assert(200);
            assert_eq!(
                session.message(key).await.assert(200)["text"],
                answer["text"]
            );
        }
        // Without an id, a retry cannot be recognized.
        let body = json!({"text": "Xochitl?"});
        session
            .request("POST", "/messages")
            .json(body)
            .await
            .assert(200);
        proxy.lose_every(0);
        assert!(
            proxy.lost() - before >= 2,
            "{} answers were lost",
            proxy.lost() - before
        );
        session.request("POST", "/end").await.assert(200);
        let conversation = over(&account, &session).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let roles: Vec<_> = turns.map(|turn| text(&turn["role"])).collect();
        assert_eq!(roles, ["user", "agent"].repeat(4), "every {every}");
    }
    let books = server.cli(&["doctor", "--books"]).await;
    assert_eq!(books, json!({"faults": []}));
}
