//! Passages, the words that find them, and the documents that agents answer from.

use crate::prelude::*;

/// The rarest of these words that together have at most `most` rows; at least one.
async fn rarest(
    conn: &mut Conn,
    account: AccountId,
    words: Vec<String>,
    most: i64,
) -> Result<Vec<String>> {
    let mut counted: Vec<(i64, String)> = postings::table
        .filter(postings::account_id.eq(V(account)))
        .filter(postings::term.eq_any(words))
        .group_by(postings::term)
        .select((count_star(), postings::term))
        .load(conn)
        .await?;
    counted.sort();
    let mut rows = 0;
    let fits = counted
        .into_iter()
        .enumerate()
        .take_while(|(at, (count, _))| {
            rows += count;
            *at == 0 || rows <= most
        });
    Ok(fits.map(|(_, (_, word))| word).collect())
}

impl Store {
    /// A document's passages from `first` on: how many bytes of each repeat the previous one, and its text.
    pub fn document_text(
        &self,
        id: DocumentId,
        first: i32,
        limit: i64,
    ) -> Answer<'_, Vec<(i32, String)>> {
        passages::table
            .filter(passages::document_id.eq(V(id)))
            .filter(passages::ordinal.ge(first))
            .order(passages::ordinal)
            .limit(limit)
            .select((passages::repeats, passages::content))
            .read_all(self)
    }

    /// Where these words occur in the account's documents, in about `most` rows. If all would be too many, only the
    /// rarest words are used, because common words hardly distinguish documents. Documents that are still being read
    /// are skipped.
    pub fn account_words(
        &self,
        account: AccountId,
        mut words: Vec<String>,
        most: i64,
    ) -> Answer<'_, AccountWords> {
        read!(self, |conn| {
            // Written out, so that the databases see that the partial index applies.
            let passages: i64 = documents::table
                .filter(documents::account_id.eq(V(account)))
                .filter(sql::<Bool>("knowledge_documents.status = 'ready'"))
                .select(sql::<BigInt>(
                    "CAST(COALESCE(SUM(chunks_count), 0) AS bigint)",
                ))
                .first(conn)
                .await?;
            // Every document has at least one passage.
            if passages.saturating_mul(words.len() as i64) > most {
                words = rarest(conn, account, words, most).await?;
            }
            let unread = documents::table
                .filter(documents::account_id.eq(V(account)))
                .filter(documents::status.eq(V(DocumentStatus::Processing)))
                .select(documents::id);
            let postings = postings::table
                .filter(postings::account_id.eq(V(account)))
                .filter(postings::term.eq_any(words))
                .filter(postings::document_id.ne_all(unread))
                .limit(most)
                .select((postings::document_id, postings::term, postings::places))
                .load(conn)
                .await?;
            Ok(AccountWords { passages, postings })
        })
    }

    /// The first `limit` of these passages that are in ready documents of the account.
    pub fn found_passages(
        &self,
        account: AccountId,
        places: Vec<(DocumentId, i32)>,
        limit: usize,
    ) -> Answer<'_, Vec<FoundPassage>> {
        read!(self, |conn| {
            let mut found = Vec::new();
            for (document, ordinal) in places {
                if found.len() == limit {
                    break;
                }
                let passage: Option<FoundPassage> = passages::table
                    .inner_join(documents::table.on(documents::id.eq(passages::document_id)))
                    .filter(passages::document_id.eq(V(document)))
                    .filter(passages::ordinal.eq(ordinal))
                    .filter(documents::account_id.eq(V(account)))
                    .filter(documents::status.eq(V(DocumentStatus::Ready)))
                    .select((
                        documents::id,
                        documents::name,
                        passages::ordinal,
                        passages::content,
                    ))
                    .found(conn)
                    .await?;
                found.extend(passage);
            }
            Ok(found)
        })
    }
}
