//! Folders of knowledge documents.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, FolderId, Timestamp};

use super::pages::behind;
use crate::database::{Conn, Db};
use crate::schema::{knowledge_documents as documents, knowledge_folders as folders};
use crate::sql::V;
use crate::{Folder, PageKey, Result, Store};

pub(crate) async fn count(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(folders::table
        .filter(folders::account_id.eq(V(account)))
        .count()
        .get_result(conn)
        .await?)
}

/// Whether another folder of the account has this name.
pub(crate) async fn is_taken(
    conn: &mut Conn,
    account: AccountId,
    folded: &str,
    but: FolderId,
) -> Result<bool> {
    let taken: Option<FolderId> = folders::table
        .filter(folders::account_id.eq(V(account)))
        .filter(folders::name_folded.eq(folded.to_owned()))
        .filter(folders::id.ne(V(but)))
        .select(folders::id)
        .found(conn)
        .await?;
    Ok(taken.is_some())
}

pub(crate) async fn insert(conn: &mut Conn, folder: Folder, folded: String) -> Result<()> {
    diesel::insert_into(folders::table)
        .values((
            folders::id.eq(V(folder.id)),
            folders::account_id.eq(V(folder.account_id)),
            folders::name.eq(folder.name),
            folders::name_folded.eq(folded),
            folders::documents_count.eq(folder.documents_count),
            folders::created_at.eq(V(folder.created_at)),
            folders::updated_at.eq(V(folder.updated_at)),
        ))
        .run(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: FolderId,
) -> Result<Option<Folder>> {
    Ok(folders::table
        .filter(folders::id.eq(V(id)))
        .filter(folders::account_id.eq(V(account)))
        .select(Folder::as_select())
        .found(conn)
        .await?)
}

impl Store {
    /// A page of the account's folders, newest first, with one more than `limit` if there is a next page.
    pub fn folders(
        &self,
        account: AccountId,
        after: Option<PageKey<FolderId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Folder>> {
        read!(self, |conn| {
            let query = folders::table
                .filter(folders::account_id.eq(V(account)))
                .order((folders::created_at.desc(), folders::id.desc()))
                .limit(limit + 1)
                .select(Folder::as_select())
                .into_boxed::<Db>();
            Ok(behind!(query, folders, after).load(conn).await?)
        })
    }

    /// Of these, the folders that the account has.
    pub fn known_folders(
        &self,
        account: AccountId,
        ids: Vec<FolderId>,
    ) -> Answer<'_, Vec<FolderId>> {
        read!(self, |conn| {
            Ok(folders::table
                .filter(folders::account_id.eq(V(account)))
                .filter(folders::id.eq_any(ids.into_iter().map(V)))
                .select(folders::id)
                .load(conn)
                .await?)
        })
    }
}

pub(crate) async fn rename(
    conn: &mut Conn,
    account: AccountId,
    id: FolderId,
    (name, folded): (String, String),
    at: Timestamp,
) -> Result<bool> {
    diesel::update(folders::table)
        .filter(folders::id.eq(V(id)))
        .filter(folders::account_id.eq(V(account)))
        .set((
            folders::name.eq(name),
            folders::name_folded.eq(folded),
            folders::updated_at.eq(V(at)),
        ))
        .changes(conn)
        .await
}

/// Counts a document in (1) or out (−1); `false` if the account has no such folder. Whoever does so has the folder's row
/// until the end of the transaction, so that no document comes into a folder that is being deleted.
pub(crate) async fn count_in(
    conn: &mut Conn,
    account: AccountId,
    id: FolderId,
    by: i32,
) -> Result<bool> {
    diesel::update(folders::table)
        .filter(folders::id.eq(V(id)))
        .filter(folders::account_id.eq(V(account)))
        .set(folders::documents_count.eq(folders::documents_count + by))
        .changes(conn)
        .await
}

/// Deletes a folder; returns how many documents moved to the root.
pub(crate) async fn delete(
    conn: &mut Conn,
    account: AccountId,
    id: FolderId,
    at: Timestamp,
) -> Result<Option<usize>> {
    // The row first: from here on nothing comes in.
    let deleted = diesel::delete(
        folders::table
            .filter(folders::id.eq(V(id)))
            .filter(folders::account_id.eq(V(account))),
    )
    .execute(conn)
    .await?;
    if deleted == 0 {
        return Ok(None);
    }
    let moved = diesel::update(documents::table)
        .filter(documents::account_id.eq(V(account)))
        .filter(documents::folder_id.eq(V(id)))
        .set((
            documents::folder_id.eq(None::<V<FolderId>>),
            documents::updated_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    Ok(Some(moved))
}
