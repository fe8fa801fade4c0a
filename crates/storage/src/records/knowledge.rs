//! Knowledge documents, folders and their search index.

use crate::prelude::*;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = knowledge_documents)]
pub struct Document {
    pub id: DocumentId,
    pub account_id: AccountId,
    /// Its folder; `None` is the root.
    pub folder_id: Option<FolderId>,
    pub name: String,
    /// Where its content came from.
    pub source: DocumentSource,
    /// The media type of what was sent or fetched; `None` until it is fetched.
    pub mime_type: Option<String>,
    /// The URL that it is fetched from.
    pub url: Option<String>,
    /// Bytes that were sent or fetched; `None` until they are fetched.
    pub size_bytes: Option<i64>,
    /// SHA-256 of what was sent or fetched; `None` until it is fetched.
    pub content_hash: Option<Vec<u8>>,
    /// The number of its passages, once it is ready.
    pub chunks_count: i32,
    pub status: DocumentStatus,
    /// Why it failed.
    pub error: Option<String>,
    pub created_at: Timestamp,
    /// When its name, folder or status last changed.
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewDocument {
    /// The document, `processing`.
    pub document: Document,
    /// The name as folded for comparison.
    pub name_folded: String,
}

#[derive(Debug, Clone, Default)]
pub struct DocumentChange {
    /// A new name, and its folded form.
    pub name: Option<(String, String)>,
    /// Another folder, or the root.
    pub folder: Option<Option<FolderId>>,
}

/// Which documents a list shows.
#[derive(Debug, Clone, Default)]
pub struct DocumentFilter {
    /// Only in this folder; `Some(None)` is the root.
    pub folder: Option<Option<FolderId>>,
    pub status: Option<DocumentStatus>,
    /// Only those whose folded name contains this text.
    pub q: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = knowledge_folders)]
pub struct Folder {
    pub id: FolderId,
    pub account_id: AccountId,
    pub name: String,
    pub documents_count: i32,
    pub created_at: Timestamp,
    /// When its name last changed.
    pub updated_at: Timestamp,
}

/// An agent whose published version answers from a document.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct PinningAgent {
    pub id: AgentId,
    pub name: String,
}

/// A document that this process is to read.
#[derive(Debug, Clone)]
pub struct ClaimedDocument {
    pub document: Document,
    /// The fence of the claim.
    pub claim: ClaimId,
    /// How often it has been claimed, this time included.
    pub tries: i32,
}

/// A passage to store.
#[derive(Debug, Clone)]
pub struct NewPassage {
    /// Its position in the document, from 0.
    pub ordinal: i32,
    /// How many of its first bytes the previous passage ends with.
    pub repeats: i32,
    pub content: String,
}

/// A word of a document, to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPosting {
    pub term: String,
    /// `ordinal:impact`, separated by spaces.
    pub places: String,
}

/// A part of a document that was read.
#[derive(Debug, Clone, Default)]
pub struct ReadPart {
    /// Passages that follow those of the previous part.
    pub passages: Vec<NewPassage>,
    /// Words in order, after those of the previous part.
    pub words: Vec<NewPosting>,
}

/// How an account's documents contain some words.
#[derive(Debug, Clone, Default)]
pub struct AccountWords {
    /// The number of passages of all ready documents.
    pub passages: i64,
    /// Where the words occur in them.
    pub postings: Vec<Posting>,
}

/// Where a word occurs in a document.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Posting {
    pub document_id: DocumentId,
    pub term: String,
    /// `ordinal:impact`, separated by spaces.
    pub places: String,
}

/// The result of reading a document successfully.
#[derive(Debug, Clone)]
pub struct ReadDocument {
    /// The number of its passages.
    pub chunks_count: i32,
    /// The media type of what was read.
    pub mime_type: String,
    /// The bytes that were read.
    pub size_bytes: i64,
    /// SHA-256 of what was read.
    pub content_hash: Vec<u8>,
    /// The model that is to embed its passages.
    pub embed_by: Option<String>,
    /// What has not been stored yet.
    pub rest: ReadPart,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct FoundPassage {
    pub document_id: DocumentId,
    pub document_name: String,
    /// Its position in the document.
    pub ordinal: i32,
    pub content: String,
}

/// A document that this process is to embed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingJob {
    pub document: DocumentId,
    pub account: AccountId,
    /// The fence of the claim.
    pub claim: ClaimId,
    /// How often it has failed.
    pub tries: i32,
}

/// Vectors of consecutive passages of a document.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = knowledge_embeddings)]
pub struct PassageVectors {
    #[diesel(column_name = document_id)]
    pub document: DocumentId,
    /// The first passage.
    pub ordinal: i32,
    /// Bytes of each vector.
    pub dimension: i32,
    /// The vectors: signed bytes, parallel to what the model returned.
    pub vectors: Vec<u8>,
}

/// A document whose passages all have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct EmbeddedDocument {
    pub document: DocumentId,
    /// The number of its passages.
    pub passages: i32,
}

/// The progress of an embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingState {
    /// Documents that have its vectors.
    pub embedded: i64,
    /// Documents that wait for them.
    pub waiting: i64,
    /// Up to 100 documents that the model has refused three times, and why.
    pub given_up: Vec<(DocumentId, Option<String>)>,
}
