//! `offhook doctor` on the provider of the legacy agents. The deployment has no key there, so the doctor only checks
//! that the address responds as the provider does.

use std::time::{Duration, Instant};

use offhook_testkit::fakes::elevenlabs::{ElevenLabs, KEY};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use offhook_tests::{Database, Options, Server};

use crate::doctor::findings;
use crate::doctor_stores::said;

const ADDRESS: &str = "OFFHOOK_LEGACY__BASE_URL";

const AGENTS: &str = "/v1/convai/agents";

/// The doctor's finding about the provider at this address.
async fn of(server: &Server, base_url: &str) -> (String, String) {
    let (state, sentence) = said(server, "legacy", &[(ADDRESS, base_url)]).await;
    assert!(sentence.contains("`legacy.base_url`"), "{sentence}");
    assert!(!sentence.contains(UPSTREAM_WORDS), "{sentence}");
    (state, sentence)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_asks_for_a_key_is_well_and_what_answers_otherwise_is_told_with_a_remedy() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let hops = findings(&server.run(&["doctor", "--json"]).await);
    assert!(hops.iter().all(|(hop, ..)| hop != "legacy"), "{hops:?}");

    let fake = ElevenLabs::start().await;
    // The doctor does not try an account's key.
    let account = server.account("scale").await;
    server.credential(&account.id, "legacy", KEY).await;
    let (state, sentence) = of(&server, &fake.base_url()).await;
    assert_eq!(state, "ok", "{sentence}");
    assert!(sentence.contains("asks for a key"), "{sentence}");
    let asked = fake.upstream().asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].method.as_str(), "GET");
    assert_eq!(asked[0].path.as_str(), AGENTS);
    assert_eq!(asked[0].header("xi-api-key"), None);

    fake.upstream().fail("GET", AGENTS, Fault::Status(403), 1);
    assert_eq!(of(&server, &fake.base_url()).await.0, "ok");
    for (fault, status) in [
        (Fault::Unknown, "with 200"),
        (Fault::Status(301), "with 301"),
        (Fault::Status(404), "with 404"),
        (Fault::RetryAfter(429, 60), "with 429"),
        (Fault::Status(500), "with 500"),
    ] {
        fake.upstream().fail("GET", AGENTS, fault, 1);
        let (state, sentence) = of(&server, &fake.base_url()).await;
        assert_eq!(state, "warning", "{sentence}");
        assert!(
            sentence.contains(status) && sentence.contains("see that it is the provider's"),
            "{sentence}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_cannot_be_asked_is_a_fault_that_says_how() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let fake = ElevenLabs::start().await;
    let by_tls = fake.base_url().replace("http:", "https:");
    fake.upstream().fail("GET", AGENTS, Fault::Close, 1);
    for (address, how) in [
        (fake.base_url(), "no HTTP answer"),
        (by_tls, "no connection"),
        ("http://127.0.0.1:9".to_owned(), "no connection"),
    ] {
        let (state, sentence) = of(&server, &address).await;
        assert_eq!(state, "failed", "{sentence}");
        for part in [how, "see the setting", "ca-certificates"] {
            assert!(sentence.contains(part), "{part}: {sentence}");
        }
    }
    // The doctor does not wait for a slow provider.
    fake.upstream()
        .fail("GET", AGENTS, Fault::Slow(Duration::from_secs(60)), 1);
    let began = Instant::now();
    let (state, sentence) = of(&server, &fake.base_url()).await;
    assert!(
        began.elapsed() < Duration::from_secs(45),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(state, "failed", "{sentence}");
    assert!(sentence.contains("no answer in time"), "{sentence}");
}
