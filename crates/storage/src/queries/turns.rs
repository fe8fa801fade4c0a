//! Fairness: accounts with waiting work are served in turn, so that ten thousand documents of one account never block
//! another's.

use crate::prelude::*;

/// Reading documents.
pub(crate) const READ: &str = "read";

/// Embedding their passages.
pub(crate) const EMBED: &str = "embed";

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = sql::Uuid)]
    account_id: AccountId,
}

/// The accounts that have documents to read, longest since their last turn first.
pub(crate) async fn to_read(conn: &mut Conn) -> Result<Vec<AccountId>> {
    waiting(
        conn,
        READ,
        "knowledge_documents",
        "status = 'processing'",
        None,
    )
    .await
}

/// The accounts that have documents for the model to embed, in the same order.
pub(crate) async fn to_embed(conn: &mut Conn, model: &str) -> Result<Vec<AccountId>> {
    let (table, waits) = ("knowledge_embedding_jobs", "model = $1 AND tries < 3");
    waiting(conn, EMBED, table, waits, Some(model)).await
}

/// Costs one index look-up per account, however many documents it has.
async fn waiting(
    conn: &mut Conn,
    work: &str,
    table: &str,
    waits: &str,
    value: Option<&str>,
) -> Result<Vec<AccountId>> {
    let mut query = diesel::sql_query(format!(
        "WITH RECURSIVE waiting (account_id) AS ( \
           SELECT f.account_id FROM (SELECT account_id FROM {table} \
             WHERE {waits} ORDER BY account_id LIMIT 1) AS f \
           UNION ALL \
           SELECT (SELECT d.account_id FROM {table} d \
             WHERE {waits} AND d.account_id > w.account_id \
             ORDER BY d.account_id LIMIT 1) \
           FROM waiting w WHERE w.account_id IS NOT NULL) \
         SELECT w.account_id FROM waiting w \
         LEFT JOIN knowledge_turns t ON t.work = '{work}' AND t.account_id = w.account_id \
         WHERE w.account_id IS NOT NULL ORDER BY COALESCE(t.turn, 0), w.account_id"
    ))
    .into_boxed::<Db>();
    if let Some(value) = value {
        query = query.bind::<Text, _>(value);
    }
    let rows: Vec<Waiting> = query.load(conn).await?;
    Ok(rows.into_iter().map(|row| row.account_id).collect())
}

/// Records that the account has its turn now.
pub(crate) async fn take(conn: &mut Conn, work: &str, account: AccountId) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO knowledge_turns (work, account_id, turn) \
         VALUES ($1, $2, (SELECT COALESCE(MAX(turn), 0) + 1 FROM knowledge_turns WHERE work = $1)) \
         ON CONFLICT (work, account_id) DO UPDATE SET turn = EXCLUDED.turn",
    )
    .bind::<Text, _>(work)
    .bind::<sql::Uuid, _>(V(account))
    .run(conn)
    .await
}
