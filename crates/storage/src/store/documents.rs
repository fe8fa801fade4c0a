//! Knowledge documents.

use offhook_domain::{AccountId, DocumentId, FolderId, Timestamp};

use super::{Answer, read, write};
use crate::queries;
use crate::{
    Document, DocumentChange, DocumentFilter, Folder, NewDocument, PageKey, PinningAgent, Store,
    Verdict,
};

/// What became of a change of a document.
#[expect(
    clippy::large_enum_variant,
    reason = "it is answered once and taken apart at once"
)]
#[derive(Debug, Clone)]
pub enum DocumentChanged {
    /// It is so now.
    Done(Document),
    /// The account has no such document.
    Absent,
    /// The account has no such folder.
    NoFolder,
}

/// What became of a folder that was to be made or renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderMade {
    /// It is so now.
    Done(Folder),
    /// The account has no such folder.
    Absent,
    /// Another folder has the name.
    NameTaken,
    /// The account has as many as it may.
    TooMany,
}

impl Store {
    /// Makes a document; `false` if the account has no such folder.
    pub fn create_document(&self, new: NewDocument) -> Answer<'_, bool> {
        write!(self, |conn| {
            let document = &new.document;
            if let Some(folder) = document.folder_id {
                let account = document.account_id;
                if !queries::folders::count_in(conn, account, folder, 1).await? {
                    return Ok(Verdict::Rollback(false));
                }
            }
            queries::documents::insert(conn, new).await?;
            Ok(Verdict::Commit(true))
        })
    }

    /// A document of the account.
    pub fn document(&self, account: AccountId, id: DocumentId) -> Answer<'_, Option<Document>> {
        read!(self, |conn| queries::documents::find(conn, account, id)
            .await)
    }

    /// A page of the account's documents, newest first, with one more than `limit` if there is a next page.
    pub fn documents(
        &self,
        account: AccountId,
        filter: DocumentFilter,
        after: Option<PageKey<DocumentId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Document>> {
        read!(self, |conn| queries::documents::page(
            conn, account, &filter, after, limit
        )
        .await)
    }

    /// Renames a document or moves it.
    pub fn change_document(
        &self,
        account: AccountId,
        id: DocumentId,
        change: DocumentChange,
        at: Timestamp,
    ) -> Answer<'_, DocumentChanged> {
        write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let Some(before) = queries::documents::hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(DocumentChanged::Absent));
            };
            if let Some(after) = change.folder
                && after != before
            {
                if let Some(after) = after
                    && !queries::folders::count_in(conn, account, after, 1).await?
                {
                    return Ok(Verdict::Rollback(DocumentChanged::NoFolder));
                }
                if let Some(before) = before {
                    queries::folders::count_in(conn, account, before, -1).await?;
                }
            }
            queries::documents::change(conn, id, change, at).await?;
            let changed = queries::documents::find(conn, account, id).await?;
            Ok(Verdict::Commit(
                changed.map_or(DocumentChanged::Absent, DocumentChanged::Done),
            ))
        })
    }

    /// Deletes a document with its passages and pins; its words are left to a worker. Returns the agents whose
    /// published version answered from it, or `None` if there is no such document.
    pub fn delete_document(
        &self,
        account: AccountId,
        id: DocumentId,
        at: Timestamp,
    ) -> Answer<'_, Option<Vec<PinningAgent>>> {
        write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            // From here on no publication pins it.
            let Some(folder) = queries::documents::hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(None));
            };
            if let Some(folder) = folder {
                queries::folders::count_in(conn, account, folder, -1).await?;
            }
            let agents = queries::pins::agents(conn, account, id).await?;
            queries::pins::forget(conn, id).await?;
            queries::embeddings::forget(conn, id).await?;
            queries::documents::delete(conn, account, id, at).await?;
            Ok(Verdict::Commit(Some(agents)))
        })
    }

    /// The agents whose published version answers from the document, by name.
    pub fn pinning_agents(
        &self,
        account: AccountId,
        id: DocumentId,
    ) -> Answer<'_, Vec<PinningAgent>> {
        read!(self, |conn| queries::pins::agents(conn, account, id).await)
    }

    /// Of these, the documents that the account has.
    pub fn known_documents(
        &self,
        account: AccountId,
        ids: Vec<DocumentId>,
    ) -> Answer<'_, Vec<DocumentId>> {
        read!(self, |conn| queries::documents::known(conn, account, ids)
            .await)
    }

    /// The documents in these folders of the account.
    pub fn documents_within(
        &self,
        account: AccountId,
        folders: Vec<FolderId>,
    ) -> Answer<'_, Vec<DocumentId>> {
        read!(self, |conn| queries::documents::within(
            conn, account, folders
        )
        .await)
    }
}
