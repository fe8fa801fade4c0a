//! Knowledge: what an agent looks up before it answers.

use std::fmt;

use async_trait::async_trait;

/// The documents that one conversation's agent answers from.
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// The passages that fit a question best, best first; none if nothing fits, or nothing can be looked up now: the
    /// conversation goes on without. Dropping the future gives it up.
    async fn search(&self, question: &str) -> Vec<Passage>;
}

/// A part of a document.
#[derive(Clone, PartialEq, Eq)]
pub struct Passage {
    /// The document's name.
    pub document: String,
    /// What it says.
    pub text: String,
}

/// Without the text: a customer's documents have no place in a log.
impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passage({} bytes)", self.text.len())
    }
}
