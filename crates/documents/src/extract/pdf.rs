//! PDF.

use offhook_domain::DocumentFault;
use pdf_extract::{Document, PlainTextOutput, output_doc};

pub(super) fn text(content: &[u8]) -> Result<String, DocumentFault> {
    let mut document = match Document::load_mem(content) {
        Ok(document) => document,
        Err(_) if names_encryption(content) => return Err(DocumentFault::LockedPdf),
        Err(_) => return Err(DocumentFault::Pdf),
    };
    // A file that needs no password to open has the empty password.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(DocumentFault::LockedPdf);
    }
    let mut text = String::new();
    output_doc(&document, &mut PlainTextOutput::new(&mut text)).map_err(|_| DocumentFault::Pdf)?;
    Ok(text)
}

/// Whether the file names an encryption, for files that do not load because of it.
fn names_encryption(content: &[u8]) -> bool {
    let word = b"/Encrypt";
    content.windows(word.len()).any(|bytes| bytes == word)
}
