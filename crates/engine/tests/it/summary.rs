//! Summaries.

use std::sync::Arc;
use std::time::Duration;

use offhook_engine::ports::{Message, Models, Purpose, Role};
use offhook_engine::{Latencies, SUMMARY_MAX_BYTES, summarize};
use tokio::time::Instant;

use crate::it::fakes::{Does, FakeModel, FakeModels, choice};

async fn summary(model: &FakeModel, transcript: &[Message]) -> Option<String> {
    let models: Arc<dyn Models> = Arc::new(FakeModels::default().with("main", model));
    let latencies = Latencies::new();
    summarize(&models, &latencies, &choice("main", &[]), transcript, "es").await
}

fn transcript() -> [Message; 2] {
    [
        Message::new(Role::Assistant, "Hola."),
        Message::new(Role::User, "Un cuarto."),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_asked_for_with_the_transcript_as_text() {
    let model = FakeModel::says("They talked. It went well.");
    let text = summary(&model, &transcript()).await;
    assert_eq!(text.as_deref(), Some("They talked. It went well."));
    let asked = model.asked().remove(0);
    assert_eq!(asked.purpose, Purpose::Summary);
    assert!(asked.messages[0].content.contains("`es`"));
    let expected = "Agent: Hola.\nCustomer: Un cuarto.\n";
    assert_eq!(&*asked.messages[1].content, expected);
}

#[tokio::test(start_paused = true)]
async fn a_summary_takes_ten_seconds_at_most() {
    let five = Duration::from_secs(5);
    let endless: Vec<Does> = (0..9)
        .flat_map(|_| [Does::Write("Well. "), Does::Wait(five)])
        .collect();
    let began = Instant::now();
    assert_eq!(
        summary(&FakeModel::new(&endless), &transcript()).await,
        None
    );
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn nothing_said_needs_no_summary_and_a_long_one_is_cut() {
    let model = FakeModel::says("Never.");
    assert_eq!(summary(&model, &[]).await, None);
    assert!(model.asked().is_empty());

    let long: Vec<Does> = vec![Does::Write("palabra larga "); 1_000];
    let text = summary(&FakeModel::new(&long), &transcript())
        .await
        .unwrap_or_default();
    assert!(text.len() <= SUMMARY_MAX_BYTES && text.ends_with('…'));
}
