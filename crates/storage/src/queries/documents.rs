//! Knowledge documents.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, DocumentId, FolderId, Timestamp};

use super::agent_pages::contains;
use super::pages::behind;
use crate::database::{Conn, Db};
use crate::dialect::unlikely;
use crate::schema::{
    knowledge_documents as documents, knowledge_gone as gone, knowledge_passages as passages,
    knowledge_uploads as uploads,
};
use crate::sql::V;
use crate::{Document, DocumentChange, DocumentFilter, NewDocument, PageKey, Result};

pub(crate) async fn insert(conn: &mut Conn, new: NewDocument) -> Result<()> {
    let (document, folded) = (new.document, new.name_folded);
    diesel::insert_into(documents::table)
        .values((
            documents::id.eq(V(document.id)),
            documents::account_id.eq(V(document.account_id)),
            documents::folder_id.eq(document.folder_id.map(V)),
            documents::name.eq(document.name),
            documents::name_folded.eq(folded),
            documents::source.eq(V(document.source)),
            documents::mime_type.eq(document.mime_type),
            documents::url.eq(document.url),
            documents::size_bytes.eq(document.size_bytes),
            documents::content_hash.eq(document.content_hash),
            documents::chunks_count.eq(document.chunks_count),
            documents::status.eq(V(document.status)),
            documents::tries.eq(0),
            documents::created_at.eq(V(document.created_at)),
            documents::updated_at.eq(V(document.updated_at)),
        ))
        .run(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<Option<Document>> {
    Ok(documents::table
        .filter(documents::id.eq(V(id)))
        .filter(documents::account_id.eq(V(account)))
        .select(Document::as_select())
        .found(conn)
        .await?)
}

pub(crate) async fn page(
    conn: &mut Conn,
    account: AccountId,
    filter: &DocumentFilter,
    after: Option<PageKey<DocumentId>>,
    limit: i64,
) -> Result<Vec<Document>> {
    let query = listed(account, filter)
        .limit(limit + 1)
        .select(Document::as_select());
    Ok(behind!(query, documents, after).load(conn).await?)
}

/// The account's documents that the filters show, newest first. A text within their names is looked for in this order, so a
/// page ends where it is full (docs/adr/0016-search-by-plain-rows.md).
fn listed(account: AccountId, filter: &DocumentFilter) -> documents::BoxedQuery<'static, Db> {
    let mut query = documents::table
        .filter(documents::account_id.eq(V(account)))
        .order((documents::created_at.desc(), documents::id.desc()))
        .into_boxed::<Db>();
    query = match filter.folder {
        Some(Some(folder)) => query.filter(unlikely(documents::folder_id.eq(V(folder)))),
        Some(None) => query.filter(documents::folder_id.is_null()),
        None => query,
    };
    if let Some(status) = filter.status {
        query = query.filter(unlikely(documents::status.eq(V(status))));
    }
    if let Some(text) = filter.q.as_deref().filter(|text| !text.is_empty()) {
        let name = documents::name_folded;
        query = query.filter(name.like(contains(text)).escape('\\'));
    }
    query
}

/// The document's folder, if the account has the document; the row is this transaction's until its end.
pub(crate) async fn hold(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<Option<Option<FolderId>>> {
    // A statement that changes nothing takes the row on both databases.
    let held: Option<(i32, Option<FolderId>)> = diesel::update(documents::table)
        .filter(documents::id.eq(V(id)))
        .filter(documents::account_id.eq(V(account)))
        .set(documents::tries.eq(documents::tries))
        .returning((documents::tries, documents::folder_id))
        .get_result(conn)
        .await
        .optional()?;
    Ok(held.map(|(_, folder)| folder))
}

/// Changes a document that this transaction holds.
pub(crate) async fn change(
    conn: &mut Conn,
    id: DocumentId,
    change: DocumentChange,
    at: Timestamp,
) -> Result<()> {
    let (name, folded) = change.name.unzip();
    diesel::update(documents::table.find(V(id)))
        .set((
            name.map(|name| documents::name.eq(name)),
            folded.map(|folded| documents::name_folded.eq(folded)),
            change
                .folder
                .map(|folder| documents::folder_id.eq(folder.map(V))),
            documents::updated_at.eq(V(at)),
        ))
        .run(conn)
        .await
}

/// Deletes a document that this transaction holds, with everything but its words, which are left to a worker.
pub(crate) async fn delete(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
    at: Timestamp,
) -> Result<()> {
    diesel::delete(uploads::table.find(V(id)))
        .execute(conn)
        .await?;
    diesel::delete(passages::table.filter(passages::document_id.eq(V(id))))
        .execute(conn)
        .await?;
    diesel::delete(documents::table.find(V(id)))
        .execute(conn)
        .await?;
    diesel::insert_into(gone::table)
        .values((
            gone::document_id.eq(V(id)),
            gone::account_id.eq(V(account)),
            gone::deleted_at.eq(V(at)),
        ))
        .run(conn)
        .await
}

/// Of these, the documents that the account has.
pub(crate) async fn known(
    conn: &mut Conn,
    account: AccountId,
    ids: Vec<DocumentId>,
) -> Result<Vec<DocumentId>> {
    Ok(documents::table
        .filter(documents::account_id.eq(V(account)))
        .filter(documents::id.eq_any(ids.into_iter().map(V)))
        .select(documents::id)
        .load(conn)
        .await?)
}

/// The documents in these folders.
pub(crate) async fn within(
    conn: &mut Conn,
    account: AccountId,
    folders: Vec<FolderId>,
) -> Result<Vec<DocumentId>> {
    Ok(documents::table
        .filter(documents::account_id.eq(V(account)))
        .filter(documents::folder_id.eq_any(folders.into_iter().map(V)))
        .select(documents::id)
        .load(conn)
        .await?)
}
