//! Embeddings: texts as vectors, so that what means the same is found though it shares no word.

use async_trait::async_trait;

/// A model that turns texts into vectors.
#[async_trait]
pub trait Embeddings: Send + Sync {
    /// The model's name, with whatever else its vectors depend on: only vectors of one name are ever compared.
    fn model(&self) -> &str;

    /// The vectors of these texts, in their order, all of one length, finite and not zero. Tried again, within half a
    /// minute, where that may help.
    ///
    /// # Errors
    /// [`EmbeddingError`] if any of them cannot be had.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError>;

    /// The vector of a question, while somebody waits for it: tried once, and for less than a conversation's patience.
    ///
    /// # Errors
    /// [`EmbeddingError`] if it cannot be had in time.
    async fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbeddingError>;
}

/// Why there are no vectors. It never shows what the service answered, nor the texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// No whole answer came.
    #[error("the service cannot be reached")]
    Unreachable,
    /// No answer came in time.
    #[error("the service took too long")]
    Timeout,
    /// The service refused, with this status.
    #[error("the service answered with {0}")]
    Refused(u16),
    /// The answer is not of its form.
    #[error("the service's answer is not of its form: {0}")]
    Malformed(&'static str),
}

impl EmbeddingError {
    /// Whether these texts are at fault, and not the service: others may well be embedded.
    pub const fn is_about_texts(&self) -> bool {
        matches!(self, Self::Refused(400 | 413 | 422))
    }
}
