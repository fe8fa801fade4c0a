//! The statements on knowledge that differ, for SQLite.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Integer, Text};
use offhook_domain::{AccountId, DocumentId};
use serde::Serialize;

use crate::database::Conn;
use crate::schema::{knowledge_passages as passages, knowledge_words as words};
use crate::sql;
use crate::sql::V;
use crate::words::{FoldedRow, WordsRow, entries};
use crate::{NewPassage, Posting, Result, StoreError};

/// Keeps documents from being deleted until the transaction's end; the one writer does.
pub(crate) async fn hold_documents(_conn: &mut Conn, _ids: &[DocumentId]) -> Result<()> {
    Ok(())
}

pub(crate) async fn insert_passages(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<NewPassage>,
) -> Result<()> {
    for row in rows {
        diesel::insert_into(passages::table)
            .values((
                passages::document_id.eq(V(document)),
                passages::ordinal.eq(row.ordinal),
                passages::repeats.eq(row.repeats),
                passages::content.eq(row.content),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

pub(crate) async fn insert_words(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<WordsRow>,
) -> Result<()> {
    for row in rows {
        diesel::insert_into(words::table)
            .values((
                words::document_id.eq(V(document)),
                words::last.eq(row.last),
                words::words.eq(row.words),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Keeps an account's folded words from being changed by others until the transaction's end; the one writer does.
pub(crate) async fn hold_folds(_conn: &mut Conn, _account: AccountId) -> Result<()> {
    Ok(())
}

/// Of each document, up to `limit` rows that have words behind `upto`.
pub(crate) async fn words_behind(
    conn: &mut Conn,
    documents: &[DocumentId],
    upto: &str,
    limit: i64,
) -> Result<Vec<(DocumentId, WordsRow)>> {
    let mut found = Vec::new();
    for document in documents {
        let rows: Vec<(String, String)> = words::table
            .filter(words::document_id.eq(V(*document)))
            .filter(words::last.gt(upto))
            .order(words::last)
            .limit(limit)
            .select((words::last, words::words))
            .load(conn)
            .await?;
        let rows = rows.into_iter();
        found.extend(rows.map(|(last, words)| (*document, WordsRow { last, words })));
    }
    Ok(found)
}

/// In one statement, which finds the rows' bytes one behind the other: a statement for each of thousands of words took
/// three times as long.
pub(crate) async fn insert_folded(
    conn: &mut Conn,
    account: AccountId,
    fold: i64,
    rows: Vec<FoldedRow>,
) -> Result<()> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        // `substr` counts from 1.
        listed.push((row.term, row.tier, bytes.len() + 1, row.postings.len()));
        bytes.extend(row.postings);
    }
    diesel::sql_query(
        "INSERT INTO knowledge_folded (account_id, term, tier, fold, postings) \
         SELECT ?1, r.value ->> 0, r.value ->> 1, ?2, substr(?3, r.value ->> 2, r.value ->> 3) FROM json_each(?4) AS r",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<BigInt, _>(fold)
    .bind::<Binary, _>(bytes)
    .bind::<Text, _>(json(listed.into_iter())?)
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes rows out of a fold.
pub(crate) async fn take_folded(
    conn: &mut Conn,
    (account, fold): (AccountId, i64),
    keys: Vec<(String, i32)>,
) -> Result<Vec<FoldedRow>> {
    let rows: Vec<Folded> = diesel::sql_query(
        "DELETE FROM knowledge_folded WHERE (account_id, term, tier, fold) IN \
         (SELECT ?1, r.value ->> 0, r.value ->> 1, ?2 FROM json_each(?3) AS r) RETURNING term, tier, postings",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<BigInt, _>(fold)
    .bind::<Text, _>(json(keys.into_iter())?)
    .load(conn)
    .await?;
    Ok(rows.into_iter().map(Folded::row).collect())
}

#[derive(QueryableByName)]
struct Folded {
    #[diesel(sql_type = Text)]
    term: String,
    #[diesel(sql_type = Integer)]
    tier: i32,
    #[diesel(sql_type = Binary)]
    postings: Vec<u8>,
}

impl Folded {
    fn row(self) -> FoldedRow {
        FoldedRow {
            term: self.term,
            tier: self.tier,
            postings: self.postings,
        }
    }
}

/// Where these words are in these documents: of each those whose bit is set.
pub(crate) async fn places_within(
    conn: &mut Conn,
    documents: Vec<(DocumentId, u64)>,
    words: &[String],
) -> Result<Vec<Posting>> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = sql::Uuid)]
        document_id: DocumentId,
        #[diesel(sql_type = Text)]
        term: String,
        #[diesel(sql_type = Text)]
        words: String,
    }
    let asked =
        (documents.iter()).map(|(id, words)| (id.uuid().simple().to_string(), words.cast_signed()));
    let rows: Vec<Found> = diesel::sql_query(
        "SELECT w.document_id, d.term, w.words FROM \
         (SELECT unhex(d.value ->> 0) AS id, t.value AS term FROM json_each(?1) AS d CROSS JOIN json_each(?2) AS t \
         WHERE (d.value ->> 1) & (1 << t.key) <> 0) AS d \
         CROSS JOIN knowledge_words AS w ON w.rowid = (SELECT k.rowid FROM knowledge_words AS k \
         WHERE k.document_id = d.id AND k.last >= d.term ORDER BY k.last LIMIT 1)",
    )
    .bind::<Text, _>(json(asked)?)
    .bind::<Text, _>(json(words.iter())?)
    .load(conn)
    .await?;
    let found = rows.into_iter().filter_map(|row| {
        let places = entries(&row.words).find(|(term, _)| *term == row.term)?.1;
        Some(Posting {
            places: places.to_owned(),
            document_id: row.document_id,
            term: row.term,
        })
    });
    Ok(found.collect())
}

/// Rows as a JSON array.
fn json<T: Serialize>(rows: impl Iterator<Item = T>) -> Result<String> {
    let rows: Vec<T> = rows.collect();
    serde_json::to_string(&rows).map_err(|error| StoreError::Internal(error.to_string()))
}

/// Adds to the counts of an account's words.
pub(crate) async fn add_terms(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO knowledge_terms (account_id, term, passages) \
         SELECT ?1, r.value ->> 0, r.value ->> 1 FROM json_each(?2) AS r WHERE true \
         ON CONFLICT (account_id, term) DO UPDATE SET passages = knowledge_terms.passages + excluded.passages",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Text, _>(json(counts.iter())?)
    .execute(conn)
    .await?;
    Ok(())
}
