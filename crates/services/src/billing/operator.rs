//! The operator's changes to wallets and invoices.

use super::Billing;
use crate::Result;
use crate::error::InputError;
use crate::prelude::*;

/// The most credits that one entry moves, so that sums stay far below 2^63.
const MAX_CREDITS: Credits = 1_000_000_000;

fn invalid<T>(message: impl Into<String>) -> Result<T, InputError> {
    Err(InputError::Invalid(message.into()))
}

#[boxed]
impl Billing {
    /// Writes an operator's entry and returns the wallet after it. A purchase costs `cents`, or by default the price of
    /// its credits on the account's plan.
    pub async fn credit(
        &self,
        account: AccountId,
        credits: Credits,
        kind: TransactionType,
        description: &str,
        cents: Option<i64>,
    ) -> Result<Wallet, InputError> {
        let description = description.trim();
        if description.is_empty() || description.chars().count() > 200 {
            return invalid("--description must have 1 to 200 characters");
        }
        check_credits("--credits", credits)?;
        let plan = self.plan_of(account).await?;
        let amount = match kind {
            TransactionType::Purchase | TransactionType::Refund | TransactionType::ManualCredit => {
                credits
            }
            TransactionType::ManualDebit => -credits,
            TransactionType::AutoRefill | TransactionType::Debit => {
                return invalid("--type must be purchase, refund, manual_credit or manual_debit");
            }
        };
        let bought = kind == TransactionType::Purchase;
        if cents.is_some() && !bought {
            return invalid("--usd is what a purchase costs: leave it out");
        }
        let at = self.0.clock.now();
        let entry = NewLedgerEntry {
            kind,
            amount,
            description: description.to_owned(),
            at,
        };
        let audited = Audited {
            action: "wallet.credit",
            target: format!("{kind} {amount}: {description}"),
            at,
        };
        let cents = bought.then(|| cents.unwrap_or_else(|| self.list_price(plan, credits)));
        let store = &self.0.store;
        let written = store.credit_wallet(account, entry, cents, audited).await?;
        if written.is_none() {
            return invalid("--credits: the wallet does not have as many that no call holds");
        }
        Ok(self.wallet(account).await?)
    }

    /// Sets auto-refill, `(threshold, credits, cents)`, or ends it. A refill that is due happens at once. Without
    /// cents, the credits cost their price on the account's plan today.
    pub async fn set_auto_refill(
        &self,
        account: AccountId,
        refill: Option<(Credits, Credits, Option<i64>)>,
    ) -> Result<Wallet, InputError> {
        let plan = self.plan_of(account).await?;
        let refill = match refill {
            None => None,
            Some((threshold, credits, cents)) => {
                check_credits("--threshold", threshold)?;
                check_credits("--amount", credits)?;
                let cents = cents.unwrap_or_else(|| self.list_price(plan, credits));
                Some(AutoRefill {
                    threshold,
                    credits,
                    cents,
                })
            }
        };
        let audited = Audited {
            action: "wallet.auto_refill",
            target: match refill {
                Some(refill) => format!("{} below {}", refill.credits, refill.threshold),
                None => "off".to_owned(),
            },
            at: self.0.clock.now(),
        };
        let store = &self.0.store;
        store.set_auto_refill(account, refill, audited).await?;
        Ok(self.wallet(account).await?)
    }

    /// Marks an open invoice as paid or void.
    pub async fn mark(&self, id: InvoiceId, status: InvoiceStatus) -> Result<Invoice, InputError> {
        if !matches!(status, InvoiceStatus::Paid | InvoiceStatus::Void) {
            return invalid("--status must be paid or void");
        }
        let audited = Audited {
            action: "invoice.mark",
            target: format!("{id} {status}"),
            at: self.0.clock.now(),
        };
        match self.0.store.mark_invoice(id, status, audited).await? {
            Some((invoice, true)) => Ok(invoice),
            Some((invoice, false)) if invoice.status == status => Ok(invoice),
            Some((invoice, false)) => invalid(format!(
                "invoice {} is {}, and only an open one becomes {status}",
                invoice.number, invoice.status
            )),
            None => invalid(format!("--id {id}: no such invoice")),
        }
    }

    pub async fn newest_invoices(&self, account: AccountId) -> Result<Vec<Invoice>> {
        Ok(self.invoices(account, None, 100).await?.items)
    }

    async fn plan_of(&self, account: AccountId) -> Result<Plan, InputError> {
        match self.0.store.account(account).await? {
            Some(account) => Ok(account.plan),
            None => invalid(format!("--account {account}: no such account")),
        }
    }

    /// The price of credits in US cents by the plan's terms; 0 for plans by contract.
    fn list_price(&self, plan: Plan, credits: Credits) -> i64 {
        let terms = self.0.plans.terms(plan);
        let of_month = terms.usd_per_month.zip(terms.credits_per_month);
        match of_month {
            Some((usd, per)) if per > 0 => {
                let (exact, per) = (i64::from(usd) * 100, i64::from(per));
                let cents = (i128::from(exact) * i128::from(credits) * 2 + i128::from(per))
                    / (i128::from(per) * 2);
                i64::try_from(cents).unwrap_or(i64::MAX)
            }
            _ => 0,
        }
    }
}

fn check_credits(flag: &str, credits: Credits) -> Result<(), InputError> {
    if (1..=MAX_CREDITS).contains(&credits) {
        return Ok(());
    }
    invalid(format!("{flag} must be from 1 to {MAX_CREDITS}"))
}
