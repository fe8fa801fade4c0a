//! The wallet: reservations, settlement and the append-only ledger.

use super::{
    audit,
    invoices::{self, NewLine},
};
use crate::prelude::*;
use diesel::dsl::case_when;
use diesel::query_builder::{QueryFragment, QueryId};

/// What a reservation draws on.
pub(crate) struct Draw {
    pub(crate) account: AccountId,
    pub(crate) key: Option<KeyId>,
    pub(crate) budget: Option<Credits>,
    pub(crate) month: i32,
    pub(crate) at: Timestamp,
}

impl Draw {
    pub(crate) fn of_call(call: &NewCall) -> Self {
        Self {
            account: call.account_id,
            key: call.key_id,
            budget: call.key_budget,
            month: call.at.utc_month(),
            at: call.at,
        }
    }

    /// On the account alone, without a key.
    pub(crate) fn of(account: AccountId, at: Timestamp) -> Self {
        Self {
            account,
            key: None,
            budget: None,
            month: at.utc_month(),
            at,
        }
    }
}

/// A wallet's row.
#[derive(Queryable, Selectable)]
#[diesel(table_name = wallets)]
pub(super) struct Purse {
    pub(super) balance: Credits,
    pub(super) reserved: Credits,
    refill_threshold: Option<Credits>,
    refill_credits: Option<Credits>,
    refill_cents: Option<i64>,
}

impl Purse {
    pub(super) fn auto_refill(&self) -> Option<AutoRefill> {
        Some(AutoRefill {
            threshold: self.refill_threshold?,
            credits: self.refill_credits?,
            cents: self.refill_cents.unwrap_or(0),
        })
    }
}

/// The result of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    Held,
    WalletTooLow,
    BudgetTooLow,
}

/// Reserves `credits`, if any, with one conditional statement each for the key's budget and the wallet.
pub(crate) async fn hold(conn: &mut Conn, draw: &Draw, credits: Credits) -> Result<Reserve> {
    ensure!(credits != 0, Reserve::Held);
    if !hold_in_wallet(conn, draw, credits).await? {
        return Ok(Reserve::WalletTooLow);
    }
    let (Some(key), Some(budget)) = (draw.key, draw.budget) else {
        return Ok(Reserve::Held);
    };
    insert_new! { conn, key_budgets: key_id = key, month = draw.month, spent = 0, reserved = 0 }?;
    let is_held = diesel::update(key_budgets::table.find((V(key), draw.month)))
        .filter((key_budgets::spent + key_budgets::reserved + credits).le(budget))
        .set(key_budgets::reserved.eq(key_budgets::reserved + credits))
        .changes(conn)
        .await?;
    Ok(match is_held {
        true => Reserve::Held,
        false => Reserve::BudgetTooLow,
    })
}

/// Reserves `credits` in the wallet. If auto-refill is set, buys more: below the threshold, or because these credits
/// are not covered otherwise.
async fn hold_in_wallet(conn: &mut Conn, draw: &Draw, credits: Credits) -> Result<bool> {
    ensure!(!try_hold(conn, draw, credits).await?, true);
    // Also locks the row: of two transactions that find too little, the second sees what the first has bought.
    let low: Option<Purse> = diesel::update(wallets::table.find(V(draw.account)))
        .filter(wallets::refill_credits.is_not_null())
        .filter((wallets::balance - wallets::reserved).lt(credits))
        .filter(
            (wallets::balance - wallets::reserved + wallets::refill_credits.assume_not_null())
                .ge(credits),
        )
        .set(wallets::last_seq.eq(wallets::last_seq))
        .returning(Purse::as_returning())
        .returned(conn)
        .await?;
    let refill = some_or!(low.and_then(|purse| purse.auto_refill()), false);
    buy(conn, draw.account, refill, draw.at).await?;
    try_hold(conn, draw, credits).await
}

async fn try_hold(conn: &mut Conn, draw: &Draw, credits: Credits) -> Result<bool> {
    let held: Option<Purse> = diesel::update(wallets::table.find(V(draw.account)))
        .filter((wallets::balance - wallets::reserved).ge(credits))
        .set(wallets::reserved.eq(wallets::reserved + credits))
        .returning(Purse::as_returning())
        .returned(conn)
        .await?;
    if let Some(purse) = &held {
        refill_if_low(conn, draw.account, purse, draw.at).await?;
    }
    Ok(held.is_some())
}

/// Buys credits if the available ones have fallen below the threshold. Returns the balance. The caller's change has
/// locked the wallet's row, so that no other transaction buys at the same time.
async fn refill_if_low(
    conn: &mut Conn,
    account: AccountId,
    changed: &Purse,
    at: Timestamp,
) -> Result<Credits> {
    let available = changed.balance - changed.reserved;
    match changed.auto_refill() {
        Some(refill) if available < refill.threshold => buy(conn, account, refill, at).await,
        _ => Ok(changed.balance),
    }
}

async fn buy(
    conn: &mut Conn,
    account: AccountId,
    refill: AutoRefill,
    at: Timestamp,
) -> Result<Credits> {
    let entry = NewLedgerEntry {
        kind: TransactionType::AutoRefill,
        amount: refill.credits,
        description: EntryText::AutoRefill.to_string(),
        at,
    };
    let bought = write(conn, account, mint(at), entry, (None, Some(refill.cents))).await?;
    Ok(bought.balance)
}

async fn find(conn: &mut Conn, account: AccountId) -> Result<Option<Wallet>> {
    let purse: Option<Purse> = wallets::table
        .find(V(account))
        .select(Purse::as_select())
        .found(conn)
        .await?;
    Ok(purse.map(|purse| Wallet {
        balance: purse.balance,
        reserved: purse.reserved,
        auto_refill: purse.auto_refill(),
    }))
}

#[boxed]
impl Tx<'_> {
    /// Reserves a call's credits, or changes nothing.
    pub async fn try_reserve(&mut self, call: &NewCall) -> Result<Reserve> {
        let draw = Draw::of_call(call);
        if call.reserve == 0 || call.key_budget.is_none() {
            return hold(self.0, &draw, call.reserve).await;
        }
        // The wallet comes before the budget, and may have bought credits by then. A refusal by the budget undoes both,
        // but must keep the calls placed before this one.
        let undo = "ROLLBACK TO SAVEPOINT reserve";
        diesel::sql_query("SAVEPOINT reserve").run(self.0).await?;
        let held = hold(self.0, &draw, call.reserve).await?;
        if held == Reserve::BudgetTooLow {
            diesel::sql_query(undo).run(self.0).await?;
        }
        diesel::sql_query("RELEASE SAVEPOINT reserve")
            .run(self.0)
            .await?;
        Ok(held)
    }
}

impl Store {
    pub fn wallet(&self, account: AccountId) -> Answer<'_, Option<Wallet>> {
        read!(self, |conn| find(conn, account).await)
    }

    /// Writes a ledger row and changes the balance. Returns the new balance.
    pub fn change_wallet(&self, account: AccountId, entry: NewLedgerEntry) -> Answer<'_, Credits> {
        keep!(self, |conn| {
            let id = mint(entry.at);
            append(conn, account, id, entry, None).await
        })
    }

    /// Writes an operator's entry. The month's invoice bills it with `cents`, if given. Returns the new balance, or
    /// `None` if there is no such account or the available credits do not cover a debit.
    pub fn credit_wallet(
        &self,
        account: AccountId,
        entry: NewLedgerEntry,
        cents: Option<i64>,
        audited: Audited,
    ) -> Answer<'_, Option<Credits>> {
        transact!(self, |conn| {
            ensure!(find(conn, account).await?.is_some(), Rollback(None));
            let (id, amount) = (mint(entry.at), entry.amount);
            let balance = append_billed(conn, account, id, entry, (None, cents)).await?;
            if amount < 0 {
                // Read after the entry, which has locked the wallet. Credits that auto-refill bought because of the
                // entry do not cover it.
                let left: Credits = ledger::table
                    .find(V(id))
                    .select(ledger::balance_after_credits)
                    .first(conn)
                    .await?;
                let wallet = find(conn, account).await?;
                if wallet.is_none_or(|wallet| left < wallet.reserved) {
                    return Ok(Rollback(None));
                }
            }
            audit::audited(conn, account, &audited).await?;
            Ok(Commit(Some(balance)))
        })
    }

    /// Sets or ends auto-refill, and buys at once if it is due. `false` if there is no such account.
    pub fn set_auto_refill(
        &self,
        account: AccountId,
        refill: Option<AutoRefill>,
        audited: Audited,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let set: Option<Purse> = diesel::update(wallets::table.find(V(account)))
                .set((
                    wallets::refill_threshold.eq(refill.map(|refill| refill.threshold)),
                    wallets::refill_credits.eq(refill.map(|refill| refill.credits)),
                    wallets::refill_cents.eq(refill.map(|refill| refill.cents)),
                ))
                .returning(Purse::as_returning())
                .returned(conn)
                .await?;
            let purse = some_or!(set, Rollback(false));
            refill_if_low(conn, account, &purse, audited.at).await?;
            audit::audited(conn, account, &audited).await?;
            Ok(Commit(true))
        })
    }
}

/// The statement that inserts the reservation of a conversation.
pub(crate) fn reservation(
    conversation: ConversationId,
    draw: &Draw,
    credits: Credits,
) -> impl QueryFragment<Db> + QueryId + Send + use<> {
    diesel::insert_into(reservations::table).values(row! {
        reservations: conversation_id = conversation, account_id = draw.account,
        key_id = draw.budget.and(draw.key), month = draw.month, credits
    })
}

/// Writes the reservation, if any, of a conversation that exists.
pub(crate) async fn insert_reservation(
    conn: &mut Conn,
    conversation: ConversationId,
    draw: &Draw,
    credits: Credits,
) -> Result<()> {
    ensure!(credits != 0, ());
    reservation(conversation, draw, credits).run(conn).await
}

/// Adds `credits` to a call's reservation. The caller rolls back unless the result is `Held`. The key's budget applies
/// as when the call was placed.
pub(crate) async fn top_up(
    conn: &mut Conn,
    conversation: ConversationId,
    credits: Credits,
    at: Timestamp,
) -> Result<Reserve> {
    // Lock order: the reservation's row first, as in settling. A call that is being settled reserves nothing more.
    let held: Option<(AccountId, Option<KeyId>, i32)> =
        diesel::update(reservations::table.find(V(conversation)))
            .set(reservations::credits.eq(reservations::credits + credits))
            .returning((
                reservations::account_id,
                reservations::key_id,
                reservations::month,
            ))
            .returned(conn)
            .await?;
    let (account, key, month) = some_or!(held, Reserve::WalletTooLow);
    let budget = match key {
        Some(key) => {
            let budget: Option<Credits> = api_keys::table
                .find(V(key))
                .select(api_keys::monthly_credit_budget)
                .first(conn)
                .await?;
            // If the budget was removed meanwhile, the call's reservation still counts.
            Some(budget.unwrap_or(Credits::MAX))
        }
        None => None,
    };
    let draw = Draw {
        account,
        key,
        budget,
        month,
        at,
    };
    hold(conn, &draw, credits).await
}

/// Releases a call's reservation and charges its cost, once.
pub(crate) async fn settle(
    conn: &mut Conn,
    account: AccountId,
    conversation: ConversationId,
    cost: Credits,
    entry: (LedgerId, &str, Timestamp),
) -> Result<()> {
    let held: Option<(Credits, Option<KeyId>, i32)> =
        diesel::delete(reservations::table.find(V(conversation)))
            .returning((
                reservations::credits,
                reservations::key_id,
                reservations::month,
            ))
            .returned(conn)
            .await?;
    if let Some((credits, key, month)) = held {
        diesel::update(wallets::table.find(V(account)))
            .set(wallets::reserved.eq(wallets::reserved - credits))
            .execute(conn)
            .await?;
        if let Some(key) = key {
            diesel::update(key_budgets::table.find((V(key), month)))
                .set((
                    key_budgets::reserved.eq(key_budgets::reserved - credits),
                    key_budgets::spent.eq(key_budgets::spent + cost),
                ))
                .execute(conn)
                .await?;
        }
    }
    if cost > 0 {
        let (id, description, at) = entry;
        let entry = NewLedgerEntry {
            kind: TransactionType::Debit,
            amount: -cost,
            description: description.to_owned(),
            at,
        };
        append(conn, account, id, entry, Some(conversation)).await?;
    }
    Ok(())
}

/// Writes one ledger row and changes the balance, which it returns. The wallet's row lock orders `seq`.
pub(crate) async fn append(
    conn: &mut Conn,
    account: AccountId,
    id: LedgerId,
    entry: NewLedgerEntry,
    conversation: Option<ConversationId>,
) -> Result<Credits> {
    append_billed(conn, account, id, entry, (conversation, None)).await
}

/// Like [`append`], for an entry that the month's invoice bills with this many cents.
pub(crate) async fn append_billed(
    conn: &mut Conn,
    account: AccountId,
    id: LedgerId,
    entry: NewLedgerEntry,
    (conversation, bill): (Option<ConversationId>, Option<i64>),
) -> Result<Credits> {
    let (spends, at) = (entry.amount < 0, entry.at);
    let changed = write(conn, account, id, entry, (conversation, bill)).await?;
    if spends {
        return refill_if_low(conn, account, &changed, at).await;
    }
    Ok(changed.balance)
}

async fn write(
    conn: &mut Conn,
    account: AccountId,
    id: LedgerId,
    entry: NewLedgerEntry,
    (conversation, bill): (Option<ConversationId>, Option<i64>),
) -> Result<Purse> {
    // An entry is never older than the previous one, even from several nodes, so that the order of time is that of
    // `seq`.
    let later = wallets::last_entry_at.gt(V(entry.at));
    let (purse, seq, written_at): (Purse, i64, Option<Timestamp>) =
        diesel::update(wallets::table.find(V(account)))
            .set((
                row! { wallets: balance += entry.amount, last_seq += 1 },
                wallets::last_entry_at
                    .eq(case_when(later, wallets::last_entry_at).otherwise(V(entry.at))),
            ))
            .returning((
                Purse::as_returning(),
                wallets::last_seq,
                wallets::last_entry_at,
            ))
            .get_result(conn)
            .await?;
    let at = written_at.unwrap_or(entry.at);
    let invoice = match bill {
        Some(cents) => {
            let line = NewLine {
                month: at.utc_month(),
                entry: Some((id, entry.amount)),
                description: entry.description.clone(),
                cents,
                at,
            };
            Some(invoices::add_line(conn, account, line).await?)
        }
        None => None,
    };
    insert! {
        conn, ledger of entry: id = id, account_id = account, seq = seq, kind,
        amount_credits = entry.amount, balance_after_credits = purse.balance, description,
        conversation_id = conversation, created_at = at, invoice_id = invoice
    }?;
    Ok(purse)
}
