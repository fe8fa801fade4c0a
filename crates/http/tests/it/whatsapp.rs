//! Customers who write to an account's numbers on WhatsApp: `/callbacks/whatsapp/{account_id}`, and its effects.

mod refused;
mod told;

use std::time::Duration;

use offhook_domain::{AccountId, Clock as _, CredentialProvider, Plan};
use offhook_testkit::fakes::whatsapp::{
    APP_SECRET, FakeWhatsApp, PHONE_NUMBER_ID, TakenText, VERIFY_TOKEN, credential, failure,
    of_kind, signature, status, text as words, webhook,
};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use offhook_testkit::{TestDatabase, contract};
use serde_json::{Value, json};

use crate::it::app::{Setup, TestApp, text};
use crate::it::client::{Answer, eventually, must};

const OURS: &str = "+15005550123";
const CUSTOMER: &str = "+5215512345678";
/// In WhatsApp's format.
const FROM: &str = "5215512345678";
const HOUR: Duration = Duration::from_secs(3_600);

/// A service that answers a number on WhatsApp.
struct Shop {
    app: TestApp,
    fake: FakeWhatsApp,
    agent: String,
}

impl Shop {
    async fn new(database: TestDatabase) -> Self {
        Self::with(database, "say: At nine.").await
    }

    async fn with(database: TestDatabase, prompt: &str) -> Self {
        let llm = json!({"provider": "scripted", "model": "scripted"});
        Self::of(database, Setup::default(), (prompt, llm)).await
    }

    async fn of(database: TestDatabase, setup: Setup, (prompt, llm): (&str, Value)) -> Self {
        let fake = FakeWhatsApp::start().await;
        let setup = Setup {
            database: Some(database),
            whatsapp: Some(fake.upstream().base_url()),
            ..setup
        };
        let app = TestApp::with(setup).await;
        let set = app.services.credentials();
        let secret = credential(OURS);
        must(
            set.set(app.account, CredentialProvider::WhatsApp, &secret)
                .await,
        );
        let agent = agent(&app, prompt, llm).await;
        let body = json!({"phone_number": OURS, "agent_id": agent});
        app.post("/v1/phone-numbers", body).await.assert(201);
        app.dial();
        Self { app, fake, agent }
    }

    fn now(&self) -> i64 {
        self.app.clock.now().unix_seconds()
    }

    async fn told(&self, messages: &[Value], statuses: &[Value]) {
        let body = webhook(PHONE_NUMBER_ID, messages, statuses);
        let signature = signature(APP_SECRET, &body);
        let answer = tell(&self.app, self.app.account, &signature, &body).await;
        assert_eq!((answer.status, answer.body.len()), (200, 0));
    }

    async fn says(&self, wamid: &str, said: &str) {
        self.told(&[words(wamid, FROM, self.now(), said)], &[])
            .await;
    }

    /// Advances the clock and waits; repeats if the service read the clock only after it had advanced.
    async fn after<T>(&self, seconds: u64, wait: impl Future<Output = T>) -> T {
        tokio::pin!(wait);
        for _ in 0..3 {
            self.app.clock.advance(Duration::from_secs(seconds));
            let come = tokio::time::timeout(Duration::from_secs(5), &mut wait);
            if let Ok(come) = come.await {
                return come;
            }
        }
        wait.await
    }

    /// Waits for `count` sent messages; returns all of them.
    async fn taken(&self, count: usize) -> Vec<TakenText> {
        eventually(async || {
            let taken = self.fake.taken();
            (taken.len() >= count).then_some(taken)
        })
        .await
    }

    /// Assigns the number to this agent, or to none; returns the number's path.
    async fn give_number(&self, agent: Value) -> String {
        let numbers = self.app.read("/v1/phone-numbers").await;
        let mut numbers = numbers["data"].as_array().into_iter().flatten();
        let ours = numbers.find(|number| number["phone_number"] == OURS);
        let id = ours.map_or(&Value::Null, |number| &number["id"]);
        let number = format!("/v1/phone-numbers/{}", text(id));
        let given = self.app.request("PATCH", &number);
        given.json(json!({"agent_id": agent})).await.assert(200);
        number
    }

    /// Waits until a message is finished: only finished messages can be forgotten.
    async fn is_done_with_it(&self) {
        let late = self.app.clock.now().plus(HOUR);
        let store = self.app.services.store();
        eventually(async || must(store.delete_old_whatsapp(late, 1).await).then_some(())).await;
    }

    /// Every conversation on WhatsApp, newest first.
    async fn conversations(&self) -> Vec<Value> {
        let list = self.app.get("/v1/conversations?channel=whatsapp");
        let mut list = list.await.assert(200);
        match list["data"].take() {
            Value::Array(items) => items,
            other => panic!("{other}"),
        }
    }

    async fn conversation(&self) -> Value {
        let newest = self.conversations().await.remove(0);
        let target = format!("/v1/conversations/{}", text(&newest["id"]));
        self.app.read(&target).await
    }

    /// Role and text of every turn, once there are at least `count`.
    async fn turns(&self, count: usize) -> Vec<(String, String)> {
        eventually(async || {
            if self.conversations().await.is_empty() {
                return None;
            }
            let turns = turns(&self.conversation().await);
            (turns.len() >= count).then_some(turns)
        })
        .await
    }

    /// Waits until the newest conversation's messages have these delivery statuses.
    async fn fares(&self, expected: &[&str]) {
        let newest = text(&self.conversations().await[0]["id"]);
        let id = must(newest.parse());
        eventually(async || {
            let sent = self
                .app
                .services
                .whatsapp()
                .sent(self.app.account, id)
                .await;
            let sent = must(sent);
            let statuses: Vec<_> = sent.iter().map(|sent| sent.status.as_str()).collect();
            (statuses == expected).then_some(())
        })
        .await;
    }
}

async fn agent(app: &TestApp, prompt: &str, llm: Value) -> String {
    let config = json!({"system_prompt": prompt, "first_message": "Hola.", "llm": llm});
    app.agent_with("es-MX", config).await
}

fn turns(conversation: &Value) -> Vec<(String, String)> {
    let turns = conversation["transcript"].as_array().into_iter().flatten();
    turns
        .map(|turn| (text(&turn["role"]), text(&turn["text"])))
        .collect()
}

fn said(turns: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(role, text): &(&str, &str)| ((*role).to_owned(), (*text).to_owned());
    turns.iter().map(owned).collect()
}

async fn tell(app: &TestApp, account: AccountId, signature: &str, body: &[u8]) -> Answer {
    let target = format!("/callbacks/whatsapp/{account}");
    let request = app
        .bare("POST", &target)
        .header("X-Hub-Signature-256", signature);
    request
        .header("Content-Type", "application/json")
        .body(body)
        .await
}

contract! {
    async fn a_customer_is_answered_and_the_account_reads_it_all(database: TestDatabase) {
        let shop = Shop::new(database).await;
        shop.says("wamid.1", "When do you open?").await;
        let taken = shop.taken(1).await;
        assert_eq!((taken[0].to.as_str(), taken[0].text.as_str()), (CUSTOMER, "At nine."));
        assert_eq!(shop.turns(2).await, said(&[("user", "When do you open?"), ("agent", "At nine.")]));
        let conversation = shop.conversation().await;
        let expected = json!({
            "channel": "whatsapp", "runtime": "engine", "from": CUSTOMER, "to": OURS, "customer_phone": CUSTOMER,
            "status": "initiated", "messages_count": 2, "has_audio": false,
        });
        for (name, value) in expected.as_object().into_iter().flatten() {
            assert_eq!(&conversation[name], value, "{name}");
        }
        assert_eq!(text(&conversation["agent"]["id"]), shop.agent);
        // In the list of conversations, by either number, but in no list of calls.
        let by_phone = shop.app.read("/v1/conversations?phone=%2B5215512345678").await;
        assert_eq!(by_phone["data"].as_array().map(Vec::len), Some(1));
        let calls = shop.app.read("/v1/calls").await;
        assert_eq!(calls["data"], json!([]));
        // Its statuses, in the wrong order and more than once.
        shop.fares(&["accepted"]).await;
        shop.told(&[], &[status("wamid.HBgLOUT0001", "delivered", None)]).await;
        shop.told(&[], &[status("wamid.HBgLOUT0001", "sent", None)]).await;
        shop.fares(&["delivered"]).await;
        shop.told(&[], &[status("wamid.HBgLOUT0001", "read", None), status("wamid.HBgLOUT0001", "read", None)]).await;
        shop.fares(&["read"]).await;
        // A repeated webhook is not another message; another message continues the same conversation.
        shop.says("wamid.1", "When do you open?").await;
        shop.says("wamid.2", "Thanks").await;
        assert_eq!(shop.turns(4).await.len(), 4);
        assert_eq!(shop.taken(2).await.len(), 2);
        assert_eq!(shop.conversations().await.len(), 1);
        // A day of silence ends the conversation; then the next one begins.
        shop.app.clock.advance(25 * HOUR);
        eventually(async || (shop.conversation().await["status"] == "completed").then_some(())).await;
        let ended = shop.conversation().await;
        assert_eq!(ended["termination_reason"], "silence_timeout");
        assert_ne!(ended["summary"], "");
        shop.says("wamid.3", "Hello again").await;
        shop.taken(3).await;
        assert_eq!(shop.conversations().await.len(), 2);
    }

    async fn only_the_accounts_own_app_is_believed(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let (app, account) = (&shop.app, shop.app.account);
        let body = webhook(PHONE_NUMBER_ID, &[words("wamid.1", FROM, shop.now(), "Hi")], &[]);
        let good = signature(APP_SECRET, &body);
        let nobody: AccountId = must("019d0000-0000-7000-8000-000000000001".parse());
        let stranger = must(app.services.accounts().create("Other", Plan::Scale, None, None, None).await).id;
        let mut longer = body.clone();
        longer.push(b' ');
        let forged = [
            (account, signature("another", &body), &body),
            (account, good.replace("sha256=", "sha1="), &body),
            (account, String::new(), &body),
            (account, good.clone(), &longer),
            (nobody, good.clone(), &body),
            (stranger, good.clone(), &body),
        ];
        for (account, signature, body) in forged {
            let answer = tell(app, account, &signature, body).await;
            assert_eq!((answer.status, answer.body.len()), (403, 0));
        }
        let none = app.bare("POST", "/callbacks/whatsapp/none").body(body.clone()).await;
        assert_eq!((none.status, none.body.len()), (403, 0));
        // Signed, but malformed: 200 keeps WhatsApp from repeating it for days.
        for odd in [&b"{"[..], b"[]", b"{\"entry\": [{\"changes\": [{\"field\": \"messages\", \"value\": 7}]}]}"] {
            let answer = tell(app, account, &signature(APP_SECRET, odd), odd).await;
            assert_eq!(answer.status, 200);
        }
        assert!(shop.conversations().await.is_empty());
        assert_eq!(tell(app, account, &good, &body).await.status, 200);
        shop.taken(1).await;
    }

    async fn the_address_is_verified_by_the_accounts_token(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let ask = async |account: &str, mode: &str, token: &str, challenge: &str| {
            let target = format!(
                "/callbacks/whatsapp/{account}?hub.mode={mode}&hub.verify_token={token}&hub.challenge={challenge}"
            );
            shop.app.bare("GET", &target).await
        };
        let account = shop.app.account.to_string();
        let answer = ask(&account, "subscribe", VERIFY_TOKEN, "1158201444").await;
        assert_eq!((answer.status, &answer.body[..]), (200, &b"1158201444"[..]));
        assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        let nobody = "019d0000-0000-7000-8000-000000000001";
        for (account, mode, token, challenge) in [
            (account.as_str(), "subscribe", "wrong", "1"),
            (&account, "unsubscribe", VERIFY_TOKEN, "1"),
            (&account, "subscribe", VERIFY_TOKEN, ""),
            (&account, "subscribe", VERIFY_TOKEN, "%3Cb%3E%20%0A"),
            (nobody, "subscribe", VERIFY_TOKEN, "1"),
            ("none", "subscribe", VERIFY_TOKEN, "1"),
        ] {
            let answer = ask(account, mode, token, challenge).await;
            assert_eq!((answer.status, answer.body.len()), (403, 0), "{account} {mode} {challenge}");
        }
    }

    async fn what_is_no_text_is_answered_once_in_the_agents_language(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let image = |wamid: &str| of_kind(wamid, FROM, shop.now(), "image", json!({"id": "1", "mime_type": "image/jpeg"}));
        shop.told(&[image("wamid.1")], &[]).await;
        let taken = shop.taken(1).await;
        let sentence = "Lo siento, aquí solo puedo leer texto. Por favor, escríbame de qué se trata.";
        assert_eq!(taken[0].text, sentence);
        let reaction = json!({"message_id": "wamid.HBgLOUT0001", "emoji": "👍"});
        let picked = json!({"type": "button_reply", "button_reply": {"id": "b1", "title": "Yes, please"}});
        shop.told(
            &[
                image("wamid.2"),
                of_kind("wamid.3", FROM, shop.now(), "reaction", reaction),
                of_kind("wamid.4", FROM, shop.now(), "interactive", picked),
            ],
            &[],
        )
        .await;
        let expected = [
            ("user", "[image]"), ("agent", sentence), ("user", "[image]"), ("user", "Yes, please"), ("agent", "At nine."),
        ];
        assert_eq!(shop.turns(5).await, said(&expected));
        assert_eq!(shop.taken(2).await.len(), 2);
    }

    async fn who_may_not_be_answered_is_not_and_costs_nothing(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let app = &shop.app;
        let wait_for_nothing = async |wamid: &str| {
            shop.says(wamid, "Hi").await;
            shop.is_done_with_it().await;
            assert!(shop.conversations().await.is_empty());
        };
        let patch = async |body: Value| {
            let target = format!("/v1/agents/{}", shop.agent);
            app.patch(&target, body).await.assert(200);
        };
        patch(json!({"status": "paused"})).await;
        wait_for_nothing("wamid.1").await;
        patch(json!({"status": "active"})).await;
        // A number that the credential does not name.
        let body = webhook("999", &[words("wamid.2", FROM, shop.now(), "Hi")], &[]);
        assert_eq!(tell(app, app.account, &signature(APP_SECRET, &body), &body).await.status, 200);
        let number = shop.give_number(Value::Null).await;
        wait_for_nothing("wamid.3").await;
        app.delete(&number).await.assert(200);
        wait_for_nothing("wamid.4").await;
        assert_eq!(shop.fake.taken(), []);
        let credits = app.read("/v1/billing/credits").await;
        assert_eq!(credits["reserved_credits"], 0);
        let debits = app.read("/v1/billing/transactions?type=debit").await;
        assert_eq!(debits["data"], json!([]));
    }

    async fn outside_the_window_nothing_is_sent_and_the_conversation_says_so(database: TestDatabase) {
        let shop = Shop::new(database).await;
        // Reported more than a day late.
        shop.told(&[words("wamid.1", FROM, shop.now() - 90_000, "Anybody?")], &[]).await;
        let turns = shop.turns(2).await;
        assert_eq!(turns[0], ("user".to_owned(), "Anybody?".to_owned()));
        assert_eq!(turns[1].0, "tool");
        assert!(turns[1].1.contains("more than 24 hours ago"), "{turns:?}");
        assert_eq!(shop.fake.upstream().asked(), []);
        // A message with a future timestamp opens the window for one day only; the message refused before may then
        // get its answer.
        shop.told(&[words("wamid.2", FROM, shop.now() + 999_999, "Hello?")], &[]).await;
        shop.taken(1).await;
    }

    async fn a_long_answer_is_several_messages_that_end_with_sentences(database: TestDatabase) {
        let sentence = "This sentence has forty-one characters. ";
        let prompt = format!("say: {}", sentence.repeat(250));
        let shop = Shop::with(database, &prompt).await;
        shop.says("wamid.1", "Tell me everything").await;
        let taken = shop.taken(3).await;
        assert_eq!(taken.len(), 3);
        assert!(taken.iter().all(|part| part.text.len() <= 4_096 && part.text.ends_with('.')));
        let whole: Vec<_> = taken.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(whole.join(" "), sentence.repeat(250).trim());
        shop.fares(&["accepted", "accepted", "accepted"]).await;
    }

    async fn what_may_have_left_is_not_sent_again_and_webhooks_tell(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let upstream = shop.fake.upstream();
        upstream.fail("POST", "/", Fault::LoseAnswer, 1);
        shop.says("wamid.1", "Hi").await;
        let taken = shop.taken(1).await;
        shop.turns(3).await;
        shop.fares(&["unknown"]).await;
        assert!(shop.turns(3).await[2].1.contains("It is not sent again."));
        let told = status("wamid.HBgLOUT0001", "delivered", Some(&taken[0].reference));
        shop.told(&[], &[told]).await;
        shop.fares(&["delivered"]).await;
        let turns = shop.turns(4).await;
        assert!(turns[3].1.contains("WhatsApp did take"), "{turns:?}");
        // A server error may also have had an effect.
        upstream.fail("POST", "/", Fault::Status(500), 1);
        shop.says("wamid.2", "Still there?").await;
        let turns = shop.turns(7).await;
        assert!(turns[6].1.contains("status 500") && !turns[6].1.contains(UPSTREAM_WORDS), "{turns:?}");
        shop.says("wamid.3", "Hello?").await;
        shop.taken(2).await;
        shop.fares(&["delivered", "unknown", "accepted"]).await;
        assert_eq!(upstream.asked().len(), 3);
    }

    async fn what_surely_had_no_effect_is_sent_again(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let upstream = shop.fake.upstream();
        upstream.fail("POST", "/", Fault::RetryAfter(429, 30), 1);
        shop.says("wamid.1", "Hi").await;
        eventually(async || (upstream.asked().len() == 1).then_some(())).await;
        shop.fares(&["queued"]).await;
        assert_eq!(shop.fake.taken(), []);
        shop.after(31, shop.taken(1)).await;
        shop.fares(&["accepted"]).await;
        // Retried for a quarter of an hour; then the answer is too late.
        upstream.fail("POST", "/", Fault::Status(429), 1_000);
        shop.says("wamid.2", "Hi").await;
        eventually(async || (upstream.asked().len() >= 3).then_some(())).await;
        shop.after(1_000, shop.fares(&["accepted", "failed"])).await;
        let turns = shop.turns(5).await;
        assert!(turns[4].1.contains("15 minutes"), "{turns:?}");
    }

    async fn a_refusal_and_a_failure_told_later_are_sentences_in_the_transcript(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let upstream = shop.fake.upstream();
        upstream.fail("POST", "/", Fault::Status(401), 1);
        shop.says("wamid.1", "Hi").await;
        let turns = shop.turns(3).await;
        assert!(turns[2].1.contains("refused the access token"), "{turns:?}");
        shop.fares(&["failed"]).await;
        shop.says("wamid.2", "Hi").await;
        shop.taken(1).await;
        shop.fares(&["failed", "accepted"]).await;
        shop.told(&[], &[failure("wamid.HBgLOUT0001", 131_026)]).await;
        let turns = shop.turns(6).await;
        assert!(turns[5].1.contains("cannot deliver to this customer"), "{turns:?}");
        shop.fares(&["failed", "failed"]).await;
    }

    async fn another_agent_of_the_number_begins_another_conversation(database: TestDatabase) {
        let shop = Shop::new(database).await;
        shop.says("wamid.1", "Hi").await;
        shop.taken(1).await;
        let llm = json!({"provider": "scripted", "model": "scripted"});
        let other = agent(&shop.app, "say: Good evening.", llm).await;
        shop.give_number(json!(other)).await;
        shop.app.clock.advance(Duration::from_secs(1));
        shop.says("wamid.2", "Hi").await;
        let taken = shop.taken(2).await;
        assert_eq!(taken[1].text, "Good evening.");
        assert_eq!(shop.conversations().await.len(), 2);
        assert_eq!(text(&shop.conversation().await["agent"]["id"]), other);
    }
}
