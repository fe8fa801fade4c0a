//! Retrying POST /v1/calls with an Idempotency-Key.

use offhook_tests::{Options, Server, SimulatorProcess, both, eventually, must, text};
use serde_json::json;
use std::time::Duration;

both! {
    async fn of_64_parallel_requests_with_one_key_all_get_the_one_call(database: Database) {
        let simulator = SimulatorProcess::start(200).await;
        let server =
            Server::start(Options::on(database).set("simulator.url", simulator.url())).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+5215512345678"});
        let all: Vec<_> = (0..64)
            .map(|_| tokio::spawn(account.post("/v1/calls", &body).idempotency_key("one").send()))
            .collect();
        let mut answers = Vec::new();
        for one in all {
            answers.push(must("an answer", one.await));
        }
        for answer in &answers {
            answer.assert(201);
            assert_eq!(answer.body, answers[0].body);
        }
        let fresh = answers
            .iter()
            .filter(|answer| answer.header("idempotent-replayed").is_none())
            .count();
        assert_eq!(fresh, 1, "one placed it, 63 were replayed");
        let handle = text(&answers[0].json()["id"]).to_owned();
        account.ended(&handle).await;
        assert_eq!(simulator.dials().len(), 1);
        assert_eq!(account.read("/v1/calls").await["data"].as_array().map(Vec::len), Some(1));
    }

    async fn a_replay_survives_a_kill(database: Database) {
        let simulator = SimulatorProcess::start(200).await;
        let mut server =
            Server::start(Options::on(database).set("simulator.url", simulator.url())).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+5215512345678"});
        let first = account.post("/v1/calls", &body).idempotency_key("k").await;
        let handle = text(&first.assert(201)["id"]).to_owned();
        account.ended(&handle).await;
        server.crash_and_restart().await;
        let replay = account.post("/v1/calls", &body).idempotency_key("k").await;
        assert_eq!((replay.status, &replay.body), (201, &first.body), "{}", replay.text());
        assert_eq!(replay.header("idempotent-replayed"), Some("true"));
        assert_eq!(replay.header("location"), first.header("location"));
        assert_ne!(replay.header("x-request-id"), first.header("x-request-id"));
        assert!(replay.number("x-ratelimit-remaining") >= 0);
        let call = account.read(&format!("/v1/calls/{handle}")).await;
        assert_eq!(call["status"], "completed");
        let again = account.call(&agent, "+5215512345678").await;
        account.ended(&again).await;
        eventually("two dials", Duration::from_secs(5), || async {
            (simulator.dials().len() == 2).then_some(())
        })
        .await;
    }
}
