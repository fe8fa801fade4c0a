//! The port for text extraction.

use async_trait::async_trait;

use offhook_domain::DocumentFault;

use crate::{Format, extract};

#[async_trait]
pub trait Extractor: Send + Sync {
    /// Extracts the text of a file. Dropping the future cancels the work. [`ExtractError`] says whether the file is at
    /// fault.
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError>;
}

#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The file cannot be read; a retry will not help.
    #[error(transparent)]
    Unreadable(#[from] DocumentFault),
    /// The reader hit a limit or crashed.
    #[error("{0}")]
    Died(DocumentFault),
    /// No reader could be started; the machine is at fault, not the file.
    #[error("no reader could be started: {0}")]
    Unavailable(#[from] std::io::Error),
}

/// Extracts in this process without limits, for tests and trusted files.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

#[async_trait]
impl Extractor for InProcess {
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError> {
        let work = tokio::task::spawn_blocking(move || extract(format, &content));
        match work.await {
            Ok(read) => Ok(read?),
            Err(_) => Err(ExtractError::Died(DocumentFault::Crashed)),
        }
    }
}
