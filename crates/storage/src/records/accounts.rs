//! Accounts, keys and wallets.

use crate::prelude::*;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = accounts)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    pub plan: Plan,
    /// Overrides the plan's Engine module.
    pub engine_module: Option<bool>,
    pub created_at: Timestamp,
    #[diesel(embed)]
    pub dialing: Dialing,
    /// Whether it may have its own key of a vendor of models or speech.
    pub has_own_keys: bool,
}

/// Whom an account calls, as far as its own row says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = accounts)]
pub struct Dialing {
    /// Its rules ([`DialingRules::to_stored`]), if it has set any.
    #[diesel(column_name = dialing_rules)]
    pub rules: Option<String>,
    /// Whether it may have a number on its suppression list.
    pub has_suppressions: bool,
}

impl Dialing {
    /// Whether any call may be refused.
    #[must_use]
    pub const fn refuses(&self) -> bool {
        self.rules.is_some() || self.has_suppressions
    }
}

/// What an account has set for itself.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = account_settings)]
pub struct AccountSettings {
    /// The IANA name of the zone in which its times are shown.
    pub time_zone: String,
    /// Whether the shape of refused requests' bodies is kept.
    pub keeps_error_bodies: bool,
    #[diesel(embed)]
    pub thresholds: Thresholds,
    #[diesel(embed)]
    pub buyer: Buyer,
}

/// When an account wants to be warned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = account_settings)]
pub struct Thresholds {
    /// From how many credits in a UTC month on.
    #[diesel(column_name = alert_credits)]
    pub spent: Option<Credits>,
    #[diesel(column_name = alert_credits_2)]
    pub spent_2: Option<Credits>,
    #[diesel(column_name = alert_credits_3)]
    pub spent_3: Option<Credits>,
    /// Below which balance.
    #[diesel(column_name = alert_balance)]
    pub balance: Option<Credits>,
}

/// A threshold that is passed, and what passed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct PassedThreshold {
    #[diesel(sql_type = sql::Uuid)]
    pub account_id: AccountId,
    #[diesel(sql_type = sql::Word)]
    pub kind: ThresholdKind,
    #[diesel(sql_type = BigInt)]
    pub credits: Credits,
    /// What the month has cost.
    #[diesel(sql_type = BigInt)]
    pub spent: Credits,
    #[diesel(sql_type = BigInt)]
    pub balance: Credits,
}

/// To whom an account's invoices are made out. Each may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = account_settings)]
pub struct Buyer {
    #[diesel(column_name = invoice_name)]
    pub name: String,
    /// Its lines.
    #[diesel(column_name = invoice_address)]
    pub address: String,
    #[diesel(column_name = invoice_tax_id)]
    pub tax_id: String,
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self {
            time_zone: "UTC".to_owned(),
            keeps_error_bodies: false,
            thresholds: Thresholds::default(),
            buyer: Buyer::default(),
        }
    }
}

/// An API key, without its token.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = api_keys)]
pub struct ApiKey {
    pub id: KeyId,
    pub account_id: AccountId,
    pub name: String,
    /// The beginning of the token, by which people recognize it.
    pub prefix: String,
    pub scopes: Scopes,
    /// Whether scopes that end in `:write` are refused.
    pub read_only: bool,
    /// Credits that it may spend in a UTC month.
    pub monthly_credit_budget: Option<Credits>,
    pub created_at: Timestamp,
    /// From this time on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub struct NewApiKey {
    pub key: ApiKey,
    /// SHA-256 of the whole token.
    pub digest: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wallet {
    pub balance: Credits,
    /// The part of `balance` that calls have reserved.
    pub reserved: Credits,
    /// The automatic purchase, if enabled.
    pub auto_refill: Option<AutoRefill>,
}

impl Wallet {
    /// Credits available to calls, including one automatic refill.
    #[must_use]
    pub fn within_reach(&self) -> Credits {
        let refill = self.auto_refill.map_or(0, |refill| refill.credits);
        self.balance - self.reserved + refill
    }
}

/// A ledger entry that an operator makes.
#[derive(Debug, Clone)]
pub struct NewLedgerEntry {
    pub kind: TransactionType,
    pub amount: Credits,
    pub description: String,
    pub at: Timestamp,
}
