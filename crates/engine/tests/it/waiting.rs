//! What the agent says on spoken lines while a reply takes long, and before a call becomes too long.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::CallOutcome::{Completed, Failed};
use offhook_domain::FailureReason::AgentError;
use offhook_domain::TerminationReason as Reason;
use offhook_engine::ports::{ModelError, Role, ToolCall, ToolDefinition, ToolOutcome, Tools};
use offhook_engine::voice::Ambient;
use tokio::time::sleep;

use crate::it::fakes::{Does, FakeModel, FakeModels};
use crate::it::phone::{Phone, Stage, stage};

const SECOND: Duration = Duration::from_secs(1);

fn on_stage(model: &FakeModel) -> Stage {
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", model);
    stage
}

async fn asked(phone: &Phone, question: &str) {
    phone.answer().await;
    sleep(2 * SECOND).await;
    phone.says(question).await;
}

/// A slow tool.
struct Slow;

#[async_trait]
impl Tools for Slow {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::new([ToolDefinition {
            name: "look".into(),
            description: "Looks things up.".into(),
            parameters: "{}".into(),
            acts: true,
        }])
    }

    async fn call(&self, _: &ToolCall) -> ToolOutcome {
        sleep(5 * SECOND).await;
        ToolOutcome::Answer("drawer".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_gets_one_filler_phrase_that_is_not_in_its_history() {
    let slow = [Does::Wait(5 * SECOND), Does::Write("I see."), Does::Finish];
    let model = FakeModel::new(&slow).then(&[Does::Write("Go on."), Does::Finish]);
    let phone = on_stage(&model).dial();
    asked(&phone, "Who is this?").await;
    sleep(9 * SECOND).await;
    phone.says("And then?").await;
    sleep(4 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script[1..],
        [
            "U: Who is this?",
            "A: One moment, please. I see.",
            "U: And then?",
            "A: Go on.",
        ]
    );
    let requests = model.asked();
    let said = requests[1].messages.iter();
    let said: Vec<&str> = said
        .filter(|message| message.role == Role::Assistant)
        .map(|message| &*message.content)
        .collect();
    assert_eq!(said, ["Hello, Eva here.", "I see."]);
    // The latency is the reply's.
    assert!(end.measured[0].first_frame_ms > 5_000, "{:?}", end.measured);
    assert_eq!(end.measured.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_tool_is_asked_for_patience_in_their_language() {
    let call = [Does::Call("look", "{}"), Does::Finish];
    let model = FakeModel::new(&call).then(&[Does::Write("En el cajón."), Does::Finish]);
    let mut stage = on_stage(&model);
    stage.tools = Arc::new(Slow);
    stage.persona.language = "es-MX".to_owned();
    let phone = stage.dial();
    asked(&phone, "¿Dónde está?").await;
    sleep(10 * SECOND).await;
    let end = phone.hangs_up().await;
    assert_eq!(
        end.script[1..],
        [
            "U: ¿Dónde está?",
            "A: Un momento, por favor.",
            "T: look({}) → drawer",
            "A: En el cajón.",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_though_somebody_spoke_into_the_request_for_patience() {
    let slow = [Does::Wait(4 * SECOND), Does::Write("I see."), Does::Finish];
    let model = FakeModel::new(&slow).then(&[Does::Write("Eva."), Does::Finish]);
    let phone = on_stage(&model).dial();
    asked(&phone, "Who is this?").await;
    // The turn is over after 0.7 s; 2 s later the agent begins to speak, after 0.2 s.
    sleep(Duration::from_millis(3_600)).await;
    phone.says("Stop please stop").await;
    sleep(5 * SECOND).await;
    let end = phone.hangs_up().await;
    let [_, question, patience, stop, answer] = &end.script[..] else {
        panic!("{:?}", end.script)
    };
    assert_eq!(question, "U: Who is this?");
    assert!(
        patience.starts_with("A: One") && patience.ends_with(" --"),
        "{patience}"
    );
    assert_eq!(stop, "U: Stop please stop");
    assert_eq!(answer, "A: Eva.");
    let requests = model.asked();
    let heard = requests[1]
        .messages
        .iter()
        .filter(|it| it.role == Role::User);
    assert_eq!(heard.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_apology_comes_behind_the_request_for_patience() {
    let model = FakeModel::new(&[Does::Wait(3 * SECOND), Does::Fail(ModelError::Timeout)]);
    let phone = on_stage(&model).dial();
    asked(&phone, "Who is this?").await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Failed(AgentError));
    let last = end.script.last().map(String::as_str);
    let last = last.unwrap_or_default();
    assert!(
        last.starts_with("A: One moment, please. I am sorry, I have"),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_at_its_maximum_length_ends_after_a_warning_in_the_models_history() {
    let model = FakeModel::says("I see.");
    let mut stage = on_stage(&model);
    stage.persona.max_duration = 40 * SECOND;
    stage.persona.silence_timeout = 100 * SECOND;
    let phone = stage.dial();
    asked(&phone, "Who is this?").await;
    sleep(28 * SECOND).await;
    phone.says("And then?").await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Completed(Reason::MaxDuration));
    assert_eq!(
        end.script[2..],
        [
            "A: I see.",
            "A: I am sorry, our call ends in a few seconds.",
            "U: And then?",
            "A: I see.",
        ]
    );
    let told = |at: usize| {
        model.asked()[at].messages[0]
            .content
            .contains("ends in a few")
    };
    assert_eq!((told(0), told(1)), (false, true));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_interrupted_by_the_warning_and_a_short_call_has_none() {
    let model = FakeModel::says("I see.");
    let mut stage = on_stage(&model);
    stage.persona.max_duration = 40 * SECOND;
    let phone = stage.dial();
    phone.answer().await;
    sleep(Duration::from_millis(24_500)).await;
    phone.says("one two three four five six seven").await;
    let end = phone.end().await;
    assert_eq!(
        end.script[end.script.len() - 2..],
        [
            "U: one two three four five six seven",
            "A: I am sorry, our call ends in a few seconds. I see.",
        ]
    );
    let mut stage = on_stage(&model);
    stage.persona.max_duration = 30 * SECOND;
    let phone = stage.dial();
    phone.answer().await;
    let end = phone.end().await;
    assert_eq!(end.outcome(), Completed(Reason::MaxDuration));
    assert!(
        !end.script.iter().any(|line| line.contains("ends in")),
        "{:?}",
        end.script
    );
}

#[tokio::test(start_paused = true)]
async fn background_sound_starts_with_the_answer() {
    let mut stage = stage();
    stage.ambient = Some(Ambient::Cafe);
    let phone = stage.dial();
    sleep(SECOND).await;
    assert_eq!(*phone.wire.background.lock(), None);
    phone.answer().await;
    sleep(SECOND).await;
    let heard = phone.wire.background.lock().clone();
    assert_eq!(heard, Some(Ambient::Cafe.sound()));
    phone.hangs_up().await;
}
