//! The wallet: reservations, settlement and the append-only ledger (decision 6.9).

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, ConversationId, Credits, KeyId, LedgerId, Timestamp};

use super::super::Conn;
use crate::schema::{api_keys, key_budgets, ledger, reservations, wallets};
use crate::sql::V;
use crate::{NewLedgerEntry, StoreError};

/// What a reservation draws on.
pub(crate) struct Draw {
    pub(crate) account: AccountId,
    pub(crate) key: Option<KeyId>,
    pub(crate) budget: Option<Credits>,
    pub(crate) month: i32,
}

/// How an attempt to reserve went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reserve {
    Held,
    WalletTooLow,
    BudgetTooLow,
}

/// Holds `credits` in one conditional statement each for the key's budget and the wallet.
pub(crate) async fn hold(
    conn: &mut Conn,
    draw: &Draw,
    credits: Credits,
) -> Result<Reserve, StoreError> {
    let held = diesel::update(wallets::table.find(V(draw.account)))
        .filter((wallets::balance - wallets::reserved).ge(credits))
        .set(wallets::reserved.eq(wallets::reserved + credits))
        .execute(conn)
        .await?;
    if held == 0 {
        return Ok(Reserve::WalletTooLow);
    }
    let (Some(key), Some(budget)) = (draw.key, draw.budget) else {
        return Ok(Reserve::Held);
    };
    diesel::insert_into(key_budgets::table)
        .values((
            key_budgets::key_id.eq(V(key)),
            key_budgets::month.eq(draw.month),
            key_budgets::spent.eq(0),
            key_budgets::reserved.eq(0),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    let held = diesel::update(key_budgets::table.find((V(key), draw.month)))
        .filter((key_budgets::spent + key_budgets::reserved + credits).le(budget))
        .set(key_budgets::reserved.eq(key_budgets::reserved + credits))
        .execute(conn)
        .await?;
    Ok(if held == 0 {
        Reserve::BudgetTooLow
    } else {
        Reserve::Held
    })
}

pub(crate) async fn insert_reservation(
    conn: &mut Conn,
    conversation: ConversationId,
    draw: &Draw,
    credits: Credits,
) -> Result<(), StoreError> {
    diesel::insert_into(reservations::table)
        .values((
            reservations::conversation_id.eq(V(conversation)),
            reservations::account_id.eq(V(draw.account)),
            reservations::key_id.eq(draw.budget.and(draw.key)),
            reservations::month.eq(draw.month),
            reservations::credits.eq(credits),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// Adds `credits` to what a call holds; the caller undoes it unless they are `Held`. The key's budget is asked as at
/// placing.
pub(crate) async fn top_up(
    conn: &mut Conn,
    conversation: ConversationId,
    credits: Credits,
) -> Result<Reserve, StoreError> {
    // The reservation's row first, as settling does: a call that is being settled holds nothing more.
    let held: Option<(AccountId, Option<KeyId>, i32)> =
        diesel::update(reservations::table.find(V(conversation)))
            .set(reservations::credits.eq(reservations::credits + credits))
            .returning((
                reservations::account_id,
                reservations::key_id,
                reservations::month,
            ))
            .get_result(conn)
            .await
            .optional()?;
    let Some((account, key, month)) = held else {
        return Ok(Reserve::WalletTooLow);
    };
    let budget: Option<Credits> = match key {
        Some(key) => {
            let budget = api_keys::table
                .find(V(key))
                .select(api_keys::monthly_credit_budget);
            // A budget that was lifted meanwhile still counts what the call holds.
            Some(
                budget
                    .first::<Option<Credits>>(conn)
                    .await?
                    .unwrap_or(Credits::MAX),
            )
        }
        None => None,
    };
    let draw = Draw {
        account,
        key,
        budget,
        month,
    };
    hold(conn, &draw, credits).await
}

/// Lets go of what a call held and takes what it cost, once.
pub(crate) async fn settle(
    conn: &mut Conn,
    account: AccountId,
    conversation: ConversationId,
    cost: Credits,
    entry: (LedgerId, &str, Timestamp),
) -> Result<(), StoreError> {
    let held: Option<(Credits, Option<KeyId>, i32)> =
        diesel::delete(reservations::table.find(V(conversation)))
            .returning((
                reservations::credits,
                reservations::key_id,
                reservations::month,
            ))
            .get_result(conn)
            .await
            .optional()?;
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
            kind: "debit".to_owned(),
            amount: -cost,
            description: description.to_owned(),
            at,
        };
        append(conn, account, id, entry, Some(conversation)).await?;
    }
    Ok(())
}

/// Writes one ledger row and moves the balance. The wallet's row lock orders `seq`.
pub(crate) async fn append(
    conn: &mut Conn,
    account: AccountId,
    id: LedgerId,
    entry: NewLedgerEntry,
    conversation: Option<ConversationId>,
) -> Result<Credits, StoreError> {
    let (balance, seq): (Credits, i64) = diesel::update(wallets::table.find(V(account)))
        .set((
            wallets::balance.eq(wallets::balance + entry.amount),
            wallets::last_seq.eq(wallets::last_seq + 1),
        ))
        .returning((wallets::balance, wallets::last_seq))
        .get_result(conn)
        .await?;
    diesel::insert_into(ledger::table)
        .values((
            ledger::id.eq(V(id)),
            ledger::account_id.eq(V(account)),
            ledger::seq.eq(seq),
            ledger::kind.eq(entry.kind),
            ledger::amount_credits.eq(entry.amount),
            ledger::balance_after_credits.eq(balance),
            ledger::description.eq(entry.description),
            ledger::conversation_id.eq(conversation),
            ledger::created_at.eq(V(entry.at)),
        ))
        .execute(conn)
        .await?;
    Ok(balance)
}
