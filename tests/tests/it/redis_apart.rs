//! Servers on one database that count in different Redises would each admit the whole limit. The service detects and
//! reports this, and one of them becomes unready.

mod on_postgres {
    use std::time::Duration;

    use offhook_testkit::RedisServer;
    use offhook_tests::{Database, Options, Server, eventually, text};

    use crate::doctor::failed;

    const LIMIT: Duration = Duration::from_secs(30);

    async fn readiness(server: &Server) -> Option<String> {
        let answer = server.client().get("/readyz").await;
        match answer.status {
            200 => None,
            _ => Some(text(&answer.json()["reason"]).to_owned()),
        }
    }

    /// The servers' name for a Redis, as soon as it has one.
    async fn name(redis: &RedisServer) -> String {
        eventually("a name", LIMIT, || async {
            let said = redis.say("GET ratelimit:server").await;
            let name = said.lines().nth(1)?;
            (name.len() == 32).then(|| name.to_owned())
        })
        .await
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn the_younger_one_is_not_ready_until_it_counts_where_the_older_does() {
        let database = Database::postgres().await;
        let (redis, another) = (RedisServer::start().await, RedisServer::start().await);
        let options = |url: String| Options::on(database.clone()).set("redis_url", url);
        let older = Server::start(options(redis.url())).await;
        // Another database number on the same server also counts separately.
        for url in [another.url(), format!("{}/1", redis.url())] {
            let mut younger = Server::join(options(url.clone()), &[]).await;
            eventually("a reason that names the Redis", LIMIT, || async {
                let reason = readiness(&younger).await?;
                reason
                    .contains("counts requests in another Redis than this one")
                    .then_some(())
            })
            .await;
            assert_eq!(readiness(&older).await, None);
            let looked = older
                .run_with(&["doctor", "--json"], &[("OFFHOOK_REDIS_URL", &url)])
                .await;
            let failed = failed(&looked);
            assert_eq!(failed.len(), 1, "{failed:?}");
            assert_eq!(failed[0].0, "redis");
            assert!(
                failed[0]
                    .1
                    .contains("give every process the same `redis_url`"),
                "{failed:?}"
            );
            assert!(younger.stop().await.success());
        }
        let mut together = Server::join(options(redis.url()), &[]).await;
        eventually("a server that is ready", LIMIT, || async {
            readiness(&together).await.is_none().then_some(())
        })
        .await;
        assert!(together.stop().await.success());
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_redis_that_comes_back_empty_parts_nobody() {
        let (database, mut redis) = (Database::postgres().await, RedisServer::start().await);
        let options = Options::on(database.clone()).set("redis_url", redis.url());
        let servers = [
            Server::start(options.clone()).await,
            Server::join(options, &[]).await,
        ];
        name(&redis).await;
        redis.kill();
        redis.start_again().await;
        let after = name(&redis).await;
        for server in &servers {
            eventually("a server that is ready", LIMIT, || async {
                readiness(server).await.is_none().then_some(())
            })
            .await;
        }
        // Emptied under its clients, it keeps its name.
        redis.say("FLUSHALL").await;
        assert_eq!(name(&redis).await, after);
    }
}
