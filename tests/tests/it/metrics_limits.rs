//! `/metrics` on the limits, with either store, and on the batch job.

use std::time::Duration;

use offhook_testkit::RedisServer;
use offhook_tests::{Account, Database, Exposition, Options, Server, eventually};

use crate::metrics::{exposition, with_metrics};

const LIMIT: Duration = Duration::from_secs(20);

fn decisions(seen: &Exposition) -> [f64; 3] {
    ["admitted", "refused", "unavailable"]
        .map(|outcome| seen.sum("offhook_limiter_decisions_total", &[("outcome", outcome)]))
}

/// Sends three requests of an account that may send two; returns the counts.
async fn three_of_two(server: &Server) -> ([f64; 3], Account) {
    let account = server.account("starter").await;
    let before = decisions(&exposition(server).await);
    for status in [200, 200, 429] {
        assert_eq!(account.get("/v1/me").await.status, status);
    }
    let after = decisions(&exposition(server).await);
    let counted = std::array::from_fn(|outcome| after[outcome] - before[outcome]);
    (counted, account)
}

fn options() -> Options {
    with_metrics(Options::on(Database::Sqlite)).set("plans.starter.requests_per_minute", 2)
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_in_memory_are_counted_and_looks_at_batches_are_a_job() {
    let server = Server::start(options()).await;
    let (counted, _) = three_of_two(&server).await;
    // Each request also counts for the address.
    assert_eq!(counted, [5.0, 1.0, 0.0]);
    eventually("a look at batches", LIMIT, || async {
        let seen = exposition(&server).await;
        let job = ("name", "batches");
        let runs = seen.sum("offhook_job_runs_total", &[job, ("outcome", "ok")]);
        let last = seen.sum("offhook_job_last_success_timestamp_seconds", &[job]);
        (runs > 0.0 && last > 0.0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn decisions_in_redis_are_counted_and_so_is_its_absence() {
    let mut redis = RedisServer::start().await;
    let server = Server::start(options().set("redis_url", redis.url())).await;
    let (counted, account) = three_of_two(&server).await;
    assert_eq!(counted, [5.0, 1.0, 0.0]);
    redis.kill();
    let before = decisions(&exposition(&server).await);
    for _ in 0..3 {
        let answer = account.get("/v1/me").await;
        answer.assert_error(503, "rate_limit_unavailable");
    }
    let after = decisions(&exposition(&server).await);
    assert_eq!(after, [before[0], before[1], before[2] + 3.0]);
}
