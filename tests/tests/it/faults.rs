//! Mistakes of clients and operators.

use std::time::Duration;

use offhook_tests::{Options, Receiver, Server, both, must, text, within};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn connect(server: &Server) -> TcpStream {
    must("a connection", TcpStream::connect(server.address()).await)
}

fn assert_calm(server: &Server) {
    let log = server.log();
    assert!(
        !log.contains("panicked") && !log.contains(" ERROR "),
        "{log}"
    );
}

both! {
    async fn clients_that_reset_in_the_middle_of_a_request_harm_nothing(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        let requests = [
            account.get("/v1/calls?limit=100").bytes(),
            account.get("/v1/agents").bytes(),
            account.get("/v1/me").bytes(),
            account.post("/v1/calls", body).bytes(),
        ];
        let mut all = Vec::new();
        for n in 0..400_usize {
            let mut socket = connect(&server).await;
            let bytes = requests[n % requests.len()].clone();
            all.push(tokio::spawn(async move {
                // Some are cut off, some reset while their query runs.
                let length = if n % 7 == 0 {
                    bytes.len() / 2
                } else {
                    bytes.len()
                };
                let _ = socket.write_all(&bytes[..length]).await;
                tokio::time::sleep(Duration::from_micros((n as u64 * 37) % 3_000)).await;
                // Closed with a reset instead of an orderly end.
                let _ = socket.set_zero_linger();
            }));
            if all.len() == 40 {
                for one in all.drain(..) {
                    must("a reset", one.await);
                }
            }
        }
        // No database connection is stuck: the test sends more concurrent requests than there are connections.
        let checks: Vec<_> = (0..64)
            .map(|_| tokio::spawn(account.get("/v1/calls?limit=100").send()))
            .collect();
        for check in checks {
            must("an answer", check.await).assert(200);
        }
        // An accepted call runs, whether or not its client got the response.
        let accepted = account.read("/v1/calls?limit=100").await;
        for call in accepted["data"].as_array().into_iter().flatten().take(3) {
            account.ended(text(&call["call_id"])).await;
        }
        account.ended(&account.call(&agent, "+5215512345678").await).await;
        assert_calm(&server);
    }

    async fn a_body_that_breaks_off_places_nothing(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let bytes = account
            .post("/v1/calls", json!({"agent_id": agent, "to": "+15005550001"}))
            .bytes();
        for cut in [1, 10, 40] {
            let mut socket = connect(&server).await;
            must("a part", socket.write_all(&bytes[..bytes.len() - cut]).await);
            must("an end", socket.shutdown().await);
            let mut answer = Vec::new();
            let _ = within("an end", Duration::from_secs(10), socket.read_to_end(&mut answer))
            .await;
            assert!(
                !String::from_utf8_lossy(&answer).contains("201"),
                "{}",
                String::from_utf8_lossy(&answer)
            );
        }
        assert_eq!(account.read("/v1/calls").await["data"], json!([]));
        assert_calm(&server);
    }

    async fn a_stopped_service_has_reported_every_call(database: Database) {
        let options = Options::on(database).set("simulator.speed", 2).set("calls.drain_seconds", 1);
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let mut handles = Vec::new();
        for to in ["+5215512345678", "+5215512345679", "+15005550002"] {
            handles.push(account.call(&agent, to).await);
        }
        offhook_tests::eventually("a turn of both", Duration::from_secs(15), || async {
            for handle in &handles[..2] {
                let conversation = account
                    .read(&format!("/v1/conversations/{}", &handle[5..]))
                    .await;
                conversation["transcript"].get(0)?;
            }
            Some(())
        })
        .await;
        assert!(server.stop().await.success());
        assert!(!server.data_dir().join("listen").exists(), "the address is taken back");
        server.start_again(&[]).await;
        for handle in &handles {
            let call = account.read(&format!("/v1/calls/{handle}")).await;
            assert_eq!(
                (&call["status"], &call["failure_reason"]),
                (&json!("failed"), &json!("interrupted")),
                "{call}"
            );
        }
        // The next start sends what this process had no time to send.
        let ends = receiver.wait("three ends", |all| {
            all.iter().filter(|one| one.kind() == "call.failed").count() >= 3
        });
        let ends: std::collections::HashSet<_> = ends
            .await
            .iter()
            .filter_map(|one| {
                one.header("x-service-event-id")
                    .filter(|_| one.kind() == "call.failed")
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(ends.len(), 3);
        assert_calm(&server);
    }

    async fn a_second_service_on_one_data_directory_is_refused(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let second = server.run(&["serve", "--listen", "127.0.0.1:0"]).await;
        assert!(!second.status.success());
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(said.contains("another offhook serves from the data directory"), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        server.client().get("/readyz").await.assert(200);
    }

    async fn a_wrong_setting_stops_the_start_with_its_name(database: Database) {
        let server = Server::start(Options::on(database)).await;
        for (arguments, said) in [
            (["serve", "--listen", "nowhere"].as_slice(), "listen"),
            (
                &[
                    "key",
                    "create",
                    "--account",
                    "0190163d-8694-739b-aea5-966c26f8ad91",
                    "--name",
                    "x",
                    "--scopes",
                    "all",
                ],
                "no such account",
            ),
            (&["key", "revoke", "0190163d-8694-739b-aea5-966c26f8ad91"], "there is no key"),
            (&["account", "create", "--name", "x", "--plan", "gold"], "--plan"),
        ] {
            let output = server.run(arguments).await;
            assert!(!output.status.success(), "{arguments:?}");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                errors.contains(said) && !errors.contains("panicked"),
                "{arguments:?}: {errors}"
            );
            assert!(output.stdout.is_empty(), "{arguments:?}");
        }
    }
}
