//! Outages of the database, and a full disk under the embedded one.

mod on_postgres {
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use offhook_tests::{
        Database, LostReplies, Options, Received, Receiver, Server, SimulatorProcess, eventually,
        haste, must, text,
    };
    use serde_json::json;
    use tokio_postgres::NoTls;

    /// How long the database is away: longer than a statement timeout, shorter than a lease.
    const OUTAGE: Duration = Duration::from_secs(12);

    /// How much later than a server its database starts: longer than one attempt.
    const LATE: Duration = Duration::from_secs(3);

    /// Blocks all connections to a database.
    struct Outage {
        admin: tokio_postgres::Client,
        database: String,
    }

    impl Outage {
        async fn of(database: &Database) -> Self {
            let url = database.url().unwrap_or_default();
            let (server, name) = url.rsplit_once('/').unwrap_or_default();
            let name = name.split('?').next().unwrap_or_default();
            let (admin, connection) = must(
                "a session",
                tokio_postgres::connect(&format!("{server}/postgres"), NoTls).await,
            );
            tokio::spawn(connection);
            let outage = Self {
                admin,
                database: name.to_owned(),
            };
            outage
                .run("ALTER DATABASE {} ALLOW_CONNECTIONS false")
                .await;
            outage.cut().await;
            outage
        }

        async fn run(&self, sql: &str) {
            must(
                sql,
                self.admin
                    .batch_execute(&sql.replace("{}", &self.database))
                    .await,
            );
        }

        async fn cut(&self) {
            self.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'")
                .await;
        }

        async fn end(&self) {
            self.run("ALTER DATABASE {} ALLOW_CONNECTIONS true").await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_server_that_starts_before_its_database_waits_for_it() {
        let database = Database::postgres().await;
        let outage = Outage::of(&database).await;
        let starting = tokio::spawn(Server::start(Options::on(database)));
        tokio::time::sleep(LATE).await;
        assert!(!starting.is_finished());
        outage.end().await;
        let server = must("a server", starting.await);
        server.account("free").await.read("/v1/me").await;
        assert!(server.log().contains("waiting for the database"));
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn while_the_database_is_away_clients_are_told_to_wait_and_live_calls_go_on() {
        let database = Database::postgres().await;
        let server = Server::start(Options::on(database.clone()).set("simulator.speed", 3)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let mut handles = Vec::new();
        for _ in 0..3 {
            handles.push(account.call(&agent, "+5215512345678").await);
        }
        eventually("live calls", Duration::from_secs(10), || async {
            let conversation = account
                .read(&format!("/v1/conversations/{}", &handles[2][5..]))
                .await;
            conversation["transcript"].get(0).cloned()
        })
        .await;
        let outage = Outage::of(&database).await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        let began = std::time::Instant::now();
        while began.elapsed() < OUTAGE {
            for request in [
                account.get("/v1/me"),
                account.get("/v1/calls"),
                account.post("/v1/calls", &body),
            ] {
                let asked = std::time::Instant::now();
                let answer = request.await;
                answer.assert_error(503, "service_unavailable");
                assert!(answer.number("retry-after") >= 1);
                assert!(
                    asked.elapsed() < Duration::from_secs(10),
                    "{:?}",
                    asked.elapsed()
                );
            }
            let ready = account.get("/readyz").await;
            assert_eq!(ready.status, 503, "{}", ready.text());
            account.read("/healthz").await;
        }
        outage.end().await;
        for handle in &handles {
            let call = account.ended_within(handle, Duration::from_secs(60)).await;
            assert_eq!(call["status"], "completed");
            assert_eq!(call["termination_reason"], "customer_hangup");
            let conversation = account
                .read(&format!("/v1/conversations/{}", &handle[5..]))
                .await;
            let turns = conversation["transcript"].as_array().map_or(0, Vec::len);
            assert!(
                turns >= 5,
                "what was said meanwhile is kept: {conversation}"
            );
        }
        let placed = account.read("/v1/calls").await;
        assert_eq!(
            placed["data"].as_array().map(Vec::len),
            Some(3),
            "nothing was placed meanwhile"
        );
        let received = receiver.wait("every event", |all| all.len() >= 6).await;
        for handle in &handles {
            let kinds: Vec<_> = received
                .iter()
                .filter(|one| one.call() == *handle)
                .map(|one| one.kind())
                .collect();
            assert_eq!(
                kinds
                    .iter()
                    .filter(|kind| *kind == "call.completed")
                    .count(),
                1,
                "{kinds:?}"
            );
        }
        account
            .ended(&account.call(&agent, "+15005550001").await)
            .await;
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn connections_that_are_cut_again_and_again_lose_and_repeat_no_call() {
        let database = Database::postgres().await;
        let server = Server::start(Options::on(database.clone())).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let outage = Outage::of(&database).await;
        outage.end().await;
        let over = Arc::new(AtomicBool::new(false));
        let accepted = Arc::new(AtomicUsize::new(0));
        let (until, commits) = (over.clone(), accepted.clone());
        let cutting = tokio::spawn(async move {
            while !until.load(Ordering::SeqCst) {
                let before = commits.load(Ordering::SeqCst);
                outage.cut().await;
                tokio::time::sleep(Duration::from_millis(150)).await;
                // If connecting took longer than this, nothing would ever be written, and a call that is not dialed
                // within 10 s of its claim fails.
                while commits.load(Ordering::SeqCst) == before && !until.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        let body = json!({"agent_id": agent, "to": "+5215512345678"}).to_string();
        let mut handles = std::collections::HashSet::new();
        for n in 0..30 {
            let key = format!("key {n}");
            let placed = eventually("an accepted call", Duration::from_secs(30), || async {
                let answer = account.post("/v1/calls", &body).idempotency_key(&key).await;
                if answer.status == 201 {
                    return Some(answer.json());
                }
                assert!([503, 409].contains(&answer.status), "{}", answer.text());
                assert!(answer.number("retry-after") >= 1);
                None
            })
            .await;
            handles.insert(text(&placed["id"]).to_owned());
            accepted.fetch_add(1, Ordering::SeqCst);
        }
        over.store(true, Ordering::SeqCst);
        must("the end of the cutting", cutting.await);
        assert_eq!(handles.len(), 30);
        for handle in &handles {
            let call = account.ended_within(handle, Duration::from_secs(60)).await;
            assert_eq!(call["status"], "completed", "{call}");
        }
        assert_eq!(
            account.read("/v1/calls?limit=100").await["data"]
                .as_array()
                .map(Vec::len),
            Some(30)
        );
        let enough = |all: &[offhook_tests::Received]| {
            handles.iter().all(|handle| {
                all.iter()
                    .any(|one| one.call() == *handle && one.kind() == "call.completed")
            })
        };
        receiver
            .wait_within(Duration::from_secs(90), "every event", enough)
            .await;
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn after_longer_than_a_lease_without_the_database_every_live_call_is_reported_once() {
        let database = Database::postgres().await;
        let outage_seconds = 60 / haste();
        let options = Options::on(database.clone())
            .in_haste()
            .set("simulator.speed", haste());
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        // Its first message takes longer than the outage.
        let agent = account
            .agent_with(json!({
                "system_prompt": "Talk.",
                "first_message": "Hello. ".repeat(250),
                "llm": {"provider": "scripted", "model": "scripted"},
            }))
            .await;
        let talking = account.call(&agent, "+5215512345678").await;
        let ringing = account.call(&agent, "+15005550002").await;
        let mut stream = account
            .get(&format!("/v1/conversations/{}/events", &talking[5..]))
            .stream()
            .await;
        while stream
            .next()
            .await
            .is_some_and(|event| event.data["state"] != "live")
        {}
        let outage = Outage::of(&database).await;
        tokio::time::sleep(Duration::from_secs(outage_seconds.into())).await;
        outage.end().await;
        // It was ended before another node could take it over.
        let call = account
            .ended_within(&talking, Duration::from_secs(30))
            .await;
        assert_eq!(
            (&call["status"], &call["failure_reason"]),
            (&json!("failed"), &json!("interrupted")),
            "{call}"
        );
        let seconds = call["duration_seconds"].as_u64().unwrap_or(0);
        let unrenewed = u64::from(38 / haste() - 1);
        assert!(
            (unrenewed..outage_seconds.into()).contains(&seconds),
            "{call}"
        );
        // An outcome from before the outage is reported after it.
        let call = account
            .ended_within(&ringing, Duration::from_secs(30))
            .await;
        assert_eq!(
            (&call["status"], &call["failure_reason"]),
            (&json!("failed"), &json!("no_answer")),
            "{call}"
        );
        let ends = receiver.wait("both ends", |all| {
            all.iter().filter(|one| one.kind() == "call.failed").count() >= 2
        });
        let events: std::collections::HashSet<_> = ends
            .await
            .iter()
            .filter(|one| one.kind() == "call.failed")
            .map(|one| {
                (
                    one.call(),
                    one.header("x-service-event-id").map(str::to_owned),
                )
            })
            .collect();
        assert_eq!(events.len(), 2, "{events:?}");
        account
            .ended(&account.call(&agent, "+15005550001").await)
            .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn answers_of_the_database_that_are_lost_end_no_call_and_double_no_turn() {
        lose_answers(1, &[2, 3, 5, 7]).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn answers_that_are_lost_to_three_processes_end_no_call_and_double_no_turn() {
        lose_answers(3, &[2, 3]).await;
    }

    /// Loses every n-th response, for each n in turn.
    async fn lose_answers(processes: usize, each: &[u64]) {
        let database = Database::postgres().await;
        let proxy = LostReplies::before(&database).await;
        let simulator = SimulatorProcess::start(50).await;
        let receiver = Receiver::start().await;
        let options = Options::on(database)
            .through(proxy.address())
            .set("simulator.url", simulator.url());
        let server = Server::start(options.clone()).await;
        let mut others = Vec::new();
        for _ in 1..processes {
            others.push(Server::join(options.clone(), &[]).await);
        }
        let account = server.account("scale").await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let mut calls = Vec::new();
        // Together, these lose a response at every write of a call.
        for every in each {
            let before = proxy.lost();
            proxy.lose_every(*every);
            let mut placed = Vec::new();
            for _ in 0..12 {
                placed.push(account.call(&agent, "+5215512345678").await);
            }
            for handle in &placed {
                let call = account.ended(handle).await;
                assert_eq!(call["status"], "completed", "every {every}: {call}");
                let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
                let conversation = account.read(&target).await;
                let turns = conversation["transcript"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                // No sentence occurs twice.
                let said: HashSet<_> = turns.iter().map(|turn| text(&turn["text"])).collect();
                assert!(
                    turns.len() > 3 && said.len() == turns.len(),
                    "every {every}: {turns:?}"
                );
            }
            proxy.lose_every(0);
            let lost = proxy.lost() - before;
            assert!(lost >= 5, "every {every}: {lost} answers were lost");
            calls.extend(placed);
        }
        for handle in &calls {
            assert_eq!(simulator.dialed(handle), 1, "{handle}");
        }
        let ends = |all: &[Received]| {
            let ended = |handle: &String| {
                let of_it =
                    |one: &Received| one.call() == *handle && one.kind() == "call.completed";
                all.iter().any(of_it)
            };
            calls.iter().all(ended)
        };
        receiver
            .wait_within(Duration::from_secs(60), "every end", ends)
            .await;
        let books = server.cli(&["doctor", "--books"]).await;
        assert_eq!(books, json!({"faults": []}));
    }
}

mod on_a_full_disk {
    use std::time::Duration;

    use offhook_tests::{Database, Disk, Options, Server, SimulatorProcess, eventually, text};
    use serde_json::json;

    /// How long the disk is full.
    const FULL: Duration = Duration::from_secs(4);

    #[tokio::test(flavor = "multi_thread")]
    async fn calls_end_well_and_are_dialed_once_and_it_goes_on_when_there_is_room() {
        let Some(disk) = Disk::of(32) else {
            eprintln!("not tested: this process may mount no disk");
            return;
        };
        let simulator = SimulatorProcess::start(10).await;
        let options = Options::on(Database::Sqlite)
            .on_disk(disk.path())
            .set("simulator.url", simulator.url());
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let mut handles = Vec::new();
        for _ in 0..3 {
            handles.push(account.call(&agent, "+5215512345678").await);
        }
        eventually("live calls", Duration::from_secs(10), || async {
            let conversation = account
                .read(&format!("/v1/conversations/{}", &handles[2][5..]))
                .await;
            conversation["transcript"].get(0).cloned()
        })
        .await;
        disk.fill();
        let body = json!({"agent_id": agent, "to": "+5215512345678"});
        let began = std::time::Instant::now();
        let mut refused = 0;
        while began.elapsed() < FULL {
            let answer = account.post("/v1/calls", &body).await;
            match answer.status {
                // Earlier writes may have left some room in the file.
                201 => handles.push(text(&answer.json()["id"]).to_owned()),
                _ => {
                    answer.assert_error(503, "service_unavailable");
                    refused += 1;
                }
            }
            account.read("/healthz").await;
        }
        assert!(refused > 0);
        disk.empty();
        handles.push(account.call(&agent, "+5215512345678").await);
        for handle in &handles {
            let call = account.ended_within(handle, Duration::from_secs(60)).await;
            assert_eq!(call["termination_reason"], "customer_hangup", "{call}");
            assert_eq!(simulator.dialed(handle), 1, "{handle}");
        }
        assert_eq!(simulator.dials().len(), handles.len());
        let books = server.run(&["doctor", "--books"]).await;
        assert!(books.status.success());
    }
}
