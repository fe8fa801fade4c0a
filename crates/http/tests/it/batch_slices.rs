//! Batches at a provider of legacy agents that has batch operations: what is handed over together, and that nobody is
//! called twice or forgotten, whatever the provider answers.

mod provider;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use offhook_carriers::Simulator;
use offhook_domain::{Clock as _, CredentialProvider};
use offhook_engine::legacy::{LegacyError, LegacyPace};
use offhook_providers::SimulatedLegacy;
use offhook_services::CallSettings;
use offhook_services::store::mint;
use offhook_testkit::ManualClock;
use serde_json::{Value, json};

use crate::app::{Setup, TestApp, text};
use crate::client::must;
use provider::{Batching, Deed, State};

const ALL: &str = "/v1/batch-calls";

/// How many times faster than people the simulated ones are.
const SPEED: f64 = 2_000.0;

/// The service at such a provider, which begins with these deeds.
async fn at(deeds: &[Deed], holds: bool, calls: CallSettings) -> (TestApp, Arc<Batching>) {
    let state = State {
        deeds: deeds.iter().copied().collect(),
        holds,
        ..State::default()
    };
    with(state, calls, LegacyPace::default().over_within).await
}

async fn with(
    state: State,
    calls: CallSettings,
    over_within: Duration,
) -> (TestApp, Arc<Batching>) {
    let clock = ManualClock::default();
    let node = mint(clock.now());
    let carrier = Arc::new(Simulator::new(SPEED));
    let batching = Arc::new(Batching {
        simulated: SimulatedLegacy::new(carrier, Arc::new(clock), node),
        over_within,
        state: Mutex::new(state),
    });
    let app = TestApp::with(Setup {
        calls,
        legacy: Some(batching.clone()),
        ..Setup::default()
    })
    .await;
    (app, batching)
}

/// Makes a batch of so many recipients; its id.
async fn made(app: &TestApp, recipients: usize) -> String {
    let credentials = app.services.credentials();
    let provider = CredentialProvider::Legacy;
    must(credentials.set(app.account, provider, "sim_acme").await);
    must(app.services.legacy().sync(app.account).await);
    let list = app.get("/v1/agents?runtime=legacy&q=reception");
    let list = list.send().await.assert(200);
    let recipients: Vec<Value> = (0..recipients)
        .map(|n| json!({"to": format!("+521551234{n:04}")}))
        .collect();
    let body =
        json!({"name": "Spring", "agent_id": list["data"][0]["id"], "recipients": recipients});
    text(&app.post(ALL, body).send().await.assert(202)["id"])
}

/// Waits until the batch reads as `enough` says; returns how it reads then.
async fn reads(app: &TestApp, id: &str, enough: impl Fn(&Value) -> bool) -> Value {
    let target = format!("{ALL}/{id}");
    let read = async {
        loop {
            let batch = app.get(&target).send().await.assert(200);
            if enough(&batch) {
                return batch;
            }
            app.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(60), read).await)
}

async fn counts(app: &TestApp, id: &str) -> Value {
    let batch = reads(app, id, |batch| batch["status"] == "completed").await;
    batch["counts"].clone()
}

fn all(completed: usize, failed: usize) -> Value {
    json!({
        "total": completed + failed, "pending": 0, "dialing": 0, "completed": completed, "failed": failed,
        "cancelled": 0,
    })
}

/// `[status, failure_reason, call_id]` of each recipient.
async fn recipients(app: &TestApp, id: &str) -> Vec<[Value; 3]> {
    let list = app.get(&format!("{ALL}/{id}/recipients?limit=100"));
    let list = list.send().await.assert(200);
    let rows = list["data"].as_array().cloned().unwrap_or_default();
    let rows = rows.into_iter();
    rows.map(|row| ["status", "failure_reason", "call_id"].map(|name| row[name].clone()))
        .collect()
}

/// Waits until the provider has so many in its batches.
async fn handed_over(provider: &Batching, whom: usize) {
    let handed = async {
        loop {
            let calls = provider
                .state()
                .batches
                .values()
                .map(|batch| batch.calls.len())
                .sum::<usize>();
            if calls == whom {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    must(tokio::time::timeout(Duration::from_secs(30), handed).await);
}

/// Nobody was asked for twice, neither with others nor alone, and every name was good for one request.
fn nobody_was_asked_for_twice(state: &State) {
    let together = state.asked.iter().flat_map(|(_, whom)| whom);
    let together: Vec<_> = together.collect();
    let once: HashSet<_> = together.iter().collect();
    assert_eq!(once.len(), together.len(), "{:?}", state.asked);
    let names: HashSet<_> = state.asked.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), state.asked.len(), "{:?}", state.asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_handed_over_in_slices_and_everybody_is_called_once() {
    let (app, provider) = at(&[], false, CallSettings::default()).await;
    let id = made(&app, 12).await;
    app.dial();
    assert_eq!(counts(&app, &id).await, all(12, 0));
    let rows = recipients(&app, &id).await;
    let state = provider.state();
    nobody_was_asked_for_twice(&state);
    let mut called: Vec<String> = state
        .asked
        .iter()
        .flat_map(|(_, whom)| whom)
        .chain(&state.alone)
        .map(ToString::to_string)
        .collect();
    called.sort_unstable();
    let mut expected: Vec<String> = rows.iter().map(|[_, _, call]| text(call)).collect();
    expected.sort_unstable();
    assert_eq!(called, expected);
    assert!(!state.asked.is_empty());
    for (name, whom) in &state.asked {
        assert!(name.starts_with(&format!("{id}/")), "{name}");
        assert!(whom.len() >= 2, "{name}");
    }
    assert_eq!(state.cancelled, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slice_whose_answer_was_lost_is_found_by_its_name() {
    let (app, provider) = at(&[Deed::LosesItsAnswer], false, CallSettings::default()).await;
    let id = made(&app, 8).await;
    app.dial();
    assert_eq!(counts(&app, &id).await, all(8, 0));
    let state = provider.state();
    nobody_was_asked_for_twice(&state);
    assert_eq!(
        state.alone.len()
            + state
                .asked
                .iter()
                .map(|(_, whom)| whom.len())
                .sum::<usize>(),
        8
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slice_that_the_provider_forgets_is_never_sent_again() {
    let (app, provider) = at(&[Deed::Forgets], false, CallSettings::default()).await;
    let id = made(&app, 8).await;
    app.dial();
    let batch = counts(&app, &id).await;
    let rows = recipients(&app, &id).await;
    let state = provider.state();
    nobody_was_asked_for_twice(&state);
    let forgotten: Vec<String> = state.asked[0].1.iter().map(ToString::to_string).collect();
    assert_eq!(batch, all(8 - forgotten.len(), forgotten.len()));
    for [status, reason, call] in &rows {
        let expected = match forgotten.contains(&text(call)) {
            true => (json!("failed"), json!("carrier_error")),
            false => (json!("completed"), Value::Null),
        };
        assert_eq!((status.clone(), reason.clone()), expected);
    }
    for call in state.asked[0].1.iter() {
        assert!(!state.alone.contains(call));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_will_not_take_together_is_placed_one_by_one() {
    let deeds = [Deed::Refuses, Deed::IsAway];
    let (app, provider) = at(&deeds, false, CallSettings::default()).await;
    let id = made(&app, 8).await;
    app.dial();
    assert_eq!(counts(&app, &id).await, all(8, 0));
    let state = provider.state();
    nobody_was_asked_for_twice(&state);
    for call in &state.asked[0].1 {
        let times = state.alone.iter().filter(|alone| *alone == call).count();
        assert_eq!(times, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_called_alone_before_it_is_known_that_they_are_not_called_together() {
    for (deed, looks) in [
        (Deed::TakesAndPutsOff, vec![LegacyError::Unknown]),
        (Deed::TakesAndPutsOff, vec![LegacyError::Later(None)]),
        (Deed::Refuses, vec![LegacyError::Unknown]),
        // For longer than a call may wait to be dialed.
        (
            Deed::TakesAndPutsOff,
            vec![LegacyError::Later(Some(Duration::from_secs(60)))],
        ),
        (Deed::Refuses, vec![LegacyError::Refused("not let in")]),
        // Nobody can be asked, and what was refused is not there.
        (
            Deed::Refuses,
            vec![LegacyError::Later(Some(Duration::from_secs(60)))],
        ),
        // Who lets nobody look may have taken it all the same.
        (
            Deed::TakesAndPutsOff,
            vec![LegacyError::Refused("not let in")],
        ),
        (Deed::PutsOff, vec![LegacyError::NotConnected]),
    ] {
        let (app, provider) = at(&[deed], false, CallSettings::default()).await;
        provider.state().looks = looks.clone().into();
        let id = made(&app, 8).await;
        app.dial();
        assert_eq!(counts(&app, &id).await, all(8, 0), "{looks:?}");
        let state = provider.state();
        nobody_was_asked_for_twice(&state);
        assert!(state.looks.is_empty());
        for call in &state.asked[0].1 {
            let is_alone = state.alone.contains(call);
            let is_known = matches!(deed, Deed::Refuses | Deed::PutsOff);
            assert_eq!(is_alone, is_known, "{looks:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slice_of_which_the_provider_tells_nothing_is_known_by_its_calls() {
    for error in [LegacyError::Unknown, LegacyError::Refused("not let in")] {
        let (app, provider) = at(&[], false, CallSettings::default()).await;
        provider.state().tells = Some(error);
        let id = made(&app, 8).await;
        app.dial();
        assert_eq!(counts(&app, &id).await, all(8, 0));
        let state = provider.state();
        nobody_was_asked_for_twice(&state);
        assert_eq!(state.alone, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_calls_to_one_number_are_not_in_one_slice() {
    let (app, provider) = at(&[], true, CallSettings::default()).await;
    let one = made(&app, 1).await;
    let list = app.get(&format!("{ALL}/{one}")).send().await.assert(200);
    let body = json!({
        "name": "Twice",
        "agent_id": list["agent_id"],
        "recipients": [{"to": "+5215512345601"}, {"to": "+5215512345602"}, {"to": "+5215512345601"}],
    });
    let id = text(&app.post(ALL, body).send().await.assert(202)["id"]);
    app.dial();
    reads(&app, &id, |batch| batch["counts"]["completed"] == 1).await;
    {
        let state = provider.state();
        assert_eq!(
            state
                .asked
                .iter()
                .map(|(_, whom)| whom.len())
                .collect::<Vec<_>>(),
            [2]
        );
    }
    provider.dispatch().await;
    assert_eq!(counts(&app, &id).await, all(3, 0));
    nobody_was_asked_for_twice(&provider.state());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_goes_on_with_a_slice_that_waits_at_the_provider() {
    let cases: [&[Deed]; 2] = [&[], &[Deed::LosesItsAnswer]];
    for deeds in cases {
        let (app, provider) = at(deeds, true, CallSettings::default()).await;
        let id = made(&app, 6).await;
        app.dial();
        reads(&app, &id, |batch| batch["counts"]["dialing"] == 6).await;
        handed_over(&provider, 6).await;
        app.dial_elsewhere();
        tokio::time::sleep(Duration::from_millis(500)).await;
        provider.dispatch().await;
        assert_eq!(counts(&app, &id).await, all(6, 0));
        nobody_was_asked_for_twice(&provider.state());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_batch_calls_nobody_of_a_slice_that_waits() {
    let (app, provider) = at(&[], true, CallSettings::default()).await;
    let id = made(&app, 6).await;
    app.dial();
    reads(&app, &id, |batch| batch["counts"]["dialing"] == 6).await;
    let cancel = app.post(&format!("{ALL}/{id}/cancel"), "{}");
    cancel.send().await.assert(200);
    let batch = reads(&app, &id, |batch| batch["counts"]["dialing"] == 0).await;
    assert_eq!(
        (&batch["status"], &batch["counts"]["failed"]),
        (&json!("cancelled"), &json!(6))
    );
    for [status, reason, _] in recipients(&app, &id).await {
        assert_eq!((status, reason), (json!("failed"), json!("cancelled")));
    }
    let state = provider.state();
    assert_eq!(state.cancelled.len(), state.asked.len());
    assert_eq!(state.alone, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slice_that_the_provider_does_not_begin_in_time_is_called_off() {
    let calls = CallSettings {
        max_queue: Duration::from_secs(1),
        ..CallSettings::default()
    };
    let (app, provider) = at(&[], true, calls).await;
    let id = made(&app, 4).await;
    app.dial();
    // Until then the clock stands still.
    handed_over(&provider, 4).await;
    let batch = reads(&app, &id, |batch| batch["status"] == "completed").await;
    assert_eq!(batch["counts"]["failed"], 4);
    for [status, reason, _] in recipients(&app, &id).await {
        assert_eq!((status, reason), (json!("failed"), json!("expired")));
    }
    let state = provider.state();
    assert_eq!(state.cancelled.len(), state.asked.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_dials_for_ever_keeps_nobody_waiting_for_ever() {
    let calls = CallSettings {
        max_queue: Duration::from_millis(100),
        ..CallSettings::default()
    };
    let state = State {
        holds: true,
        is_stuck: true,
        ..State::default()
    };
    let (app, provider) = with(state, calls, Duration::from_secs(1)).await;
    let id = made(&app, 4).await;
    app.dial();
    handed_over(&provider, 4).await;
    let batch = reads(&app, &id, |batch| batch["status"] == "completed").await;
    assert_eq!(batch["counts"], all(0, 4));
    for [status, reason, _] in recipients(&app, &id).await {
        assert_eq!((status, reason), (json!("failed"), json!("expired")));
    }
    let state = provider.state();
    assert_eq!(state.cancelled.len(), 1);
    assert_eq!(state.alone, []);
}
