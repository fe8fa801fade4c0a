//! Checks that the books add up (`offhook doctor`), and says which account is wrong and how to fix it.
//!
//! The service writes a ledger entry, the wallet's row, the reservation and the day's total in one transaction. Each
//! fault therefore means that something else wrote to the database, or that a part of it was restored.

use super::Billing;
use crate::Result;
use crate::prelude::*;

/// What to do if entries, or the totals they are compared with, were changed: nothing in the database holds the old
/// values.
const RESTORE: &str = "the service never changes what is written there, so restore it from the last backup in which \
                       `offhook doctor` finds nothing";

#[boxed]
impl Billing {
    /// Describes each fault in the books of any account, one sentence each.
    pub async fn faults(&self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for account in self.0.store.accounts().await? {
            let id = account.id;
            match self.0.store.books(id).await? {
                Some(books) => {
                    let found = faults_of(&books).into_iter();
                    faults.extend(found.map(|fault| format!("account {id}: {fault}")));
                }
                None => faults.push(format!(
                    "account {id}: it has no row in `wallets`: {RESTORE}"
                )),
            }
        }
        Ok(faults)
    }
}

fn faults_of(books: &Books) -> Vec<String> {
    let mut faults = of_ledger(books);
    faults.extend(of_reservations(books));
    faults.extend(of_what_names_entries(books));
    faults.extend(of_days(books));
    faults
}

fn of_ledger(books: &Books) -> Vec<String> {
    if let Some(seq) = books.first_wrong {
        return vec![format!(
            "entry {seq} of the ledger does not follow from the entries before it (an entry was changed, removed or \
             added): {RESTORE} (`ledger`, `wallets`)"
        )];
    }
    if books.last_seq > books.newest_seq {
        return vec![format!(
            "the wallet counts {} entries of the ledger, and there are {}: {RESTORE} (`ledger`)",
            books.last_seq, books.newest_seq
        )];
    }
    // The ledger is whole; the wallet's row only repeats its sums.
    let mut faults = Vec::new();
    if books.balance != books.ledger_sum {
        let (balance, sum) = (books.balance, books.ledger_sum);
        faults.push(format!(
            "the balance is {balance}, and the ledger adds up to {sum}: the ledger is whole, so stop the service and set \
             `balance` in the account's row of `wallets` to {sum}"
        ));
    }
    if books.last_seq < books.newest_seq {
        let (last, newest) = (books.last_seq, books.newest_seq);
        faults.push(format!(
            "the wallet counts {last} entries of the ledger, and there are {newest}: stop the service and set `last_seq` \
             in the account's row of `wallets` to {newest}"
        ));
    }
    faults
}

fn of_reservations(books: &Books) -> Vec<String> {
    let mut faults = Vec::new();
    if books.idle_reservations > 0 {
        faults.push(format!(
            "{} of no call that goes on: stop the service, delete these rows of `reservations` and look again",
            counted(books.idle_reservations, "reservation", "reservations")
        ));
    }
    if books.unheld_calls > 0 {
        faults.push(format!(
            "{} that cost credits without a reservation: let them end, which settles them, and look again",
            counted(books.unheld_calls, "call", "calls")
        ));
    }
    if books.reserved != books.reservations {
        let (reserved, sum) = (books.reserved, books.reservations);
        faults.push(format!(
            "{reserved} credits are reserved, and the reservations add up to {sum}: stop the service and set `reserved` \
             in the account's row of `wallets` to {sum}"
        ));
    }
    if books.wrong_budgets > 0 {
        faults.push(format!(
            "{} of a key's budget with other credits held than its calls hold: stop the service and set `reserved` in these rows \
             of `key_budgets` to the sum of the keys' reservations of that month",
            counted(books.wrong_budgets, "month", "months")
        ));
    }
    faults
}

fn of_what_names_entries(books: &Books) -> Vec<String> {
    let mut faults = Vec::new();
    if books.wrong_costs > 0 {
        faults.push(format!(
            "{} with other credits than the ledger's debit took: {RESTORE} (`conversations`, `ledger`)",
            counted(books.wrong_costs, "ended conversation", "ended conversations")
        ));
    }
    if books.wrong_lines > 0 {
        faults.push(format!(
            "{} for an entry that the ledger does not have with these credits: {RESTORE} (`invoice_lines`, `ledger`)",
            counted(books.wrong_lines, "line of invoices", "lines of invoices")
        ));
    }
    if books.wrong_invoices > 0 {
        faults.push(format!(
            "{} another amount than the sum of the lines: stop the service and set `amount_cents` in these rows of \
             `invoices` to the sum in `invoice_lines`",
            counted(books.wrong_invoices, "invoice has", "invoices have")
        ));
    }
    faults
}

fn of_days(books: &Books) -> Vec<String> {
    let mut faults = Vec::new();
    if books.debits != books.usage_credits {
        faults.push(format!(
            "debits took {} credits, and the daily totals say {}: {RESTORE} (`usage_days`)",
            books.debits, books.usage_credits
        ));
    }
    // Old conversations are deleted; their daily totals stay.
    let (in_books, ended) = (books.usage_conversations, books.ended_conversations);
    if in_books < ended {
        faults.push(format!(
            "{} in the database, and the daily totals say {in_books}: {RESTORE} (`usage_days`)",
            counted(ended, "ended conversation", "ended conversations")
        ));
    }
    let (seconds, kept) = (books.usage_seconds, books.ended_seconds);
    if seconds < kept || (in_books == ended && seconds != kept) {
        faults.push(format!(
            "the conversations that are kept lasted {kept} seconds, and the daily totals say {seconds}: {RESTORE} \
             (`usage_days`)"
        ));
    }
    faults
}

/// `1 call`, `2 calls`.
fn counted(count: i64, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{count} {what}")
}
