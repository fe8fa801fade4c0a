//! ElevenLabs' agents, against a fake with its formats and faults: every operation, and every operation under every
//! fault.
use std::io::{Read as _, Seek as _};
use std::time::Duration;

use offhook_domain::{
    CallHandle, CallOutcome, E164, FailureReason, Json, NumberProvider, TerminationReason,
    Timestamp,
};
use offhook_engine::legacy::{
    LegacyAgent, LegacyCall, LegacyError, LegacyNumber, LegacyProgress, LegacyProvider,
    LegacyReference, LegacyRefusal, RecordingError,
};
use offhook_engine::{Deadline, Moment, TurnRole};
use offhook_providers::ElevenLabsAgents;
use offhook_testkit::fakes::elevenlabs::{
    self as fake, AGENT, BEGAN_AT, ElevenLabs, KEY, NUMBER, RECORDING, TRUNK_NUMBER,
};
use offhook_testkit::upstream::{Answer, Fault, ReceivedRequest, UPSTREAM_WORDS, Upstream};
use serde_json::json;

const HANDLE: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e5f";
const CUSTOMER: &str = "+5215512345678";

fn handle() -> CallHandle {
    HANDLE.parse().unwrap()
}

fn number(text: &str) -> E164 {
    text.parse().unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros((BEGAN_AT + second) * 1_000_000)
}

fn soon() -> Deadline {
    within(Duration::from_secs(10))
}

fn within(limit: Duration) -> Deadline {
    Deadline::after(Moment::now(), limit)
}

fn call(from: &str) -> LegacyCall {
    LegacyCall {
        reference: handle(),
        agent: AGENT.to_owned(),
        from: number(from),
        to: number(CUSTOMER),
        variables: vec![
            ("lead".to_owned(), Json::from("Ana")),
            ("score".to_owned(), Json::from(7_i64)),
            ("vip".to_owned(), Json::from(true)),
            ("zone".to_owned(), Json::Null),
        ],
    }
}

fn by_handle() -> LegacyReference {
    LegacyReference {
        call: handle(),
        conversation: None,
    }
}

fn by_id(id: &str) -> LegacyReference {
    LegacyReference {
        conversation: Some(id.to_owned()),
        ..by_handle()
    }
}

async fn start() -> (ElevenLabs, ElevenLabsAgents) {
    let fake = ElevenLabs::start().await;
    let provider = ElevenLabsAgents::new(&fake.base_url()).unwrap();
    (fake, provider)
}

async fn placed(provider: &ElevenLabsAgents) -> String {
    let placed = provider.place(KEY, call(NUMBER), soon()).await;
    placed.unwrap().unwrap()
}

async fn progress(provider: &ElevenLabsAgents, reference: &LegacyReference) -> LegacyProgress {
    let progress = provider.progress(KEY, reference).await;
    progress.unwrap().unwrap()
}

#[tokio::test]
async fn every_agent_is_listed_page_by_page_with_its_definition_and_its_numbers() {
    let (fake, provider) = start().await;
    {
        let mut state = fake.state();
        state.page_size = 2;
        let agents = &mut state.workspaces.get_mut(KEY).unwrap().agents;
        for n in 2..=5 {
            let id = format!("agent_{n:04}");
            agents.insert(id.clone(), fake::agent(&id, &format!("Agent {n}")));
        }
        // Some only have an id.
        agents.insert(
            "agent_0006".to_owned(),
            json!({"agent_id": "agent_0006", "name": ""}),
        );
    }
    let agents = provider.agents(KEY).await.unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let expected = [
        "Reception",
        "Agent 2",
        "Agent 3",
        "Agent 4",
        "Agent 5",
        "agent_0006",
    ];
    assert_eq!(names, expected);
    let first = LegacyAgent {
        id: AGENT.to_owned(),
        name: "Reception".to_owned(),
        system_prompt: Some("You answer for the front desk.".to_owned()),
        first_message: Some("Hello {{lead}}.".to_owned()),
        language: Some("en".to_owned()),
        model: Some("gemini-2.0-flash".to_owned()),
        voice_id: Some("voice_1".to_owned()),
        phone_numbers: vec![LegacyNumber {
            number: number(NUMBER),
            label: "Desk".to_owned(),
            provider: NumberProvider::Twilio,
        }],
    };
    assert_eq!(agents[0], first);
    assert_eq!(agents[5].language, None);
    assert_eq!(agents[5].phone_numbers.len(), 0);
    assert_eq!(
        fake.upstream().asked_of("GET", "/v1/convai/agents?").len(),
        0
    );
    let pages = fake.upstream().asked_of("GET", "/v1/convai/agents");
    let pages = pages
        .iter()
        .filter(|asked| asked.path == "/v1/convai/agents");
    assert_eq!(pages.count(), 3);
}

#[tokio::test]
async fn an_agent_that_goes_while_the_list_is_read_is_left_out() {
    let (fake, provider) = start().await;
    fake.upstream()
        .fail("GET", "/v1/convai/agents/agent_0001", Fault::Status(404), 1);
    assert_eq!(provider.agents(KEY).await.unwrap(), []);
}

#[tokio::test]
async fn an_agent_is_renamed_by_its_name_alone() {
    let (fake, provider) = start().await;
    provider.rename(KEY, AGENT, "Front").await.unwrap();
    assert_eq!(fake.state().workspaces[KEY].agents[AGENT]["name"], "Front");
    let asked = fake.upstream().asked_of("PATCH", "/");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, format!("/v1/convai/agents/{AGENT}"));
    assert_eq!(asked[0].json(), json!({"name": "Front"}));
    let unknown = provider.rename(KEY, "agent_9999", "Front").await;
    assert!(matches!(unknown, Err(LegacyError::Refused(_))));
}

#[tokio::test]
async fn a_call_is_placed_by_its_numbers_carrier_operation_with_the_handle_twice() {
    let (fake, provider) = start().await;
    for (from, kind, id) in [
        (NUMBER, "twilio", "phnum_1"),
        (TRUNK_NUMBER, "sip-trunk", "phnum_2"),
    ] {
        let placed = provider.place(KEY, call(from), soon()).await.unwrap();
        let known = fake.calls().pop().unwrap();
        assert_eq!((placed, known.kind.as_str()), (Some(known.id), kind));
        assert_eq!(
            known.request,
            json!({
                "agent_id": AGENT,
                "agent_phone_number_id": id,
                "to_number": CUSTOMER,
                "conversation_initiation_client_data": {
                    "dynamic_variables": {
                        "lead": "Ana", "score": 7, "vip": true, "zone": null, "offhook_call_id": HANDLE,
                    },
                    "user_id": HANDLE,
                },
            })
        );
    }
    // The numbers are cached for a while.
    assert_eq!(
        fake.upstream()
            .asked_of("GET", "/v1/convai/phone-numbers")
            .len(),
        1
    );
    let from_elsewhere = provider.place(KEY, call("+15005559999"), soon()).await;
    assert!(
        matches!(from_elsewhere, Err(LegacyError::Refused(sentence)) if sentence.to_string().contains("no number"))
    );
    let other_key = provider.place("xi_other", call(NUMBER), soon()).await;
    assert!(
        matches!(other_key, Err(LegacyError::Refused(sentence)) if sentence.to_string().contains("credential"))
    );
    fake.state().refuses = true;
    let refused = provider.place(KEY, call(NUMBER), soon()).await;
    assert!(matches!(refused, Err(LegacyError::Refused(_))));
    assert_eq!(fake.calls().len(), 2);
}

#[tokio::test]
async fn an_answer_to_a_call_is_taken_at_its_word_or_not_at_all() {
    for answer in [r#"{"success":true,"success":false}"#, "not JSON"] {
        let upstream =
            Upstream::start(
                move |asked: &ReceivedRequest| match asked.path.rsplit('/').next() {
                    Some("outbound-call") => {
                        Answer::bytes(200, "application/json", answer.as_bytes().to_vec())
                    }
                    _ => Answer::json(
                        200,
                        &json!([fake::number("phnum_1", NUMBER, "twilio", Some(AGENT))]),
                    ),
                },
            )
            .await;
        let provider = ElevenLabsAgents::new(&upstream.base_url()).unwrap();
        let placed = provider.place(KEY, call(NUMBER), soon()).await;
        assert_eq!(placed, Err(LegacyError::Unknown), "{answer}");
    }
}

#[tokio::test]
async fn a_call_that_is_too_late_is_not_asked_for() {
    let (fake, provider) = start().await;
    let late = provider
        .place(KEY, call(NUMBER), within(Duration::ZERO))
        .await;
    assert_eq!(late, Err(LegacyError::NotConnected));
    // Not even its number is looked up.
    assert_eq!(fake.upstream().asked(), []);
    // The same if its number could not be looked up in time.
    let slow = Fault::Slow(Duration::from_secs(3));
    fake.upstream()
        .fail("GET", "/v1/convai/phone-numbers", slow, 1);
    let by = within(Duration::from_millis(50));
    let late = provider.place(KEY, call(NUMBER), by).await;
    assert_eq!(late, Err(LegacyError::NotConnected));
    assert_eq!(fake.upstream().asked_of("POST", "/").len(), 0);
}

#[tokio::test]
async fn a_call_is_followed_by_its_id_and_by_our_handle_alike() {
    let (fake, provider) = start().await;
    let id = placed(&provider).await;
    for reference in [by_id(&id), by_handle()] {
        fake.set_status(&id, "initiated");
        let rings = progress(&provider, &reference).await;
        assert!(rings.reported && rings.answered_at.is_none() && rings.end.is_none());
        assert_eq!(rings.conversation.as_deref(), Some(id.as_str()));
        fake.talk(
            &id,
            &[
                ("agent", "Hello Ana.", 0),
                ("user", "Hi.", 2),
                ("agent", "Are", 4),
            ],
        );
        let talks = progress(&provider, &reference).await;
        assert_eq!(talks.answered_at, Some(at(0)));
        assert!(talks.end.is_none());
        let said: Vec<_> = talks
            .turns
            .iter()
            .map(|turn| (turn.role, turn.text.as_str()))
            .collect();
        let expected = [(TurnRole::Agent, "Hello Ana."), (TurnRole::User, "Hi.")];
        assert_eq!(said, expected);
    }
    fake.end(&id, 42, "Call ended by remote party");
    fake.set_status(&id, "processing");
    let over = progress(&provider, &by_id(&id)).await.end.unwrap();
    assert!(!over.is_final);
    fake.end(&id, 42, "Call ended by remote party");
    let over = progress(&provider, &by_id(&id)).await;
    assert_eq!(over.turns.len(), 3);
    let end = over.end.unwrap();
    let expected = CallOutcome::Completed(TerminationReason::CustomerHangup);
    assert_eq!(end.outcome, expected);
    assert_eq!(end.ended_at, at(42));
    assert!(end.is_final);
    assert_eq!(end.summary, "They spoke of an appointment.");
}

#[tokio::test]
async fn a_call_of_somebody_elses_is_never_taken_for_ours() {
    let (fake, provider) = start().await;
    let id = placed(&provider).await;
    fake.state().lists_everybody = true;
    fake.change(&id, |conversation| {
        conversation["user_id"] = json!("theirs");
        conversation["conversation_initiation_client_data"] = json!({"user_id": "theirs"});
    });
    assert!(
        provider
            .progress(KEY, &by_handle())
            .await
            .unwrap()
            .is_none()
    );
    // The other call could be mistaken for it, and ours is found next to it.
    assert!(provider.progress(KEY, &by_id(&id)).await.unwrap().is_some());
    let ours = placed(&provider).await;
    let found = progress(&provider, &by_handle()).await;
    assert_eq!(found.conversation, Some(ours));
}

#[tokio::test]
async fn what_nobody_answered_has_the_reason_that_the_provider_tells() {
    let (fake, provider) = start().await;
    for (result, reason) in [
        ("busy", FailureReason::Busy),
        ("no_answer", FailureReason::NoAnswer),
        ("failed", FailureReason::CarrierError),
    ] {
        let id = placed(&provider).await;
        fake.fail(&id, result);
        let progress = progress(&provider, &by_id(&id)).await;
        assert_eq!(progress.answered_at, None);
        assert_eq!(
            progress.end.unwrap().outcome,
            CallOutcome::Failed(reason),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_recording_is_made_a_wav_file_if_it_is_none() {
    let (fake, provider) = start().await;
    let id = placed(&provider).await;
    assert_eq!(recorded(&provider, &by_id(&id)).await.unwrap(), None);
    // Whatever media type the response has.
    for kind in ["audio/mpeg", "application/octet-stream", "text/html"] {
        fake.state().recording = Some((kind, RECORDING.to_vec()));
        let made = recorded(&provider, &by_id(&id)).await.unwrap().unwrap();
        // 1.5 s at 8 kHz, two channels of 16 bits, and the encoder's padding.
        assert!((48_044..56_000).contains(&made.len()), "{}", made.len());
        assert_eq!(&made[..4], b"RIFF".as_slice());
        assert_eq!(&made[8..16], b"WAVEfmt ".as_slice());
        assert_eq!(made[22..28], [2, 0, 0x40, 0x1f, 0, 0], "two sides, 8 kHz");
        // A file in our own format stays the same.
        fake.state().recording = Some((kind, made.clone()));
        for reference in [by_id(&id), by_handle()] {
            let kept = recorded(&provider, &reference).await.unwrap();
            assert!(
                kept.as_ref() == Some(&made),
                "{:?}",
                kept.map(|kept| kept.len())
            );
        }
    }
    // A truncated file ends early.
    fake.state().recording = Some(("audio/mpeg", RECORDING[..3_000].to_vec()));
    let made = recorded(&provider, &by_id(&id)).await.unwrap().unwrap();
    assert!((16_000..48_000).contains(&made.len()), "{}", made.len());
    fake.state().hides_recordings = true;
    assert_eq!(recorded(&provider, &by_id(&id)).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_no_recording_is_none_the_next_time_either() {
    let (fake, provider) = start().await;
    let id = placed(&provider).await;
    let nonsense: [&[u8]; 5] = [b"", b"<html>", b"{}", &[0xff; 100_000], &RECORDING[..120]];
    for body in nonsense {
        fake.state().recording = Some(("audio/mpeg", body.to_vec()));
        let said = recorded(&provider, &by_id(&id)).await.unwrap_err();
        assert!(matches!(said, RecordingError::Unusable(_)), "{said:?}");
        assert!(
            said.to_string()
                .ends_with("is neither an MP3 nor a WAV file")
        );
    }
    // A file that only begins like a WAV file is refused.
    for body in [
        b"RIFF\0\0\0\0WAVE and words".as_slice(),
        b"RIFF\x24\0\0\0WAVE",
    ] {
        fake.state().recording = Some(("audio/wav", body.to_vec()));
        let said = recorded(&provider, &by_id(&id)).await.unwrap_err();
        assert!(matches!(said, RecordingError::Unusable(_)), "{said:?}");
    }
    fake.upstream()
        .fail("GET", "/v1/convai/conversations/", Fault::Endless, 1);
    let said = recorded(&provider, &by_id(&id)).await.unwrap_err();
    assert!(
        said.to_string().ends_with("is larger than 64 MiB"),
        "{said}"
    );
}

#[tokio::test]
async fn no_call_can_be_ended_there() {
    let (_fake, provider) = start().await;
    let id = placed(&provider).await;
    assert!(!provider.hangs_up());
    assert!(provider.hang_up(KEY, &by_id(&id)).await.is_err());
}

/// The recording of a call.
async fn recorded(
    provider: &ElevenLabsAgents,
    reference: &LegacyReference,
) -> Result<Option<Vec<u8>>, RecordingError> {
    let mut file = tempfile::tempfile().unwrap();
    let to = file.try_clone().unwrap();
    if !provider.recording(KEY, reference, to).await? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    Ok(Some(bytes))
}

/// The result of an operation.
async fn done(
    provider: &ElevenLabsAgents,
    operation: Operation,
    id: &str,
) -> Result<(), LegacyError> {
    match operation {
        Operation::Agents => provider.agents(KEY).await.map(drop),
        Operation::Rename => provider.rename(KEY, AGENT, "Front").await,
        Operation::Place => provider.place(KEY, call(NUMBER), soon()).await.map(drop),
        Operation::PlaceOnTrunk => {
            let placed = provider.place(KEY, call(TRUNK_NUMBER), soon()).await;
            placed.map(drop)
        }
        Operation::Progress => provider.progress(KEY, &by_id(id)).await.map(drop),
        Operation::Look => provider.progress(KEY, &by_handle()).await.map(drop),
        Operation::Recording => match recorded(provider, &by_id(id)).await {
            Ok(_) => Ok(()),
            Err(RecordingError::Provider(error)) => Err(error),
            Err(RecordingError::Unusable(why)) => {
                assert!(!why.is_empty());
                Err(LegacyError::Refused(LegacyRefusal::Request))
            }
            Err(RecordingError::File(error)) => panic!("{error}"),
        },
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Agents,
    Rename,
    Place,
    PlaceOnTrunk,
    Progress,
    Look,
    Recording,
}

const OPERATIONS: [(Operation, &str, &str); 7] = [
    (Operation::Agents, "GET", "/v1/convai/agents"),
    (Operation::Rename, "PATCH", "/v1/convai/agents"),
    (Operation::Place, "POST", "/v1/convai/twilio"),
    (Operation::PlaceOnTrunk, "POST", "/v1/convai/sip-trunk"),
    (Operation::Progress, "GET", "/v1/convai/conversations/"),
    (Operation::Look, "GET", "/v1/convai/conversations"),
    (Operation::Recording, "GET", "/v1/convai/conversations/"),
];

/// A response that comes too late for any caller.
const NEVER: Fault = Fault::Slow(Duration::from_secs(3_600));

/// The error of a fault: for operations with an effect, and for those without. `None`: not a fault there.
fn expected(operation: Operation, fault: Fault) -> Option<LegacyError> {
    use LegacyError::{Later, Refused, Unknown};
    let writes = matches!(
        operation,
        Operation::Place | Operation::PlaceOnTrunk | Operation::Rename
    );
    let after = |seconds| Some(Duration::from_secs(seconds));
    Some(match fault {
        Fault::Close | Fault::LoseAnswer | Fault::CutBody | NEVER => Unknown,
        Fault::Slow(_) => return None,
        // The content of a response to a change does not matter, as long as the provider sent it.
        Fault::Unknown if operation == Operation::Rename => return None,
        // It is not a recording; neither is a document of another format.
        Fault::Malformed | Fault::Unknown if operation == Operation::Recording => {
            Refused(LegacyRefusal::Request)
        }
        // Only a recording can be endless.
        Fault::Endless => return None,
        Fault::Malformed | Fault::Unknown => Unknown,
        Fault::RetryAfter(429, seconds) => Later(after(seconds)),
        Fault::RetryAfter(_, seconds) if !writes => Later(after(seconds)),
        Fault::Status(429) => Later(None),
        Fault::Status(404) if matches!(operation, Operation::Progress | Operation::Recording) => {
            return None;
        }
        Fault::Status(status) if status < 500 => Refused(LegacyRefusal::Request),
        Fault::Status(_) | Fault::RetryAfter(..) => Unknown,
    })
}

#[tokio::test]
async fn every_operation_says_of_every_fault_whether_it_may_have_had_an_effect() {
    let mut faults = vec![
        Fault::Close,
        Fault::LoseAnswer,
        Fault::Slow(Duration::from_millis(200)),
        NEVER,
        Fault::CutBody,
        Fault::Malformed,
        Fault::Unknown,
        Fault::RetryAfter(429, 7),
        Fault::RetryAfter(503, 7),
    ];
    faults.extend([301, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503].map(Fault::Status));
    for (operation, method, path) in OPERATIONS {
        let (fake, provider) = start().await;
        let id = placed(&provider).await;
        fake.state().recording = Some(("audio/mpeg", RECORDING.to_vec()));
        for fault in &faults {
            fake.upstream().behave();
            // The fault hits the first request of the operation.
            done(&provider, operation, &id).await.unwrap();
            let before = fake.upstream().asked_of(method, path).len();
            fake.upstream().fail(method, path, *fault, 1);
            if *fault == NEVER {
                tokio::time::pause();
            }
            let said = done(&provider, operation, &id).await;
            if *fault == NEVER {
                tokio::time::resume();
            }
            let asked = fake.upstream().asked_of(method, path).len() - before;
            let case = format!("{operation:?} {fault:?}: {said:?}");
            match (&said, expected(operation, *fault)) {
                (Ok(()), None) => {}
                (Err(LegacyError::Refused(_)), Some(LegacyError::Refused(_))) => {}
                (Err(error), Some(expected)) => assert_eq!(*error, expected, "{case}"),
                _ => panic!("{case}"),
            }
            if said.is_err() {
                assert_eq!(asked, 1, "{case}: nothing is asked twice");
                assert!(!format!("{said:?}").contains(UPSTREAM_WORDS), "{case}");
            }
        }
        // The service is gone.
        fake.upstream().stop();
        let gone = done(&provider, operation, &id).await;
        let closed = [LegacyError::NotConnected, LegacyError::Unknown];
        assert!(closed.contains(&gone.unwrap_err()), "{operation:?}");
        let gone = done(&provider, operation, &id).await;
        assert_eq!(gone, Err(LegacyError::NotConnected), "{operation:?}");
        // It does not support TLS.
        let (fake, _) = start().await;
        let by_tls = fake.base_url().replace("http:", "https:");
        let by_tls = ElevenLabsAgents::new(&by_tls).unwrap();
        let said = done(&by_tls, operation, "conv_0001").await;
        assert_eq!(said, Err(LegacyError::NotConnected), "{operation:?}");
        assert_eq!(fake.upstream().asked().len(), 0);
    }
}

#[tokio::test]
async fn a_place_whose_numbers_cannot_be_read_has_asked_for_nothing() {
    for fault in [
        Fault::Close,
        Fault::Malformed,
        Fault::Unknown,
        Fault::Status(500),
    ] {
        let (fake, provider) = start().await;
        fake.upstream()
            .fail("GET", "/v1/convai/phone-numbers", fault, 1);
        let said = provider.place(KEY, call(NUMBER), soon()).await;
        assert_eq!(said, Err(LegacyError::NotConnected), "{fault:?}");
        assert_eq!(fake.calls().len(), 0);
    }
}

#[tokio::test]
async fn a_list_of_which_a_part_is_missing_is_no_list() {
    let (fake, provider) = start().await;
    for (path, fault) in [
        ("/v1/convai/phone-numbers", Fault::Status(500)),
        ("/v1/convai/agents/", Fault::Malformed),
    ] {
        fake.upstream().fail("GET", path, fault, 1);
        assert_eq!(
            provider.agents(KEY).await,
            Err(LegacyError::Unknown),
            "{path}"
        );
    }
    assert!(provider.agents(KEY).await.is_ok());
}
