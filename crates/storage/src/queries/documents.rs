//! Knowledge documents.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, DocumentId, FolderId, Timestamp};

use super::agent_pages::contains;
use super::names;
use super::names::{Names, Stretch};
use super::pages::behind;
use crate::database::{Conn, Db};
use crate::dialect::unlikely;
use crate::schema::{
    document_grams as grams, knowledge_documents as documents, knowledge_gone as gone,
    knowledge_passages as passages, knowledge_uploads as uploads,
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
            documents::name_folded.eq(folded.clone()),
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
        .execute(conn)
        .await?;
    let named = (document.account_id, document.id, document.created_at);
    names::add(conn, names::OF_DOCUMENTS, named, &folded).await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<Option<Document>> {
    Ok(documents::table
        .filter(
            documents::id
                .eq(V(id))
                .and(documents::account_id.eq(V(account))),
        )
        .select(Document::as_select())
        .first(conn)
        .await
        .optional()?)
}

pub(crate) async fn page(
    conn: &mut Conn,
    account: AccountId,
    filter: &DocumentFilter,
    after: Option<PageKey<DocumentId>>,
    limit: i64,
) -> Result<Vec<Document>> {
    if let Some(text) = filter.q.as_deref().filter(|text| !text.is_empty()) {
        let within = Within {
            account,
            filter,
            text,
        };
        return names::page(conn, &within, (account, text), after, limit).await;
    }
    let query = listed(account, filter)
        .limit(limit + 1)
        .select(Document::as_select());
    Ok(behind!(query, documents, after).load(conn).await?)
}

/// The account's documents that the filters show, newest first, whatever their names are.
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
    query
}

/// The account's documents with a text in their names.
struct Within<'a> {
    account: AccountId,
    filter: &'a DocumentFilter,
    text: &'a str,
}

impl Names for Within<'_> {
    type Id = DocumentId;
    type Row = Document;
    const PIECES: &'static str = names::OF_DOCUMENTS;

    fn is_filtered(&self) -> bool {
        self.filter.folder.is_some() || self.filter.status.is_some()
    }

    async fn reach(&self, conn: &mut Conn, at: Timestamp, ahead: i64) -> Result<Option<Timestamp>> {
        Ok(listed(self.account, self.filter)
            .filter(documents::created_at.le(V(at)))
            .select(documents::created_at)
            .limit(1)
            .offset(ahead)
            .first(conn)
            .await
            .optional()?)
    }

    async fn rows(
        &self,
        conn: &mut Conn,
        along: Option<i64>,
        stretch: Stretch<DocumentId>,
    ) -> Result<Vec<Document>> {
        let has_text = documents::name_folded
            .like(contains(self.text))
            .escape('\\');
        let Some(gram) = along else {
            let mut query = listed(self.account, self.filter)
                .filter(has_text)
                .limit(stretch.most)
                .select(Document::as_select());
            if let Some(since) = stretch.since {
                query = query.filter(documents::created_at.ge(V(since)));
            }
            return Ok(behind!(query, documents, stretch.after).load(conn).await?);
        };
        // The pieces are the account's own, and lead to its documents alone: with its number here too, the documents'
        // own indexes would seem to be a way.
        let mut query = grams::table
            .inner_join(documents::table.on(documents::id.eq(grams::id)))
            .filter(grams::account_id.eq(V(self.account)))
            .filter(grams::gram.eq(gram))
            .filter(has_text)
            .order((grams::created_at.desc(), grams::id.desc()))
            .limit(stretch.most)
            .select(Document::as_select())
            .into_boxed::<Db>();
        query = match self.filter.folder {
            Some(Some(folder)) => query.filter(documents::folder_id.eq(V(folder))),
            Some(None) => query.filter(documents::folder_id.is_null()),
            None => query,
        };
        if let Some(status) = self.filter.status {
            query = query.filter(documents::status.eq(V(status)));
        }
        if let Some(since) = stretch.since {
            query = query.filter(grams::created_at.ge(V(since)));
        }
        Ok(behind!(query, grams, stretch.after).load(conn).await?)
    }
}

/// The document's folder, if the account has the document; the row is this transaction's until its end.
pub(crate) async fn hold(
    conn: &mut Conn,
    account: AccountId,
    id: DocumentId,
) -> Result<Option<Option<FolderId>>> {
    // A statement that changes nothing takes the row on both databases.
    let held: Option<(i32, Option<FolderId>)> = diesel::update(documents::table)
        .filter(
            documents::id
                .eq(V(id))
                .and(documents::account_id.eq(V(account))),
        )
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
    account: AccountId,
    id: DocumentId,
    change: DocumentChange,
    at: Timestamp,
) -> Result<()> {
    let (name, folded) = change.name.unzip();
    if let Some(folded) = &folded
        && let Some((before, made)) = folded_name(conn, id).await?
    {
        let names = (before.as_str(), folded.as_str());
        names::change(conn, names::OF_DOCUMENTS, (account, id, made), names).await?;
    }
    diesel::update(documents::table.find(V(id)))
        .set((
            name.map(|name| documents::name.eq(name)),
            folded.map(|folded| documents::name_folded.eq(folded)),
            change
                .folder
                .map(|folder| documents::folder_id.eq(folder.map(V))),
            documents::updated_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

async fn folded_name(conn: &mut Conn, id: DocumentId) -> Result<Option<(String, Timestamp)>> {
    Ok(documents::table
        .find(V(id))
        .select((documents::name_folded, documents::created_at))
        .first(conn)
        .await
        .optional()?)
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
    if let Some((folded, made)) = folded_name(conn, id).await? {
        names::remove(conn, names::OF_DOCUMENTS, (account, id, made), &folded).await?;
    }
    diesel::delete(documents::table.find(V(id)))
        .execute(conn)
        .await?;
    diesel::insert_into(gone::table)
        .values((
            gone::document_id.eq(V(id)),
            gone::account_id.eq(V(account)),
            gone::deleted_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// Of these, the documents that the account has.
pub(crate) async fn known(
    conn: &mut Conn,
    account: AccountId,
    ids: Vec<DocumentId>,
) -> Result<Vec<DocumentId>> {
    Ok(documents::table
        .filter(
            documents::account_id
                .eq(V(account))
                .and(documents::id.eq_any(ids.into_iter().map(V))),
        )
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
        .filter(
            documents::account_id
                .eq(V(account))
                .and(documents::folder_id.eq_any(folders.into_iter().map(V))),
        )
        .select(documents::id)
        .load(conn)
        .await?)
}
