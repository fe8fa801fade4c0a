use crate::prelude::*;
use crate::schema::knowledge_folders as folders;

/// The result of creating or renaming a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderMade {
    Done(Folder),
    /// The account has no such folder.
    Absent,
    /// Another folder has the name.
    NameTaken,
    /// The account has reached its limit of folders.
    TooMany,
}

/// Whether another folder of the account has this name.
async fn is_taken(
    conn: &mut Conn,
    account: AccountId,
    folded: &str,
    but: FolderId,
) -> Result<bool> {
    folders::table
        .filter(folders::account_id.eq(V(account)))
        .filter(folders::name_folded.eq(folded))
        .filter(folders::id.ne(V(but)))
        .select(folders::id)
        .exists(conn)
        .await
}

async fn find(conn: &mut Conn, account: AccountId, id: FolderId) -> Result<Option<Folder>> {
    Ok(own!(folders, account, id)
        .select(Folder::as_select())
        .found(conn)
        .await?)
}

/// Counts a document in (1) or out (−1); `false` if the account has no such folder. Locks the folder's row until the
/// transaction ends, so that no document enters a folder that is being deleted.
pub(crate) async fn count_in(
    conn: &mut Conn,
    account: AccountId,
    id: FolderId,
    by: i32,
) -> Result<bool> {
    diesel::update(own!(folders, account, id))
        .set(folders::documents_count.eq(folders::documents_count + by))
        .changes(conn)
        .await
}

impl Store {
    /// Creates a folder, unless its name is taken or the account has `most` already.
    pub fn create_folder(
        &self,
        folder: Folder,
        name_folded: String,
        most: i64,
    ) -> Answer<'_, FolderMade> {
        transact!(self, |conn| {
            let account = folder.account_id;
            // The lock on the account serializes creations for one account.
            locks::lock_account(conn, account).await?;
            if is_taken(conn, account, &name_folded, folder.id).await? {
                return Ok(Rollback(FolderMade::NameTaken));
            }
            let made: i64 = folders::table
                .filter(folders::account_id.eq(V(account)))
                .counted(conn)
                .await?;
            ensure!(made < most, Rollback(FolderMade::TooMany));
            insert! {
                conn, folders of folder: id, account_id = account, name, name_folded = name_folded,
                documents_count, created_at, updated_at
            }?;
            Ok(Commit(FolderMade::Done(folder)))
        })
    }

    pub fn folder(&self, account: AccountId, id: FolderId) -> Answer<'_, Option<Folder>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// A page of the account's folders, newest first, with one more than `limit` if there is a next page.
    pub fn folders(
        &self,
        account: AccountId,
        after: Option<PageKey<FolderId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Folder>> {
        let query = newest!(folders, Folder, account, limit);
        behind!(query, folders, after).read_all(self)
    }

    /// Filters `ids` to the account's folders.
    pub fn known_folders(
        &self,
        account: AccountId,
        ids: Vec<FolderId>,
    ) -> Answer<'_, Vec<FolderId>> {
        folders::table
            .filter(folders::account_id.eq(V(account)))
            .filter(folders::id.eq_any(ids.into_iter().map(V)))
            .select(folders::id)
            .read_all(self)
    }

    /// Renames a folder, given its new name and the folded form.
    pub fn rename_folder(
        &self,
        account: AccountId,
        id: FolderId,
        (name, folded): (String, String),
        at: Timestamp,
    ) -> Answer<'_, FolderMade> {
        transact!(self, |conn| {
            locks::lock_account(conn, account).await?;
            if is_taken(conn, account, &folded, id).await? {
                // Another account's folder does not exist for this account, whatever its new name.
                let found = find(conn, account, id).await?;
                let made = found.map_or(FolderMade::Absent, |_| FolderMade::NameTaken);
                return Ok(Rollback(made));
            }
            diesel::update(own!(folders, account, id))
                .set(row! { folders: name, name_folded = folded, updated_at = at })
                .execute(conn)
                .await?;
            let renamed = find(conn, account, id).await?;
            Ok(Commit(renamed.map_or(FolderMade::Absent, FolderMade::Done)))
        })
    }

    /// Deletes a folder, whose documents move to the root. Returns how many moved, or `None` if there is no such
    /// folder.
    pub fn delete_folder(
        &self,
        account: AccountId,
        id: FolderId,
        at: Timestamp,
    ) -> Answer<'_, Option<usize>> {
        keep!(self, |conn| {
            // Moves and deletions of documents lock documents before folders. The account's lock keeps them from
            // running at the same time as this.
            locks::lock_account(conn, account).await?;
            // The row first: from here on no document enters.
            let deleted = diesel::delete(own!(folders, account, id))
                .changes(conn)
                .await?;
            ensure!(deleted, None);
            let moved = diesel::update(documents::table)
                .filter(documents::account_id.eq(V(account)))
                .filter(documents::folder_id.eq(Some(id)))
                .set(row! { documents: folder_id = NULL, updated_at = at })
                .execute(conn)
                .await?;
            Ok(Some(moved))
        })
    }
}
