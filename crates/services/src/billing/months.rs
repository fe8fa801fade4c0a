//! The turn of the month: credits, fees and invoices of every account, once per month, also for months in which no
//! process ran.

use super::Billing;
use crate::Result;
use crate::prelude::*;

/// Accounts per read.
const BATCH: i64 = 200;

/// Months caught up with at most; no account is older.
const MONTHS: i32 = 1_200;

#[boxed]
impl Billing {
    /// Enters the months that accounts have reached since the last run, and returns how many. Every node may run this
    /// at any time: the first one enters a month. If the store fails, the next run continues from there.
    pub async fn enter_months(&self) -> Result<usize> {
        enter_months(&self.0).await
    }
}

pub(crate) async fn enter_months(shared: &Context) -> Result<usize> {
    let month = shared.clock.now().utc_month();
    let (mut entered, mut after): (usize, Option<AccountId>) = (0, None);
    loop {
        let due = shared.store.months_due(month, after, BATCH).await?;
        let Some((last, _)) = due.last() else {
            return Ok(entered);
        };
        after = Some(last.id);
        for (account, entered_last) in &due {
            entered += enter(shared, account, *entered_last).await?;
        }
    }
}

/// Enters an account's months after `last`, or from the month of its creation.
pub(crate) async fn enter(shared: &Context, account: &Account, last: Option<i32>) -> Result<usize> {
    let now = shared.clock.now();
    let made = account.created_at.utc_month();
    let terms = shared.plans.terms(account.plan);
    let first = last.map_or(made, |last| last + 1);
    let mut entered = 0;
    for month in first.max(now.utc_month() - MONTHS)..=now.utc_month() {
        let credits = terms.credits_per_month.map_or(0, i64::from);
        let new = NewMonth {
            month,
            plan: account.plan,
            // The first month's credits were given at the account's creation.
            credits: if month == made { 0 } else { credits },
            cents: terms.usd_per_month.map_or(0, i64::from) * 100,
            at: now,
        };
        entered += usize::from(shared.store.enter_month(account.id, new).await?);
    }
    Ok(entered)
}
