//! Knowledge documents and folders, and what becomes of deleted ones.

use std::fmt::Write as _;

use offhook_domain::{AgentId, DocumentId, DocumentSource, DocumentStatus, FolderId, Timestamp};
use offhook_services::store::{Document, Folder};
use offhook_services::{Deleted, SearchHit};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct DocumentBody<'a> {
    id: DocumentId,
    name: &'a str,
    folder_id: Option<FolderId>,
    source: DocumentSource,
    mime_type: Option<&'a str>,
    size_bytes: Option<i64>,
    chunks_count: i32,
    status: DocumentStatus,
    error: Option<&'a str>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> From<&'a Document> for DocumentBody<'a> {
    fn from(document: &'a Document) -> Self {
        Self {
            id: document.id,
            name: &document.name,
            folder_id: document.folder_id,
            source: document.source,
            mime_type: document.mime_type.as_deref(),
            size_bytes: document.size_bytes,
            chunks_count: document.chunks_count,
            status: document.status,
            error: document.error.as_deref(),
            created_at: document.created_at,
            updated_at: document.updated_at,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct FolderBody<'a> {
    id: FolderId,
    name: &'a str,
    documents_count: i32,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> From<&'a Folder> for FolderBody<'a> {
    fn from(folder: &'a Folder) -> Self {
        Self {
            id: folder.id,
            name: &folder.name,
            documents_count: folder.documents_count,
            created_at: folder.created_at,
            updated_at: folder.updated_at,
        }
    }
}

/// What deleting a document answers.
#[derive(Serialize)]
pub(crate) struct DocumentDeletion<'a> {
    id: DocumentId,
    deleted: bool,
    agents_affected: Vec<AffectedAgent<'a>>,
}

#[derive(Serialize)]
struct AffectedAgent<'a> {
    id: AgentId,
    name: &'a str,
}

impl<'a> DocumentDeletion<'a> {
    pub(crate) fn new(id: DocumentId, deleted: &'a Deleted) -> Self {
        let agents = deleted.agents_affected.iter();
        Self {
            id,
            deleted: true,
            agents_affected: agents
                .map(|agent| AffectedAgent {
                    id: agent.id,
                    name: &agent.name,
                })
                .collect(),
        }
    }
}

/// What deleting a folder answers.
#[derive(Serialize)]
pub(crate) struct FolderDeletion {
    pub(crate) id: FolderId,
    pub(crate) deleted: bool,
    pub(crate) documents_moved_to_root: usize,
}

/// What a search found.
#[derive(Serialize)]
pub(crate) struct Hits<'a> {
    data: Vec<HitBody<'a>>,
}

#[derive(Serialize)]
struct HitBody<'a> {
    document_id: DocumentId,
    document_name: &'a str,
    chunk: &'a str,
    score: f64,
}

impl<'a> From<&'a Vec<SearchHit>> for Hits<'a> {
    fn from(hits: &'a Vec<SearchHit>) -> Self {
        let hits = hits.iter().map(|hit| HitBody {
            document_id: hit.document_id,
            document_name: &hit.document_name,
            chunk: &hit.text,
            score: hit.score,
        });
        Self {
            data: hits.collect(),
        }
    }
}

/// `Content-Disposition` of a document's text, whatever its name is (RFC 6266).
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
