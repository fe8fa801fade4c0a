//! Embeddings: texts as vectors, which find texts of similar meaning without shared words.

use async_trait::async_trait;

/// A service that embeds texts.
#[async_trait]
pub trait Embeddings: Send + Sync {
    /// The model's name, with every other setting that its vectors depend on. Only vectors of the same name are
    /// compared.
    fn model(&self) -> &str;

    /// Embeds the texts, in order. All vectors have the same length, are finite and not zero. Retries for up to half a
    /// minute where that may help.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError>;

    /// Embeds a question while the customer waits: one try, with a short time limit.
    async fn embed_question(&self, question: &str) -> Result<Vec<f32>, EmbeddingError>;
}

/// Why there are no vectors. It contains neither the service's answer nor the texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// No complete answer came.
    #[error("the service cannot be reached")]
    Unreachable,
    /// No answer came in time.
    #[error("the service took too long")]
    Timeout,
    /// The service refused with this status.
    #[error("the service answered with {0}")]
    Refused(u16),
    /// The answer is malformed.
    #[error("the service's answer is not of its form: {0}")]
    Malformed(&'static str),
}

impl EmbeddingError {
    /// Whether the texts caused the error, not the service: other texts may succeed.
    pub const fn is_about_texts(&self) -> bool {
        matches!(self, Self::Refused(400 | 413 | 422))
    }
}
