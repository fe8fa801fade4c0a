//! Whose turn it is: accounts with waiting work are served one after the other, so that ten thousand documents of one
//! never stop another's.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::Text;
use offhook_domain::AccountId;

use crate::Result;
use crate::database::Conn;
use crate::sql;
use crate::sql::V;

/// Reading documents.
pub(crate) const READ: &str = "read";

/// Embedding their passages.
pub(crate) const EMBED: &str = "embed";

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = sql::Uuid)]
    account_id: AccountId,
}

/// The accounts that have documents to read, the one whose last turn was longest ago first. Each account costs one look
/// into the index, however many documents it has.
pub(crate) async fn to_read(conn: &mut Conn) -> Result<Vec<AccountId>> {
    let rows: Vec<Waiting> = diesel::sql_query(
        "WITH RECURSIVE waiting (account_id) AS ( \
           SELECT f.account_id FROM (SELECT account_id FROM knowledge_documents \
             WHERE status = 'processing' ORDER BY account_id LIMIT 1) AS f \
           UNION ALL \
           SELECT (SELECT d.account_id FROM knowledge_documents d \
             WHERE d.status = 'processing' AND d.account_id > w.account_id \
             ORDER BY d.account_id LIMIT 1) \
           FROM waiting w WHERE w.account_id IS NOT NULL) \
         SELECT w.account_id FROM waiting w \
         LEFT JOIN knowledge_turns t ON t.work = $1 AND t.account_id = w.account_id \
         WHERE w.account_id IS NOT NULL ORDER BY COALESCE(t.turn, 0), w.account_id",
    )
    .bind::<Text, _>(READ)
    .load(conn)
    .await?;
    Ok(rows.into_iter().map(|row| row.account_id).collect())
}

/// The accounts that have documents to be embedded by the model, in the same order.
pub(crate) async fn to_embed(conn: &mut Conn, model: &str) -> Result<Vec<AccountId>> {
    // SQLite numbers its parameters in the order in which they appear.
    let rows: Vec<Waiting> = diesel::sql_query(
        "WITH RECURSIVE waiting (account_id) AS ( \
           SELECT f.account_id FROM (SELECT account_id FROM knowledge_embedding_jobs \
             WHERE model = $1 AND tries < 3 ORDER BY account_id LIMIT 1) AS f \
           UNION ALL \
           SELECT (SELECT d.account_id FROM knowledge_embedding_jobs d \
             WHERE d.model = $1 AND d.tries < 3 AND d.account_id > w.account_id \
             ORDER BY d.account_id LIMIT 1) \
           FROM waiting w WHERE w.account_id IS NOT NULL) \
         SELECT w.account_id FROM waiting w \
         LEFT JOIN knowledge_turns t ON t.work = $2 AND t.account_id = w.account_id \
         WHERE w.account_id IS NOT NULL ORDER BY COALESCE(t.turn, 0), w.account_id",
    )
    .bind::<Text, _>(model)
    .bind::<Text, _>(EMBED)
    .load(conn)
    .await?;
    Ok(rows.into_iter().map(|row| row.account_id).collect())
}

/// Writes down that the account has its turn now.
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
