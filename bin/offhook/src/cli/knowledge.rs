//! `offhook knowledge …`

use super::JsonArgs;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(super) enum KnowledgeCommand {
    /// Count documents with embeddings, waiting for them, or refused.
    Status(JsonArgs),
}

impl KnowledgeCommand {
    pub(super) async fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let Self::Status(JsonArgs { json }) = self;
        let services = parts::administration(settings).await?;
        let Some((model, state)) = services.knowledge().embedding_state().await? else {
            bail!(
                "no embeddings endpoint is set up, so documents are found by their words alone: give \
                 `knowledge.embeddings.base_url` and `knowledge.embeddings.model`"
            );
        };
        let mut words = format!(
            "{model}: {} documents embedded, {} waiting, {} given up",
            state.embedded,
            state.waiting,
            state.given_up.len()
        );
        for (document, error) in &state.given_up {
            let error = error.as_deref().unwrap_or("no reason is known");
            words.push_str(&format!("\n{document}: {error}"));
        }
        let given_up = state
            .given_up
            .iter()
            .map(|(document, error)| json!({"document_id": document.to_string(), "error": error}));
        let row = json!({
            "model": model,
            "embedded": state.embedded,
            "waiting": state.waiting,
            "given_up": given_up.collect::<Vec<_>>(),
        });
        output::print(json, &row, &words)
    }
}
