//! The statements on knowledge that differ, for PostgreSQL.

use crate::prelude::*;

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
