//! Reading the ledger, newest first by sequence number, and checking that the books add up.

use crate::prelude::*;

impl Store {
    /// A page of the ledger after number `after`, newest first, with one more than `limit` if there is a next page.
    pub fn ledger(
        &self,
        account: AccountId,
        filter: LedgerFilter,
        after: Option<i64>,
        limit: i64,
    ) -> Answer<'_, Vec<LedgerEntry>> {
        read!(self, |conn| {
            let mut query = ledger::table
                .filter(ledger::account_id.eq(V(account)))
                .order(ledger::seq.desc())
                .limit(limit + 1)
                .select(LedgerEntry::as_select())
                .into_boxed::<Db>();
            let mut below = after;
            if let Some(until) = filter.until {
                // The number of the last entry at or before it.
                let last: Option<i64> = ledger::table
                    .filter(ledger::account_id.eq(V(account)))
                    .filter(ledger::created_at.le(V(until)))
                    .order((ledger::created_at.desc(), ledger::seq.desc()))
                    .select(ledger::seq)
                    .found(conn)
                    .await?;
                let last = some_or!(last, Vec::new());
                below = Some(below.map_or(last + 1, |below| below.min(last + 1)));
            }
            if let Some(since) = filter.since {
                let first: Option<i64> = ledger::table
                    .filter(ledger::account_id.eq(V(account)))
                    .filter(ledger::created_at.ge(V(since)))
                    .order((ledger::created_at, ledger::seq))
                    .select(ledger::seq)
                    .found(conn)
                    .await?;
                let first = some_or!(first, Vec::new());
                query = query.filter(ledger::seq.ge(first));
            }
            query = query
                .when(below, |below| ledger::seq.lt(below))
                .when_is(ledger::kind, filter.kind);
            Ok(query.load(conn).await?)
        })
    }

    /// Sums over an account's books, all from one snapshot.
    pub fn books(&self, account: AccountId) -> Answer<'_, Option<Books>> {
        read!(self, |conn| {
            Ok(diesel::sql_query(
                "SELECT w.balance, w.reserved, w.last_seq, \
                   CAST((SELECT COALESCE(SUM(amount_credits), 0) FROM ledger WHERE account_id = $1) AS bigint) \
                     AS ledger_sum, \
                   COALESCE((SELECT balance_after_credits FROM ledger WHERE account_id = $1 \
                     ORDER BY seq DESC LIMIT 1), 0) AS newest_balance, \
                   COALESCE((SELECT MAX(seq) FROM ledger WHERE account_id = $1), 0) AS newest_seq, \
                   (SELECT COUNT(*) FROM ledger WHERE account_id = $1) AS entries, \
                   (SELECT MIN(seq) FROM (SELECT seq, balance_after_credits AS said, \
                     SUM(amount_credits) OVER (ORDER BY seq) AS summed, ROW_NUMBER() OVER (ORDER BY seq) AS place \
                     FROM ledger WHERE account_id = $1) AS b WHERE said <> summed OR seq <> place) AS first_wrong, \
                   CAST((SELECT COALESCE(SUM(credits), 0) FROM reservations WHERE account_id = $1) AS bigint) \
                     AS reservations, \
                   (SELECT COUNT(*) FROM reservations r WHERE r.account_id = $1 AND NOT EXISTS \
                     (SELECT 1 FROM conversations c WHERE c.id = r.conversation_id \
                       AND c.state NOT IN ('completed', 'failed'))) AS idle_reservations, \
                   (SELECT COUNT(*) FROM conversations c WHERE c.account_id = $1 AND c.price_millicredits > 0 \
                     AND c.state NOT IN ('completed', 'failed') AND NOT EXISTS \
                     (SELECT 1 FROM reservations r WHERE r.conversation_id = c.id)) AS unheld_calls, \
                   (SELECT COUNT(*) FROM key_budgets b JOIN api_keys k ON k.id = b.key_id WHERE k.account_id = $1 \
                     AND b.reserved <> (SELECT COALESCE(SUM(r.credits), 0) FROM reservations r \
                       WHERE r.account_id = $1 AND r.key_id = b.key_id AND r.month = b.month)) AS wrong_budgets, \
                   (SELECT COUNT(*) FROM conversations c LEFT JOIN ledger l \
                     ON l.conversation_id = c.id AND l.type = 'debit' WHERE c.account_id = $1 \
                     AND c.state IN ('completed', 'failed') \
                     AND COALESCE(c.credits, 0) <> COALESCE(-l.amount_credits, 0)) AS wrong_costs, \
                   CAST((SELECT COALESCE(-SUM(amount_credits), 0) FROM ledger \
                     WHERE account_id = $1 AND type = 'debit') AS bigint) AS debits, \
                   CAST((SELECT COALESCE(SUM(credits), 0) FROM usage_days WHERE account_id = $1) AS bigint) \
                     AS usage_credits, \
                   CAST((SELECT COALESCE(SUM(conversations), 0) FROM usage_days WHERE account_id = $1) AS bigint) \
                     AS usage_conversations, \
                   CAST((SELECT COALESCE(SUM(duration_seconds), 0) FROM usage_days WHERE account_id = $1) AS bigint) \
                     AS usage_seconds, \
                   (SELECT COUNT(*) FROM conversations WHERE account_id = $1 \
                     AND state IN ('completed', 'failed')) AS ended_conversations, \
                   CAST((SELECT COALESCE(SUM(duration_seconds), 0) FROM conversations WHERE account_id = $1 \
                     AND state IN ('completed', 'failed')) AS bigint) AS ended_seconds, \
                   (SELECT COUNT(*) FROM invoice_lines l JOIN invoices i ON i.id = l.invoice_id \
                     WHERE i.account_id = $1 AND l.ledger_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ledger e \
                       WHERE e.id = l.ledger_id AND e.account_id = $1 AND e.amount_credits = l.credits)) \
                     AS wrong_lines, \
                   (SELECT COUNT(*) FROM invoices i WHERE i.account_id = $1 AND i.amount_cents <> \
                     (SELECT COALESCE(SUM(l.amount_cents), 0) FROM invoice_lines l WHERE l.invoice_id = i.id)) \
                     AS wrong_invoices \
                 FROM wallets w WHERE w.account_id = $1",
            )
            .bind::<sql::Uuid, _>(V(account))
            .get_result(conn)
            .await
            .optional()?)
        })
    }
}
