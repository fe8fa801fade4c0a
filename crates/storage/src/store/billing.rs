//! The ledger, invoices, months and usage.

use offhook_domain::{AccountId, Credits, EventId, InvoiceId, InvoiceStatus};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{Audited, AutoRefill, Invoice, InvoiceLine, NewLedgerEntry, NewMonth, Store, Verdict};

impl Store {
    /// Writes an operator's entry, which the month's invoice bills with `cents` if given; the new balance, or `None` if
    /// there is no such account or a debit is not covered by what is available.
    pub fn credit_wallet(
        &self,
        account: AccountId,
        entry: NewLedgerEntry,
        cents: Option<i64>,
        audited: Audited,
    ) -> Answer<'_, Option<Credits>> {
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
    pub fn set_auto_refill(
        &self,
        account: AccountId,
        refill: Option<AutoRefill>,
        audited: Audited,
    ) -> Answer<'_, bool> {
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

    /// An invoice of the account with its lines.
    pub fn invoice(
        &self,
        account: AccountId,
        id: InvoiceId,
    ) -> Answer<'_, Option<(Invoice, Vec<InvoiceLine>)>> {
        read!(self, |conn| {
            let Some(invoice) = queries::invoices::find(conn, account, id).await? else {
                return Ok(None);
            };
            let lines = queries::invoices::lines(conn, id).await?;
            Ok(Some((invoice, lines)))
        })
    }

    /// `open → paid | void`: the invoice as it is then, and whether this moved it; `None` if there is none.
    pub fn mark_invoice(
        &self,
        id: InvoiceId,
        status: InvoiceStatus,
        audited: Audited,
    ) -> Answer<'_, Option<(Invoice, bool)>> {
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

    /// Enters a month once: its credits, its fee, and the end of the draft before; `false` if that has been done, or
    /// another process is at it.
    pub fn enter_month(&self, account: AccountId, new: NewMonth) -> Answer<'_, bool> {
        write!(self, |conn| {
            Ok(if queries::months::enter(conn, account, new).await? {
                Verdict::Commit(true)
            } else {
                Verdict::Rollback(false)
            })
        })
    }
}
