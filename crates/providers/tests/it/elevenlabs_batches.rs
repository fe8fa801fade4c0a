//! The batch operations of ElevenLabs against a server that speaks their form, and misbehaves.

use std::time::Duration;

use offhook_domain::{CallHandle, ConversationId, Json, Timestamp};
use offhook_engine::legacy::{LegacyCall, LegacyError};
use offhook_engine::legacy_batches::{
    LegacyBatch, LegacyBatches as _, LegacyRecipient, RecipientStage,
};
use offhook_providers::ElevenLabsAgents;
use offhook_testkit::fakes::elevenlabs::{AGENT, ElevenLabs, KEY, NUMBER};
use offhook_testkit::fakes::elevenlabs_batches::{BATCH_CALLING, ElevenLabsBatches};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::{Value, json};
use tokio::time::Instant;

const OPERATIONS: [&str; 4] = ["submit", "find", "status", "cancel"];

struct Provider {
    service: ElevenLabs,
    batches: ElevenLabsBatches,
    adapter: ElevenLabsAgents,
}

impl Provider {
    async fn start() -> Self {
        let service = ElevenLabs::start().await;
        let batches = ElevenLabsBatches::on(&service);
        let adapter = ElevenLabsAgents::new(&service.base_url()).unwrap();
        Self {
            service,
            batches,
            adapter,
        }
    }

    async fn submit(&self, name: &str, calls: &[LegacyCall]) -> Result<String, LegacyError> {
        let batch = LegacyBatch {
            name: name.to_owned(),
            calls: calls.to_vec(),
        };
        let place_by = Instant::now() + Duration::from_secs(10);
        self.adapter.submit_batch(KEY, batch, place_by).await
    }

    /// Does one of the operations on the first batch, and tells what it comes to in a word.
    async fn ask(&self, operation: &str) -> Result<&'static str, LegacyError> {
        match operation {
            "submit" => self
                .submit("b/2", &[call(3), call(4)])
                .await
                .map(|_| "done"),
            "find" => {
                let found = self.adapter.find_batch(KEY, AGENT, "b/1").await?;
                Ok(if found.is_some() { "done" } else { "nothing" })
            }
            "status" => {
                let status = self.adapter.batch_status(KEY, "btcal_1").await?;
                Ok(if status.is_some() { "done" } else { "nothing" })
            }
            _ => {
                self.adapter.cancel_batch(KEY, "btcal_1").await?;
                Ok("done")
            }
        }
    }

    fn asked(&self, operation: &str) -> usize {
        let (method, path) = path(operation);
        self.service.upstream().asked_of(method, &path).len()
    }
}

fn path(operation: &str) -> (&'static str, String) {
    let (method, rest) = match operation {
        "submit" => ("POST", "submit"),
        "find" => ("GET", "workspace"),
        "status" => ("GET", "btcal_1"),
        _ => ("POST", "btcal_1/cancel"),
    };
    (method, format!("{BATCH_CALLING}{rest}"))
}

fn reference(number: u8) -> CallHandle {
    let at = Timestamp::from_micros(1_777_000_000_000_000);
    CallHandle(ConversationId::mint(at, [number; 10]))
}

fn call(number: u8) -> LegacyCall {
    LegacyCall {
        reference: reference(number),
        agent: AGENT.to_owned(),
        from: NUMBER.parse().unwrap(),
        to: format!("+52155123456{number:02}").parse().unwrap(),
        variables: vec![
            (
                "name".to_owned(),
                Json::String(format!("Customer {number}")),
            ),
            ("score".to_owned(), Json::from(i64::from(number))),
            ("zone".to_owned(), Json::Null),
        ],
    }
}

#[tokio::test]
async fn a_batch_is_submitted_once_with_our_name_and_a_handle_for_each_recipient() {
    let provider = Provider::start().await;
    let id = provider.submit("batch/slice", &[call(1), call(2)]).await;
    assert_eq!(id, Ok("btcal_1".to_owned()));
    let recipient = |number: u8| {
        let handle = reference(number).to_string();
        json!({
            "id": handle,
            "phone_number": format!("+52155123456{number:02}"),
            "conversation_initiation_client_data": {
                "dynamic_variables": {
                    "name": format!("Customer {number}"), "score": number, "zone": null,
                    "offhook_call_id": handle,
                },
                "user_id": handle,
            },
        })
    };
    let expected = json!({
        "call_name": "batch/slice",
        "agent_id": AGENT,
        "agent_phone_number_id": "phnum_1",
        "recipients": [recipient(1), recipient(2)],
        "target_concurrency_limit": 2,
    });
    assert_eq!(provider.batches.submitted(), [expected]);
    let asked = provider.service.upstream().asked_of("POST", BATCH_CALLING);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("xi-api-key"), Some(KEY));
    assert_eq!(
        provider.batches.dialed(),
        ["+5215512345601", "+5215512345602"]
    );
}

#[tokio::test]
async fn a_batch_that_is_too_late_is_not_handed_over() {
    let provider = Provider::start().await;
    let batch = LegacyBatch {
        name: "b/1".to_owned(),
        calls: vec![call(1), call(2)],
    };
    let late = provider
        .adapter
        .submit_batch(KEY, batch, Instant::now())
        .await;
    assert_eq!(late, Err(LegacyError::NotConnected));
    assert_eq!(provider.service.upstream().asked(), []);
}

#[tokio::test]
async fn a_batch_is_found_by_its_name_on_whatever_page_it_is() {
    let provider = Provider::start().await;
    for number in 1..=8 {
        let name = format!("batch/{number}");
        provider.submit(&name, &[call(number)]).await.unwrap();
    }
    for number in 1..=8 {
        let found = provider
            .adapter
            .find_batch(KEY, AGENT, &format!("batch/{number}"))
            .await;
        assert_eq!(found, Ok(Some(format!("btcal_{number}"))));
    }
    // Neither the name of another one's part, nor an agent that has none.
    assert_eq!(
        provider.adapter.find_batch(KEY, AGENT, "batch/").await,
        Ok(None)
    );
    assert_eq!(
        provider.adapter.find_batch(KEY, "agent_2", "batch/1").await,
        Ok(None)
    );
}

#[tokio::test]
async fn where_each_recipient_stands_is_told_by_our_handle() {
    let provider = Provider::start().await;
    provider.batches.hold();
    let calls: Vec<LegacyCall> = (1..=4).map(call).collect();
    let id = provider.submit("b/1", &calls).await.unwrap();
    let stands = |number: u8, stage, conversation: Option<&str>| LegacyRecipient {
        reference: reference(number),
        stage,
        conversation: conversation.map(str::to_owned),
    };
    let waiting: Vec<_> = (1..=4)
        .map(|number| stands(number, RecipientStage::Pending, None))
        .collect();
    assert_eq!(
        provider.adapter.batch_status(KEY, &id).await,
        Ok(Some(waiting))
    );
    provider.batches.dispatch(&provider.service);
    provider
        .batches
        .set("+5215512345602", "completed", Some("conv_2"));
    provider.batches.set("+5215512345603", "failed", None);
    provider
        .batches
        .set("+5215512345604", "a_word_of_next_year", None);
    let stand = vec![
        stands(1, RecipientStage::UnderWay, Some("conv_0001")),
        stands(2, RecipientStage::Ended, Some("conv_2")),
        stands(3, RecipientStage::Failed, None),
        stands(4, RecipientStage::Ended, None),
    ];
    assert_eq!(
        provider.adapter.batch_status(KEY, &id).await,
        Ok(Some(stand))
    );
    assert_eq!(
        provider.adapter.batch_status(KEY, "btcal_9").await,
        Ok(None)
    );
}

#[tokio::test]
async fn a_batch_that_waits_is_called_off() {
    let provider = Provider::start().await;
    provider.batches.hold();
    let id = provider.submit("b/1", &[call(1), call(2)]).await.unwrap();
    assert_eq!(provider.adapter.cancel_batch(KEY, &id).await, Ok(()));
    let status = provider
        .adapter
        .batch_status(KEY, &id)
        .await
        .unwrap()
        .unwrap();
    assert!(
        status
            .iter()
            .all(|one| one.stage == RecipientStage::Cancelled)
    );
    provider.batches.dispatch(&provider.service);
    assert_eq!(provider.batches.dialed(), Vec::<String>::new());
}

#[tokio::test]
async fn a_number_that_the_provider_does_not_have_is_refused_before_anybody_is_called() {
    let provider = Provider::start().await;
    let mut stranger = call(1);
    stranger.from = "+15005550199".parse().unwrap();
    let refused = provider.submit("b/1", &[stranger]).await;
    assert!(
        matches!(refused, Err(LegacyError::Refused(_))),
        "{refused:?}"
    );
    provider
        .service
        .upstream()
        .fail("GET", "/v1/convai/phone-numbers", Fault::Close, 10);
    let mut unknown = call(2);
    unknown.from = "+15005550198".parse().unwrap();
    // Nothing with an effect was asked.
    assert_eq!(
        provider.submit("b/1", &[unknown]).await,
        Err(LegacyError::NotConnected)
    );
    assert_eq!(provider.asked("submit"), 0);
}

/// What an operation comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    Done,
    Nothing,
    NotConnected,
    Unknown,
    Later(Option<u64>),
    Refused,
}

fn comes(result: &Result<&'static str, LegacyError>) -> Comes {
    match result {
        Ok("done") => Comes::Done,
        Ok(_) => Comes::Nothing,
        Err(LegacyError::NotConnected) => Comes::NotConnected,
        Err(LegacyError::Unknown) => Comes::Unknown,
        Err(LegacyError::Later(after)) => Comes::Later(after.map(|after| after.as_secs())),
        Err(LegacyError::Refused(_)) => Comes::Refused,
    }
}

/// An answer for which nobody waits.
const NEVER: Fault = Fault::Slow(Duration::from_secs(3_600));

#[tokio::test]
async fn every_fault_of_every_operation_is_told_apart_and_nothing_is_sent_twice() {
    use Comes::{Done, Later, Nothing, Refused, Unknown};
    // In the order of the operations.
    let table = [
        (Fault::Close, [Unknown; 4]),
        (Fault::LoseAnswer, [Unknown; 4]),
        (Fault::Slow(Duration::from_millis(300)), [Done; 4]),
        (NEVER, [Unknown; 4]),
        (Fault::CutBody, [Unknown; 4]),
        (Fault::Status(401), [Refused; 4]),
        (Fault::Status(404), [Refused, Refused, Nothing, Refused]),
        (Fault::Status(409), [Refused; 4]),
        (Fault::Status(422), [Refused; 4]),
        (Fault::Status(429), [Later(None); 4]),
        (Fault::RetryAfter(429, 7), [Later(Some(7)); 4]),
        (
            Fault::RetryAfter(503, 7),
            [Unknown, Later(Some(7)), Later(Some(7)), Later(Some(7))],
        ),
        (Fault::Status(500), [Unknown; 4]),
        (Fault::Malformed, [Unknown; 4]),
        // That a batch was called off needs no form.
        (Fault::Unknown, [Unknown, Unknown, Unknown, Done]),
    ];
    for (fault, expected) in table {
        for (operation, expected) in OPERATIONS.into_iter().zip(expected) {
            let provider = Provider::start().await;
            provider.submit("b/1", &[call(1), call(2)]).await.unwrap();
            let before = provider.asked(operation);
            let (method, path) = path(operation);
            provider.service.upstream().fail(method, &path, fault, 1);
            if fault == NEVER {
                tokio::time::pause();
            }
            let result = provider.ask(operation).await;
            if fault == NEVER {
                tokio::time::resume();
            }
            let what = format!("{operation} with {fault:?}");
            assert_eq!(comes(&result), expected, "{what}: {result:?}");
            assert_eq!(provider.asked(operation), before + 1, "{what}");
            if let Err(error) = result {
                let told = error.to_string();
                assert!(
                    !told.contains(UPSTREAM_WORDS) && !told.contains(KEY),
                    "{what}: {told}"
                );
            }
            if operation == "submit" {
                // What may have been taken is found by its name, and what was not is not there.
                let names: Vec<Value> = provider.batches.submitted();
                let is_there = names.iter().any(|batch| batch["call_name"] == "b/2");
                let found = provider
                    .adapter
                    .find_batch(KEY, AGENT, "b/2")
                    .await
                    .unwrap();
                assert_eq!(found.is_some(), is_there, "{what}");
                if [Refused, Later(None), Later(Some(7))].contains(&expected) {
                    assert!(!is_there, "{what}");
                }
            }
        }
    }
}

/// Asks a provider that has gone away since, and one by TLS where there is none.
async fn is_away(operation: &str) {
    let provider = Provider::start().await;
    // Its numbers are known, so that the request itself is what cannot be sent.
    provider.submit("b/1", &[call(1)]).await.unwrap();
    provider.service.upstream().stop();
    let away = async {
        // A connection that was open may be found closed first.
        while comes(&provider.ask(operation).await) != Comes::NotConnected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), away)
        .await
        .unwrap();
    let server = Provider::start().await;
    let plain = server.service.base_url().replace("http://", "https://");
    let secure = Provider {
        adapter: ElevenLabsAgents::new(&plain).unwrap(),
        ..server
    };
    let result = secure.ask(operation).await;
    assert_eq!(comes(&result), Comes::NotConnected, "{operation}");
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_was_asked_for_nothing() {
    futures_util::future::join_all(OPERATIONS.map(is_away)).await;
}
