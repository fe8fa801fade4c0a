//! Legacy agents in the real provider's wire format, through the API: discovered, called, and followed by polling and
//! by the provider's webhooks, whatever faults occur.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, Clock as _, CredentialProvider};
use offhook_engine::legacy::LegacyPace;
use offhook_providers::ElevenLabsAgents;
use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::elevenlabs::{
    self as fake, AGENT, Call, ElevenLabs, KEY, NUMBER, RECORDING,
};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, Setup, TestApp, text};
use crate::it::client::must;

const SECRET: &str = "wsec_of_the_tests";

/// The time limit for steps on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

/// So soon that no test waits for it.
const BRISK: LegacyPace = LegacyPace {
    soonest: Duration::from_millis(20),
    latest: Duration::from_millis(80),
    appears_within: Duration::from_millis(500),
    answered_within: Duration::from_secs(600),
    told_within: Duration::from_millis(300),
    over_within: Duration::from_secs(600),
};

/// So rare that every change comes from a webhook.
const NEVER: LegacyPace = LegacyPace {
    soonest: Duration::from_secs(3_600),
    latest: Duration::from_secs(3_600),
    appears_within: Duration::from_secs(3_600),
    ..BRISK
};

struct World {
    app: TestApp,
    fake: ElevenLabs,
}

impl World {
    /// An account whose legacy agents are at the fake, and a worker that dials.
    async fn start(database: TestDatabase, pace: LegacyPace) -> Self {
        let fake = ElevenLabs::start().await;
        let provider = must(ElevenLabsAgents::new(&fake.base_url())).with_pace(pace);
        let app = TestApp::with(Setup {
            legacy: Some(Arc::new(provider)),
            database: Some(database),
            ..Setup::default()
        })
        .await;
        let world = Self { app, fake };
        world.credential(CredentialProvider::Legacy, KEY).await;
        world
            .credential(CredentialProvider::LegacyWebhook, SECRET)
            .await;
        must(world.app.services.legacy().sync(world.app.account).await);
        world.app.dial();
        world
    }

    async fn credential(&self, provider: CredentialProvider, secret: &str) {
        let credentials = self.app.services.credentials();
        must(credentials.set(self.app.account, provider, secret).await);
    }

    /// Places a call; returns its handle.
    async fn place(&self) -> String {
        let body =
            json!({"agent_id": AGENT, "to": CUSTOMER, "metadata": {"lead": "Ana", "score": 7}});
        let placed = self.app.post("/v1/calls", body).await.assert(201);
        text(&placed["id"])
    }

    /// A call that was placed and that the provider accepted.
    async fn placed(&self) -> (String, Call) {
        let handle = self.place().await;
        let call = self.taken(&handle).await;
        (handle, call)
    }

    /// The call at the provider, once it was requested. The clock advances so that it can last 90 s.
    async fn taken(&self, handle: &str) -> Call {
        let call = until("the provider's call", || async {
            self.fake.calls_of(handle).pop()
        })
        .await;
        self.app.clock.step(90_000_000);
        call
    }

    /// A call after its end. The clock stands still.
    async fn ended(&self, handle: &str) -> Value {
        let target = format!("/v1/calls/{handle}");
        until("the end of the call", || async {
            let call = self.app.read(&target).await;
            (call["status"] != "initiated").then_some(call)
        })
        .await
    }

    async fn conversation(&self, handle: &str) -> Value {
        let target = format!("/v1/conversations/{}", handle.trim_start_matches("call_"));
        self.app.read(&target).await
    }

    /// How many calls were requested at the provider.
    fn placings(&self) -> usize {
        self.fake.upstream().asked_of("POST", "/v1/convai/").len()
    }

    /// Posts a webhook; returns the status code and the body.
    async fn tell(&self, account: AccountId, signature: &str, body: &str) -> (u16, Vec<u8>) {
        let path = format!("/callbacks/legacy/{account}");
        let request = self.app.bare("POST", &path).json(body);
        let answer = request.header("ElevenLabs-Signature", signature).await;
        (answer.status, answer.body)
    }

    /// Posts a webhook with a valid signature.
    async fn tell_now(&self, body: &str) {
        let signature = fake::signature(SECRET, self.app.clock.now().unix_seconds(), body);
        let told = self.tell(self.app.account, &signature, body).await;
        assert_eq!(told, (200, Vec::new()));
    }

    async fn books_add_up(&self) {
        let faults = self.app.services.billing().faults().await;
        assert_eq!(must(faults), Vec::<String>::new());
    }
}

/// Files of recordings that are not stored yet.
fn left(world: &World) -> usize {
    std::fs::read_dir(world.app.spool()).map_or(0, Iterator::count)
}

async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(LIMIT, looking).await;
    found.unwrap_or_else(|_| panic!("{what} did not come"))
}

macro_rules! both {
    ($(async fn $name:ident($database:ident) $body:block)*) => {
        mod on {
            $(pub(super) async fn $name($database: super::TestDatabase) {
                use super::*;
                $body
            })*
        }

        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::on::$name(super::TestDatabase::sqlite()).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs PostgreSQL: just test"]
            async fn $name() {
                super::on::$name(super::TestDatabase::postgres().await).await;
            })*
        }
    };
}

mod agents;
mod by_itself;
mod following;
mod recordings;

both! {
    async fn a_call_is_followed_to_its_end_by_asking(database) {
        let world = World::start(database, BRISK).await;
        world.fake.state().recording = Some(("audio/mpeg", RECORDING.to_vec()));
        let (handle, call) = world.placed().await;
        assert_eq!(call.request["to_number"], CUSTOMER);
        let data = &call.request["conversation_initiation_client_data"];
        let variables = json!({"lead": "Ana", "score": 7, "offhook_call_id": handle});
        assert_eq!(*data, json!({"user_id": handle, "dynamic_variables": variables}));
        world.fake.talk(&call.id, &[("agent", "Hello Ana.", 0), ("user", "Hi.", 2), ("agent", "Bye", 5)]);
        until("the first turns", || async {
            let read = world.conversation(&handle).await;
            assert_eq!(read["status"], "initiated", "{read}");
            (read["messages_count"] == 2).then_some(())
        })
        .await;
        world.fake.end(&call.id, 61, "end_call tool was called.");
        let ended = world.ended(&handle).await;
        for (name, value) in [
            ("status", json!("completed")),
            ("runtime", json!("legacy")),
            ("termination_reason", json!("agent_hangup")),
            ("failure_reason", Value::Null),
            ("duration_seconds", json!(61)),
            ("credits", json!(2)),
            ("from", json!(NUMBER)),
            ("summary", json!("They spoke of an appointment.")),
            ("has_audio", json!(true)),
            ("ended_at", json!("2026-04-30T18:33:21.000Z")),
        ] {
            assert_eq!(ended[name], value, "{name}: {ended}");
        }
        let read = world.conversation(&handle).await;
        let turns = read["transcript"].as_array().cloned().unwrap_or_default();
        let said: Vec<_> = turns.iter().map(|turn| (text(&turn["role"]), text(&turn["text"]))).collect();
        let expected = [("agent", "Hello Ana."), ("user", "Hi."), ("agent", "Bye")];
        assert_eq!(said, expected.map(|(role, words)| (role.to_owned(), words.to_owned())));
        let lengths: Vec<_> = turns.iter().map(|turn| turn["duration_ms"].as_u64()).collect();
        assert_eq!(lengths, [2_000, 3_000, 56_000].map(Some), "until the next one, or the end");
        let audio = text(&read["recording_url"]);
        let whole = world.app.get(&audio).await;
        assert_eq!((whole.status, whole.header("content-type")), (200, Some("audio/wav")));
        assert!((48_044..56_000).contains(&whole.body.len()), "1.5 s: {}", whole.body.len());
        assert_eq!((&whole.body[..4], &whole.body[8..12]), (b"RIFF".as_slice(), b"WAVE".as_slice()));
        let part = world.app.get(&audio).header("range", "bytes=8-11").await;
        assert_eq!((part.status, part.body.as_slice()), (206, b"WAVE".as_slice()));
        assert_eq!(left(&world), 0);
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
    }

    async fn a_call_ends_when_the_provider_says_so_of_its_own_accord(database) {
        let world = World::start(database, NEVER).await;
        let (handle, call) = world.placed().await;
        // It was polled once, and will not be polled again for long.
        until("the first question", || async {
            let asked = world.fake.upstream().asked_of("GET", "/v1/convai/conversations");
            (!asked.is_empty()).then_some(())
        })
        .await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 30, "Call ended by remote party");
        let body = world.fake.transcription(&call.id);
        let now = world.app.clock.now().unix_seconds();
        let genuine = fake::signature(SECRET, now, &body);
        let (ours, stranger) = (world.app.account, "0192f000-0000-7000-8000-000000000000".parse().unwrap());
        for (account, signature, body) in [
            (ours, String::new(), body.clone()),
            (ours, fake::signature("wsec_forged", now, &body), body.clone()),
            (ours, genuine.clone(), body.replace("remote", "other")),
            (ours, fake::signature(SECRET, now - 1_801, &body), body.clone()),
            (ours, fake::signature(SECRET, now + 1_801, &body), body.clone()),
            (stranger, genuine.clone(), body.clone()),
        ] {
            assert_eq!(world.tell(account, &signature, &body).await, (403, Vec::new()), "{signature}");
        }
        let nobodys = world.app.bare("POST", "/callbacks/legacy/nobody").json(&body);
        let nobodys = nobodys.header("ElevenLabs-Signature", &genuine).await;
        assert_eq!((nobodys.status, nobodys.body.len()), (403, 0));
        let read = world.conversation(&handle).await;
        assert_eq!(read["status"], "initiated", "nobody was believed: {read}");
        // A webhook that reports no end is accepted, and changes nothing.
        world.tell_now(r#"{"type":"post_call_audio","data":{"conversation_id":"conv_0001","full_audio":""}}"#).await;
        world.tell_now("[]").await;
        world.tell_now(&body).await;
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["duration_seconds"]), (&json!("completed"), &json!(30)), "{ended}");
        // The same webhook again, and one about a settled call.
        world.tell_now(&body).await;
        world.tell_now(&world.fake.initiation_failure(&call.id, "busy")).await;
        assert_eq!(world.ended(&handle).await, ended);
        world.books_add_up().await;
    }

    async fn a_call_that_was_never_begun_has_the_reason_that_the_provider_tells(database) {
        let world = World::start(database, NEVER).await;
        for (told, reason) in [("busy", "busy"), ("no-answer", "no_answer"), ("unknown", "carrier_error")] {
            let (handle, call) = world.placed().await;
            // Only the provider's id identifies the call, so it must have been stored.
            until("the call's name", || async {
                let asked = format!("/v1/convai/conversations/{}", call.id);
                (!world.fake.upstream().asked_of("GET", &asked).is_empty()).then_some(())
            })
            .await;
            world.tell_now(&world.fake.initiation_failure(&call.id, told)).await;
            let ended = world.ended(&handle).await;
            assert_eq!(ended["failure_reason"], reason, "{ended}");
            assert_eq!((&ended["credits"], &ended["duration_seconds"]), (&json!(0), &json!(0)));
        }
        world.books_add_up().await;
    }

    async fn a_report_that_comes_before_the_provider_has_answered_is_not_lost(database) {
        let world = World::start(database, NEVER).await;
        let slow = Fault::Slow(Duration::from_millis(700));
        world.fake.upstream().fail("POST", "/v1/convai/", slow, 1);
        let (handle, call) = world.placed().await;
        world.tell_now(&world.fake.initiation_failure(&call.id, "busy")).await;
        assert_eq!(world.ended(&handle).await["failure_reason"], "busy");
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
    }

    async fn a_call_whose_placing_was_not_answered_is_looked_for_and_never_placed_again(database) {
        let world = World::start(database, LegacyPace { appears_within: LIMIT, ..BRISK }).await;
        for fault in [Fault::LoseAnswer, Fault::CutBody, Fault::Malformed, Fault::Unknown] {
            let before = world.placings();
            world.fake.state().hides_calls = true;
            world.fake.upstream().fail("POST", "/v1/convai/", fault, 1);
            let (handle, call) = world.placed().await;
            // The provider lists the call only after a while.
            let looks = || world.fake.upstream().asked_of("GET", "/v1/convai/conversations").len();
            let seen = looks();
            until("some looks", || async { (looks() > seen + 2).then_some(()) }).await;
            assert_eq!(world.conversation(&handle).await["status"], "initiated");
            world.fake.appear();
            world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
            world.fake.end(&call.id, 10, "");
            assert_eq!(world.ended(&handle).await["status"], "completed", "{fault:?}");
            assert_eq!(world.placings(), before + 1, "{fault:?}");
        }
        world.books_add_up().await;
    }

    async fn a_call_that_never_appears_was_not_placed_and_is_not_placed_again(database) {
        let world = World::start(database, BRISK).await;
        for fault in [Fault::Close, Fault::Status(500), Fault::RetryAfter(503, 1)] {
            let before = world.placings();
            world.fake.upstream().fail("POST", "/v1/convai/", fault, 1);
            let handle = world.place().await;
            let ended = world.ended(&handle).await;
            assert_eq!(ended["failure_reason"], "carrier_error", "{fault:?}");
            assert_eq!(world.placings(), before + 1, "{fault:?}");
            assert!(!ended.to_string().contains(UPSTREAM_WORDS));
        }
        // A refused request had no effect: the call ends at once, and only a refusal that asks for patience is
        // retried.
        for status in [400, 401, 403, 404, 409, 422] {
            let before = world.placings();
            world.fake.upstream().fail("POST", "/v1/convai/", Fault::Status(status), 1);
            let handle = world.place().await;
            assert_eq!(world.ended(&handle).await["failure_reason"], "agent_error", "{status}");
            assert_eq!(world.placings(), before + 1, "{status}");
        }
        assert_eq!(world.fake.calls().len(), 0);
        world.fake.upstream().fail("POST", "/v1/convai/", Fault::RetryAfter(429, 1), 1);
        let (handle, call) = world.placed().await;
        world.fake.fail(&call.id, "no_answer");
        assert_eq!(world.ended(&handle).await["failure_reason"], "no_answer");
        assert_eq!(world.fake.calls().len(), 1);
        world.books_add_up().await;
    }

    async fn a_batch_asks_for_everybody_once_whatever_the_provider_answers(database) {
        let world = World::start(database, LegacyPace { appears_within: Duration::from_secs(2), ..BRISK }).await;
        world.fake.state().finishes = true;
        let taken = [Fault::LoseAnswer, Fault::CutBody, Fault::Malformed, Fault::Unknown];
        for fault in taken.into_iter().chain([Fault::Close, Fault::Status(422), Fault::RetryAfter(429, 1)]) {
            world.fake.upstream().fail("POST", "/v1/convai/", fault, 1);
        }
        let list = world.app.read("/v1/agents?runtime=legacy").await;
        let recipients: Vec<Value> = (0..12).map(|n| json!({"to": format!("+521551234{n:04}")})).collect();
        let body = json!({"name": "Spring", "agent_id": list["data"][0]["id"], "recipients": recipients});
        let made = world.app.post("/v1/batch-calls", body).await.assert(202);
        let target = format!("/v1/batch-calls/{}", text(&made["id"]));
        let batch = until("the end of the batch", || async {
            world.app.clock.advance(Duration::from_millis(100));
            let batch = world.app.read(&target).await;
            (batch["status"] == "completed").then_some(batch)
        })
        .await;
        let counts = json!({"total": 12, "pending": 0, "dialing": 0, "completed": 10, "failed": 2, "cancelled": 0});
        assert_eq!(batch["counts"], counts);
        let calls = world.fake.calls();
        let rows = world.app.read(&format!("{target}/recipients?limit=100")).await;
        let mut failed = Vec::new();
        for row in rows["data"].as_array().unwrap() {
            let dialed = calls.iter().filter(|call| call.request["to_number"] == row["to"]).count();
            assert_eq!(dialed, usize::from(row["status"] == "completed"), "{row}");
            failed.extend(row["failure_reason"].as_str().map(str::to_owned));
        }
        failed.sort_unstable();
        assert_eq!(failed, ["agent_error", "carrier_error"]);
        // Only the postponed request was sent again.
        assert_eq!(world.placings(), 13);
        world.books_add_up().await;
    }

    async fn a_provider_that_fails_while_a_call_goes_on_is_asked_on(database) {
        let world = World::start(database, BRISK).await;
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        let faults = [
            Fault::Status(401),
            Fault::RetryAfter(429, 1),
            Fault::Status(500),
            Fault::Malformed,
            Fault::Unknown,
            Fault::Close,
            Fault::CutBody,
            // The provider does not know the call for a moment.
            Fault::Status(404),
        ];
        for fault in faults {
            world.fake.upstream().fail("GET", "/v1/convai/conversations", fault, 1);
        }
        until("every fault", || async {
            let asked = world.fake.upstream().asked_of("GET", "/v1/convai/conversations");
            (asked.len() > faults.len() + 1).then_some(())
        })
        .await;
        assert_eq!(world.conversation(&handle).await["status"], "initiated");
        world.fake.end(&call.id, 20, "");
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["credits"]), (&json!("completed"), &json!(1)), "{ended}");
        world.books_add_up().await;
    }

    async fn a_provider_that_forgets_a_call_is_believed_what_it_said_before(database) {
        let world = World::start(database, BRISK).await;
        // The provider accepted the call, but it never existed.
        world.fake.state().hides_calls = true;
        let handle = world.place().await;
        assert_eq!(world.ended(&handle).await["failure_reason"], "carrier_error");
        world.fake.state().hides_calls = false;
        // The provider reported a conversation, and then lost it.
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 70), ("agent", "So", 80)]);
        until("the first turns", || async {
            (world.conversation(&handle).await["messages_count"] == 2).then_some(())
        })
        .await;
        world.fake.forget();
        let ended = world.ended(&handle).await;
        for (name, value) in [
            ("status", json!("failed")),
            ("failure_reason", json!("agent_error")),
            ("duration_seconds", json!(70)),
            ("credits", json!(2)),
        ] {
            assert_eq!(ended[name], value, "{name}: {ended}");
        }
        // The provider reports the end of a call, but never its summary.
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        // In one change, because the worker polls all the time.
        world.fake.change(&call.id, |conversation| {
            conversation["status"] = json!("processing");
            conversation["metadata"]["call_duration_secs"] = json!(12);
            conversation["metadata"]["phone_call"]["call_result"] = json!("answered");
            conversation["analysis"] = Value::Null;
        });
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["summary"]), (&json!("completed"), &json!("")), "{ended}");
        assert_eq!(ended["duration_seconds"], 12);
        world.books_add_up().await;
    }

    async fn a_call_under_way_cannot_be_hung_up_there_and_nobody_is_told_otherwise(database) {
        let world = World::start(database, BRISK).await;
        let (handle, call) = world.placed().await;
        let path = format!("/v1/calls/{handle}/hangup");
        let message = world.app.request("POST", &path).await.assert_error(409, "conflict");
        assert!(message.contains("has no operation to end a call"), "{message}");
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 5, "");
        let ended = world.ended(&handle).await;
        assert_eq!(ended["termination_reason"], "customer_hangup", "{ended}");
        let message = world.app.request("POST", &path).await.assert_error(409, "conflict");
        assert!(message.contains("has ended"), "{message}");
        world.books_add_up().await;
    }

    async fn a_call_goes_on_in_another_process_and_is_not_placed_again(database) {
        let world = World::start(database, BRISK).await;
        let (handle, call) = world.placed().await;
        world.fake.talk(&call.id, &[("agent", "Hello.", 0), ("user", "Hi.", 1), ("agent", "So", 3)]);
        until("the first turns", || async {
            (world.conversation(&handle).await["messages_count"] == 2).then_some(())
        })
        .await;
        world.app.dial_elsewhere();
        world.fake.end(&call.id, 9, "");
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["duration_seconds"]), (&json!("completed"), &json!(9)), "{ended}");
        let read = world.conversation(&handle).await;
        assert_eq!(read["transcript"].as_array().map(Vec::len), Some(3), "no turn twice: {read}");
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
    }

    async fn a_call_whose_owner_is_gone_before_the_provider_answers_is_found_and_not_placed_again(database) {
        let world = World::start(database, LegacyPace { appears_within: LIMIT, ..BRISK }).await;
        let slow = Fault::Slow(Duration::from_secs(3));
        world.fake.upstream().fail("POST", "/v1/convai/", slow, 1);
        let (handle, call) = world.placed().await;
        world.app.dial_elsewhere();
        world.fake.talk(&call.id, &[("agent", "Hello.", 0)]);
        world.fake.end(&call.id, 9, "");
        let ended = world.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["credits"]), (&json!("completed"), &json!(1)), "{ended}");
        assert_eq!(world.placings(), 1);
        world.books_add_up().await;
    }
}
