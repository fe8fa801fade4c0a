//! An agent says that something is done only after a tool has done it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_engine::ports::{LegEvent, ToolCall, ToolDefinition, ToolOutcome, Tools};
use offhook_engine::{
    ChatAnswer, ChatPiece, ChatSink, ClaimLost, Dialogue, Latencies, Turn, TurnRole, answer,
};
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::it::fakes::{Does, End, FakeModel, FakeModels, TokioClock, persona, stage};

const SECOND: Duration = Duration::from_secs(1);

const HONEST: &str = "I have not been able to confirm that yet.";

/// `book`, which acts, and `look`, which does not.
struct Desk(ToolOutcome);

#[async_trait]
impl Tools for Desk {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        let tool = |name: &str, acts| ToolDefinition {
            name: name.into(),
            description: "".into(),
            parameters: "{}".into(),
            acts,
        };
        Arc::new([tool("book", true), tool("look", false)])
    }

    async fn call(&self, _: &ToolCall) -> ToolOutcome {
        self.0.clone()
    }
}

fn works() -> Desk {
    Desk(ToolOutcome::Answer("Booked.".to_owned()))
}

fn fails() -> Desk {
    Desk(ToolOutcome::Failed("It is taken.".to_owned()))
}

/// A call in which the customer says these things. The transcript is from the first of them on.
async fn call(model: &FakeModel, tools: Desk, guard: bool, words: &[&str]) -> End {
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", model);
    stage.tools = Arc::new(tools);
    stage.persona.guard = guard;
    let call = stage.begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    for words in words {
        call.customer_says(words).await;
        sleep(15 * SECOND).await;
    }
    call.send(LegEvent::Hangup).await;
    call.end().await
}

fn uses(tool: &'static str, words: &'static str) -> [Does; 3] {
    [Does::Write(words), Does::Call(tool, "{}"), Does::Finish]
}

fn says(words: &'static str) -> [Does; 2] {
    [Does::Write(words), Does::Finish]
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_a_tool_is_replaced_once_and_the_model_sees_what_was_said() {
    let model = FakeModel::new(&says(
        "All right. I have booked you for five. Your table is reserved. Anything else?",
    ));
    let end = call(&model, works(), true, &["Book me at five.", "No."]).await;
    let said = format!("All right. {HONEST} Anything else?");
    assert_eq!(end.script()[2], format!("A: {said}"));
    let source = end.turns[2].source.as_ref().unwrap();
    assert_eq!(source.unproven, 1);
    let asked = model.asked();
    assert_eq!(&*asked[1].messages[3].content, said);
}

#[tokio::test(start_paused = true)]
async fn without_a_guard_everything_is_said() {
    let model = FakeModel::new(&says("I have booked you for five."));
    let end = call(&model, works(), false, &["Book me at five."]).await;
    assert_eq!(end.script()[2], "A: I have booked you for five.");
    assert_eq!(end.turns[2].source.as_ref().unwrap().unproven, 0);
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_its_tool_and_may_be_said_again_later() {
    let model = FakeModel::new(&uses("book", "One moment. I have booked you for five."))
        .then(&says("I have booked you for five."))
        .then(&says(
            "Yes, your table is reserved. I have sent you an email.",
        ));
    let end = call(&model, works(), true, &["Book me at five.", "Really?"]).await;
    assert_eq!(
        end.script()[2..],
        [
            "A: One moment.".to_owned(),
            "T: book({}) → Booked.".to_owned(),
            "A: I have booked you for five.".to_owned(),
            "U: Really?".to_owned(),
            // The one action is named; no tool has sent anything.
            format!("A: Yes, your table is reserved. {HONEST}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_or_only_looks_proves_nothing() {
    for (tool, tools, answer) in [
        ("book", fails(), "It is taken."),
        ("look", works(), "Booked."),
    ] {
        let model = FakeModel::new(&uses(tool, "Let me see."))
            .then(&says("Thanks for waiting, I have booked you for five."));
        let end = call(&model, tools, true, &["Book me at five."]).await;
        assert_eq!(
            end.script()[2..],
            [
                "A: Let me see.".to_owned(),
                format!("T: {tool}({{}}) → {answer}"),
                format!("A: {HONEST}"),
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_replaced_sentence_is_left_out() {
    let model = FakeModel::new(&says(
        "I have booked your appointment with Doctor Patel for Tuesday, and you get a text. Bye!",
    ));
    let end = call(&model, works(), true, &["Book me for Tuesday."]).await;
    assert_eq!(end.script()[2], format!("A: {HONEST} Bye!"));
}

/// The reported text.
#[derive(Default)]
struct Written(Mutex<Vec<String>>);

#[async_trait]
impl ChatSink for Written {
    fn piece(&self, piece: ChatPiece) {
        if let ChatPiece::Text(text) = piece {
            self.0.lock().push(text);
        }
    }

    async fn at_work(&self, _: Vec<String>) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn turns(&self, _: Vec<Turn>) -> Result<(), ClaimLost> {
        Ok(())
    }
}

async fn chat(
    model: &FakeModel,
    tools: Desk,
    said: &[(TurnRole, &str)],
) -> (Vec<String>, ChatAnswer) {
    let mut persona = persona();
    persona.guard = true;
    let models = FakeModels::default().with("main", model);
    let dialogue = Dialogue::new(Arc::new(persona), Arc::new(models), Latencies::new())
        .in_writing()
        .with_tools(tools.definitions())
        .behind(said.iter().map(|(role, text)| (*role, (*text).to_owned())));
    let (clock, told) = (TokioClock::new(), Written::default());
    let answered = answer(dialogue, &tools, &clock, &told, std::future::pending());
    let answered = answered.await.unwrap();
    (told.0.into_inner(), answered)
}

#[tokio::test(start_paused = true)]
async fn a_chat_streams_its_sentences_and_replaces_a_claim() {
    let does = [
        Does::Write("Sure. I ha"),
        Does::Write("ve cancelled it.\n\n- One\n- Two"),
        Does::Finish,
    ];
    let customer = [(TurnRole::User, "Cancel it.")];
    let (pieces, answer) = chat(&FakeModel::new(&does), works(), &customer).await;
    let honest = format!(" {HONEST}");
    assert_eq!(pieces, ["Sure.", &honest, "\n\n- One\n", "- Two"]);
    let last = answer.last.unwrap();
    assert_eq!(last.text, format!("Sure. {HONEST}\n\n- One\n- Two"));
    assert_eq!(last.source.unwrap().unproven, 1);
}

#[tokio::test(start_paused = true)]
async fn a_chat_may_repeat_what_it_has_said_but_no_more() {
    let earlier = [
        (TurnRole::User, "Cancel it."),
        (TurnRole::Tool, "book({}) → Booked."),
        (TurnRole::Agent, "I have cancelled it."),
        (TurnRole::User, "Sure?"),
    ];
    let model = FakeModel::new(&says("Yes, it has been cancelled. I have refunded you."));
    let (pieces, _) = chat(&model, works(), &earlier).await;
    assert_eq!(
        pieces.concat(),
        format!("Yes, it has been cancelled. {HONEST}")
    );
}
