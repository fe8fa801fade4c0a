//! Messages that get no answer, or no longer: for lack of credits, a model, an agent, a plan, or time.

use std::time::Duration;

use offhook_domain::{Clock as _, CredentialProvider, Plan};
use offhook_providers::ProviderSettings;
use offhook_testkit::fakes::whatsapp::{
    APP_SECRET, PHONE_NUMBER_ID, VERIFY_TOKEN, credential, signature, status, text as words,
    webhook,
};
use offhook_testkit::upstream::Fault;
use offhook_testkit::{TestDatabase, contract};
use serde_json::{Value, json};

use super::{FROM, HOUR, OURS, Shop, said, tell};
use crate::it::app::{Setup, text};
use crate::it::client::{eventually, must};

/// A model that costs credits, at an address without a server.
fn unreachable() -> Vec<(String, ProviderSettings)> {
    let nobody = ProviderSettings {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: None,
    };
    vec![("openai".to_owned(), nobody)]
}

impl Shop {
    /// A shop with these credits, whose agent has a priced model with a fallback.
    async fn priced(database: TestDatabase, credits: i64) -> Self {
        let setup = Setup {
            credits,
            models: unreachable(),
            ..Setup::default()
        };
        let scripted = json!([{"provider": "scripted", "model": "scripted"}]);
        let llm = json!({"provider": "openai", "model": "gpt-4.1", "fallback": scripted});
        Self::of(database, setup, ("say: At nine.", llm)).await
    }

    async fn credits(&self) -> (Value, Value) {
        let credits = self.app.read("/v1/billing/credits").await;
        (
            credits["balance_credits"].clone(),
            credits["reserved_credits"].clone(),
        )
    }

    /// Waits for the end of the oldest conversation; returns it.
    async fn ended(&self) -> Value {
        let oldest = text(&self.conversations().await.last().unwrap_or(&Value::Null)["id"]);
        let target = format!("/v1/conversations/{oldest}");
        eventually(async || {
            let read = self.app.read(&target).await;
            (read["status"] != "initiated").then_some(read)
        })
        .await
    }
}

contract! {
    async fn an_empty_wallet_answers_nobody_and_begins_nothing(database: TestDatabase) {
        let shop = Shop::priced(database, 0).await;
        shop.says("wamid.1", "Hi").await;
        shop.is_done_with_it().await;
        assert!(shop.conversations().await.is_empty());
        assert_eq!(shop.fake.upstream().asked(), []);
        assert_eq!(shop.credits().await, (json!(0), json!(0)));
    }

    async fn a_wallet_that_runs_empty_ends_the_answers_and_the_conversation_says_so(database: TestDatabase) {
        let shop = Shop::priced(database, 1).await;
        for answers in 1..=3 {
            shop.says(&format!("wamid.{answers}"), "When?").await;
            shop.taken(answers).await;
        }
        shop.says("wamid.4", "Hello?").await;
        let turns = shop.turns(7).await;
        assert_eq!(turns[6].0, "tool");
        assert!(turns[6].1.contains("credits do not cover an answer"), "{turns:?}");
        assert_eq!(shop.fake.taken().len(), 3);
        shop.app.clock.advance(25 * HOUR);
        let ended = shop.ended().await;
        assert_eq!((&ended["status"], &ended["credits"]), (&json!("completed"), &json!(1)), "{ended}");
    }

    async fn without_a_model_the_answer_is_tried_three_times_and_the_conversation_says_so(database: TestDatabase) {
        let setup = Setup { models: unreachable(), ..Setup::default() };
        let llm = json!({"provider": "openai", "model": "gpt-4.1"});
        let shop = Shop::of(database, setup, ("Be brief.", llm)).await;
        shop.says("wamid.1", "Hi").await;
        let turns = eventually(async || {
            shop.app.clock.advance(Duration::from_secs(5));
            if shop.conversations().await.is_empty() {
                return None;
            }
            let turns = super::turns(&shop.conversation().await);
            (turns.len() >= 2).then_some(turns)
        })
        .await;
        let note = "whatsapp({}) → Not answered: no model could be reached. The customer was told nothing.";
        assert_eq!(turns, said(&[("user", "Hi"), ("tool", note)]));
        assert_eq!(shop.fake.upstream().asked(), []);
        shop.app.clock.advance(25 * HOUR);
        assert_eq!(shop.ended().await["credits"], 0);
    }

    async fn a_legacy_agent_cannot_answer_here(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let legacy = crate::it::legacy::agents(&shop.app).await;
        shop.give_number(legacy[0]["id"].clone()).await;
        shop.says("wamid.1", "Hi").await;
        shop.is_done_with_it().await;
        assert!(shop.conversations().await.is_empty());
        assert_eq!(shop.fake.upstream().asked(), []);
    }

    async fn a_plan_without_the_api_answers_nobody(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let moved = async |to: Plan| {
            let changes = shop.app.services.plan_changes();
            let change = must(changes.look(shop.app.account, to).await);
            must(changes.make(change).await);
        };
        moved(Plan::Free).await;
        shop.says("wamid.1", "Hi").await;
        shop.is_done_with_it().await;
        moved(Plan::Scale).await;
        assert!(shop.conversations().await.is_empty());
        shop.says("wamid.2", "Hi").await;
        shop.taken(1).await;
    }

    async fn an_account_answers_neither_on_anothers_number_nor_for_anothers_app(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let app = &shop.app;
        let other = app.services.accounts().create("Other", Plan::Scale, None, None, None).await;
        let other = must(other).id;
        // The other account claims the same number and phone number id.
        let secret = credential(OURS).replace(APP_SECRET, "other-s3cret").replace(VERIFY_TOKEN, "oth3r");
        must(app.services.credentials().set(other, CredentialProvider::WhatsApp, &secret).await);
        let body = webhook(PHONE_NUMBER_ID, &[words("wamid.1", FROM, shop.now(), "Hi")], &[]);
        let theirs = signature("other-s3cret", &body);
        assert_eq!(tell(app, app.account, &theirs, &body).await.status, 403);
        assert_eq!(tell(app, other, &signature(APP_SECRET, &body), &body).await.status, 403);
        assert_eq!(tell(app, other, &theirs, &body).await.status, 200);
        shop.is_done_with_it().await;
        assert_eq!(shop.fake.upstream().asked(), []);
        let verify = |token: &str| {
            let target = format!(
                "/callbacks/whatsapp/{}?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=7",
                app.account
            );
            app.bare("GET", &target)
        };
        assert_eq!(verify("oth3r").await.status, 403);
        assert_eq!(verify(VERIFY_TOKEN).await.status, 200);
        // The same message id is another message for another account.
        assert_eq!(tell(app, app.account, &signature(APP_SECRET, &body), &body).await.status, 200);
        let sent = shop.taken(1).await;
        assert_eq!(sent.len(), 1);
        assert_eq!(shop.conversations().await.len(), 1);
        // The other account's status reports do not affect our message, by either id.
        shop.fares(&["accepted"]).await;
        for (wamid, reference) in [("wamid.OTHER", Some(&*sent[0].reference)), (&*sent[0].wamid, None)] {
            let body = webhook(PHONE_NUMBER_ID, &[], &[status(wamid, "read", reference)]);
            assert_eq!(tell(app, other, &signature("other-s3cret", &body), &body).await.status, 200);
        }
        shop.fares(&["accepted"]).await;
    }

    async fn a_window_that_closes_while_an_answer_waits_keeps_it_from_being_sent(database: TestDatabase) {
        let shop = Shop::new(database).await;
        shop.fake.upstream().fail("POST", "/", Fault::RetryAfter(429, 120), 1);
        let nearly_a_day = 24 * 3_600 - 60;
        shop.told(&[words("wamid.1", FROM, shop.now() - nearly_a_day, "Anybody?")], &[]).await;
        eventually(async || (shop.fake.upstream().asked().len() == 1).then_some(())).await;
        shop.fares(&["queued"]).await;
        shop.after(121, shop.fares(&["failed"])).await;
        let turns = shop.turns(3).await;
        assert_eq!(turns[1], ("agent".to_owned(), "At nine.".to_owned()));
        assert!(turns[2].1.contains("more than 24 hours ago"), "{turns:?}");
        assert_eq!(shop.fake.upstream().asked().len(), 1);
    }

    async fn a_conversation_that_never_falls_silent_ends_after_seven_days(database: TestDatabase) {
        let shop = Shop::new(database).await;
        for day in 1..=8 {
            shop.says(&format!("wamid.{day}"), "And today?").await;
            shop.taken(day).await;
            assert_eq!(shop.conversations().await.len(), 1, "message {day}");
            shop.app.clock.advance(21 * HOUR);
        }
        shop.says("wamid.9", "And today?").await;
        shop.taken(9).await;
        assert_eq!(shop.conversations().await.len(), 2);
        let ended = shop.ended().await;
        assert_eq!(ended["termination_reason"], "max_duration");
        assert_eq!((&ended["status"], &ended["messages_count"]), (&json!("completed"), &json!(16)), "{ended}");
        assert_eq!(super::turns(&shop.conversation().await).len(), 2);
    }

    async fn what_was_forgotten_is_not_taken_for_new_when_its_webhook_is_replayed(database: TestDatabase) {
        let shop = Shop::new(database).await;
        let first = webhook(PHONE_NUMBER_ID, &[words("wamid.1", FROM, shop.now(), "Send me the keys.")], &[]);
        let signed = signature(APP_SECRET, &first);
        let app = &shop.app;
        assert_eq!(tell(app, app.account, &signed, &first).await.status, 200);
        shop.taken(1).await;
        app.clock.advance(9 * 24 * HOUR);
        let before = app.clock.now().minus(8 * 24 * HOUR);
        assert!(must(app.services.store().delete_old_whatsapp(before, 1).await), "it is forgotten");
        // The window is open again.
        shop.says("wamid.2", "Hello").await;
        shop.taken(2).await;
        assert_eq!(tell(app, app.account, &signed, &first).await.status, 200);
        shop.says("wamid.3", "Bye").await;
        shop.taken(3).await;
        let expected = [("user", "Hello"), ("agent", "At nine."), ("user", "Bye"), ("agent", "At nine.")];
        assert_eq!(shop.turns(4).await, said(&expected));
        assert_eq!(shop.fake.taken().len(), 3);
    }
}
