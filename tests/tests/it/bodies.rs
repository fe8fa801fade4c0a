//! Bodies that POST /v1/calls refuses, and the limits it allows to the character (decisions 1.3, 1.4, 8.2).

use offhook_tests::{Options, Server, both, within};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

both! {
    async fn every_fault_of_a_call_s_body_is_named(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let with = |rest: &str| format!(r#"{{"agent_id":"{agent}","to":"+5215512345678"{rest}}}"#);
        let metadata = |members: &str| with(&format!(r#","metadata":{members}"#));
        let to = |to: &str| format!(r#"{{"agent_id":"{agent}","to":{to}}}"#);
        let long = "ñ".repeat(2_001);
        let nested = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let big = {
            let (a, b) = ("a".repeat(2_000), "b".repeat(2_000));
            let c = "c".repeat(5_121 - 4_000 - r#"{"a":"","b":"","c":""}"#.len());
            format!(r#"{{"a":"{a}","b":"{b}","c":"{c}"}}"#)
        };
        for (body, message) in [
            ("{}".to_owned(), "`agent_id`: is required"),
            (
                r#"{"to":"+5215512345678"}"#.to_owned(),
                "`agent_id`: is required",
            ),
            (
                r#"{"agent_id":7,"to":"+5215512345678"}"#.to_owned(),
                "`agent_id`: must be a string",
            ),
            (
                r#"{"agent_id":"","to":"+5215512345678"}"#.to_owned(),
                "`agent_id`: must not be empty",
            ),
            (
                format!(
                    r#"{{"agent_id":"{}","to":"+5215512345678"}}"#,
                    "a".repeat(256)
                ),
                "`agent_id`: longer than 255 characters",
            ),
            (format!(r#"{{"agent_id":"{agent}"}}"#), "`to`: is required"),
            (to("5215512345678"), "`to`: must be a string"),
            (to(r#""5215512345678""#), "`to`: must begin with `+`"),
            (
                to(r#"" 5215512345678""#),
                "`to`: the `+` arrived as a space",
            ),
            (
                to(r#""+0215512345678""#),
                "`to`: must be an E.164 phone number",
            ),
            (to(r#""+123456""#), "`to`: must be an E.164 phone number"),
            (
                to(r#""+1234567890123456""#),
                "`to`: must be an E.164 phone number",
            ),
            (
                to(r#""+٥215512345678""#),
                "`to`: must be an E.164 phone number",
            ),
            (with(r#","from":"+15005550100""#), "`from`: unknown field"),
            (
                with(r#","to":"+5215512345678""#),
                "`to`: appears more than once",
            ),
            (metadata("[]"), "`metadata`: must be an object"),
            (metadata(r#""x""#), "`metadata`: must be an object"),
            (
                metadata(r#"{"a":{}}"#),
                "`metadata.a`: must be a string, a number, true, false or null",
            ),
            (
                metadata(r#"{"a":[1]}"#),
                "`metadata.a`: must be a string, a number, true, false or null",
            ),
            (
                metadata(r#"{"a":1,"a":1}"#),
                "`metadata.a`: appears more than once",
            ),
            (
                metadata(r#"{"a":"x\u0000y"}"#),
                "`metadata.a`: must not contain U+0000",
            ),
            (
                metadata(r#"{"a\u0000":"x"}"#),
                "`metadata`: a member's name contains U+0000",
            ),
            (
                metadata(&format!(r#"{{"lead_name":"{long}"}}"#)),
                "`metadata.lead_name`: longer than 2000 characters",
            ),
            (
                metadata(&format!(r#"{{"{}":1}}"#, "ñ".repeat(65))),
                "`metadata.ñ",
            ),
            (
                metadata(&big),
                "`metadata`: larger than 5120 bytes of compact JSON",
            ),
            (metadata(&format!(r#"{{"a":{nested}}}"#)), ""),
            ("[]".to_owned(), ""),
            ("7".to_owned(), ""),
            ("null".to_owned(), ""),
        ] {
            let answer = account.post("/v1/calls", &body).send().await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with(message), "{body}: {said}");
        }
        assert_eq!(
            account.read("/v1/calls").await["data"],
            json!([]),
            "nothing was placed"
        );
    }

    async fn what_is_not_json_is_told_apart_from_a_bad_field(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        for body in [
            "",
            "{",
            "{}}",
            "{'a':1}",
            "{\"a\":01}",
            "{\"a\":1,}",
            "nul",
            "\u{feff}{}",
            "{\"a\":\"\t\"}",
                "{\"a\":NaN}",
            "{} {}",
            "// {}",
        ] {
            let answer = account.post("/v1/calls", body).send().await;
            answer.assert_error(400, "invalid_json");
        }
        let latin = account
            .request("POST", "/v1/calls")
            .header("Content-Type", "application/json");
        latin
            .body(b"{\"a\":\"\xf1\"}".to_vec())
            .send()
            .await
            .assert_error(400, "invalid_json");
        for kind in [
            "text/plain",
            "application/json-patch+json",
            "application/x-www-form-urlencoded",
            "",
        ] {
            let answer = account
                .request("POST", "/v1/calls")
                .header("Content-Type", kind)
                .body("{}");
            answer.send().await.assert_error(400, "invalid_json");
        }
        let untyped = account.request("POST", "/v1/calls").body("{}").send().await;
        untyped.assert_error(400, "invalid_json");
        for kind in [
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "application/json;charset=latin1",
        ] {
            let answer = account
                .request("POST", "/v1/calls")
                .header("Content-Type", kind)
                .body("{}");
            answer.send().await.assert_error(400, "invalid_body");
        }
    }

    async fn every_limit_is_exact(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let full = {
            let (a, b) = ("a".repeat(2_000), "b".repeat(2_000));
            let c = "c".repeat(5_120 - 4_000 - r#"{"a":"","b":"","c":""}"#.len());
            format!(r#"{{ "a": "{a}", "b": "{b}",   "c": "{c}" }}"#)
        };
        for metadata in [
            format!(r#"{{"{}":1}}"#, "ñ".repeat(64)),
            format!(r#"{{"año":"{}"}}"#, "ñ".repeat(2_000)),
            full,
            r#"{"":""}"#.to_owned(),
        ] {
            let body =
                format!(r#"{{"agent_id":"{agent}","to":"+15005550001","metadata":{metadata}}}"#);
            account.post("/v1/calls", body).send().await.assert(201);
        }
        for to in ["+1234567", "+123456789012345"] {
            account
                .post("/v1/calls", json!({"agent_id": agent, "to": to}))
                .send()
                .await
                .assert(201);
        }
        for absent in [
            "x",
            "agent_0",
            &"a".repeat(255),
            "0190163d-8694-739b-aea5-966c26f8ad91",
        ] {
            let body = json!({"agent_id": absent, "to": "+15005550001"});
            account
                .post("/v1/calls", body)
                .send()
                .await
                .assert_error(403, "agent_not_found");
        }
        let stranger = server.account("scale").await;
        let foreign = stranger.post(
            "/v1/calls",
            json!({"agent_id": agent, "to": "+15005550001"}),
        );
        foreign.send().await.assert_error(403, "agent_not_found");
    }

    async fn a_body_of_10_mib_is_refused_before_it_is_sent(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let head = |framing: &str| {
            format!(
                "POST /v1/calls HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
                 {framing}\r\n\r\n",
                account.token
            )
        };
        let connect = async || {
            offhook_tests::must(
                "a connection",
                tokio::net::TcpStream::connect(server.address()).await,
            )
        };
        // Announced: the answer comes though not one byte of the body was sent.
        let mut socket = connect().await;
        let announced = head("Content-Length: 10485760");
        offhook_tests::must("a head", socket.write_all(announced.as_bytes()).await);
        let mut answer = [0; 12];
        let early = within(
            "an early answer",
            Duration::from_secs(5),
            socket.read_exact(&mut answer),
        );
        offhook_tests::must("an answer", early.await);
        assert_eq!(&answer, b"HTTP/1.1 413");
        // Unannounced: it comes after little more than the limit.
        let mut socket = connect().await;
        offhook_tests::must(
            "a head",
            socket
                .write_all(head("Transfer-Encoding: chunked").as_bytes())
                .await,
        );
        let chunk = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
        for _ in 0..160 {
            // The server closes early.
            if socket.write_all(&chunk).await.is_err() {
                break;
            }
        }
        let mut answer = [0; 12];
        // The answer may be lost when the server closes on a client that still writes.
        if within(
            "an answer",
            Duration::from_secs(5),
            socket.read_exact(&mut answer),
        )
        .await
        .is_ok()
        {
            assert_eq!(&answer, b"HTTP/1.1 413");
        }
        // Sent whole, as most clients do.
        let body = " ".repeat(10 * 1024 * 1024);
        match account.post("/v1/calls", body).try_send().await {
            Ok(answer) => drop(answer.assert_error(413, "payload_too_large")),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
        let just_right = format!("{{}}{}", " ".repeat(1024 * 1024 - 2));
        account
            .post("/v1/calls", just_right)
            .send()
            .await
            .assert_error(400, "invalid_body");
        account.read("/v1/me").await;
    }
}
