//! The statements on knowledge that differ, for PostgreSQL.

use super::column;
use crate::prelude::*;

/// Locks documents against deletion until the transaction ends.
pub(crate) async fn hold_documents(conn: &mut Conn, ids: &[DocumentId]) -> Result<()> {
    let _: Vec<DocumentId> = documents::table
        .filter(documents::id.eq_any(ids.iter().copied().map(V)))
        .order(documents::id)
        .select(documents::id)
        .locked("FOR SHARE")
        .load(conn)
        .await?;
    Ok(())
}

pub(crate) async fn insert_passages(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<NewPassage>,
) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO knowledge_passages (document_id, ordinal, repeats, content) \
         SELECT $1, r.ordinal, r.repeats, r.content FROM UNNEST($2, $3, $4) AS r(ordinal, repeats, content)",
    )
    .bind::<sql::Uuid, _>(V(document))
    .bind::<Array<Integer>, _>(column(&rows, |r| r.ordinal))
    .bind::<Array<Integer>, _>(column(&rows, |r| r.repeats))
    .bind::<Array<Text>, _>(column(&rows, |r| r.content.clone()))
    .run(conn)
.await
}

pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<()> {
    let (terms, places): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|row| (row.term, row.places)).unzip();
    diesel::sql_query(
        "INSERT INTO knowledge_postings (account_id, term, document_id, places) \
         SELECT $1, r.term, $2, r.places FROM UNNEST($3, $4) AS r(term, places)",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<sql::Uuid, _>(V(document))
    .bind::<Array<Text>, _>(terms)
    .bind::<Array<Text>, _>(places)
    .run(conn)
    .await
}
