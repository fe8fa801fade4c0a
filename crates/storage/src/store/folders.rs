//! Folders of knowledge documents.

use offhook_domain::{AccountId, FolderId, Timestamp};

use super::documents::FolderMade;
use super::{Answer, keep, read, write};
use crate::queries;
use crate::{Folder, Store, Verdict};

impl Store {
    /// Makes a folder, unless its name is taken or the account has `most` already.
    pub fn create_folder(
        &self,
        folder: Folder,
        name_folded: String,
        most: i64,
    ) -> Answer<'_, FolderMade> {
        write!(self, |conn| {
            let account = folder.account_id;
            // The account's row keeps two creations of one account apart.
            queries::locks::lock_account(conn, account).await?;
            if queries::folders::is_taken(conn, account, &name_folded, folder.id).await? {
                return Ok(Verdict::Rollback(FolderMade::NameTaken));
            }
            if queries::folders::count(conn, account).await? >= most {
                return Ok(Verdict::Rollback(FolderMade::TooMany));
            }
            queries::folders::insert(conn, folder.clone(), name_folded).await?;
            Ok(Verdict::Commit(FolderMade::Done(folder)))
        })
    }

    /// A folder of the account.
    pub fn folder(&self, account: AccountId, id: FolderId) -> Answer<'_, Option<Folder>> {
        read!(self, |conn| queries::folders::find(conn, account, id).await)
    }

    /// Renames a folder: its new name, and as it is compared.
    pub fn rename_folder(
        &self,
        account: AccountId,
        id: FolderId,
        name: (String, String),
        at: Timestamp,
    ) -> Answer<'_, FolderMade> {
        write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            if queries::folders::is_taken(conn, account, &name.1, id).await? {
                // Another account's folder is none, whatever it would be called.
                let found = queries::folders::find(conn, account, id).await?;
                let made = found.map_or(FolderMade::Absent, |_| FolderMade::NameTaken);
                return Ok(Verdict::Rollback(made));
            }
            queries::folders::rename(conn, account, id, name, at).await?;
            let renamed = queries::folders::find(conn, account, id).await?;
            Ok(Verdict::Commit(
                renamed.map_or(FolderMade::Absent, FolderMade::Done),
            ))
        })
    }

    /// Deletes a folder, whose documents move to the root; returns how many, or `None` if there is no such folder.
    pub fn delete_folder(
        &self,
        account: AccountId,
        id: FolderId,
        at: Timestamp,
    ) -> Answer<'_, Option<usize>> {
        keep!(self, |conn| {
            // Moves and deletions of documents take their rows first and folders' then: not at the same time.
            queries::locks::lock_account(conn, account).await?;
            queries::folders::delete(conn, account, id, at).await
        })
    }
}
