use crate::prelude::*;
use crate::schema::knowledge_folders as folders;

async fn find(conn: &mut Conn, account: AccountId, id: FolderId) -> Result<Option<Folder>> {
    Ok(own!(folders, account, id)
        .select(Folder::as_select())
        .found(conn)
        .await?)
}

/// As [`Tx::count_in_folder`] does.
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

#[boxed]
impl Tx<'_> {
    pub async fn folder(&mut self, account: AccountId, id: FolderId) -> Result<Option<Folder>> {
        find(self.0, account, id).await
    }

    pub async fn count_folders(&mut self, account: AccountId) -> Result<i64> {
        let own = folders::table.filter(folders::account_id.eq(V(account)));
        Ok(own.counted(self.0).await?)
    }

    /// Whether a folder of the account other than this one has the name.
    pub async fn has_folder_named(
        &mut self,
        account: AccountId,
        folded: &str,
        but: FolderId,
    ) -> Result<bool> {
        folders::table
            .filter(folders::account_id.eq(V(account)))
            .filter(folders::name_folded.eq(folded))
            .filter(folders::id.ne(V(but)))
            .select(folders::id)
            .exists(self.0)
            .await
    }

    pub async fn insert_folder(&mut self, folder: &Folder, folded: String) -> Result<()> {
        insert! {
            self.0, folders of folder: id, account_id, name, name_folded = folded, documents_count,
            created_at, updated_at
        }
    }

    /// Renames a folder, given its new name and the folded form.
    pub async fn rename_folder(
        &mut self,
        account: AccountId,
        id: FolderId,
        (name, folded): (String, String),
        at: Timestamp,
    ) -> Result<Option<Folder>> {
        diesel::update(own!(folders, account, id))
            .set(row! { folders: name, name_folded = folded, updated_at = at })
            .execute(self.0)
            .await?;
        find(self.0, account, id).await
    }

    /// Counts a document in (1) or out (−1); `false` if the account has no such folder. Locks the folder's row until the
    /// transaction ends, so that no document enters a folder that is being deleted.
    pub async fn count_in_folder(
        &mut self,
        account: AccountId,
        id: FolderId,
        by: i32,
    ) -> Result<bool> {
        count_in(self.0, account, id, by).await
    }
}

impl Store {
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
        page!(folders as Folder, account, after, limit).read_all(self)
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
