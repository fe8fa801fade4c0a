//! The ledger, invoices, months and usage (decision 6.9).

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, Credits, EventId, InvoiceId, InvoiceStatus};

use super::{mint, read, write};
use crate::queries;
use crate::{
    Account, Audited, AutoRefill, Books, Invoice, InvoiceLine, LedgerEntry, LedgerFilter,
    NewLedgerEntry, NewMonth, Result, Store, UsageDay, Verdict,
};

impl Store {
    /// A page of the wallet's ledger behind number `after`, the newest first, with one more than `limit` if there is a
    /// next page.
    #[boxed]
    pub async fn ledger(
        &self,
        account: AccountId,
        filter: LedgerFilter,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<LedgerEntry>> {
        read!(self, |conn| queries::ledger::page(
            conn, account, filter, after, limit
        )
        .await)
    }

    /// Writes an operator's entry, which the month's invoice bills with `cents` if given; the new balance, or `None` if
    /// there is no such account or a debit is not covered by what is available.
    #[boxed]
    pub async fn credit_wallet(
        &self,
        account: AccountId,
        entry: NewLedgerEntry,
        cents: Option<i64>,
        audited: Audited,
    ) -> Result<Option<Credits>> {
        write!(self, |conn| {
            if queries::accounts::wallet(conn, account).await?.is_none() {
                return Ok(Verdict::Rollback(None));
            }
            let (id, amount) = (mint(entry.at), entry.amount);
            let billed = (None, cents);
            let balance = queries::wallets::append_billed(conn, account, id, entry, billed).await?;
            if amount < 0 {
                // Read behind the entry, whose lock keeps others from the wallet. What auto-refill bought because of the
                // entry does not cover it.
                let left = queries::ledger::balance_after(conn, id).await?;
                let wallet = queries::accounts::wallet(conn, account).await?;
                if wallet.is_none_or(|wallet| left < wallet.reserved) {
                    return Ok(Verdict::Rollback(None));
                }
            }
            let id: EventId = mint(audited.at);
            let words = ("cli", audited.action, audited.target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, audited.at).await?;
            Ok(Verdict::Commit(Some(balance)))
        })
    }

    /// Sets or ends auto-refill, and buys at once what is due; `false` if there is no such account.
    #[boxed]
    pub async fn set_auto_refill(
        &self,
        account: AccountId,
        refill: Option<AutoRefill>,
        audited: Audited,
    ) -> Result<bool> {
        write!(self, |conn| {
            let at = audited.at;
            if !queries::wallets::set_auto_refill(conn, account, refill, at).await? {
                return Ok(Verdict::Rollback(false));
            }
            let id: EventId = mint(at);
            let words = ("cli", audited.action, audited.target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(true))
        })
    }

    /// A page of invoices behind month `after`, the newest month first, with one more than `limit` if there is a next
    /// page.
    #[boxed]
    pub async fn invoices(
        &self,
        account: AccountId,
        after: Option<i32>,
        limit: i64,
    ) -> Result<Vec<Invoice>> {
        read!(self, |conn| queries::invoices::page(
            conn, account, after, limit
        )
        .await)
    }

    /// An invoice of the account with its lines.
    #[boxed]
    pub async fn invoice(
        &self,
        account: AccountId,
        id: InvoiceId,
    ) -> Result<Option<(Invoice, Vec<InvoiceLine>)>> {
        read!(self, |conn| {
            let Some(invoice) = queries::invoices::find(conn, account, id).await? else {
                return Ok(None);
            };
            let lines = queries::invoices::lines(conn, id).await?;
            Ok(Some((invoice, lines)))
        })
    }

    /// `open → paid | void`: the invoice as it is then, and whether this moved it; `None` if there is none.
    #[boxed]
    pub async fn mark_invoice(
        &self,
        id: InvoiceId,
        status: InvoiceStatus,
        audited: Audited,
    ) -> Result<Option<(Invoice, bool)>> {
        write!(self, |conn| {
            let marked = queries::invoices::mark(conn, id, status).await?;
            let Some((invoice, true)) = &marked else {
                return Ok(Verdict::Rollback(marked));
            };
            let audit: EventId = mint(audited.at);
            let words = ("cli", audited.action, audited.target.as_str());
            let account = Some(invoice.account_id);
            queries::accounts::audit(conn, audit.uuid(), account, words, audited.at).await?;
            Ok(Verdict::Commit(marked))
        })
    }

    /// Accounts that have not entered `month`, behind `after` by id, with the last month that they did enter.
    #[boxed]
    pub async fn months_due(
        &self,
        month: i32,
        after: Option<AccountId>,
        limit: i64,
    ) -> Result<Vec<(Account, Option<i32>)>> {
        read!(self, |conn| queries::months::due(conn, month, after, limit)
            .await)
    }

    /// Enters a month once: its credits, its fee, and the end of the draft before; `false` if that has been done, or
    /// another process is at it.
    #[boxed]
    pub async fn enter_month(&self, account: AccountId, new: NewMonth) -> Result<bool> {
        write!(self, |conn| {
            Ok(if queries::months::enter(conn, account, new).await? {
                Verdict::Commit(true)
            } else {
                Verdict::Rollback(false)
            })
        })
    }

    /// The totals of the days from `first` to `last` on which something ended, the oldest first.
    #[boxed]
    pub async fn usage(&self, account: AccountId, first: i32, last: i32) -> Result<Vec<UsageDay>> {
        read!(self, |conn| queries::usage::between(
            conn,
            account,
            (first, last)
        )
        .await)
    }

    /// Sums over an account's books, all of one instant.
    #[boxed]
    pub async fn books(&self, account: AccountId) -> Result<Option<Books>> {
        read!(self, |conn| queries::ledger::books(conn, account).await)
    }
}
