//! Data extraction from conversations.

use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::{Message, ModelError, Models, Purpose, Role};
use offhook_engine::{EXTRACTION_MAX_BYTES, Latencies, Misfit, NoData, extract};
use tokio::time::Instant;

use crate::it::fakes::{Does, FakeModel, FakeModels, choice};

const SCHEMA: &str = r#"{"type":"object"}"#;

/// Accepts a response that contains `good`.
fn judge(text: &str) -> Result<String, Misfit> {
    if text.contains("good") {
        return Ok(text.to_owned());
    }
    Err(Misfit {
        for_the_model: format!("`{text}` is not good."),
        for_people: "the answer is not good".to_owned(),
    })
}

async fn asked(models: FakeModels, transcript: &[Message]) -> Result<String, NoData> {
    let models: Arc<dyn Models> = Arc::new(models);
    let latencies = Latencies::new();
    let choice = choice("main", &["other"]);
    extract(&models, &latencies, &choice, SCHEMA, transcript, judge).await
}

async fn data(model: &FakeModel) -> Result<String, NoData> {
    asked(FakeModels::default().with("main", model), &transcript()).await
}

fn transcript() -> [Message; 2] {
    [
        Message::new(Role::Assistant, "Hola."),
        Message::new(Role::User, "Un cuarto."),
    ]
}

fn unfit() -> Result<String, NoData> {
    Err(NoData::Unfit("the answer is not good".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn data_is_asked_for_with_the_schema_and_the_transcript_as_text() {
    let model = FakeModel::says("good");
    assert_eq!(data(&model).await, Ok("good".to_owned()));
    let asked = model.asked();
    assert_eq!(asked.len(), 1);
    let asked = &asked[0];
    assert_eq!(asked.purpose, Purpose::Extraction);
    assert!(!asked.may_call);
    assert_eq!(asked.messages[0].content.lines().last(), Some(SCHEMA));
    let expected = "Agent: Hola.\nCustomer: Un cuarto.\n";
    assert_eq!(&*asked.messages[1].content, expected);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_written_again_once_with_what_was_wrong() {
    let bad = [Does::Write("bad"), Does::Finish];
    let good = [Does::Write("good"), Does::Finish];
    let model = FakeModel::new(&bad).then(&good);
    assert_eq!(data(&model).await, Ok("good".to_owned()));
    let asked = model.asked();
    let told = &asked[1].messages;
    assert_eq!((told[2].role, &*told[2].content), (Role::Assistant, "bad"));
    assert_eq!(told[3].role, Role::User);
    assert!(told[3].content.starts_with("`bad` is not good."));

    let model = FakeModel::new(&bad).then(&bad).then(&good);
    assert_eq!(data(&model).await, unfit());
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_or_takes_too_long_leaves_it_to_the_next_one() {
    let fifteen = Duration::from_secs(15);
    let slow: Vec<Does> = (0..9)
        .flat_map(|_| [Does::Wait(fifteen), Does::Write("good ")])
        .collect();
    for (does, took) in [
        (vec![Does::Fail(ModelError::Refused(500))], 0),
        (vec![], 0),
        (vec![Does::Finish], 0),
        (
            vec![
                Does::Write("good, and "),
                Does::Fail(ModelError::Unreachable),
            ],
            0,
        ),
        (vec![Does::Wait(Duration::from_secs(3_600))], 20),
        (slow, 60),
    ] {
        let first = FakeModel::new(&does);
        let other = FakeModel::new(&[Does::Write("bad"), Does::Finish])
            .then(&[Does::Write("good"), Does::Finish]);
        let both = FakeModels::default()
            .with("main", &first)
            .with("other", &other);
        let began = Instant::now();
        assert_eq!(asked(both, &transcript()).await, Ok("good".to_owned()));
        assert_eq!(began.elapsed(), Duration::from_secs(took));
        // The correction goes to the model that wrote the response.
        assert_eq!((first.asked().len(), other.asked().len()), (1, 2));

        let began = Instant::now();
        assert_eq!(data(&FakeModel::new(&does)).await, Err(NoData::NoReply));
        assert_eq!(began.elapsed(), Duration::from_secs(took));
    }
    let expected = Err(NoData::NoReply);
    assert_eq!(asked(FakeModels::default(), &transcript()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_where_the_customer_said_nothing_and_endless_answers_are_cut() {
    let model = FakeModel::says("good");
    let alone = [
        Message::new(Role::Assistant, "Hola."),
        Message::new(Role::User, " "),
        Message::new(Role::Tool, "x"),
    ];
    let models = || FakeModels::default().with("main", &model);
    assert_eq!(asked(models(), &alone).await, Err(NoData::NothingSaid));
    assert_eq!(asked(models(), &[]).await, Err(NoData::NothingSaid));
    assert!(model.asked().is_empty());

    let endless: Vec<Does> = vec![Does::Write("more and more "); 20_000];
    let model = FakeModel::new(&endless);
    assert_eq!(data(&model).await, unfit());
    let read = &model.asked()[1].messages[2].content;
    assert_eq!(read.len(), EXTRACTION_MAX_BYTES);
    // Also if the response comes in one piece; it is then cut at a character boundary.
    let whole: &'static str = Box::leak("é".repeat(EXTRACTION_MAX_BYTES).into_boxed_str());
    let model = FakeModel::new(&[Does::Write("x"), Does::Write(whole), Does::Finish]);
    assert_eq!(data(&model).await, unfit());
    let read = &model.asked()[1].messages[2].content;
    assert_eq!(read.len(), EXTRACTION_MAX_BYTES - 1);
}
