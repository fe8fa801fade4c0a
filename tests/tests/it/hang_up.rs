//! POST /v1/calls/{handle}/hangup.

use std::time::{Duration, Instant};

use offhook_tests::{Options, Receiver, Server, both, eventually};
use serde_json::json;

both! {
    async fn a_queued_call_is_cancelled_in_that_request(database: Database) {
        // One call at a time: while the first one rings, the second one waits.
        let options = Options::on(database)
            .set("simulator.speed", 1)
            .set("plans.scale.live_calls", 1);
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let first = account.call(&agent, "+15005550002").await;
        eventually("a live call", Duration::from_secs(5), || async {
            (account.read("/v1/me").await["live_calls"] == 1).then_some(())
        })
        .await;
        let second = account.call(&agent, "+5215512345678").await;
        let answer = account.request("POST", &format!("/v1/calls/{second}/hangup")).await;
        let expected = json!({"id": second, "status": "failed"});
        assert_eq!(answer.assert(202), expected);
        let call = account.read(&format!("/v1/calls/{second}")).await;
        assert_eq!(call["status"], "failed");
        assert_eq!(call["failure_reason"], "cancelled");
        assert_eq!(call["duration_seconds"], 0);
        assert_eq!(call["credits"], 0);
        let again = account.post(&format!("/v1/calls/{second}/hangup"), "{}").await;
        again.assert_error(409, "conflict");
        assert_eq!(again.header("retry-after"), None);
        let events = receiver
            .wait("its end", |all| all.iter().any(|one| one.kind() == "call.failed"))
            .await;
        let failed = events
            .iter()
            .find(|one| one.kind() == "call.failed")
            .map(|one| one.json()["data"].clone());
        let expected =
            json!({"id": second, "agent_id": agent, "status": "failed", "reason": "cancelled"});
        assert_eq!(failed, Some(expected));
        let ringing = account.post(&format!("/v1/calls/{first}/hangup"), "{}");
        let ringing = ringing.await.assert(202);
        assert_eq!(ringing, json!({"id": first, "status": "initiated"}));
        let call = account.ended(&first).await;
        assert_eq!(call["failure_reason"], "cancelled");
    }

    async fn a_live_call_ends_within_half_a_second(database: Database) {
        let server = Server::start(Options::on(database).set("simulator.speed", 4)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let mut times = Vec::new();
        for _ in 0..4 {
            let handle = account.call(&agent, "+5215512345678").await;
            let target = format!("/v1/conversations/{}", &handle[5..]);
            eventually("a turn", Duration::from_secs(10), || async {
                account.read(&target).await["transcript"].get(0).cloned()
            })
            .await;
            let asked = Instant::now();
            let answer = account.post(&format!("/v1/calls/{handle}/hangup"), "{}");
            let answer = answer.await.assert(202);
            assert_eq!(answer, json!({"id": handle, "status": "initiated"}));
            let call = account.ended(&handle).await;
            times.push(asked.elapsed());
            assert_eq!(call["status"], "completed");
            assert_eq!(call["termination_reason"], "api_hangup");
        }
        // A busy machine may hold up some of them.
        let quickest = times.iter().min();
        assert!(quickest < Some(&Duration::from_millis(500)), "{times:?}");
    }
}
