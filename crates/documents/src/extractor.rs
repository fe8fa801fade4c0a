//! The port by which a file's text is asked for.

use async_trait::async_trait;

use crate::{Format, Unreadable, extract};

/// Reads the text of files.
#[async_trait]
pub trait Extractor: Send + Sync {
    /// The text of a file of this kind. Dropping the future ends the work.
    ///
    /// # Errors
    /// [`ExtractError`] says whether the file is at fault.
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError>;
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The file cannot be read, and never will be.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The reader was ended by a limit, or ended by itself. The sentence is for the one who sent the file.
    #[error("{0}")]
    Died(&'static str),
    /// No reader could be started: the machine's fault, not the file's.
    #[error("no reader could be started: {0}")]
    Unavailable(#[from] std::io::Error),
}

/// Reads in this process, without limits of its own: for tests, and for what trusts its files.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

#[async_trait]
impl Extractor for InProcess {
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError> {
        let work = tokio::task::spawn_blocking(move || extract(format, &content));
        match work.await {
            Ok(read) => Ok(read?),
            Err(_) => Err(ExtractError::Died(crate::child::CRASHED)),
        }
    }
}
