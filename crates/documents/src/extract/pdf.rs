//! PDF.

use pdf_extract::{Document, PlainTextOutput, output_doc};

use super::Unreadable;

const ENCRYPTED: Unreadable =
    Unreadable::new("The PDF is protected by a password: remove the protection and send it again.");

const BROKEN: Unreadable =
    Unreadable::new("The PDF could not be read: open it, print it to a new PDF, and send that.");

pub(super) fn text(content: &[u8]) -> Result<String, Unreadable> {
    let mut document = match Document::load_mem(content) {
        Ok(document) => document,
        Err(_) if names_encryption(content) => return Err(ENCRYPTED),
        Err(_) => return Err(BROKEN),
    };
    // A file that needs no password to open has the empty password.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(ENCRYPTED);
    }
    let mut text = String::new();
    output_doc(&document, &mut PlainTextOutput::new(&mut text)).map_err(|_| BROKEN)?;
    Ok(text)
}

/// Whether the file names an encryption, for files that do not load because of it.
fn names_encryption(content: &[u8]) -> bool {
    let word = b"/Encrypt";
    content.windows(word.len()).any(|bytes| bytes == word)
}
