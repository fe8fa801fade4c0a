//! Folders: one level, with unique names, and what is in them.

use offhook_domain::body::{Change, Name, Required};

use super::{Knowledge, no_folder};
use crate::casefold::fold;
use crate::error::Result;
use crate::prelude::*;
use crate::transact::transact;

const FOLDERS_AT_MOST: i64 = 1_000;

body! {
    /// `POST /v1/knowledge/folders`.
    #[derive(Debug)]
    pub CreateFolder {
        name: String, Required(Name(120)), "The name, 1 to 120 characters, unique regardless of case.";
    }
}

body! {
    /// `PATCH /v1/knowledge/folders/{id}`.
    #[derive(Debug)]
    pub UpdateFolder {
        name: Option<String>, Change(Name(120)), "The name, 1 to 120 characters, unique regardless of case.";
    }
}

#[boxed]
impl Knowledge {
    /// Lists folders, newest first.
    pub async fn folders(
        &self,
        account: AccountId,
        page: PageRequest<FolderId>,
    ) -> Result<Page<Folder>, StoreError> {
        let store = &self.ctx.store;
        page.read(|after, limit| store.folders(account, after, limit))
            .await
    }

    pub async fn folder(&self, account: AccountId, id: FolderId) -> Result<Folder> {
        let found = self.ctx.store.folder(account, id).await?;
        found.ok_or(UseCaseError::NotFound)
    }

    /// Creates a folder: `{name}`.
    pub async fn add_folder(&self, account: AccountId, body: &Json) -> Result<Folder> {
        let CreateFolder { name } = CreateFolder::of(body, &())?;
        let at = self.ctx.clock.now();
        let folded = fold(&name);
        let folder = Folder {
            id: mint(at),
            account_id: account,
            name,
            documents_count: 0,
            created_at: at,
            updated_at: at,
        };
        make(&self.ctx.store, folder, folded, FOLDERS_AT_MOST).await
    }

    /// Renames a folder: `{name?}`.
    pub async fn change_folder(
        &self,
        account: AccountId,
        id: FolderId,
        body: &Json,
    ) -> Result<Folder> {
        let Some(name) = UpdateFolder::of(body, &())?.name else {
            return self.folder(account, id).await;
        };
        let folded = fold(&name);
        let name = (name, folded);
        let at = self.ctx.clock.now();
        rename(&self.ctx.store, (account, id), name, at).await
    }

    /// Deletes a folder; returns how many documents moved to the root.
    pub async fn delete_folder(&self, account: AccountId, id: FolderId) -> Result<usize> {
        let at = self.ctx.clock.now();
        let moved = self.ctx.store.delete_folder(account, id, at).await?;
        moved.ok_or(UseCaseError::NotFound)
    }
}

/// Creates a folder, unless its name is taken or the account has `most` already.
pub(crate) async fn make(
    store: &Store,
    folder: Folder,
    folded: String,
    most: i64,
) -> Result<Folder> {
    transact!(store, |tx| {
        let account = folder.account_id;
        // Serializes creations of one account.
        tx.lock_account(account).await?;
        if tx.has_folder_named(account, &folded, folder.id).await? {
            return Err(UseCaseError::Conflict(Refusal::FolderNameTaken));
        }
        if tx.count_folders(account).await? >= most {
            return Err(UseCaseError::Conflict(Refusal::TooManyFolders(most)));
        }
        tx.insert_folder(&folder, folded).await?;
        Ok(folder)
    })
}

/// Renames a folder, given its new name and the folded form.
pub(crate) async fn rename(
    store: &Store,
    (account, id): (AccountId, FolderId),
    (name, folded): (String, String),
    at: Timestamp,
) -> Result<Folder> {
    transact!(store, |tx| {
        tx.lock_account(account).await?;
        if tx.has_folder_named(account, &folded, id).await? {
            // Another account's folder does not exist for this account, whatever its new name.
            let found = tx.folder(account, id).await?;
            found.ok_or(UseCaseError::NotFound)?;
            return Err(UseCaseError::Conflict(Refusal::FolderNameTaken));
        }
        let renamed = tx.rename_folder(account, id, (name, folded), at).await?;
        renamed.ok_or(UseCaseError::NotFound)
    })
}

/// Renames or moves a document. The folders count what is in them.
pub(crate) async fn change_document(
    store: &Store,
    (account, id): (AccountId, DocumentId),
    change: DocumentChange,
    at: Timestamp,
) -> Result<Document> {
    transact!(store, |tx| {
        tx.lock_account(account).await?;
        let locked = tx.lock_document(account, id).await?;
        let before = locked.ok_or(UseCaseError::NotFound)?;
        if let Some(after) = change.folder
            && after != before
        {
            if let Some(after) = after
                && !tx.count_in_folder(account, after, 1).await?
            {
                return Err(no_folder("folder_id").into());
            }
            if let Some(before) = before {
                tx.count_in_folder(account, before, -1).await?;
            }
        }
        let changed = tx.change_document(account, id, change, at).await?;
        changed.ok_or(UseCaseError::NotFound)
    })
}
