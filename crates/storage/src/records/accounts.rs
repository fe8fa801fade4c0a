//! Accounts, keys and wallets.

use diesel::prelude::*;
use offhook_domain::{AccountId, Credits, KeyId, Plan, Scopes, Timestamp, TransactionType};

use crate::{AutoRefill, schema};

/// A customer's account.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::accounts)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// Its plan.
    pub plan: Plan,
    /// Overrides the plan's Engine module.
    pub engine_module: Option<bool>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An API key, without its token.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::api_keys)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name.
    pub name: String,
    /// The beginning of the token, for people to recognise it.
    pub prefix: String,
    /// What it opens.
    pub scopes: Scopes,
    /// Whether scopes that end in `:write` are refused.
    pub read_only: bool,
    /// Credits that it may spend in a UTC month.
    pub monthly_credit_budget: Option<Credits>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A key that is about to be made.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// The key.
    pub key: ApiKey,
    /// SHA-256 of the whole token.
    pub digest: [u8; 32],
}

/// What a wallet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wallet {
    /// Credits.
    pub balance: Credits,
    /// Of these, held by calls.
    pub reserved: Credits,
    /// What is bought by itself.
    pub auto_refill: Option<AutoRefill>,
}

impl Wallet {
    /// Credits that calls may draw on, with those that would be bought for them.
    #[must_use]
    pub fn within_reach(&self) -> Credits {
        let refill = self.auto_refill.map_or(0, |refill| refill.credits);
        self.balance - self.reserved + refill
    }
}

/// A step of the wallet's history that an operator takes.
#[derive(Debug, Clone)]
pub struct NewLedgerEntry {
    /// What it is.
    pub kind: TransactionType,
    /// Signed credits.
    pub amount: Credits,
    /// Why.
    pub description: String,
    /// When.
    pub at: Timestamp,
}
