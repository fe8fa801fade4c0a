//! Wallets that a transaction of several calls has locked, on PostgreSQL.

use super::wallets::Purse;
use crate::postgres::dialect::column;
use crate::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};

/// A locked wallet, and what a transaction is about to do to it.
pub(crate) struct Locked {
    /// What can be reserved without buying credits.
    pub(crate) room: Credits,
    refills: bool,
    balance: Credits,
    last_seq: i64,
    last_entry_at: Option<Timestamp>,
    freed: Credits,
    spent: Credits,
}

impl Locked {
    /// Releases what a call has reserved and charges its cost. Returns the statement that inserts the ledger's row.
    pub(crate) fn settle(
        &mut self,
        (account, conversation): (AccountId, ConversationId),
        reserved: Credits,
        settlement: &Settlement,
    ) -> Option<impl QueryFragment<Db> + QueryId + Send + use<>> {
        let Settlement {
            credits: cost,
            description,
            at,
            ..
        } = settlement.clone();
        self.freed += reserved;
        self.room += reserved - cost;
        if cost <= 0 {
            return None;
        }
        let written_at = self.last_entry_at.map_or(at, |last| last.max(at));
        self.spent += cost;
        self.balance -= cost;
        self.last_seq += 1;
        self.last_entry_at = Some(written_at);
        Some(diesel::insert_into(ledger::table).values(row! {
            ledger: id = mint::<LedgerId>(at), account_id = account, seq = self.last_seq,
            kind = TransactionType::Debit, amount_credits = -cost,
            balance_after_credits = self.balance, description,
            conversation_id = conversation, created_at = written_at
        }))
    }

    /// Whether credits are bought after this.
    pub(crate) const fn is_low(&self) -> bool {
        self.refills && self.spent > 0 && self.room < 0
    }
}

/// Deletes the reservations of these conversations and returns their credits.
pub(crate) async fn free(
    conn: &mut Conn,
    conversations: Vec<ConversationId>,
) -> Result<HashMap<ConversationId, Credits>> {
    let of_these = reservations::conversation_id.eq_any(conversations.into_iter().map(V));
    let freed: Vec<(ConversationId, Credits)> = diesel::delete(reservations::table)
        .filter(of_these)
        .returning((reservations::conversation_id, reservations::credits))
        .load(conn)
        .await?;
    Ok(freed.into_iter().collect())
}

/// Writes what has been done to locked wallets.
pub(crate) async fn keep(conn: &mut Conn, wallets: HashMap<AccountId, Locked>) -> Result<()> {
    let changed: Vec<(AccountId, Locked)> = wallets.into_iter().collect();
    diesel::sql_query(
        "UPDATE wallets SET reserved = wallets.reserved - w.freed, balance = wallets.balance - w.spent, \
           last_seq = w.last_seq, last_entry_at = w.last_entry_at \
         FROM UNNEST($1, $2, $3, $4, $5) AS w(account_id, freed, spent, last_seq, last_entry_at) \
         WHERE wallets.account_id = w.account_id AND (w.freed <> 0 OR w.spent <> 0)",
    )
    .bind::<Array<sql::Uuid>, _>(column(&changed, |(account, _)| V(*account)))
    .bind::<Array<BigInt>, _>(column(&changed, |(_, wallet)| wallet.freed))
    .bind::<Array<BigInt>, _>(column(&changed, |(_, wallet)| wallet.spent))
    .bind::<Array<BigInt>, _>(column(&changed, |(_, wallet)| wallet.last_seq))
    .bind::<Array<Nullable<sql::Instant>>, _>(column(&changed, |(_, wallet)| {
        wallet.last_entry_at.map(V)
    }))
    .run(conn)
    .await
}

/// Locks these wallets, on PostgreSQL. Leaves out those that another transaction has locked unless it `is_patient`.
pub(crate) async fn lock(
    conn: &mut Conn,
    accounts: HashSet<AccountId>,
    is_patient: bool,
) -> Result<HashMap<AccountId, Locked>> {
    let purses: Vec<(AccountId, Purse, i64, Option<Timestamp>)> = wallets::table
        .filter(wallets::account_id.eq_any(accounts.into_iter().map(V)))
        // In one order, so that two processes never deadlock.
        .order(wallets::account_id)
        .select((
            wallets::account_id,
            Purse::as_select(),
            wallets::last_seq,
            wallets::last_entry_at,
        ))
        .locked(match is_patient {
            true => "FOR NO KEY UPDATE",
            false => "FOR NO KEY UPDATE SKIP LOCKED",
        })
        .load(conn)
        .await?;
    let locked = |(account, purse, last_seq, last_entry_at): (_, Purse, _, _)| {
        let refill = purse.auto_refill();
        let threshold = refill.map_or(0, |refill| refill.threshold);
        let locked = Locked {
            room: purse.balance - purse.reserved - threshold,
            refills: refill.is_some(),
            balance: purse.balance,
            last_seq,
            last_entry_at,
            freed: 0,
            spent: 0,
        };
        (account, locked)
    };
    Ok(purses.into_iter().map(locked).collect())
}
