//! The months that accounts enter: each adds its credits and fee once, and ends the previous month.

use offhook_domain::EntryText;

use super::{invoices, wallets};
use crate::prelude::*;
use crate::schema::account_months as months;
use diesel::dsl::{exists, max};

impl Store {
    /// Accounts that have not entered `month`, after `after` in id order, each with the last month that it entered.
    pub fn months_due(
        &self,
        month: i32,
        after: Option<AccountId>,
        limit: i64,
    ) -> Answer<'_, Vec<(Account, Option<i32>)>> {
        read!(self, |conn| {
            let entered = months::table
                .filter(months::account_id.eq(accounts::id))
                .filter(months::month.eq(month));
            let query = accounts::table
                .filter(not(exists(entered)))
                .order(accounts::id)
                .limit(limit)
                .select(Account::as_select())
                .into_boxed::<Db>()
                .when(after, |after| accounts::id.gt(V(after)));
            let due: Vec<Account> = query.load(conn).await?;
            let last: Vec<(AccountId, Option<i32>)> = months::table
                .filter(months::account_id.eq_any(due.iter().map(|account| V(account.id))))
                .group_by(months::account_id)
                .select((months::account_id, max(months::month)))
                .load(conn)
                .await?;
            let last: HashMap<AccountId, Option<i32>> = last.into_iter().collect();
            Ok(due
                .into_iter()
                .map(|account| {
                    let last = last.get(&account.id).copied().flatten();
                    (account, last)
                })
                .collect())
        })
    }

    /// Enters a month once: its credits, its fee, and the end of the previous draft. `false` if that was done already,
    /// or another process is doing it.
    pub fn enter_month(&self, account: AccountId, new: NewMonth) -> Answer<'_, bool> {
        transact!(self, |conn| {
            if locks::try_lock_account(conn, account).await?.is_none() {
                return Ok(Rollback(false));
            }
            let is_entered = insert_new! {
                conn, months of new: account_id = account, month, credits, entered_at = new.at
            }?;
            ensure!(is_entered, Rollback(false));
            let first = Timestamp::of_utc_month(new.month).utc_date();
            let (plan, month) = (new.plan.to_string(), first.get(..7).unwrap_or_default());
            if new.credits > 0 {
                let entry = NewLedgerEntry {
                    kind: TransactionType::ManualCredit,
                    amount: new.credits,
                    description: EntryText::MonthlyCredits {
                        plan: plan.clone(),
                        month: month.to_owned(),
                    }
                    .to_string(),
                    at: new.at,
                };
                wallets::append(conn, account, mint(new.at), entry, None).await?;
            }
            if new.cents > 0 {
                let line = invoices::NewLine {
                    month: new.month,
                    entry: None,
                    description: format!("Fee of the {plan} plan, {month}"),
                    cents: new.cents,
                    at: new.at,
                };
                invoices::add_line(conn, account, line).await?;
            }
            invoices::issue_before(conn, account, new.month, new.at).await?;
            Ok(Commit(true))
        })
    }
}
