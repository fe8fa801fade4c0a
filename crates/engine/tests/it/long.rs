//! A call of two hours, on a clock that runs as fast as the machine can.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_domain::CallOutcome::Completed;
use offhook_domain::TerminationReason::MaxDuration;
use tokio::time::sleep;

use crate::it::fakes::{FakeModel, FakeModels};
use crate::it::phone::{FakeVoice, stage};

const SECOND: Duration = Duration::from_secs(1);
const TWO_HOURS: Duration = Duration::from_secs(7_200);

/// One turn of each side, in seconds.
const TURNS_TAKE: u64 = 12;

/// The process's memory in KiB; `None` if the system does not report it.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn a_call_of_two_hours_neither_grows_nor_drifts() {
    let model = FakeModel::says("I see. Go on.");
    let voice = FakeVoice::default();
    let mut stage = stage();
    stage.persona.max_duration = TWO_HOURS;
    stage.persona.silence_timeout = 60 * SECOND;
    stage.models = FakeModels::default().with("main", &model);
    stage.voices = vec![voice.clone()];
    let phone = stage.dial();
    phone.answer().await;
    // The agent announces the end of the call's time, which does not count as a turn here.
    let turns = TWO_HOURS.as_secs() / TURNS_TAKE - 3;
    let mut held = Vec::new();
    for turn in 1..=turns {
        sleep(7 * SECOND).await;
        phone.says("Where is my order?").await;
        sleep(4 * SECOND).await;
        // Clears the test's own records.
        phone.forgets();
        model.asked.lock().clear();
        voice.asked.lock().clear();
        if turn % (turns / 8) == 0 {
            held.extend(resident_kib());
        }
    }
    let wire = Arc::clone(&phone.wire);
    let end = phone.end().await;

    assert_eq!(end.outcome(), Completed(MaxDuration));
    assert!(end.took.abs_diff(TWO_HOURS) < SECOND, "{:?}", end.took);
    // Every 20 ms of it was offered to the recorder, once.
    let ticks = wire.recorded.load(Ordering::Relaxed) as u64;
    assert!(
        ticks.abs_diff(TWO_HOURS.as_secs() * 50) <= 2,
        "{ticks} ticks"
    );
    let said = |line: &str| end.script.iter().filter(|it| *it == line).count() as u64;
    assert_eq!(said("U: Where is my order?"), turns);
    assert_eq!(said("A: I see. Go on."), turns);
    assert_eq!(end.measured.len() as u64, turns);
    // The last reply came as fast as the first.
    let took = |at: usize| end.measured[at].first_frame_ms;
    let slowest = end.measured.iter().map(|it| it.first_frame_ms).max();
    assert!(slowest.unwrap().abs_diff(took(0)) <= 20, "{slowest:?}");
    // Only a turn's words stay: even a hundred times the transcript would be less.
    if let (Some(early), Some(late)) = (held.get(1), held.last()) {
        assert!(late.saturating_sub(*early) < 8 * 1_024, "{held:?} KiB");
    }
}
