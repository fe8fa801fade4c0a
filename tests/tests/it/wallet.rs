//! The cost of calls, and accounts that cannot afford them.

use offhook_tests::{Account, Database, Options, Server, both, model_server};
use serde_json::{Value, json};

/// An agent whose minute costs 1.2 credits; its longest call reserves 2.
async fn costly(account: &Account) -> String {
    account
        .agent_with(json!({
            "system_prompt": "Talk.",
            "first_message": "Hello, this is Eva.",
            "llm": {"provider": "openai", "model": "gpt-4.1"},
            "conversation": {"max_duration_s": 60},
        }))
        .await
}

async fn start(database: Database, speed: u32) -> Server {
    let options = Options::on(database)
        .set("simulator.speed", speed)
        .set("models.openai.base_url", model_server().await)
        .set("models.openai.api_key", "sk-test");
    Server::start(options).await
}

/// The cost of a call's minute in tenths of a credit, and its reservation, with this model and its fallbacks.
async fn costs(
    account: &Account,
    (provider, model): (&str, &str),
    others: Value,
    (tenths, held): (u64, u64),
) {
    let agent = account
        .agent_with(json!({
            "system_prompt": "Talk.",
            "first_message": "Hello, this is Eva.",
            "llm": {"provider": provider, "model": model, "fallback": others},
            "conversation": {"max_duration_s": 60},
        }))
        .await;
    let handle = account.call(&agent, "+5215512345678").await;
    let wallet = account.read("/v1/billing/credits").await;
    assert_eq!(wallet["reserved_credits"], held, "{model}: {wallet}");
    let call = account.ended(&handle).await;
    let seconds = call["duration_seconds"].as_u64().unwrap_or(0);
    assert!(seconds > 0, "{call}");
    let expected = Some((seconds * tenths).div_ceil(600));
    assert_eq!(call["credits"].as_u64(), expected, "{model}: {call}");
}

both! {
    async fn a_call_is_paid_by_the_started_second_and_rounded_up(database: Database) {
        let server = start(database, 20).await;
        let account = server.account_with("scale", 100).await;
        let agent = costly(&account).await;
        let call = account.ended(&account.call(&agent, "+5215512345678").await).await;
        assert_eq!(call["status"], "completed", "{call}");
        let seconds = call["duration_seconds"].as_u64().unwrap_or(0);
        assert_eq!(call["credits"].as_u64(), Some((seconds * 12).div_ceil(600)), "{call}");
        let busy = account.ended(&account.call(&agent, "+15005550001").await).await;
        assert_eq!(busy["credits"], 0, "a call that was never answered costs nothing");
    }

    async fn a_call_costs_what_the_model_costs_that_answers_and_holds_what_the_dearest_would(database: Database) {
        let server = start(database, 20).await;
        let account = server.account_with("scale", 100).await;
        for (first, others, tenths, held) in [
            (("scripted", "scripted"), json!([]), 0, 0),
            (("scripted", "scripted"), json!([{"provider": "openai", "model": "gpt-4.1"}]), 0, 2),
            (("openai", "gpt-4.1-mini"), json!([{"provider": "openai", "model": "gpt-4.1"}]), 4, 2),
        ] {
            costs(&account, first, others, (tenths, held)).await;
        }
    }

    async fn whoever_steps_in_is_paid_and_not_whoever_failed(database: Database) {
        let options = Options::on(database)
            .set("simulator.speed", 20)
            .set("models.openai.base_url", "http://127.0.0.1:9/v1")
            .set("models.openai.api_key", "sk-test");
        let server = Server::start(options).await;
        let account = server.account_with("scale", 100).await;
        let others = json!([{"provider": "scripted", "model": "scripted"}]);
        costs(&account, ("openai", "gpt-4.1"), others, (0, 2)).await;
    }

    async fn a_wallet_that_cannot_cover_a_call_refuses_it(database: Database) {
        let server = start(database, 1).await;
        let account = server.account_with("scale", 5).await;
        let agent = costly(&account).await;
        let body = json!({"agent_id": agent, "to": "+15005550002"});
        let place = async || {
            account.post("/v1/calls", &body).idempotency_key("third").await
        };
        // Each reserves 2 of the 5 while it rings.
        let ringing = [
            account.call(&agent, "+15005550002").await,
            account.call(&agent, "+15005550002").await,
        ];
        let refused = place().await;
        refused.assert_error(402, "payment_required");
        assert_eq!(refused.header("retry-after"), None);
        account.post(&format!("/v1/calls/{}/hangup", ringing[0]), "{}").await.assert(202);
        account.ended(&ringing[0]).await;
        // The reservation is released, and so is the key of the refused request.
        place().await.assert(201);
        assert_eq!(account.read("/v1/calls").await["data"].as_array().map(Vec::len), Some(3));
    }

    async fn a_key_s_own_budget_is_its_limit(database: Database) {
        let server = start(database, 1).await;
        let account = server.account_with("scale", 1_000).await;
        let agent = costly(&account).await;
        let budget = ["--scopes", "all", "--monthly-credit-budget", "3"];
        let key = server.key(&account.id, &budget).await;
        let body = json!({"agent_id": agent, "to": "+15005550002"});
        key.post("/v1/calls", &body).send().await.assert(201);
        let over = key.post("/v1/calls", &body).send().await;
        over.assert_error(402, "key_budget_exhausted");
        account.post("/v1/calls", &body).send().await.assert(201);
    }
}
