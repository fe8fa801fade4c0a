//! Offhook's documents: the text of files, cut into passages, and the words to find them by.
//!
//! Files come from strangers, so their text is taken out by a child process with limits ([`ChildExtractor`]). Everything
//! else here is a pure function.

mod child;
mod extract;
mod extractor;
mod format;
mod passages;
mod words;

pub use child::{COMMAND, ChildExtractor, serve_child};
pub use extract::{MAX_TEXT_BYTES, Unreadable, decode, extract};
pub use extractor::{ExtractError, Extractor, InProcess};
pub use format::{Format, UnknownFormat};
pub use passages::{MAX_PASSAGE_BYTES, Passage, split};
pub use words::{IMPACT_ONE, impact, words};

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
