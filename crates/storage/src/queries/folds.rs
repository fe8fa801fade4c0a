//! Folds: the words of some documents of an account are put together, so that a word has few rows however many documents
//! have it (docs/adr/0011-words-are-folded.md).
//!
//! A document enters loose, found by words of its own. Once an account has enough of them, a fold is opened: its documents
//! are fixed, and step by step the words of all of them go over, in the order of the words. Each step is a transaction
//! that holds the account's fold, so it needs no lease: what a broken process did not commit is done by the next.

use std::collections::HashMap;

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AccountId, DocumentId, Timestamp};

use super::ingestion;
use crate::Result;
use crate::database::Conn;
use crate::dialect::{Lock as _, dialect};
use crate::records::Unfolded;
use crate::schema::{
    knowledge_folds as folds, knowledge_indexed as indexed, knowledge_terms as terms,
    knowledge_words as words,
};
use crate::sql::V;
use crate::words::{WordsRow, folded, keys, without};

/// The word that is in every passage: it counts them.
pub(crate) const EVERY: &str = "";

/// Documents of a fold.
const DOCUMENTS: i64 = 32;

/// An account with so many loose documents has others read only when folds have caught up: searches look into each.
const BEHIND: i64 = 4 * DOCUMENTS;

/// Rows of words that a step reads: some thousands of words, and few milliseconds for the others that write.
const ROWS: usize = 128;

/// A document that is found by words of its own.
#[derive(Debug, Clone, Copy, Queryable)]
pub(crate) struct Loose {
    pub(crate) id: DocumentId,
    pub(crate) passages: i64,
    pub(crate) fold: Option<i64>,
}

/// An account's last fold.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct Fold {
    pub(crate) number: i64,
    /// How far it is in the words; `None` once it is complete.
    pub(crate) upto: Option<String>,
}

/// The account's documents that are not folded, oldest first.
pub(crate) async fn loose(conn: &mut Conn, account: AccountId) -> Result<Vec<Loose>> {
    Ok(indexed::table
        .filter(indexed::account_id.eq(V(account)))
        .filter(not_folded())
        .order(indexed::document_id)
        .select((indexed::document_id, indexed::passages, indexed::fold))
        .load(conn)
        .await?)
}

/// Written out, so that the partial index is seen to apply.
fn not_folded() -> diesel::expression::SqlLiteral<Bool> {
    diesel::dsl::sql::<Bool>("NOT is_folded")
}

pub(crate) async fn last(conn: &mut Conn, account: AccountId) -> Result<Option<Fold>> {
    Ok(folds::table
        .find(V(account))
        .select((folds::number, folds::upto))
        .first(conn)
        .await
        .optional()?)
}

/// Whether so many documents of the account wait to be folded that others are not to be read yet.
pub(crate) async fn are_behind(conn: &mut Conn, account: AccountId) -> Result<bool> {
    let last: Option<DocumentId> = indexed::table
        .filter(indexed::account_id.eq(V(account)))
        .filter(not_folded())
        .order(indexed::document_id)
        .offset(BEHIND - 1)
        .select(indexed::document_id)
        .first(conn)
        .await
        .optional()?;
    if last.is_none() {
        return Ok(false);
    }
    // Without a fold in the making none would catch up: the next document opens one.
    let fold = self::last(conn, account).await?;
    Ok(fold.is_some_and(|fold| fold.upto.is_some()))
}

/// Has a document found by its words, and opens a fold if the account has enough that are in none.
pub(crate) async fn enter(
    conn: &mut Conn,
    (account, id): (AccountId, DocumentId),
    passages: i32,
    at: Timestamp,
) -> Result<()> {
    diesel::insert_into(indexed::table)
        .values((
            indexed::document_id.eq(V(id)),
            indexed::account_id.eq(V(account)),
            indexed::passages.eq(i64::from(passages)),
            indexed::is_folded.eq(false),
        ))
        .execute(conn)
        .await?;
    // An open fold opens the next one itself; who asks for its row would wait for it.
    match last(conn, account).await? {
        Some(Fold { upto: Some(_), .. }) => Ok(()),
        Some(_) | None => open_if_due(conn, account, at).await,
    }
}

async fn open_if_due(conn: &mut Conn, account: AccountId, at: Timestamp) -> Result<()> {
    let waiting = loose(conn, account).await?;
    let waiting = waiting.iter().filter(|document| document.fold.is_none());
    if i64::try_from(waiting.count()).unwrap_or(i64::MAX) < DOCUMENTS {
        return Ok(());
    }
    diesel::insert_into(folds::table)
        .values((
            folds::account_id.eq(V(account)),
            folds::number.eq(1),
            folds::upto.eq(EVERY),
            folds::opened_at.eq(V(at)),
        ))
        .on_conflict(folds::account_id)
        .do_update()
        .set((
            folds::number.eq(folds::number + 1),
            folds::upto.eq(EVERY),
            folds::opened_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// The fold that has been open for longest and that no other process is at, and how far it is; its row is this
/// transaction's.
async fn open_fold(conn: &mut Conn) -> Result<Option<(AccountId, i64, String)>> {
    let open = folds::table
        .filter(folds::upto.is_not_null())
        .order((folds::opened_at, folds::account_id))
        .select((
            folds::account_id,
            folds::number,
            folds::upto.assume_not_null(),
        ));
    Ok(open
        .locked("FOR UPDATE SKIP LOCKED")
        .first(conn)
        .await
        .optional()?)
}

/// One step of the fold that has been open for longest; `false` if none is, or others are at it.
pub(crate) async fn step(conn: &mut Conn, at: Timestamp) -> Result<bool> {
    let Some((account, number, upto)) = open_fold(conn).await? else {
        return Ok(false);
    };
    let members = members(conn, (account, number), upto == EVERY).await?;
    let ids: Vec<DocumentId> = members.iter().map(|member| member.id).collect();
    let each = (ROWS / ids.len().max(1)).max(1);
    let rows = if ids.is_empty() {
        Vec::new()
    } else {
        let limit = i64::try_from(each).unwrap_or(i64::MAX);
        dialect!(conn, words_behind(&ids, &upto, limit))?
    };
    if rows.is_empty() {
        complete(conn, account, &members, at).await?;
        return Ok(true);
    }
    let to = reached(&rows, each);
    let rows: Vec<(DocumentId, String)> = (rows.into_iter())
        .map(|(document, row)| (document, row.words))
        .collect();
    let (rows, counts) = folded(&rows, &upto, to.as_deref());
    dialect!(conn, insert_folded(account, number, rows))?;
    dialect!(conn, add_terms(account, &counts))?;
    let to = to.or_else(|| counts.last().map(|(term, _)| term.clone()));
    diesel::update(folds::table.find(V(account)))
        .set(folds::upto.eq(to))
        .execute(conn)
        .await?;
    Ok(true)
}

/// The documents of a fold; those of one that begins are the oldest that are in none.
async fn members(
    conn: &mut Conn,
    (account, number): (AccountId, i64),
    begins: bool,
) -> Result<Vec<Loose>> {
    let mut loose = loose(conn, account).await?;
    if !begins {
        loose.retain(|document| document.fold == Some(number));
        return Ok(loose);
    }
    loose.retain(|document| document.fold.is_none_or(|fold| fold == number));
    loose.truncate(usize::try_from(DOCUMENTS).unwrap_or(usize::MAX));
    let ids = loose.iter().map(|document| V(document.id));
    // Of those that are deleted meanwhile, none is taken.
    let taken: Vec<DocumentId> = diesel::update(indexed::table)
        .filter(indexed::document_id.eq_any(ids.collect::<Vec<_>>()))
        .set(indexed::fold.eq(number))
        .returning(indexed::document_id)
        .get_results(conn)
        .await?;
    loose.retain(|document| taken.contains(&document.id));
    Ok(loose)
}

/// The word up to which every document's words have been read; `None` if all have been.
fn reached(rows: &[(DocumentId, WordsRow)], each: usize) -> Option<String> {
    let mut read: HashMap<DocumentId, (usize, &str)> = HashMap::new();
    for (document, row) in rows {
        let (count, last) = read.entry(*document).or_default();
        *count += 1;
        *last = (*last).max(row.last.as_str());
    }
    let cut = read.values().filter(|(count, _)| *count >= each);
    cut.map(|(_, last)| (*last).to_owned()).min()
}

async fn complete(
    conn: &mut Conn,
    account: AccountId,
    members: &[Loose],
    at: Timestamp,
) -> Result<()> {
    let passages = members.iter().map(|member| member.passages).sum();
    dialect!(conn, add_terms(account, &[(EVERY.to_owned(), passages)]))?;
    let ids = members.iter().map(|member| V(member.id));
    diesel::update(indexed::table)
        .filter(indexed::document_id.eq_any(ids.collect::<Vec<_>>()))
        .set(indexed::is_folded.eq(true))
        .execute(conn)
        .await?;
    diesel::update(folds::table.find(V(account)))
        .set(folds::upto.eq(None::<String>))
        .execute(conn)
        .await?;
    open_if_due(conn, account, at).await
}

/// Removes up to `limit` rows of a document's words, which nothing else knows of; returns how many there were.
pub(crate) async fn remove_words(conn: &mut Conn, id: DocumentId, limit: i64) -> Result<usize> {
    Ok(take_words(conn, id, limit).await?.len())
}

async fn take_words(conn: &mut Conn, id: DocumentId, limit: i64) -> Result<Vec<WordsRow>> {
    let rows: Vec<(String, String)> = words::table
        .filter(words::document_id.eq(V(id)))
        .order(words::last)
        .limit(limit)
        .select((words::last, words::words))
        .load(conn)
        .await?;
    let Some((upto, _)) = rows.last() else {
        return Ok(Vec::new());
    };
    diesel::delete(words::table)
        .filter(words::document_id.eq(V(id)))
        .filter(words::last.le(upto.clone()))
        .execute(conn)
        .await?;
    let rows = rows
        .into_iter()
        .map(|(last, words)| WordsRow { last, words });
    Ok(rows.collect())
}

/// Removes up to `limit` rows of words of a deleted document, and their traces in its fold.
pub(crate) async fn unfold(
    conn: &mut Conn,
    (account, id): (AccountId, DocumentId),
    limit: i64,
) -> Result<Unfolded> {
    diesel::delete(indexed::table.find(V(id)))
        .filter(indexed::fold.is_null())
        .execute(conn)
        .await?;
    let entered: Option<(Option<i64>, bool, i64)> = indexed::table
        .find(V(id))
        .select((indexed::fold, indexed::is_folded, indexed::passages))
        .first(conn)
        .await
        .optional()?;
    let fold = match entered {
        Some((Some(_), false, _)) => return Ok(Unfolded::Waits),
        Some((fold, true, passages)) => fold.map(|fold| (fold, passages)),
        Some((None, false, _)) | None => None,
    };
    if fold.is_some() {
        // One at a time changes the account's folded words.
        dialect!(conn, hold_folds(account))?;
    }
    let rows = take_words(conn, id, limit).await?;
    if rows.is_empty() {
        if let Some((_, passages)) = fold {
            uncount(conn, account, vec![(EVERY.to_owned(), passages)]).await?;
            diesel::delete(indexed::table.find(V(id)))
                .execute(conn)
                .await?;
        }
        ingestion::forget_gone(conn, id).await?;
        return Ok(Unfolded::Whole);
    }
    if let Some((fold, _)) = fold {
        let keys = keys(&rows);
        let counts = keys.iter().map(|(term, (_, count))| (term.clone(), *count));
        uncount(conn, account, counts.collect()).await?;
        let keys = keys.into_iter().map(|(term, (tier, _))| (term, tier));
        let taken = dialect!(conn, take_folded((account, fold), keys.collect()))?;
        dialect!(conn, insert_folded(account, fold, without(taken, id)))?;
    }
    Ok(Unfolded::Left)
}

async fn uncount(
    conn: &mut Conn,
    account: AccountId,
    mut counts: Vec<(String, i64)>,
) -> Result<()> {
    counts.iter_mut().for_each(|(_, count)| *count = -*count);
    dialect!(conn, add_terms(account, &counts))?;
    let words = counts.into_iter().map(|(term, _)| term);
    diesel::delete(terms::table)
        .filter(terms::account_id.eq(V(account)))
        .filter(terms::term.eq_any(words.collect::<Vec<_>>()))
        .filter(terms::passages.le(0))
        .execute(conn)
        .await?;
    Ok(())
}
