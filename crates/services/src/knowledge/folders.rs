//! Folders: one level, with unique names.

use offhook_boxed::boxed;
use offhook_domain::body;
use offhook_domain::body::{Body as _, Change, Name, Required};
use offhook_domain::json::Json;
use offhook_domain::{AccountId, FolderId};
use offhook_storage::{Folder, FolderMade, StoreError, mint};

use super::Knowledge;
use crate::casefold::fold;
use crate::error::{Result, UseCaseError};
use crate::{Page, PageRequest, Refusal};

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
        let limit = i64::from(page.limit);
        let rows = self.ctx.store.folders(account, page.after, limit).await?;
        Ok(Page::of(rows, page.limit))
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
        let store = &self.ctx.store;
        done(store.create_folder(folder, folded, FOLDERS_AT_MOST).await?)
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
        done(self.ctx.store.rename_folder(account, id, name, at).await?)
    }

    /// Deletes a folder; returns how many documents moved to the root.
    pub async fn delete_folder(&self, account: AccountId, id: FolderId) -> Result<usize> {
        let at = self.ctx.clock.now();
        let moved = self.ctx.store.delete_folder(account, id, at).await?;
        moved.ok_or(UseCaseError::NotFound)
    }
}

fn done(made: FolderMade) -> Result<Folder> {
    match made {
        FolderMade::Done(folder) => Ok(folder),
        FolderMade::Absent => Err(UseCaseError::NotFound),
        FolderMade::NameTaken => Err(UseCaseError::Conflict(Refusal::FolderNameTaken)),
        FolderMade::TooMany => Err(UseCaseError::Conflict(Refusal::TooManyFolders(
            FOLDERS_AT_MOST,
        ))),
    }
}
