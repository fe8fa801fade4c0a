//! Several processes that count together, and their behavior while they cannot.

mod on_postgres {
    use std::time::{Duration, Instant};

    use offhook_testkit::RedisServer;
    use offhook_tests::{Account, Client, Database, Options, Server, eventually, must};
    use serde_json::json;
    use tempfile::TempDir;

    use crate::tls::write_pair;

    /// A check lasts 100 ms at most, and a request has two; the rest is for a busy machine.
    const NO_HANG: Duration = Duration::from_secs(3);

    /// The store recovers within a second of Redis's return; the rest is for a busy machine.
    const RECOVERY: Duration = Duration::from_secs(3);

    fn options(database: &Database, redis: &RedisServer) -> Options {
        Options::on(database.clone()).set("redis_url", redis.url())
    }

    /// Options of servers that must be ready side by side, which requires shared files.
    fn in_common(database: &Database, redis: &RedisServer, files: &TempDir) -> Options {
        options(database, redis).set("storage.objects", files.path().display())
    }

    /// The same client at another server.
    fn at(server: &Server, account: &Account) -> Client {
        server.client().with_key(&account.token)
    }

    /// How many of `each` concurrent requests to each of two servers were admitted.
    async fn admitted(clients: [Client; 2], each: usize, target: &'static str) -> i64 {
        let mut under_way = tokio::task::JoinSet::new();
        for number in 0..2 * each {
            let client = clients[number % 2].clone();
            under_way.spawn(async move { client.get(target).await.status });
        }
        let statuses = under_way.join_all().await;
        let others = statuses
            .iter()
            .filter(|status| ![200, 404, 429].contains(*status));
        assert_eq!(others.count(), 0, "{statuses:?}");
        i64::try_from(statuses.iter().filter(|status| **status != 429).count()).unwrap_or(0)
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn two_servers_together_admit_exactly_the_limit_of_a_key_and_of_an_address() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let files = must("a directory", tempfile::tempdir());
        let options = in_common(&database, &redis, &files)
            .set("plans.starter.requests_per_minute", 20)
            .set("limits.ip_per_minute", 300)
            .default_of("limits.call_ip_per_minute");
        let first = Server::start(options.clone()).await;
        let second = Server::start(options).await;
        let account = first.account("starter").await;
        let (here, there) = (at(&first, &account), at(&second, &account));

        // A token of the account comes every 3 s, one of the address every 200 ms.
        let began = Instant::now();
        let spent = admitted([here.clone(), there.clone()], 40, "/v1/calls/call_x").await;
        let refilled = i64::try_from(began.elapsed().as_secs() / 3).unwrap_or(0);
        assert!(
            (20..=20 + refilled).contains(&spent),
            "{spent} of the account's 20"
        );
        for client in [&here, &there] {
            let refused = client.get("/v1/me").await;
            refused.assert_error(429, "rate_limit_exceeded");
            assert_eq!(refused.number("x-ratelimit-remaining"), 0);
        }

        let bare = [first.client(), second.client()];
        let so_far = 82;
        let passed = so_far + admitted(bare, 200, "/v1/models?limit=1").await;
        let refilled = i64::try_from(began.elapsed().as_millis() / 200).unwrap_or(0) + 1;
        assert!(
            (300..=300 + refilled).contains(&passed),
            "{passed} of the address's 300"
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn two_servers_together_admit_ten_calls_a_minute_from_an_address() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let files = must("a directory", tempfile::tempdir());
        let options = in_common(&database, &redis, &files).default_of("limits.call_ip_per_minute");
        let first = Server::start(options.clone()).await;
        let second = Server::start(options).await;
        let account = first.account("scale").await;
        let agent = account.agent().await;
        let clients = [at(&first, &account), at(&second, &account)];
        let body = json!({"agent_id": agent, "to": "+15005550001"}).to_string();
        let minute = || offhook_tests::unix_seconds() / 60;
        for _ in 0..2 {
            let begun_in = minute();
            let mut placed = 0;
            for number in 0..16 {
                let answer = clients[number % 2].post("/v1/calls", &body).await;
                placed += usize::from(answer.status == 201);
                assert!([201, 429].contains(&answer.status), "{answer:?}");
            }
            if minute() == begun_in {
                assert_eq!(placed, 10);
                return;
            }
            // A minute ended meanwhile, and some of the next minute's allowance is spent.
            let spent = minute();
            eventually("another minute", Duration::from_secs(70), || async {
                (minute() > spent).then_some(())
            })
            .await;
        }
        panic!("sixteen requests took two minutes");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn two_servers_together_keep_ten_streams_of_a_key_open() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let files = must("a directory", tempfile::tempdir());
        let options = in_common(&database, &redis, &files).set("simulator.speed", 1);
        let first = Server::start(options.clone()).await;
        let account = first.account("scale").await;
        // Its first message takes longer than all of this.
        let agent = account
            .agent_with(json!({
                "system_prompt": "Talk.",
                "first_message": "Hello. ".repeat(250),
                "llm": {"provider": "scripted", "model": "scripted"},
            }))
            .await;
        let call = account.call(&agent, "+5215512345678").await;
        let events = format!("/v1/conversations/{}/events", &call[5..]);
        // The first server runs the call, so it continues when the other one stops.
        let mut live = account.get(&events).stream().await;
        while live
            .next()
            .await
            .is_some_and(|event| event.data["state"] != "live")
        {}
        drop(live);
        let mut second = Server::start(options).await;
        let clients = [at(&first, &account), at(&second, &account)];
        let mut opening = tokio::task::JoinSet::new();
        for number in 0..24 {
            let request = clients[number % 2].get(&events);
            opening.spawn(async move { (number % 2, must("a head", request.try_stream().await)) });
        }
        let opened = opening.join_all().await;
        let (mut open, refused): (Vec<_>, Vec<_>) = opened
            .into_iter()
            .partition(|(_, stream)| stream.head.starts_with("HTTP/1.1 200"));
        assert_eq!((open.len(), refused.len()), (10, 14));
        let heads = refused.iter().map(|(_, stream)| &stream.head);
        assert_eq!(
            heads
                .filter(|head| !head.starts_with("HTTP/1.1 409"))
                .count(),
            0
        );
        // A freed slot is available on every server.
        for (number, client) in clients.iter().enumerate() {
            open.pop();
            let again = eventually("a place", NO_HANG, || async {
                let stream = must("a head", client.get(&events).try_stream().await);
                stream.head.starts_with("HTTP/1.1 200").then_some(stream)
            });
            open.push((number, again.await));
            let one_more = must("a head", client.get(&events).try_stream().await);
            assert!(
                one_more.head.starts_with("HTTP/1.1 409"),
                "{}",
                one_more.head
            );
        }
        // The slots of a stopped process are freed.
        second.stop().await;
        let mut more = Vec::new();
        while more.len() < 10 {
            let stream = must("a head", clients[0].get(&events).try_stream().await);
            if !stream.head.starts_with("HTTP/1.1 200") {
                break;
            }
            more.push(stream);
        }
        let here = open.iter().filter(|(at, _)| *at == 0).count();
        assert_eq!(here + more.len(), 10);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn without_its_redis_a_server_refuses_everything_and_is_back_within_a_second() {
        let (database, mut redis) = (Database::postgres().await, RedisServer::start().await);
        let server = Server::start(options(&database, &redis)).await;
        let account = server.account("scale").await;
        account.read("/v1/me").await;

        let refuses = async || {
            let began = Instant::now();
            let answer = account.get("/v1/me").await;
            assert!(began.elapsed() < NO_HANG, "{:?}", began.elapsed());
            answer.assert_error(503, "rate_limit_unavailable");
            assert_eq!(answer.number("retry-after"), 5);
            assert_eq!(answer.header("x-ratelimit-limit"), None);
        };
        let returns = async |began: Instant| {
            while account.get("/v1/me").await.status != 200 {
                assert!(began.elapsed() < RECOVERY, "not back");
            }
        };
        redis.kill();
        for _ in 0..20 {
            refuses().await;
        }
        let ready = server.client().get("/readyz").await.assert(503);
        assert_eq!(ready["status"], "unavailable");
        server.client().get("/healthz").await.assert(200);
        redis.start_again().await;
        returns(Instant::now()).await;
        server.client().get("/readyz").await.assert(200);

        redis.freeze();
        for _ in 0..20 {
            refuses().await;
        }
        redis.thaw();
        returns(Instant::now()).await;
        let log = server.log();
        assert_eq!(log.matches("Redis is out of reach").count(), 2, "{log}");
        assert_eq!(log.matches("Redis answers again").count(), 2, "{log}");
        assert_eq!(log.matches("ERROR").count(), 0, "{log}");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_server_starts_without_its_redis_and_is_ready_once_that_is_there() {
        let (database, mut redis) = (Database::postgres().await, RedisServer::start().await);
        redis.kill();
        let server = Server::start_unready(options(&database, &redis)).await;
        // Until the server is registered with the database, that is the reason.
        eventually("a reason that names Redis", RECOVERY, || async {
            let unready = server.client().get("/readyz").await.assert(503);
            let reason = unready["reason"].as_str().unwrap_or_default().to_owned();
            let says = reason.starts_with("Redis is out of reach (redis_url)");
            says.then_some(())
        })
        .await;
        redis.start_again().await;
        eventually("a server that is ready", RECOVERY, || async {
            let ready = server.client().get("/readyz").await;
            (ready.status == 200).then_some(())
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn servers_that_do_not_count_together_are_not_ready_together() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let _first = Server::start(options(&database, &redis)).await;
        let second = Server::start_unready(Options::on(database.clone())).await;
        let lone = async || {
            let unready = second.client().get("/readyz").await.assert(503);
            let reason = unready["reason"].as_str().unwrap_or_default().to_owned();
            reason.contains("without Redis (redis_url)").then_some(())
        };
        eventually("a reason that names Redis", Duration::from_secs(10), lone).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_redis_user_needs_few_rights_and_its_password_is_in_no_log() {
        let (database, redis) = (Database::postgres().await, RedisServer::start().await);
        let user = "ACL SETUSER offhook on >hunter2 +@connection +evalsha +eval +script|load +info +get +set +time \
                    ~ratelimit:*";
        let made = redis.say(user).await;
        assert!(made.starts_with("+OK"), "{made}");
        redis.say("CONFIG SET maxmemory-policy allkeys-lru").await;
        let url = format!("redis://offhook:hunter2@{}/0", redis.address());
        let server = Server::start(Options::on(database.clone()).set("redis_url", url)).await;
        let account = server.account("scale").await;
        let answer = account.post("/v1/calls", "{}").await;
        answer.assert_error(400, "invalid_body");
        let warned = || async { server.log().contains("maxmemory-policy").then_some(()) };
        eventually(
            "a warning of the eviction policy",
            Duration::from_secs(5),
            warned,
        )
        .await;
        must(
            "an end",
            Ok::<_, ()>(redis.say("ACL SETUSER offhook off").await),
        );
        redis.say("CLIENT KILL USER offhook").await;
        let refused = || async {
            let answer = account.get("/v1/me").await;
            (answer.status == 503).then_some(())
        };
        eventually("a refusal", Duration::from_secs(5), refused).await;
        // The request may be refused before the connection's task has logged why.
        let told = || async { server.log().contains("Redis is out of reach").then_some(()) };
        eventually("a word of the outage", Duration::from_secs(5), told).await;
        let log = server.log();
        assert!(!log.contains("hunter2"), "{log}");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_redis_behind_tls_is_believed_by_its_certificate() {
        let directory = must("a directory", tempfile::tempdir());
        write_pair(directory.path());
        let file = |name: &str| directory.path().join(name);
        let redis = RedisServer::start_tls(&file("cert.pem"), &file("key.pem"));
        let url = format!("rediss://localhost:{}", redis.address().port());
        let options = Options::on(Database::Sqlite).set("redis_url", url);
        let mut server = Server::start_unready(options).await;
        let status = async |server: &Server| server.client().get("/readyz").await.status;
        let doubted = || async { server.log().contains("Redis is out of reach").then_some(()) };
        eventually("a doubt", Duration::from_secs(10), doubted).await;
        assert_eq!(
            status(&server).await,
            503,
            "a certificate that nobody vouches for"
        );
        let trusted = file("cert.pem").display().to_string();
        let variables = [("SSL_CERT_FILE", trusted.as_str())];
        server.crash_and_restart_with(&variables).await;
        let ready = || async { (status(&server).await == 200).then_some(()) };
        eventually("a server that is ready", Duration::from_secs(10), ready).await;
        server.account("scale").await.read("/v1/me").await;
    }
}
