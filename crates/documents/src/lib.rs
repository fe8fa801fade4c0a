//! Offhook's documents: the text of files, split into passages, and the words of the search index.
//!
//! Files come from strangers, so a child process with limits extracts their text ([`ChildExtractor`]). Everything else
//! here is a pure function.

mod child;
mod extract;
mod extractor;
mod format;
mod passages;
mod words;

pub use child::{COMMAND, ChildExtractor, serve_child};
pub use extract::{MAX_TEXT_BYTES, decode, extract};
pub use extractor::{ExtractError, Extractor, InProcess};
pub use format::{Format, UnknownFormat};
pub use passages::{MAX_PASSAGE_BYTES, Passage, split};
pub use words::{IMPACT_ONE, impact, words};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
