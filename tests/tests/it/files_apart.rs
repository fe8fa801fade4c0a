//! A server with its own file storage cannot serve next to others on one PostgreSQL, with or without Redis, and does
//! not disturb those that were there before it.

mod on_postgres {
    use std::time::Duration;

    use offhook_testkit::RedisServer;
    use offhook_tests::{Database, Options, Server, eventually, text};

    const LIMIT: Duration = Duration::from_secs(15);

    /// Waits until a server is unready because of its files.
    async fn is_apart(server: &Server) {
        let apart = async || {
            let answer = server.client().get("/readyz").await;
            if answer.status == 200 {
                return None;
            }
            let unready = answer.assert(503);
            let reason = text(&unready["reason"]).to_owned();
            reason
                .contains("keeps its files where that one cannot see them: set storage.objects to a bucket")
                .then_some(())
        };
        eventually("a reason that names the files", LIMIT, apart).await;
    }

    async fn is_ready(server: &Server) {
        let ready = async || {
            let answer = server.client().get("/readyz").await;
            (answer.status == 200).then_some(())
        };
        eventually("a server that is ready", LIMIT, ready).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn the_one_with_files_of_its_own_gives_way_whenever_it_came() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let shared = Options::on(database.clone()).set("redis_url", redis.url());
        let mut older = Server::start(shared.clone()).await;
        let apart = Server::join(shared.clone().own_files(), &[]).await;
        is_apart(&apart).await;
        is_ready(&older).await;
        // Alone it may serve, until a server with shared files joins.
        assert!(older.stop().await.success());
        is_ready(&apart).await;
        let younger = Server::join(shared, &[]).await;
        is_ready(&younger).await;
        is_apart(&apart).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn with_redis_and_files_of_its_own_it_disturbs_no_older_one_without_redis() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let older = Server::start(Options::on(database.clone())).await;
        let apart = Options::on(database.clone()).set("redis_url", redis.url());
        let apart = Server::join(apart.own_files(), &[]).await;
        is_apart(&apart).await;
        is_ready(&older).await;
    }
}
