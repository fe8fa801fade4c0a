//! Passages and the words that they are found by.

use std::collections::HashMap;

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, DocumentId, DocumentStatus};

use super::folds;
use crate::database::{Conn, Db};
use crate::dialect::dialect;
use crate::schema::{
    knowledge_documents as documents, knowledge_folded as folded, knowledge_passages as passages,
    knowledge_terms as terms,
};
use crate::sql::V;
use crate::words::{documents as documents_of, highest, passages as passages_of};
use crate::{AccountWords, FoundPassage, Result, Walked};

/// Folded rows that are read at once: most words have fewer, and one of a common word has some eight documents.
const ROWS: std::ops::RangeInclusive<usize> = 16..=100;

/// A document's passages from `first` on: what of each is new, and its text.
pub(crate) async fn text(
    conn: &mut Conn,
    document: DocumentId,
    first: i32,
    limit: i64,
) -> Result<Vec<(i32, String)>> {
    Ok(passages::table
        .filter(
            passages::document_id
                .eq(V(document))
                .and(passages::ordinal.ge(first)),
        )
        .order(passages::ordinal)
        .limit(limit)
        .select((passages::repeats, passages::content))
        .load(conn)
        .await?)
}

/// What the account's documents have of these words.
pub(crate) async fn words(
    conn: &mut Conn,
    account: AccountId,
    words: Vec<String>,
) -> Result<AccountWords> {
    // These first: what is folded meanwhile is found twice then, and never missed.
    let documents = folds::loose(conn, account).await?;
    let ids = documents.iter().map(|document| (document.id, u64::MAX));
    let named: Vec<String> = (words.iter())
        .filter(|word| *word != folds::EVERY)
        .cloned()
        .collect();
    let counts_passages = named.len() < words.len();
    let loose = if documents.is_empty() {
        Vec::new()
    } else {
        dialect!(conn, places_within(ids.collect(), &named))?
    };
    let last = folds::last(conn, account).await?;
    let found: Vec<(String, i64)> = terms::table
        .filter(
            terms::account_id
                .eq(V(account))
                .and(terms::term.eq_any(words)),
        )
        .select((terms::term, terms::passages))
        .load(conn)
        .await?;
    let mut counts: HashMap<String, i64> = found.into_iter().collect();
    let folds: HashMap<DocumentId, Option<i64>> =
        documents.iter().map(|one| (one.id, one.fold)).collect();
    for posting in &loose {
        let fold = folds.get(&posting.document_id).copied().flatten();
        let is_counted = last.as_ref().is_some_and(|last| {
            fold == Some(last.number) && last.upto.as_ref().is_none_or(|to| posting.term <= *to)
        });
        if !is_counted {
            *counts.entry(posting.term.clone()).or_default() += passages_of(&posting.places);
        }
    }
    let of_loose = documents.iter().map(|one| one.passages).sum::<i64>();
    if counts_passages && of_loose > 0 {
        *counts.entry(folds::EVERY.to_owned()).or_default() += of_loose;
    }
    Ok(AccountWords { counts, loose })
}

/// Where a word counts most in the account's folded documents.
pub(crate) async fn strongest(
    conn: &mut Conn,
    account: AccountId,
    word: String,
    limit: usize,
) -> Result<Walked> {
    let at_once = (limit / 8).clamp(*ROWS.start(), *ROWS.end());
    let mut found = Vec::new();
    let mut after: Option<(i32, i64)> = None;
    loop {
        let mut query = folded::table
            .filter(
                folded::account_id
                    .eq(V(account))
                    .and(folded::term.eq(word.clone())),
            )
            .order((folded::tier.desc(), folded::fold.desc()))
            .limit(at_once as i64)
            .select((folded::tier, folded::fold, folded::postings))
            .into_boxed::<Db>();
        if let Some((tier, fold)) = after {
            let behind = folded::tier.lt(tier).or(folded::fold.lt(fold));
            query = query.filter(folded::tier.le(tier).and(behind));
        }
        let rows: Vec<(i32, i64, Vec<u8>)> = query.load(conn).await?;
        for (_, _, postings) in &rows {
            let documents = documents_of(postings);
            found.extend(documents.map(|(document, places)| (document, places.to_owned())));
        }
        after = rows.last().map(|(tier, fold, _)| (*tier, *fold));
        let is_whole = rows.len() < at_once;
        let rest = after.filter(|_| !is_whole).map(|(tier, _)| highest(tier));
        if is_whole || found.len() >= limit {
            return Ok(Walked {
                term: word,
                documents: found,
                rest: rest.unwrap_or(0),
            });
        }
    }
}

/// A passage of one of the account's documents that is ready.
pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
    ordinal: i32,
) -> Result<Option<FoundPassage>> {
    Ok(passages::table
        .inner_join(documents::table.on(documents::id.eq(passages::document_id)))
        .filter(
            passages::document_id
                .eq(V(document))
                .and(passages::ordinal.eq(ordinal)),
        )
        .filter(
            documents::account_id
                .eq(V(account))
                .and(documents::status.eq(V(DocumentStatus::Ready))),
        )
        .select((
            documents::id,
            documents::name,
            passages::ordinal,
            passages::content,
        ))
        .first(conn)
        .await
        .optional()?)
}
