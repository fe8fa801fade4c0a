//! Tools in a conversation: when they run, the model's view of them, and their effects on the line.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::CallOutcome::Completed;
use offhook_domain::TerminationReason as Reason;
use offhook_engine::EndRequest;
use offhook_engine::ports::{
    LegEvent, Role, ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools,
};
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::it::fakes::{Does, FakeModel, FakeModels, OnStage, Stage, heard, stage};

const SECOND: Duration = Duration::from_secs(1);

/// Tools that all take a second and have the same outcome.
struct Toolbox {
    outcome: ToolOutcome,
    takes: Duration,
    called: Mutex<Vec<String>>,
}

#[async_trait]
impl Tools for Toolbox {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::new([ToolDefinition {
            name: "look".into(),
            description: "Looks things up.".into(),
            parameters: "{}".into(),
            acts: true,
        }])
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.called.lock().push(call.name.clone());
        sleep(self.takes).await;
        self.outcome.clone()
    }

    async fn opt_out(&self) -> bool {
        sleep(self.takes).await;
        self.called.lock().push("opt_out".to_owned());
        self.outcome == ToolOutcome::Answer("recorded".to_owned())
    }
}

fn toolbox(outcome: ToolOutcome) -> Arc<Toolbox> {
    Arc::new(Toolbox {
        outcome,
        takes: SECOND,
        called: Mutex::default(),
    })
}

fn answers(text: &str) -> Arc<Toolbox> {
    toolbox(ToolOutcome::Answer(text.to_owned()))
}

fn acts(action: ToolAction) -> Arc<Toolbox> {
    toolbox(ToolOutcome::Act(action))
}

fn on_stage(model: &FakeModel, tools: &Arc<Toolbox>) -> Stage {
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", model);
    stage.tools = Arc::<Toolbox>::clone(tools);
    stage
}

async fn asked(call: &OnStage) {
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Where is it?").await;
}

fn calling(words: &'static str) -> FakeModel {
    let call = Does::Call("look", r#"{"id":7}"#);
    match words {
        "" => FakeModel::new(&[call, Does::Finish]),
        words => FakeModel::new(&[Does::Write(words), call, Does::Finish]),
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_runs_while_the_agent_speaks_and_the_model_gets_its_answer() {
    let model = calling("Let me see.").then(&[Does::Write("In the drawer."), Does::Finish]);
    let tools = answers("drawer");
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(
        end.script()[1..],
        [
            "U: Where is it?",
            "A: Let me see.",
            r#"T: look({"id":7}) → drawer"#,
            "A: In the drawer."
        ]
    );
    assert_eq!(end.turns[3].duration_ms, 1_000);
    // Endpointing, then the tool's second, while eleven characters were being spoken.
    let (first, second) = (end.said[1].0, end.said[2].0);
    assert_eq!(second - first, SECOND);
    assert_eq!(
        end.latencies(),
        [700],
        "to the first word, whatever follows"
    );
    let requests = model.asked();
    assert_eq!(requests.len(), 2);
    assert_eq!(&*requests[0].tools[0].name, "look");
    assert!(requests.iter().all(|request| request.may_call));
    let [.., called, answered] = &*requests[1].messages else {
        panic!("messages")
    };
    assert_eq!(called.role, Role::Assistant);
    assert_eq!(&*called.content, "Let me see.");
    assert_eq!(called.calls[0].id, "c1");
    assert_eq!((answered.role, &*answered.content), (Role::Tool, "drawer"));
    assert_eq!(answered.answers.as_deref(), Some("c1"));
}

#[tokio::test(start_paused = true)]
async fn after_three_steps_the_model_must_answer_in_words() {
    let model = calling("");
    let tools = answers("more");
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(60 * SECOND).await;
    let end = call.end().await;
    let may_call: Vec<bool> = model
        .asked()
        .iter()
        .map(|request| request.may_call)
        .collect();
    assert_eq!(may_call, [true, true, true, false]);
    assert_eq!(tools.called.lock().len(), 3);
    assert_eq!(
        end.script()
            .last()
            .map(|line| line.starts_with("A: I am sorry")),
        Some(true)
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_of_the_customer_may_use_tools_again() {
    let words: &[Does] = &[Does::Write("Here."), Does::Finish];
    let step: &[Does] = &[Does::Call("look", "{}"), Does::Finish];
    let model = FakeModel::new(step)
        .then(step)
        .then(step)
        .then(words)
        .then(step)
        .then(words);
    let tools = answers("more");
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(10 * SECOND).await;
    call.customer_says("And this?").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    call.end().await;
    let may_call: Vec<bool> = model
        .asked()
        .iter()
        .map(|request| request.may_call)
        .collect();
    assert_eq!(may_call, [true, true, true, false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_call_comes_after_the_last_words_which_nothing_interrupts() {
    let model = calling("It was a pleasure to talk to you. Goodbye!");
    let call = on_stage(&model, &acts(ToolAction::EndCall)).begin();
    asked(&call).await;
    sleep(2 * SECOND).await;
    call.send(LegEvent::CustomerStarted).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::AgentHangup));
    assert!(end.hung_up);
    assert_eq!(
        end.script()[2..],
        [
            "A: It was a pleasure to talk to you. Goodbye!",
            r#"T: look({"id":7}) → Done."#
        ]
    );
}

fn front_desk() -> ToolAction {
    let to = "+5215598765432".parse();
    ToolAction::Transfer {
        name: "front_desk".to_owned(),
        to: to.unwrap_or_else(|error| panic!("{error}")),
    }
}

#[tokio::test(start_paused = true)]
async fn a_transfer_hands_the_customer_over_and_ends_the_agents_part() {
    let model = calling("One moment, please.");
    let call = on_stage(&model, &acts(front_desk())).begin();
    asked(&call).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::Transferred));
    assert_eq!(end.did, ["transfer +5215598765432"]);
    assert_eq!(
        end.script()[2..],
        [
            "A: One moment, please.",
            r#"T: look({"id":7}) → Transferred to front_desk."#
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_model_learns_of_a_failed_transfer_and_the_call_goes_on() {
    let model = calling("").then(&[Does::Write("Nobody is there."), Does::Finish]);
    let call = on_stage(&model, &acts(front_desk())).begin();
    call.carrier.line.refuses.store(true, Ordering::Relaxed);
    asked(&call).await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::CustomerHangup));
    assert_eq!(
        end.script()[2..],
        [
            r#"T: look({"id":7}) → The transfer failed: the carrier refused."#,
            "A: Nobody is there."
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn digits_are_sent_once_the_agent_is_quiet() {
    let model = calling("I am dialing.").then(&[Does::Write("Done."), Does::Finish]);
    let call = on_stage(&model, &acts(ToolAction::SendDigits("1w2#".to_owned()))).begin();
    asked(&call).await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(end.did, ["digits 1w2#"]);
    let expected = [r#"T: look({"id":7}) → The digits were sent."#, "A: Done."];
    assert_eq!(end.script()[3..], expected);
}

#[tokio::test(start_paused = true)]
async fn as_many_digits_as_a_tool_may_send_have_the_time_that_they_take() {
    let model = calling("").then(&[Does::Write("Done."), Does::Finish]);
    let digits = format!("1{}#", "w".repeat(30));
    let sends = acts(ToolAction::SendDigits(digits.clone()));
    let call = on_stage(&model, &sends).begin();
    asked(&call).await;
    sleep(20 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(end.did, [format!("digits {digits}")]);
    let expected = [r#"T: look({"id":7}) → The digits were sent."#, "A: Done."];
    assert_eq!(end.script()[2..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_customer_who_interrupts_stops_the_words_and_not_the_tool() {
    let model = calling("Let me see what I can find.").then(&[Does::Write("Yes."), Does::Finish]);
    let tools = Arc::new(Toolbox {
        outcome: ToolOutcome::Answer("drawer".to_owned()),
        takes: 5 * SECOND,
        called: Mutex::default(),
    });
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(SECOND).await;
    call.send(LegEvent::CustomerStarted).await;
    sleep(SECOND).await;
    call.send(heard("Quick!")).await;
    sleep(10 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(
        end.script()[2..],
        [
            "U: Quick!",
            "A: Let m --",
            r#"T: look({"id":7}) → drawer"#,
            "A: Yes."
        ]
    );
    let messages: Vec<(Role, String)> = model.asked()[1].messages[3..]
        .iter()
        .map(|message| (message.role, message.content.to_string()))
        .collect();
    assert_eq!(
        messages,
        [
            (Role::Assistant, "Let m".to_owned()),
            (Role::Tool, "drawer".to_owned()),
            (Role::User, "Quick!".to_owned())
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_times_out_and_the_model_learns_it() {
    let model = calling("").then(&[Does::Write("Later, then."), Does::Finish]);
    let tools = Arc::new(Toolbox {
        outcome: ToolOutcome::Answer("never".to_owned()),
        takes: 600 * SECOND,
        called: Mutex::default(),
    });
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(15 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let script = call.end().await.script();
    assert_eq!(script[2], r#"T: look({"id":7}) → The tool took too long."#);
    assert_eq!(script[3], "A: Later, then.");
}

#[tokio::test(start_paused = true)]
async fn a_hang_up_does_not_wait_for_a_tool_and_the_transcript_says_so() {
    let model = calling("Let me see.");
    let tools = Arc::new(Toolbox {
        outcome: ToolOutcome::Answer("never".to_owned()),
        takes: 600 * SECOND,
        called: Mutex::default(),
    });
    let call = on_stage(&model, &tools).begin();
    asked(&call).await;
    sleep(3 * SECOND).await;
    call.control.end(EndRequest::ApiHangup);
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::ApiHangup));
    assert_eq!(
        end.script()[2..],
        [
            "A: Let me see.",
            r#"T: look({"id":7}) → The call was over before it answered: it may have been done, or not. --"#
        ]
    );
    assert_eq!(end.took, 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_customer_who_opts_out_is_recorded_before_the_agent_says_goodbye() {
    let model = FakeModel::new(&[Does::Write("But wait!"), Does::Finish]);
    let tools = answers("recorded");
    let call = on_stage(&model, &tools).begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Please stop calling me!").await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::AgentHangup));
    assert_eq!(
        end.script()[1..],
        [
            "U: Please stop calling me!",
            "A: You are on our list now, and we will not call you again. Goodbye."
        ]
    );
    assert_eq!(*tools.called.lock(), ["opt_out"]);
    assert_eq!(model.asked().len(), 0, "no model has a say in it");
}

#[tokio::test(start_paused = true)]
async fn an_opt_out_that_cannot_be_recorded_is_left_to_the_model() {
    let model = FakeModel::new(&[Does::Write("I will pass it on."), Does::Finish]);
    let tools = answers("nothing");
    let call = on_stage(&model, &tools).begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Please stop calling me!").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(end.script()[2..], ["A: I will pass it on."]);
}
