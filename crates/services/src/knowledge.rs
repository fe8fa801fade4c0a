//! Knowledge: documents and folders, and searching them.

mod agent;
mod content;
mod document_worker;
mod embedder;
mod fetch;
pub(crate) mod folders;
mod index;
mod meaning;
mod scores;
mod search;
mod selection;
mod shown;
mod vectors;

use std::sync::OnceLock;

use offhook_domain::body::{Change, Clearable, Id, Name};

use crate::casefold::fold;
use crate::error::Result;
use crate::prelude::*;
use crate::uploads::Uploads;

pub(crate) use agent::{Documents, SEARCH, with_documents, with_knowledge};
pub use content::{CreateDocument, DocumentFile, NewContent};
pub use document_worker::DocumentWorker;
pub use folders::{CreateFolder, UpdateFolder};
pub(crate) use meaning::Meaning;
pub use search::{SearchHit, SearchKnowledge};
pub(crate) use selection::named;

/// Characters of a document's name.
const NAME: std::ops::RangeInclusive<usize> = 1..=255;

/// Passages of a document's text per read.
const TEXT_AT_ONCE: i64 = 256;

/// A deleted document.
#[derive(Debug, Clone)]
pub struct Deleted {
    /// The agents whose published version answered from it.
    pub agents_affected: Vec<PinningAgent>,
}

#[derive(Clone)]
pub struct Knowledge {
    pub(crate) ctx: Arc<Context>,
    pub(crate) uploads: Arc<Uploads>,
    /// Search by meaning, if an embeddings endpoint is configured.
    pub(crate) meaning: Arc<OnceLock<Meaning>>,
}

body! {
    /// `PATCH /v1/knowledge/documents/{id}`.
    #[derive(Debug)]
    pub UpdateDocument {
        name: Option<String>, Change(Name(*NAME.end())), "The name, 1 to 255 characters.";
        folder_id: Option<Option<FolderId>>, Clearable(Id::of()), "The folder; null: none.";
    }
}

#[boxed]
impl Knowledge {
    /// Lists documents, newest first. `q` ignores case.
    pub async fn documents(
        &self,
        account: AccountId,
        mut filter: DocumentFilter,
        page: PageRequest<DocumentId>,
    ) -> Result<Page<Document>, StoreError> {
        filter.q = filter.q.as_deref().map(fold);
        let store = &self.ctx.store;
        page.read(|after, limit| store.documents(account, filter, after, limit))
            .await
    }

    pub async fn document(&self, account: AccountId, id: DocumentId) -> Result<Document> {
        let found = self.ctx.store.document(account, id).await?;
        found.ok_or(UseCaseError::NotFound)
    }

    /// Adds a document; its text is read later.
    pub async fn add(&self, account: AccountId, content: NewContent) -> Result<Document> {
        let read = content::read(content)?;
        let at = self.ctx.clock.now();
        let document = Document {
            id: mint(at),
            account_id: account,
            folder_id: read.folder,
            name: read.name,
            source: read.source,
            mime_type: read.format.map(|format| format.mime_type().to_owned()),
            url: read.url,
            size_bytes: read
                .content
                .as_ref()
                .map(|content| i64::try_from(content.len()).unwrap_or(i64::MAX)),
            content_hash: read.content.as_deref().map(content::hash),
            chunks_count: 0,
            status: DocumentStatus::Processing,
            error: None,
            created_at: at,
            updated_at: at,
        };
        let has_content = read.content.is_some();
        // Before the row: an object that a crash in between leaves behind is collected.
        if let Some(content) = read.content {
            self.uploads.keep(account, document.id, content).await?;
        }
        failpoints::hit(failpoints::UPLOAD_AFTER_OBJECT);
        let made = self
            .ctx
            .store
            .create_document(NewDocument {
                name_folded: fold(&document.name),
                document: document.clone(),
            })
            .await?;
        if !made {
            if has_content {
                self.uploads.remove(account, document.id).await;
            }
            return Err(no_folder("folder_id").into());
        }
        self.ctx.wakes.document_worker.notify_one();
        Ok(document)
    }

    /// Renames or moves a document: `{name?, folder_id?}`; a null `folder_id` is the root.
    pub async fn change(
        &self,
        account: AccountId,
        id: DocumentId,
        body: &Json,
    ) -> Result<Document> {
        let sent = UpdateDocument::of(body, &())?;
        let change = DocumentChange {
            name: sent.name.map(|name| {
                let folded = fold(&name);
                (name, folded)
            }),
            folder: sent.folder_id,
        };
        if change.name.is_none() && change.folder.is_none() {
            return self.document(account, id).await;
        }
        let at = self.ctx.clock.now();
        folders::change_document(&self.ctx.store, (account, id), change, at).await
    }

    /// Deletes a document and its passages.
    pub async fn delete(&self, account: AccountId, id: DocumentId) -> Result<Deleted> {
        let at = self.ctx.clock.now();
        let deleted = self.ctx.store.delete_document(account, id, at).await?;
        let agents_affected = deleted.ok_or(UseCaseError::NotFound)?;
        self.ctx.wakes.document_worker.notify_one();
        Ok(Deleted { agents_affected })
    }

    /// The text of a document. A conflict while it is being read, and if reading failed.
    pub async fn text(&self, account: AccountId, id: DocumentId) -> Result<(Document, String)> {
        let document = self.document(account, id).await?;
        let refused = match document.status {
            DocumentStatus::Ready => {
                let text = self.joined(id).await?;
                return Ok((document, text));
            }
            DocumentStatus::Processing => Refusal::DocumentUnread,
            DocumentStatus::Failed => Refusal::DocumentFailed,
        };
        Err(UseCaseError::Conflict(refused))
    }

    async fn joined(&self, id: DocumentId) -> Result<String, StoreError> {
        let (mut text, mut first) = (String::new(), 0);
        loop {
            let passages = self
                .ctx
                .store
                .document_text(id, first, TEXT_AT_ONCE)
                .await?;
            if passages.is_empty() {
                return Ok(text);
            }
            first = first.saturating_add(i32::try_from(passages.len()).unwrap_or(i32::MAX));
            text.push_str(&joined(passages));
        }
    }
}

/// Joins passages: each but the first begins with a part of the previous one.
fn joined(passages: Vec<(i32, String)>) -> String {
    let pieces = passages.iter().map(|(repeats, content)| {
        let repeats = usize::try_from(*repeats).unwrap_or(0);
        content.get(repeats..).unwrap_or_default()
    });
    pieces.collect()
}

fn no_folder(path: &str) -> FieldError {
    FieldError::new(path, Fault::NoFolder)
}

fn no_document(path: &str) -> FieldError {
    FieldError::new(path, Fault::NoDocument)
}

/// The position of the first id in `named` that is not `known`.
fn first_unknown<Id: PartialEq>(named: &[Id], known: &[Id]) -> Option<usize> {
    named.iter().position(|id| !known.contains(id))
}

impl Context {
    /// Checks that the account has what a configuration names, except for what is `kept`.
    pub(crate) async fn check_selection(
        &self,
        account: AccountId,
        path: &str,
        (documents, folders): (Vec<DocumentId>, Vec<FolderId>),
        kept: (Vec<DocumentId>, Vec<FolderId>),
    ) -> Result<()> {
        let item = |name: &str, at: usize| {
            let path = offhook_domain::json::member_path(path, name);
            offhook_domain::json::item_path(&path, at)
        };
        if !documents.is_empty() {
            let mut known = self
                .store
                .known_documents(account, documents.clone())
                .await?;
            known.extend(kept.0);
            if let Some(at) = first_unknown(&documents, &known) {
                return Err(no_document(&item("doc_ids", at)).into());
            }
        }
        if !folders.is_empty() {
            let mut known = self.store.known_folders(account, folders.clone()).await?;
            known.extend(kept.1);
            if let Some(at) = first_unknown(&folders, &known) {
                return Err(no_folder(&item("folder_ids", at)).into());
            }
        }
        Ok(())
    }
}
