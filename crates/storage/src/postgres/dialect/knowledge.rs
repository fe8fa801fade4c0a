//! The statements on knowledge that differ, for PostgreSQL.

use crate::database::RunQueryDsl;
use crate::dialect::Lock as _;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Integer, Text};
use offhook_domain::{AccountId, DocumentId};

use super::column;
use crate::database::Conn;
use crate::schema::{knowledge_documents as documents, knowledge_folds as folds};
use crate::sql;
use crate::sql::V;
use crate::words::{FoldedRow, WordsRow};
use crate::{NewPassage, Posting, Result};

/// Keeps documents from being deleted until the transaction's end.
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
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn insert_words(
    conn: &mut Conn,
    document: DocumentId,
    rows: Vec<WordsRow>,
) -> Result<()> {
    let (last, words): (Vec<_>, Vec<_>) = rows.into_iter().map(|row| (row.last, row.words)).unzip();
    diesel::sql_query(
        "INSERT INTO knowledge_words (document_id, last, words) \
         SELECT $1, r.last, r.words FROM UNNEST($2, $3) AS r(last, words)",
    )
    .bind::<sql::Uuid, _>(V(document))
    .bind::<Array<Text>, _>(last)
    .bind::<Array<Text>, _>(words.to_vec())
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps an account's folded words from being changed by others until the transaction's end.
pub(crate) async fn hold_folds(conn: &mut Conn, account: AccountId) -> Result<()> {
    let _: Option<i64> = folds::table
        .find(V(account))
        .select(folds::number)
        .locked("FOR UPDATE")
        .first(conn)
        .await
        .optional()?;
    Ok(())
}

/// Of each document, up to `limit` rows that have words behind `upto`.
pub(crate) async fn words_behind(
    conn: &mut Conn,
    documents: &[DocumentId],
    upto: &str,
    limit: i64,
) -> Result<Vec<(DocumentId, WordsRow)>> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = sql::Uuid)]
        document_id: DocumentId,
        #[diesel(sql_type = Text)]
        last: String,
        #[diesel(sql_type = Text)]
        words: String,
    }
    let rows: Vec<Found> = diesel::sql_query(
        "SELECT d.id AS document_id, w.last, w.words FROM UNNEST($1) AS d(id) CROSS JOIN LATERAL \
         (SELECT k.last, k.words FROM knowledge_words AS k WHERE k.document_id = d.id AND k.last > $2 \
         ORDER BY k.last LIMIT $3) AS w",
    )
    .bind::<Array<sql::Uuid>, _>(column(documents, |id| V(*id)))
    .bind::<Text, _>(upto)
    .bind::<BigInt, _>(limit)
    .load(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        let (last, words) = (row.last, row.words);
        (row.document_id, WordsRow { last, words })
    });
    Ok(rows.collect())
}

pub(crate) async fn insert_folded(
    conn: &mut Conn,
    account: AccountId,
    fold: i64,
    rows: Vec<FoldedRow>,
) -> Result<()> {
    let tiers = column(&rows, |row| row.tier);
    let (terms, postings): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|row| (row.term, row.postings)).unzip();
    diesel::sql_query(
        "INSERT INTO knowledge_folded (account_id, term, tier, fold, postings) \
         SELECT $1, r.term, r.tier, $2, r.postings FROM UNNEST($3, $4, $5) AS r(term, tier, postings)",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<BigInt, _>(fold)
    .bind::<Array<Text>, _>(terms)
    .bind::<Array<Integer>, _>(tiers)
    .bind::<Array<Binary>, _>(postings)
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
    #[derive(QueryableByName)]
    struct Taken {
        #[diesel(sql_type = Text)]
        term: String,
        #[diesel(sql_type = Integer)]
        tier: i32,
        #[diesel(sql_type = Binary)]
        postings: Vec<u8>,
    }
    let (terms, tiers): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    let rows: Vec<Taken> = diesel::sql_query(
        "DELETE FROM knowledge_folded AS f USING UNNEST($3, $4) AS r(term, tier) \
         WHERE f.account_id = $1 AND f.fold = $2 AND f.term = r.term AND f.tier = r.tier \
         RETURNING f.term, f.tier, f.postings",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<BigInt, _>(fold)
    .bind::<Array<Text>, _>(terms)
    .bind::<Array<Integer>, _>(tiers)
    .load(conn)
    .await?;
    let rows = rows.into_iter().map(|row| FoldedRow {
        term: row.term,
        tier: row.tier,
        postings: row.postings,
    });
    Ok(rows.collect())
}

/// Where these words are in these documents: of each those whose bit is set. The server cuts them out of their rows, which are a hundred times as long.
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
        places: String,
    }
    let rows: Vec<Found> = diesel::sql_query(
        "SELECT d.id AS document_id, t.term, \
         split_part(split_part('|' || w.words, '|' || t.term || ' ', 2), '|', 1) AS places \
         FROM UNNEST($1, $2) AS d(id, words) \
         JOIN UNNEST($3) WITH ORDINALITY AS t(term, place) ON (d.words >> (t.place - 1)::integer) & 1 = 1 \
         CROSS JOIN LATERAL (SELECT k.words FROM knowledge_words AS k WHERE k.document_id = d.id AND k.last >= t.term \
         ORDER BY k.last LIMIT 1) AS w",
    )
    .bind::<Array<sql::Uuid>, _>(column(&documents, |(id, _)| V(*id)))
    .bind::<Array<BigInt>, _>(column(&documents, |(_, words)| words.cast_signed()))
    .bind::<Array<Text>, _>(words.to_vec())
    .load(conn)
    .await?;
    let found = rows.into_iter().filter(|row| !row.places.is_empty());
    let found = found.map(|row| Posting {
        document_id: row.document_id,
        term: row.term,
        places: row.places,
    });
    Ok(found.collect())
}

/// Adds to the counts of an account's words, in their order, so that two transactions never wait for each other.
pub(crate) async fn add_terms(
    conn: &mut Conn,
    account: AccountId,
    counts: &[(String, i64)],
) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO knowledge_terms (account_id, term, passages) \
         SELECT $1, r.term, r.passages FROM UNNEST($2, $3) AS r(term, passages) \
         ORDER BY r.term COLLATE \"C\" \
         ON CONFLICT (account_id, term) DO UPDATE SET passages = knowledge_terms.passages + EXCLUDED.passages",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Array<Text>, _>(column(counts, |(term, _)| term.clone()))
    .bind::<Array<BigInt>, _>(column(counts, |(_, passages)| *passages))
    .execute(conn)
    .await?;
    Ok(())
}
