//! Passages enter the prompt before the request to the model.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_engine::ports::{Knowledge, Models, Passage, Role};
use offhook_engine::{Dialogue, Latencies, Piece};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::it::fakes::{FakeModel, FakeModels, choice, persona};

/// A slow document search.
struct Documents {
    wait: Duration,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Knowledge for Documents {
    async fn search(&self, question: &str) -> Vec<Passage> {
        self.asked.lock().push(question.to_owned());
        tokio::time::sleep(self.wait).await;
        vec![Passage {
            document: "Opening hours".to_owned(),
            text: "The pool opens at nine.".to_owned(),
        }]
    }
}

/// The model's prompt, the searches, and the time they took.
async fn prompt(wait: Duration) -> (String, Vec<String>, Duration) {
    let model = FakeModel::says("At nine.");
    let models = FakeModels::default().with("main", &model);
    let mut persona = persona();
    persona.llm = choice("main", &[]);
    let models: Arc<dyn Models> = Arc::new(models);
    let documents = Arc::new(Documents {
        wait,
        asked: Mutex::default(),
    });
    let mut dialogue = Dialogue::new(Arc::new(persona), models, Latencies::new())
        .with_knowledge(Some(documents.clone()));
    dialogue.push_customer("Hi");
    dialogue.push_agent("Hello.");
    dialogue.push_customer("When does");
    dialogue.push_customer("the pool open?");
    let began = Instant::now();
    let mut reply = dialogue.reply();
    // A caller that stops waiting for a moment loses nothing.
    let _ = tokio::time::timeout(Duration::from_millis(10), reply.next()).await;
    if model.asked().is_empty() {
        let expected = Some(Ok(Piece::Sentence("At nine.".to_owned())));
        assert_eq!(reply.next().await, expected);
    }
    let asked = model.asked().remove(0);
    assert_eq!(asked.messages[0].role, Role::System);
    let looked_up = documents.asked.lock().clone();
    (
        asked.messages[0].content.to_string(),
        looked_up,
        began.elapsed(),
    )
}

#[tokio::test(start_paused = true)]
async fn what_fits_the_customers_last_turn_is_shown_to_the_model() {
    let (prompt, looked_up, _) = prompt(Duration::from_millis(100)).await;
    assert!(prompt.starts_with("You are Eva.\n\n"), "{prompt}");
    assert!(
        prompt.ends_with("[Opening hours]\nThe pool opens at nine."),
        "{prompt}"
    );
    assert_eq!(looked_up, ["When does the pool open?"]);
}

#[tokio::test(start_paused = true)]
async fn documents_that_take_too_long_are_left_out() {
    let (prompt, _, took) = prompt(Duration::from_secs(60)).await;
    assert!(!prompt.contains("pool"), "{prompt}");
    assert_eq!(took, Duration::from_secs(1));
}
