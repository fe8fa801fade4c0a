use super::{agent_pages::contains, embeddings, folders, pins};
use crate::prelude::*;

async fn find(conn: &mut Conn, account: AccountId, id: DocumentId) -> Result<Option<Document>> {
    Ok(own!(documents, account, id)
        .select(Document::as_select())
        .found(conn)
        .await?)
}

/// The document's folder, if the account has the document. Locks the row until the transaction ends.
async fn hold(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<Option<Option<FolderId>>> {
    // A statement that changes nothing locks the row on both databases.
    let held: Option<(i32, Option<FolderId>)> = diesel::update(own!(documents, account, id))
        .set(documents::tries.eq(documents::tries))
        .returning((documents::tries, documents::folder_id))
        .returned(conn)
        .await?;
    Ok(held.map(|(_, folder)| folder))
}

/// The documents in these folders.
pub(crate) async fn within(
    conn: &mut Conn,
    account: AccountId,
    folders: Vec<FolderId>,
) -> Result<Vec<DocumentId>> {
    Ok(documents::table
        .filter(documents::account_id.eq(V(account)))
        .filter(documents::folder_id.eq_any(folders.into_iter().map(Some)))
        .select(documents::id)
        .load(conn)
        .await?)
}

#[boxed]
impl Tx<'_> {
    /// The document's folder, if the account has the document. Locks the row until the transaction ends.
    pub async fn lock_document(
        &mut self,
        account: AccountId,
        id: DocumentId,
    ) -> Result<Option<Option<FolderId>>> {
        hold(self.0, account, id).await
    }

    /// Writes a locked document's new name and folder.
    pub async fn change_document(
        &mut self,
        account: AccountId,
        id: DocumentId,
        change: DocumentChange,
        at: Timestamp,
    ) -> Result<Option<Document>> {
        let (name, folded) = change.name.unzip();
        diesel::update(documents::table.find(V(id)))
            .set((
                name.map(|name| documents::name.eq(name)),
                folded.map(|folded| documents::name_folded.eq(folded)),
                change.folder.map(|folder| documents::folder_id.eq(folder)),
                documents::updated_at.eq(V(at)),
            ))
            .execute(self.0)
            .await?;
        find(self.0, account, id).await
    }
}

impl Store {
    /// Creates a document; `false` if the account has no such folder.
    pub fn create_document(&self, new: NewDocument) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let document = new.document;
            if let Some(folder) = document.folder_id {
                let account = document.account_id;
                if !folders::count_in(conn, account, folder, 1).await? {
                    return Ok(Rollback(false));
                }
            }
            insert! {
                conn, documents of document: id, account_id, folder_id, name,
                name_folded = new.name_folded, source, mime_type, url, size_bytes, content_hash,
                chunks_count, status, tries = 0, created_at, updated_at
            }?;
            Ok(Commit(true))
        })
    }

    pub fn document(&self, account: AccountId, id: DocumentId) -> Answer<'_, Option<Document>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// A page of the account's documents, newest first, with one more than `limit` if there is a next page. The search
    /// for a text in their names runs in this order, so it stops when the page is full
    /// (docs/adr/0016-search-by-plain-rows.md).
    pub fn documents(
        &self,
        account: AccountId,
        filter: DocumentFilter,
        after: Option<PageKey<DocumentId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Document>> {
        let mut query = newest!(documents, Document, account, limit);
        query = match filter.folder {
            Some(Some(folder)) => query.filter(unlikely(documents::folder_id.eq(Some(folder)))),
            Some(None) => query.filter(documents::folder_id.is_null()),
            None => query,
        };
        query = query.when_is(documents::status, filter.status);
        if let Some(text) = filter.q.as_deref().filter(|text| !text.is_empty()) {
            let name = documents::name_folded;
            query = query.filter(name.like(contains(text)).escape('\\'));
        }
        behind!(query, documents, after).read_all(self)
    }

    /// Deletes a document with its passages and pins; a worker deletes its words later. Returns the agents whose
    /// published version answered from it, or `None` if there is no such document.
    pub fn delete_document(
        &self,
        account: AccountId,
        id: DocumentId,
        at: Timestamp,
    ) -> Answer<'_, Option<Vec<PinningAgent>>> {
        transact!(self, |conn| {
            locks::lock_account(conn, account).await?;
            // From here on no publication can pin it.
            let folder = some_or!(hold(conn, account, id).await?, Rollback(None));
            if let Some(folder) = folder {
                folders::count_in(conn, account, folder, -1).await?;
            }
            let agents = pins::agents(conn, account, id).await?;
            pins::forget(conn, id).await?;
            embeddings::forget(conn, id).await?;
            delete(conn, uploads::table.find(V(id))).await?;
            diesel::delete(passages::table.filter(passages::document_id.eq(V(id))))
                .execute(conn)
                .await?;
            delete(conn, documents::table.find(V(id))).await?;
            insert! { conn, gone: document_id = id, account_id = account, deleted_at = at }?;
            Ok(Commit(Some(agents)))
        })
    }

    /// The agents whose published version answers from the document, by name.
    pub fn pinning_agents(
        &self,
        account: AccountId,
        id: DocumentId,
    ) -> Answer<'_, Vec<PinningAgent>> {
        read!(self, |conn| pins::agents(conn, account, id).await)
    }

    /// Filters `ids` to the account's documents.
    pub fn known_documents(
        &self,
        account: AccountId,
        ids: Vec<DocumentId>,
    ) -> Answer<'_, Vec<DocumentId>> {
        documents::table
            .filter(documents::account_id.eq(V(account)))
            .filter(documents::id.eq_any(ids.into_iter().map(V)))
            .select(documents::id)
            .read_all(self)
    }

    /// The documents in these folders of the account.
    pub fn documents_within(
        &self,
        account: AccountId,
        folders: Vec<FolderId>,
    ) -> Answer<'_, Vec<DocumentId>> {
        read!(self, |conn| within(conn, account, folders).await)
    }
}
