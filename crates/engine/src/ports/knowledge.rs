//! Knowledge: the documents that an agent searches before it answers.

use std::fmt;

use async_trait::async_trait;

/// The documents that a conversation's agent can search.
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// The passages that fit a question best, best first. Empty if nothing fits or the search fails; the conversation
    /// goes on without them. Dropping the future cancels the search.
    async fn search(&self, question: &str) -> Vec<Passage>;
}

/// A part of a document.
#[derive(Clone, PartialEq, Eq)]
pub struct Passage {
    pub document: String,
    pub text: String,
}

/// Hides the text: customers' documents do not belong in logs.
impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passage({} bytes)", self.text.len())
    }
}
