//! Prompts, fallbacks and routing.

use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::{ModelError, Models, Role};
use offhook_engine::{Dialogue, Latencies, NoReply, Piece, Routing};
use tokio::time::Instant;

use crate::it::fakes::{Does, FakeModel, FakeModels, choice, persona};

const SECOND: Duration = Duration::from_secs(1);

fn dialogue(
    models: &FakeModels,
    fallback: &[&str],
    routing: Routing,
    latencies: &Latencies,
) -> Dialogue {
    let mut persona = persona();
    persona.llm = choice("main", fallback);
    persona.llm.routing = routing;
    let models: Arc<dyn Models> = Arc::new(models.clone());
    let mut dialogue = Dialogue::new(Arc::new(persona), models, latencies.clone());
    dialogue.push_customer("Hi");
    dialogue
}

async fn reply(dialogue: &Dialogue) -> Result<String, NoReply> {
    let mut reply = dialogue.reply();
    let mut text = Vec::new();
    while let Some(piece) = reply.next().await {
        match piece? {
            Piece::Sentence(sentence) => text.push(sentence),
            Piece::Calls(calls) => text.push(format!("{calls:?}")),
        }
    }
    Ok(text.join(" "))
}

#[tokio::test(start_paused = true)]
async fn a_model_is_shown_the_prompt_and_the_history_in_order() {
    let model = FakeModel::says("Yes.");
    let models = FakeModels::default().with("main", &model);
    let mut dialogue = dialogue(&models, &[], Routing::Fixed, &Latencies::new());
    dialogue.push_agent("Hello.");
    dialogue.push_agent("  ");
    dialogue.push_customer("A room?");
    assert!(dialogue.awaits_reply());
    assert_eq!(reply(&dialogue).await.as_deref(), Ok("Yes."));
    let asked = model.asked().remove(0);
    assert_eq!(asked.model, "m");
    assert!(asked.messages[0].content.starts_with("You are Eva.\n\n"));
    let rest: Vec<_> = asked.messages[1..]
        .iter()
        .map(|m| (m.role, &*m.content))
        .collect();
    assert_eq!(
        rest,
        [
            (Role::User, "Hi"),
            (Role::Assistant, "Hello."),
            (Role::User, "A room?")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_silent_for_six_seconds_is_replaced_by_the_next() {
    let slow = FakeModel::new(&[Does::Wait(60 * SECOND), Does::Write("Late."), Does::Finish]);
    let models = FakeModels::default()
        .with("main", &slow)
        .with("second", &FakeModel::says("In time."));
    let began = Instant::now();
    let dialogue = dialogue(&models, &["second"], Routing::Fixed, &Latencies::new());
    assert_eq!(reply(&dialogue).await.as_deref(), Ok("In time."));
    assert_eq!(began.elapsed(), 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_before_its_first_sentence_leaves_no_trace() {
    let broken = FakeModel::new(&[Does::Write("I was about"), Does::Fail(ModelError::Timeout)]);
    let empty = FakeModel::new(&[Does::Finish]);
    let models = FakeModels::default()
        .with("main", &broken)
        .with("empty", &empty)
        .with("third", &FakeModel::says("Here I am."));
    let dialogue = dialogue(
        &models,
        &["empty", "third"],
        Routing::Fixed,
        &Latencies::new(),
    );
    assert_eq!(reply(&dialogue).await.as_deref(), Ok("Here I am."));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_breaks_off_later_ends_the_text_there() {
    let broken = FakeModel::new(&[Does::Write("First of all. Then"), Does::Wait(60 * SECOND)]);
    let second = FakeModel::says("Never asked.");
    let models = FakeModels::default()
        .with("main", &broken)
        .with("second", &second);
    let dialogue = dialogue(&models, &["second"], Routing::Fixed, &Latencies::new());
    assert_eq!(reply(&dialogue).await.as_deref(), Ok("First of all. Then"));
    assert!(second.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_any_model_there_is_no_reply() {
    let models = FakeModels::default();
    let dialogue = dialogue(&models, &["b", "c"], Routing::Fixed, &Latencies::new());
    assert_eq!(reply(&dialogue).await, Err(NoReply));
}

#[tokio::test(start_paused = true)]
async fn routing_fastest_takes_the_model_that_was_lately_the_fastest() {
    let slow = FakeModel::new(&[Does::Wait(SECOND), Does::Write("Slow."), Does::Finish]);
    let models = FakeModels::default()
        .with("main", &slow)
        .with("second", &FakeModel::says("Fast."));
    let latencies = Latencies::new();
    let dialogue = dialogue(&models, &["second"], Routing::Fastest, &latencies);
    assert_eq!(
        reply(&dialogue).await.as_deref(),
        Ok("Slow."),
        "nothing is known yet"
    );
    for _ in 0..3 {
        assert_eq!(reply(&dialogue).await.as_deref(), Ok("Fast."));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_reply_is_asked_for_anew() {
    let model = FakeModel::new(&[Does::Wait(SECOND), Does::Write("Yes."), Does::Finish]);
    let models = FakeModels::default().with("main", &model);
    let dialogue = dialogue(&models, &[], Routing::Fixed, &Latencies::new());
    let mut first = dialogue.reply();
    let unfinished = tokio::time::timeout(SECOND / 2, first.next()).await;
    assert!(unfinished.is_err());
    assert_eq!(
        first.next().await,
        Some(Ok(Piece::Sentence("Yes.".to_owned()))),
        "waiting may be resumed"
    );
    drop(first);
    assert_eq!(reply(&dialogue).await.as_deref(), Ok("Yes."));
    assert_eq!(model.asked().len(), 2);
}
