//! Knowledge documents, folders and search.

use super::*;
use crate::wire::knowledge::{AffectedAgent, DocumentBody, FolderBody, HitBody};

const DOCUMENTS: &str = "/v1/knowledge/documents";
const DOCUMENT: &str = "/v1/knowledge/documents/{id}";
const FOLDERS: &str = "/v1/knowledge/folders";
const FOLDER: &str = "/v1/knowledge/folders/{id}";

const READ: Access = Access::Scope(Scope::KnowledgeRead);
const WRITE: Access = Access::Scope(Scope::KnowledgeWrite);

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = documents();
    operations.extend(folders());
    let (search, summary) = ("/v1/knowledge/search", "Search the documents");
    let hits = Answer::One("KnowledgeHits");
    let search = Operation::new("POST", search, "searchKnowledge", READ, hits, summary);
    operations.push(search.body("SearchKnowledge"));
    operations
}

fn documents() -> Vec<Operation> {
    use Answer::{List, One, Text};
    let filters = vec![
        query(
            "folder_id",
            "Only in this folder; `root`: in no folder.",
            string(),
        ),
        query("status", "Only in this status.", words(DocumentStatus::ALL)),
        query(
            "q",
            "Only with this text in the name, regardless of case.",
            text(200),
        ),
    ];
    operations! {
        GET DOCUMENTS, listDocuments, READ => List("Document"), "List documents" .filters(filters);
        POST DOCUMENTS, createDocument, WRITE => One("Document"), "Add a document; its text is extracted afterwards"
            .body("CreateDocument").form("UploadDocument").status(202);
        GET DOCUMENT, getDocument, READ => One("Document"), "Read a document";
        GET "/v1/knowledge/documents/{id}/content", getDocumentContent, READ => Text, "Read a document's text"
            .errors_too(&[Code::Conflict]);
        PATCH DOCUMENT, updateDocument, WRITE => One("Document"), "Rename or move a document"
            .optional_body("UpdateDocument");
        DELETE DOCUMENT, deleteDocument, WRITE => One("DocumentDeletion"), "Delete a document and its passages";
    }
}

fn folders() -> Vec<Operation> {
    use Answer::{List, One};
    operations! {
        GET FOLDERS, listFolders, READ => List("Folder"), "List folders";
        POST FOLDERS, createFolder, WRITE => One("Folder"), "Create a folder"
            .body("CreateFolder").status(201).errors_too(&[Code::Conflict]);
        GET FOLDER, getFolder, READ => One("Folder"), "Read a folder";
        PATCH FOLDER, updateFolder, WRITE => One("Folder"), "Rename a folder"
            .optional_body("UpdateFolder").errors_too(&[Code::Conflict]);
        DELETE FOLDER, deleteFolder, WRITE => One("FolderDeletion"), "Delete a folder; its documents move to the root";
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let binary = json!({"type": "string", "format": "binary"});
    let upload = [("file", binary), ("name", text(255)), ("folder_id", uuid())];
    let deletion = [("id", uuid()), ("deleted", boolean())];
    let document_deletion = [
        &deletion[..],
        &[("agents_affected", array(AffectedAgent::shape()))],
    ]
    .concat();
    let moved = ("documents_moved_to_root", integer());
    let folder_deletion = [&deletion[..], &[moved]].concat();
    let knowledge_hits = [("data", array(reference("KnowledgeHit")))];
    schemas! {
        Document => DocumentBody::shape();
        CreateDocument => body::request::<bodies::CreateDocument>();
        UploadDocument => request(&["file"], &upload);
        UpdateDocument => body::request::<bodies::UpdateDocument>();
        DocumentDeletion => object(&document_deletion);
        Folder => FolderBody::shape();
        CreateFolder => body::request::<bodies::CreateFolder>();
        UpdateFolder => body::request::<bodies::UpdateFolder>();
        FolderDeletion => object(&folder_deletion);
        SearchKnowledge => body::request::<bodies::SearchKnowledge>();
        KnowledgeHit => HitBody::shape();
        KnowledgeHits => object(&knowledge_hits);
    }
}
