//! Knowledge documents, folders and what they are searched by.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, ClaimId, DocumentId, DocumentSource, DocumentStatus, FolderId, Timestamp,
};

use crate::schema;

/// A document.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::knowledge_documents)]
pub struct Document {
    /// Its id.
    pub id: DocumentId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The folder that it is in; `None` is the root.
    pub folder_id: Option<FolderId>,
    /// Its name.
    pub name: String,
    /// Where its content came from.
    pub source: DocumentSource,
    /// The media type of what was sent or fetched; `None` until it is fetched.
    pub mime_type: Option<String>,
    /// Where it is fetched.
    pub url: Option<String>,
    /// Bytes that were sent or fetched; `None` until they are fetched.
    pub size_bytes: Option<i64>,
    /// SHA-256 of what was sent or fetched; `None` until it is fetched.
    pub content_hash: Option<Vec<u8>>,
    /// Its passages, once it is ready.
    pub chunks_count: i32,
    /// How far it is.
    pub status: DocumentStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its name, folder or status last changed.
    pub updated_at: Timestamp,
}

/// A document that is about to be made.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// The document, `processing`.
    pub document: Document,
    /// The name as it is compared.
    pub name_folded: String,
}

/// A change of a document.
#[derive(Debug, Clone, Default)]
pub struct DocumentChange {
    /// A new name, and as it is compared.
    pub name: Option<(String, String)>,
    /// Another folder, or the root.
    pub folder: Option<Option<FolderId>>,
}

/// What documents a list shows.
#[derive(Debug, Clone, Default)]
pub struct DocumentFilter {
    /// Only in this folder; `Some(None)` is the root.
    pub folder: Option<Option<FolderId>>,
    /// Only in this status.
    pub status: Option<DocumentStatus>,
    /// Only with this text in the folded name.
    pub q: Option<String>,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::knowledge_folders)]
pub struct Folder {
    /// Its id.
    pub id: FolderId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name.
    pub name: String,
    /// How many documents are in it.
    pub documents_count: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its name last changed.
    pub updated_at: Timestamp,
}

/// An agent whose published version answers from a document.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct PinningAgent {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: String,
}

/// A document that this process is to read.
#[derive(Debug, Clone)]
pub struct ClaimedDocument {
    /// The document.
    pub document: Document,
    /// The fence of the claim.
    pub claim: ClaimId,
    /// How often it has been claimed, this time included.
    pub tries: i32,
}

/// A passage that is about to be stored.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = schema::knowledge_passages, treat_none_as_default_value = false)]
pub struct NewPassage {
    /// Its place in the document, from 0.
    pub ordinal: i32,
    /// How many of its first bytes the passage before ends with.
    pub repeats: i32,
    /// Its text.
    pub content: String,
}

/// A word of a document that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPosting {
    /// The word.
    pub term: String,
    /// `ordinal:impact`, separated by spaces.
    pub places: String,
}

/// Some of what was read of a document.
#[derive(Debug, Clone, Default)]
pub struct ReadPart {
    /// Passages that follow those of the part before.
    pub passages: Vec<NewPassage>,
    /// Words in their order, behind those of the part before.
    pub words: Vec<NewPosting>,
}

/// What an account's documents have of some words.
#[derive(Debug, Clone, Default)]
pub struct AccountWords {
    /// The passages of all documents that are ready.
    pub passages: i64,
    /// Where the words are in them.
    pub postings: Vec<Posting>,
}

/// Where a word of a document is.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Posting {
    /// The document.
    pub document_id: DocumentId,
    /// The word.
    pub term: String,
    /// `ordinal:impact`, separated by spaces.
    pub places: String,
}

/// How a document's reading ended well.
#[derive(Debug, Clone)]
pub struct ReadDocument {
    /// Its passages.
    pub chunks_count: i32,
    /// The media type of what was read.
    pub mime_type: String,
    /// The bytes that were read.
    pub size_bytes: i64,
    /// SHA-256 of what was read.
    pub content_hash: Vec<u8>,
    /// The model that its passages are to be embedded by.
    pub embed_by: Option<String>,
    /// What has not been stored yet.
    pub rest: ReadPart,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct FoundPassage {
    /// Its document.
    pub document_id: DocumentId,
    /// That document's name.
    pub document_name: String,
    /// Its place in the document.
    pub ordinal: i32,
    /// Its text.
    pub content: String,
}

/// A document that this process is to embed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingJob {
    /// The document.
    pub document: DocumentId,
    /// Whose it is.
    pub account: AccountId,
    /// The fence of the claim.
    pub claim: ClaimId,
    /// How often it has failed.
    pub tries: i32,
}

/// Vectors of some passages of a document that follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::knowledge_embeddings)]
pub struct PassageVectors {
    /// The document.
    #[diesel(column_name = document_id)]
    pub document: DocumentId,
    /// The first passage.
    pub ordinal: i32,
    /// Bytes of each vector.
    pub dimension: i32,
    /// The vectors: signed bytes, parallel to what the model gave.
    pub vectors: Vec<u8>,
}

/// A document all of whose passages have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct EmbeddedDocument {
    /// The document.
    pub document: DocumentId,
    /// Its passages.
    pub passages: i32,
}

/// How far the work of an embedding model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingState {
    /// Documents that have its vectors.
    pub embedded: i64,
    /// Documents that wait for them.
    pub waiting: i64,
    /// Up to 100 documents that the model has refused three times, and why.
    pub given_up: Vec<(DocumentId, Option<String>)>,
}
