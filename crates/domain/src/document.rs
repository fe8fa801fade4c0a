//! Knowledge documents.

use crate::agent::vocabulary;

vocabulary! {
    /// Where a document's content came from.
    DocumentSource {
        /// It was written in the request.
        Text => "text",
        /// It was uploaded.
        File => "file",
        /// It is fetched from an address.
        Url => "url",
    }
}

vocabulary! {
    /// How far a document is.
    DocumentStatus {
        /// Its text is being read.
        Processing => "processing",
        /// It can be searched.
        Ready => "ready",
        /// It has no text; `error` says why.
        Failed => "failed",
    }
}
