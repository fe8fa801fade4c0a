//! Knowledge documents (decision 6.5).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

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
