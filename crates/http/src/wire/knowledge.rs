//! Knowledge documents and folders, and the results of deleting them.

use std::fmt::Write as _;

use offhook_services::store::{Document, Folder, PinningAgent};
use offhook_services::{Deleted, SearchHit};

use super::shown;
use crate::prelude::*;

shown! {
    DocumentBody(document: Document) {
        id,
        name,
        folder_id,
        source,
        mime_type,
        size_bytes,
        chunks_count,
        status,
        error,
        created_at,
        updated_at,
    }
}

shown! {
    FolderBody(folder: Folder) {
        id,
        name,
        documents_count,
        created_at,
        updated_at,
    }
}

/// The response to deleting a document.
#[derive(Serialize)]
pub(crate) struct DocumentDeletion<'a> {
    id: DocumentId,
    deleted: bool,
    agents_affected: Vec<AffectedAgent<'a>>,
}

shown! {
    AffectedAgent(agent: PinningAgent) {
        id,
        name,
    }
}

impl<'a> DocumentDeletion<'a> {
    pub(crate) fn new(id: DocumentId, deleted: &'a Deleted) -> Self {
        Self {
            id,
            deleted: true,
            agents_affected: deleted.agents_affected.iter().map(AffectedAgent).collect(),
        }
    }
}

/// The response to deleting a folder.
#[derive(Serialize)]
pub(crate) struct FolderDeletion {
    pub(crate) id: FolderId,
    pub(crate) deleted: bool,
    pub(crate) documents_moved_to_root: usize,
}

#[derive(Serialize)]
pub(crate) struct Hits<'a> {
    data: Vec<HitBody<'a>>,
}

shown! {
    HitBody(hit: SearchHit) {
        document_id,
        document_name,
        chunk = &hit.text,
        score,
    }
}

impl<'a> From<&'a Vec<SearchHit>> for Hits<'a> {
    fn from(hits: &'a Vec<SearchHit>) -> Self {
        Self {
            data: hits.iter().map(HitBody).collect(),
        }
    }
}

/// `Content-Disposition` of a document's text, for any document name (RFC 6266).
pub(crate) fn disposition(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    let ending = if name.to_lowercase().ends_with(".txt") {
        ""
    } else {
        ".txt"
    };
    format!("attachment; filename=\"document.txt\"; filename*=UTF-8''{encoded}{ending}")
}

#[cfg(test)]
mod tests {
    use super::disposition;

    #[test]
    fn a_name_cannot_break_out_of_its_header() {
        assert_eq!(
            disposition("a\"\r\nX: ñ.pdf"),
            "attachment; filename=\"document.txt\"; filename*=UTF-8''a%22%0D%0AX%3A%20%C3%B1.pdf.txt"
        );
        assert!(disposition("Menu.TXT").ends_with("''Menu.TXT"));
    }
}
