//! Legacy agents in the provider's wire format, with a process that is killed: no call is placed twice, whenever that
//! happens.

use std::collections::HashMap;
use std::time::Duration;

use offhook_testkit::fakes::elevenlabs::{AGENT, ElevenLabs, KEY, RECORDING};
use offhook_testkit::upstream::Fault;
use offhook_tests::{Account, Database, Options, Server, both, eventually, text};
use serde_json::json;

use crate::legacy::{aborts, at_each, outlived, posted};

const LIMIT: Duration = Duration::from_secs(30);

/// The expiry of a dead process's leases, and the time until a call counts as unknown to the provider.
const SETTLED_WITHIN: Duration = Duration::from_secs(240);

const CUSTOMER: &str = "+5215512345678";

async fn start(database: Database, fake: &ElevenLabs) -> (Server, Account) {
    let options = Options::on(database)
        .in_haste()
        .set("legacy.base_url", fake.base_url());
    let server = Server::start(options).await;
    let account = server.account("scale").await;
    server.credential(&account.id, "legacy", KEY).await;
    eventually("the legacy agent", LIMIT, || async {
        let list = account.read("/v1/agents?runtime=legacy").await;
        (list["data"][0]["provider_agent_id"] == AGENT).then_some(())
    })
    .await;
    (server, account)
}

fn placings(fake: &ElevenLabs) -> usize {
    fake.upstream().asked_of("POST", "/v1/convai/").len()
}

const RECIPIENTS: usize = 12;

/// While the provider has requests that it has not answered.
const IN_FLIGHT: &str = "in flight";

/// The number of requests in flight at that time.
const UNANSWERED: usize = 6;

/// Runs a batch in a process that dies at a failpoint, and compares each recipient's result with the provider's
/// calls.
async fn dies_in_a_batch(point: &'static str, database: Database) {
    let fake = ElevenLabs::start().await;
    fake.state().finishes = true;
    let (mut server, account) = start(database, &fake).await;
    let agent = account.read("/v1/agents?runtime=legacy").await["data"][0]["id"].clone();
    if point == IN_FLIGHT {
        // The provider accepts these calls, but does not respond in time.
        let slow = Fault::Slow(Duration::from_secs(120));
        fake.upstream()
            .fail("POST", "/v1/convai/", slow, UNANSWERED);
    } else {
        assert!(server.stop().await.success());
        server.start_again(&[("OFFHOOK_FAILPOINT", point)]).await;
    }
    let posting = posted(&account, &agent, RECIPIENTS);
    if point == IN_FLIGHT {
        let taken = || async { (placings(&fake) >= UNANSWERED).then_some(()) };
        eventually("the requests", LIMIT, taken).await;
        server.kill().await;
    } else {
        aborts(&mut server).await;
    }
    let (counts, rows) = outlived(&mut server, &account, posting).await;
    let mut dialed: HashMap<String, usize> = HashMap::new();
    for call in fake.calls() {
        *dialed
            .entry(text(&call.request["to_number"]).to_owned())
            .or_default() += 1;
    }
    let mut completed = 0;
    for row in &rows {
        let times = dialed.get(text(&row["to"])).copied().unwrap_or(0);
        match (text(&row["status"]), row["failure_reason"].as_str()) {
            ("completed", None) => {
                assert_eq!(times, 1, "{point}: {row}");
                completed += 1;
            }
            // The provider never got the request.
            ("failed", Some("interrupted")) => assert_eq!(times, 0, "{point}: {row}"),
            _ => panic!("{point}: {row}"),
        }
    }
    assert_eq!(dialed.len(), completed, "{point}");
    let expected = json!({
        "total": RECIPIENTS, "pending": 0, "dialing": 0, "completed": completed,
        "failed": RECIPIENTS - completed, "cancelled": 0,
    });
    assert_eq!(counts, expected, "{point}");
    if point == IN_FLIGHT {
        assert!(completed >= UNANSWERED, "what it had taken is found again");
    }
}

both! {
    async fn a_batch_whose_process_dies_while_the_provider_is_asked_calls_nobody_twice(database: Database) {
        at_each(["dial.after_claim:3", IN_FLIGHT, "dial.after_carrier:3"], database, dies_in_a_batch).await;
    }

    async fn a_process_that_dies_before_the_provider_answers_places_no_second_call(database: Database) {
        let fake = ElevenLabs::start().await;
        let (mut server, account) = start(database, &fake).await;
        // The provider accepts the call; the process dies before the response.
        fake.upstream().fail("POST", "/v1/convai/", Fault::Slow(Duration::from_secs(120)), 1);
        let handle = account.call(AGENT, CUSTOMER).await;
        let call = eventually("the provider's call", LIMIT, || async { fake.calls_of(&handle).pop() }).await;
        server.crash_and_restart().await;
        fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 2)]);
        fake.end(&call.id, 3, "Call ended by remote party");
        let ended = account.ended_within(&handle, SETTLED_WITHIN).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        // The provider reported three seconds; the duration is at most the time that passed.
        let lasted = ended["duration_seconds"].as_i64().unwrap_or_default();
        assert!((1..=3).contains(&lasted) && ended["credits"] == 1, "{ended}");
        assert_eq!(placings(&fake), 1);
        let faults = server.cli(&["doctor", "--books"]).await;
        assert_eq!(faults, json!({"faults": []}), "the books add up");
    }

    async fn a_recording_that_was_on_its_way_when_the_process_died_is_fetched_by_the_next(database: Database) {
        let fake = ElevenLabs::start().await;
        let (mut server, account) = start(database, &fake).await;
        fake.state().recording = Some(("audio/mpeg", RECORDING.to_vec()));
        let audio = "/v1/convai/conversations/conv_0001/audio";
        fake.upstream().fail("GET", audio, Fault::Slow(Duration::from_secs(600)), 1);
        let handle = account.call(AGENT, CUSTOMER).await;
        let call = eventually("the provider's call", LIMIT, || async { fake.calls_of(&handle).pop() }).await;
        fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        fake.end(&call.id, 3, "");
        let ended = account.ended_within(&handle, SETTLED_WITHIN).await;
        assert_eq!((&ended["status"], &ended["has_audio"]), (&"completed".into(), &false.into()), "{ended}");
        server.crash_and_restart().await;
        let target = format!("/v1/conversations/{}", handle.trim_start_matches("call_"));
        let read = eventually("the recording", LIMIT, || async {
            let read = account.read(&target).await;
            (read["has_audio"] == true).then_some(read)
        })
        .await;
        assert_eq!(read["recording_url"], format!("{target}/audio"));
        assert_eq!(fake.upstream().asked_of("GET", audio).len(), 2);
    }

    async fn a_call_that_the_provider_never_had_is_interrupted_after_a_crash(database: Database) {
        let fake = ElevenLabs::start().await;
        let (mut server, account) = start(database, &fake).await;
        // The process dies while the request is in flight, and the request never becomes a call.
        fake.state().hides_calls = true;
        fake.upstream().fail("POST", "/v1/convai/", Fault::Slow(Duration::from_secs(120)), 1);
        let handle = account.call(AGENT, CUSTOMER).await;
        eventually("the request", LIMIT, || async { (placings(&fake) > 0).then_some(()) }).await;
        server.crash_and_restart().await;
        let ended = account.ended_within(&handle, SETTLED_WITHIN).await;
        assert_eq!(ended["failure_reason"], "interrupted", "{ended}");
        assert_eq!((placings(&fake), &ended["credits"]), (1, &0.into()));
    }
}
