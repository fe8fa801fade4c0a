//! An account's balance, invoices and usage.

mod doctor;
mod months;
mod operator;
mod pdf;
mod seller;
mod thresholds;

use crate::Result;
use crate::prelude::*;

pub(crate) use months::{enter, enter_months};
pub use seller::Seller;
pub(crate) use thresholds::keep_noting_thresholds;

use pdf::Parties;

/// Days that one usage response may cover.
pub const USAGE_DAYS: i32 = 366;

/// Days that it covers by default.
const USAGE_DEFAULT_DAYS: i32 = 30;

/// A month's cost so far.
#[derive(Debug, Clone, Copy)]
pub struct MonthSoFar {
    pub spent: Credits,
    /// At the month's pace so far, to its end; `None` on its first day.
    pub forecast: Option<Credits>,
    pub balance: Credits,
    /// When the account wants to be warned.
    pub thresholds: Thresholds,
}

impl MonthSoFar {
    /// The highest threshold that the month has reached.
    pub fn spent_alarm(&self) -> Option<Credits> {
        let Thresholds {
            spent,
            spent_2,
            spent_3,
            ..
        } = self.thresholds;
        let all = [spent, spent_2, spent_3].into_iter().flatten();
        all.filter(|alert| self.spent >= *alert).max()
    }

    /// The threshold that the balance is below.
    pub fn balance_alarm(&self) -> Option<Credits> {
        let alert = self.thresholds.balance;
        alert.filter(|alert| self.balance < *alert)
    }
}

#[derive(Clone)]
pub struct Billing(pub(crate) Arc<Context>, pub(crate) Arc<Option<Seller>>);

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
        let (store, account) = (&self.0.store, &caller.account);
        let Some((invoice, lines)) = store.invoice(account.id, id).await? else {
            return Ok(None);
        };
        let parties = Parties {
            seller: self.1.as_ref().as_ref(),
            buyer: &store.account_settings(account.id).await?.buyer,
        };
        pdf::render(account, parties, &invoice, &lines).map(Some)
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

    /// What the present UTC month has cost so far, and what it costs at this pace.
    pub async fn month(&self, account: AccountId) -> Result<MonthSoFar> {
        let now = self.0.clock.now();
        let (begin, end) = month_of(now);
        let store = &self.0.store;
        let days = store.usage(account, begin.utc_day(), now.utc_day()).await?;
        let spent = days.iter().map(|day| day.credits).sum();
        Ok(MonthSoFar {
            spent,
            forecast: forecast(spent, now.since(begin), end.since(begin)),
            balance: self.wallet(account).await?.balance,
            thresholds: store.account_settings(account).await?.thresholds,
        })
    }

    /// The same by agent and key, in no order. It reads each of the month's conversations.
    pub async fn shares(&self, account: AccountId) -> Result<Vec<UsageShare>> {
        let month = month_of(self.0.clock.now());
        self.0.store.usage_shares(account, month).await
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

/// The first instant of a time's UTC month, and that of the next.
fn month_of(at: Timestamp) -> (Timestamp, Timestamp) {
    let month = at.utc_month();
    let begin = Timestamp::of_utc_month(month);
    (begin, Timestamp::of_utc_month(month + 1))
}

/// What a month of this length costs at the pace of its first part; `None` within a day, which tells too little.
fn forecast(spent: Credits, elapsed: Duration, whole: Duration) -> Option<Credits> {
    let (elapsed, whole) = (i128::from(elapsed.as_secs()), i128::from(whole.as_secs()));
    (elapsed >= 86_400).then(|| {
        let forecast = i128::from(spent) * whole / elapsed;
        Credits::try_from(forecast).unwrap_or(Credits::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_alarms_from_a_threshold_on_and_a_balance_below_one() {
        let month = |spent, balance| MonthSoFar {
            spent,
            balance,
            forecast: None,
            thresholds: Thresholds {
                spent: Some(500),
                spent_2: Some(900),
                spent_3: None,
                balance: Some(100),
            },
        };
        assert_eq!(month(899, 0).spent_alarm(), Some(500));
        assert_eq!(month(900, 0).spent_alarm(), Some(900));
        assert_eq!(month(499, 0).spent_alarm(), None);
        assert_eq!(month(0, 99).balance_alarm(), Some(100));
        assert_eq!(month(0, 100).balance_alarm(), None);
    }

    #[test]
    fn a_month_is_forecast_at_its_pace_after_its_first_day() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        assert_eq!(forecast(100, days(10), days(30)), Some(300));
        assert_eq!(forecast(100, days(30), days(30)), Some(100));
        assert_eq!(forecast(100, Duration::from_secs(86_399), days(30)), None);
    }
}
