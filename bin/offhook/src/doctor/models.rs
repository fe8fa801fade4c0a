//! The services that `models` and `knowledge.embeddings` name.

use offhook_domain::ports::EmbeddingError;
use offhook_providers::embeddings;

use super::finding::{Finding, Hop};
use super::upstream::{Question, Shape};
use crate::prelude::*;

const MODELS: Hop = Hop("models");
const EMBEDDINGS: Hop = Hop("embeddings");

/// How long a vector may take, all tries included.
const LIMIT: Duration = Duration::from_secs(30);

/// Asks each service for its models: that costs nothing, and not every service has such a list.
pub(super) async fn look(settings: &Settings) -> Vec<Finding> {
    let asked = settings.models.iter().map(async |(name, provider)| {
        let question = Question {
            hop: MODELS,
            section: &format!("models.{name}"),
            base_url: base(&provider.base_url),
            shape: Shape::OpenAi,
            list: "models",
            api_key: provider.api_key.as_deref(),
            may_lack_path: true,
        };
        question.ask().await
    });
    futures_util::future::join_all(asked).await
}

/// Asks for one vector: whether there is such a model is told by nothing else.
pub(super) async fn vectors(settings: &Settings) -> Option<Finding> {
    let settings = settings.embeddings.as_ref()?;
    let service = match embeddings(settings) {
        Ok(service) => service,
        Err(error) => return Some(EMBEDDINGS.failed(error.to_string())),
    };
    let model = &settings.model;
    let texts = ["offhook doctor".to_owned()];
    let asked = timeout(LIMIT, service.embed(&texts)).await;
    Some(match asked.unwrap_or(Err(EmbeddingError::Timeout)) {
        Ok(vectors) => EMBEDDINGS.good(format!(
            "`{model}` makes vectors of {} numbers",
            vectors.first().map_or(0, Vec::len)
        )),
        Err(error) => {
            let remedy = match &error {
                EmbeddingError::Refused(401 | 403) => "correct `knowledge.embeddings.api_key`",
                EmbeddingError::Refused(429) => "see the limits of its plan",
                EmbeddingError::Refused(_) => {
                    "correct `knowledge.embeddings.model`, `.dimensions` or `.base_url`"
                }
                EmbeddingError::Unreachable | EmbeddingError::Timeout => {
                    "see that it runs and can be reached from here, or correct `knowledge.embeddings.base_url`"
                }
                EmbeddingError::Malformed(_) => "correct `knowledge.embeddings.base_url`",
            };
            EMBEDDINGS.failed(format!(
                "`{model}` makes no vectors, so that documents are found by their words alone ({error}): {remedy}"
            ))
        }
    })
}

/// The URL that a service's paths follow, where the path of completions was given whole.
fn base(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix("/chat/completions").unwrap_or(url)
}
