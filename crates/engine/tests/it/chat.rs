//! Text replies: streamed, with tools in between, and cut where they are stopped.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_engine::ports::{Role, ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools};
use offhook_engine::{
    ChatAnswer, ChatEnd, ChatPiece, ChatSink, ClaimLost, Dialogue, Latencies, Turn, TurnRole,
    answer,
};
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::it::fakes::{Does, FakeModel, FakeModels, TokioClock, persona};

const SECOND: Duration = Duration::from_secs(1);

/// The reported pieces, and the turns.
#[derive(Default)]
struct Recorded {
    pieces: Mutex<Vec<ChatPiece>>,
    turns: Mutex<Vec<(TurnRole, String)>>,
    at_work: Mutex<Vec<Vec<String>>>,
    is_lost: bool,
}

#[async_trait]
impl ChatSink for Recorded {
    fn piece(&self, piece: ChatPiece) {
        self.pieces.lock().push(piece);
    }

    async fn at_work(&self, told: Vec<String>) -> Result<(), ClaimLost> {
        self.at_work.lock().push(told);
        if self.is_lost { Err(ClaimLost) } else { Ok(()) }
    }

    async fn turns(&self, turns: Vec<Turn>) -> Result<(), ClaimLost> {
        self.turns
            .lock()
            .extend(turns.into_iter().map(|turn| (turn.role, turn.text)));
        if self.is_lost { Err(ClaimLost) } else { Ok(()) }
    }
}

/// Tools that all take a second and have the same outcome.
struct Toolbox(ToolOutcome);

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

    async fn call(&self, _: &ToolCall) -> ToolOutcome {
        sleep(SECOND).await;
        self.0.clone()
    }
}

fn tool(text: &str) -> Toolbox {
    Toolbox(ToolOutcome::Answer(text.to_owned()))
}

fn dialogue(model: &FakeModel, tools: &dyn Tools) -> Dialogue {
    let models = FakeModels::default().with("main", model);
    let said = [(TurnRole::Agent, "Hi."), (TurnRole::User, "A room?")];
    Dialogue::new(Arc::new(persona()), Arc::new(models), Latencies::new())
        .in_writing()
        .with_tools(tools.definitions())
        .behind(said.map(|(role, text)| (role, text.to_owned())))
}

async fn answered(model: &FakeModel, tools: &dyn Tools, told: &Recorded) -> ChatAnswer {
    let clock = TokioClock::new();
    let answer = answer(dialogue(model, tools), tools, &clock, told, pending());
    answer.await.unwrap()
}

fn last(answer: &ChatAnswer) -> (&str, bool) {
    let turn = answer.last.as_ref().unwrap();
    (&turn.text, turn.interrupted)
}

fn text(text: &str) -> ChatPiece {
    ChatPiece::Text(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn chat_text_streams_unchanged_and_its_prompt_does_not_mention_speech() {
    let does = [
        Does::Write("\nOne. T"),
        Does::Write("wo\n- three"),
        Does::Finish,
    ];
    let model = FakeModel::new(&does);
    let told = Recorded::default();
    let answer = answered(&model, &tool("x"), &told).await;
    assert_eq!(*told.pieces.lock(), [text("One. T"), text("wo\n- three")]);
    assert_eq!(last(&answer), ("One. Two\n- three", false));
    assert_eq!((answer.end, answer.is_begun), (ChatEnd::Complete, true));
    let asked = model.asked().remove(0);
    assert!(!asked.messages[0].content.contains("spoken"));
    let shown: Vec<_> = asked.messages[1..].iter().map(|m| &*m.content).collect();
    assert_eq!(shown, ["Hi.", "A room?"]);
}

#[tokio::test(start_paused = true)]
async fn tools_are_used_between_two_parts_of_an_answer() {
    let model = FakeModel::new(&[Does::Write("Look."), Does::Call("look", "{}"), Does::Finish])
        .then(&[Does::Write("It is 7."), Does::Finish]);
    let told = Recorded::default();
    let answer = answered(&model, &tool("7"), &told).await;
    let expected = [
        text("Look."),
        ChatPiece::ToolStarted("look".to_owned()),
        ChatPiece::ToolFinished("look".to_owned()),
        text("\n\n"),
        text("It is 7."),
    ];
    assert_eq!(*told.pieces.lock(), expected);
    let turns = [
        (TurnRole::Agent, "Look.".to_owned()),
        (TurnRole::Tool, "look({}) → 7".to_owned()),
    ];
    assert_eq!(*told.turns.lock(), turns);
    assert_eq!(last(&answer), ("It is 7.", false));
    // The transcript as it would be if no answer had come from the tool.
    let unheard = told.at_work.lock().concat();
    assert_eq!(unheard.len(), 1);
    assert!(
        unheard[0].starts_with("look({}) → Nobody knows whether"),
        "{unheard:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_tool_is_set_to_work_by_who_has_lost_the_claim() {
    let model = FakeModel::new(&[Does::Call("look", "{}"), Does::Finish]);
    let told = Recorded {
        is_lost: true,
        ..Recorded::default()
    };
    let (clock, tools) = (TokioClock::new(), tool("x"));
    let lost = offhook_engine::answer(dialogue(&model, &tools), &tools, &clock, &told, pending());
    assert_eq!(lost.await, Err(ClaimLost));
    assert_eq!(*told.pieces.lock(), [], "nothing was begun");
}

#[tokio::test(start_paused = true)]
async fn the_agent_ends_the_conversation_and_what_needs_a_line_is_not_done() {
    let model = FakeModel::new(&[Does::Write("Bye."), Does::Call("look", "{}"), Does::Finish]);
    let told = Recorded::default();
    let end = Toolbox(ToolOutcome::Act(ToolAction::EndCall));
    let answer = answered(&model, &end, &told).await;
    assert_eq!((answer.end, answer.last), (ChatEnd::Farewell, None));
    assert_eq!(told.turns.lock()[0], (TurnRole::Agent, "Bye.".to_owned()));

    let model = FakeModel::new(&[Does::Call("look", "{}"), Does::Finish])
        .then(&[Does::Write("Sorry."), Does::Finish]);
    let digits = Toolbox(ToolOutcome::Act(ToolAction::SendDigits("1".to_owned())));
    let answer = answered(&model, &digits, &Recorded::default()).await;
    assert_eq!(last(&answer), ("Sorry.", false));
    let asked = model.asked().remove(1);
    let told = &asked.messages[asked.messages.len() - 1];
    assert_eq!(told.role, Role::Tool);
    assert!(told.content.starts_with("Not done"));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_answer_is_what_was_written_of_it() {
    let model = FakeModel::new(&[
        Does::Write("One "),
        Does::Wait(3 * SECOND),
        Does::Write("two."),
        Does::Finish,
    ]);
    let (told, clock, tools) = (Recorded::default(), TokioClock::new(), tool("x"));
    let stop = sleep(2 * SECOND);
    let answered = answer(dialogue(&model, &tools), &tools, &clock, &told, stop);
    let answered = answered.await.unwrap();
    assert_eq!(answered.end, ChatEnd::Stopped);
    assert_eq!(last(&answered), ("One", true));
    // Before any text was written there is nothing to keep.
    let model = FakeModel::new(&[Does::Wait(5 * SECOND), Does::Finish]);
    let stop = sleep(2 * SECOND);
    let answered = answer(dialogue(&model, &tools), &tools, &clock, &told, stop);
    let answered = answered.await.unwrap();
    assert_eq!((answered.last, answered.is_begun), (None, false));
}

#[tokio::test(start_paused = true)]
async fn without_a_model_there_is_no_answer_and_a_lost_claim_ends_it() {
    let model = FakeModel::new(&[Does::Finish]);
    let answer = answered(&model, &tool("x"), &Recorded::default()).await;
    assert_eq!((answer.end, answer.is_begun), (ChatEnd::NoReply, false));
    let model = FakeModel::new(&[Does::Write("Look."), Does::Call("look", "{}"), Does::Finish]);
    let told = Recorded {
        is_lost: true,
        ..Recorded::default()
    };
    let (clock, tools) = (TokioClock::new(), tool("x"));
    let lost = offhook_engine::answer(dialogue(&model, &tools), &tools, &clock, &told, pending());
    assert_eq!(lost.await, Err(ClaimLost));
}

#[tokio::test(start_paused = true)]
async fn a_dialogue_recalls_the_tools_of_its_transcript() {
    let model = FakeModel::says("Yes.");
    let models = FakeModels::default().with("main", &model);
    let said = [
        (TurnRole::User, "Two?"),
        (TurnRole::Agent, "Look."),
        (TurnRole::Tool, r#"look({"n":1}) → 7"#),
        (TurnRole::Tool, "look({}) → 8"),
        (TurnRole::Agent, "Seven."),
        (TurnRole::User, "Sure?"),
    ];
    let dialogue = Dialogue::new(Arc::new(persona()), Arc::new(models), Latencies::new())
        .in_writing()
        .behind(said.map(|(role, text)| (role, text.to_owned())));
    let mut reply = dialogue.reply();
    while reply.next().await.is_some() {}
    let asked = model.asked().remove(0);
    let shown: Vec<_> = asked.messages[1..]
        .iter()
        .map(|m| (m.role, &*m.content, m.calls.len()))
        .collect();
    let expected = [
        (Role::User, "Two?", 0),
        (Role::Assistant, "Look.", 0),
        (Role::Assistant, "", 2),
        (Role::Tool, "7", 0),
        (Role::Tool, "8", 0),
        (Role::Assistant, "Seven.", 0),
        (Role::User, "Sure?", 0),
    ];
    assert_eq!(shown, expected);
    assert_eq!(asked.messages[3].calls[0].arguments, r#"{"n":1}"#);
}
