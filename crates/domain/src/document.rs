//! Knowledge documents.

use crate::agent::vocabulary;

vocabulary! {
    /// The source of a document's content.
    DocumentSource {
        /// Text in the request.
        Text => "text",
        /// An uploaded file.
        File => "file",
        /// Fetched from a URL.
        Url => "url",
    }
}

vocabulary! {
    /// The status of a document.
    DocumentStatus {
        /// Its text is being extracted.
        Processing => "processing",
        /// It can be searched.
        Ready => "ready",
        /// It has no text; `error` says why.
        Failed => "failed",
    }
}
