//! An account's balance, invoices and usage.

mod doctor;
mod months;
mod operator;
mod pdf;

use offhook_boxed::boxed;
use std::sync::Arc;

use offhook_domain::json::Fault;
use offhook_domain::{AccountId, InvoiceId, PlanTerms, Timestamp};
use offhook_storage::{Invoice, LedgerEntry, LedgerFilter, StoreError, UsageDay, Wallet};

use crate::{Caller, Context, Page, Result};

pub(crate) use months::{enter, enter_months};

/// Days that one usage response may cover.
pub const USAGE_DAYS: i32 = 366;

/// Days that it covers by default.
const USAGE_DEFAULT_DAYS: i32 = 30;

#[derive(Clone)]
pub struct Billing(pub(crate) Arc<Context>);

#[boxed]
impl Billing {
    pub async fn wallet(&self, account: AccountId) -> Result<Wallet> {
        let wallet = self.0.store.wallet(account).await?;
        wallet.ok_or_else(|| StoreError::Corrupt("an account without a wallet".to_owned()))
    }

    /// When the plan's credits and its fee are next due: the first instant of the next UTC month. `None` for a plan
    /// with neither, and for a plan by contract.
    pub fn renews_at(&self, terms: &PlanTerms) -> Option<Timestamp> {
        let has = |amount: Option<u32>| amount.is_some_and(|amount| amount > 0);
        let renews = has(terms.usd_per_month) || has(terms.credits_per_month);
        renews.then(|| Timestamp::of_utc_month(self.0.clock.now().utc_month() + 1))
    }

    /// Lists the wallet's ledger after number `after`, newest first.
    pub async fn transactions(
        &self,
        account: AccountId,
        filter: LedgerFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page<LedgerEntry>> {
        let store = &self.0.store;
        let rows = store
            .ledger(account, filter, after, i64::from(limit))
            .await?;
        Ok(Page::of(rows, limit))
    }

    /// Lists invoices after month `after`, newest month first.
    pub async fn invoices(
        &self,
        account: AccountId,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<Invoice>> {
        let store = &self.0.store;
        let rows = store.invoices(account, after, i64::from(limit)).await?;
        Ok(Page::of(rows, limit))
    }

    /// Renders an invoice as a PDF; `None` if the account has no such invoice.
    pub async fn invoice_pdf(&self, caller: &Caller, id: InvoiceId) -> Result<Option<Vec<u8>>> {
        let found = self.0.store.invoice(caller.account.id, id).await?;
        found
            .map(|(invoice, lines)| pdf::render(&caller.account, &invoice, &lines))
            .transpose()
    }

    /// The days that a usage request covers, both ends included. `to` defaults to today, and `from` to 30 days in all.
    /// The error says what is wrong with `from`: more than 366 days.
    pub fn usage_days(
        &self,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<(i32, i32), Fault> {
        let today = self.0.clock.now().utc_day();
        let from = from.map(Timestamp::utc_day);
        let last = to.map_or_else(
            || from.map_or(today, |from| today.max(from)),
            Timestamp::utc_day,
        );
        let first = from.unwrap_or(last - (USAGE_DEFAULT_DAYS - 1));
        if last - first >= USAGE_DAYS {
            return Err(Fault::TooManyDays(USAGE_DAYS));
        }
        Ok((first, last))
    }

    /// Lists the totals of these days after day `after`, oldest first, each day once.
    pub async fn usage(
        &self,
        account: AccountId,
        (first, last): (i32, i32),
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<UsageDay>> {
        let first = after.map_or(first, |after| first.max(after.saturating_add(1)));
        let wanted = i32::try_from(limit).unwrap_or(USAGE_DAYS);
        let end = last.min(first.saturating_add(wanted));
        let mut found = self
            .0
            .store
            .usage(account, first, end)
            .await?
            .into_iter()
            .peekable();
        let days = (first..=end).map(|day| {
            let empty = UsageDay {
                day,
                ..UsageDay::default()
            };
            found.next_if(|total| total.day == day).unwrap_or(empty)
        });
        Ok(Page::of(days.collect(), limit))
    }
}
