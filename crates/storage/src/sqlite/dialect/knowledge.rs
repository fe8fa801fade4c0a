//! The statements on knowledge that differ, for SQLite.

use crate::prelude::*;

/// Uses one statement: one for each of hundreds of words would take several times as long.
pub(crate) async fn insert_postings(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    rows: Vec<NewPosting>,
) -> Result<()> {
    let rows: Vec<_> = rows.into_iter().map(|row| [row.term, row.places]).collect();
    diesel::sql_query(
        "INSERT INTO knowledge_postings (account_id, term, document_id, places) \
         SELECT ?1, r.value ->> 0, ?2, r.value ->> 1 FROM json_each(?3) AS r",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<sql::Uuid, _>(V(document))
    .bind::<Text, _>(serde_json::json!(rows).to_string())
    .run(conn)
    .await
}
