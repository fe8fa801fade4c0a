//! Accounts, as the operator creates them.

use crate::error::InputError;
use crate::prelude::*;
use crate::{Result, Zone};

/// The longest line of a buyer, in characters, and the most lines of an address: what an invoice has room for.
pub const BUYER_CHARS: usize = 120;
pub const BUYER_LINES: usize = 4;

/// Why a buyer is refused.
#[derive(Debug, thiserror::Error)]
pub enum BuyerFault {
    #[error("a line must have at most {BUYER_CHARS} characters, none of them a control character")]
    Line,
    #[error("an address has at most {BUYER_LINES} lines of {BUYER_CHARS} characters each")]
    Address,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone)]
pub struct Accounts(pub(crate) Arc<Context>);

#[boxed]
impl Accounts {
    /// Creates an account and its owner. It starts with `credits` as a `manual_credit`, or else with the plan's monthly
    /// credits.
    pub async fn create(
        &self,
        name: &str,
        plan: Plan,
        credits: Option<i64>,
        engine_module: Option<bool>,
        owner_email: Option<&str>,
    ) -> Result<Account, InputError> {
        let at = self.0.clock.now();
        let account = new_account(name, plan, engine_module, at)?;
        if credits.is_some_and(|credits| credits < 0) {
            return Err(InputError::Invalid(
                "--credits must not be negative".to_owned(),
            ));
        }
        let owner_email = owner_email.map(str::parse::<EmailAddress>).transpose();
        let owner_email =
            owner_email.map_err(|error| InputError::Invalid(format!("--owner-email {error}")))?;
        let entry = first_credits(&self.0, &account, credits);
        let owner = owner_email.map(|email| Member {
            id: mint(at),
            account_id: account.id,
            name: email.local_part().to_owned(),
            email,
            role: MemberRole::Owner,
            joined_at: at,
        });
        let store = &self.0.store;
        store.create_account(account.clone(), entry, owner).await?;
        // The account exists; the next run over the months makes up for a failure here.
        if let Err(error) = crate::billing::enter(&self.0, &account, None).await {
            tracing::warn!(%error, "the account's first invoice is begun later");
        }
        Ok(account)
    }

    /// Lists every account, oldest first.
    pub async fn list(&self) -> Result<Vec<Account>> {
        self.0.store.accounts().await
    }

    pub async fn settings(&self, id: AccountId) -> Result<AccountSettings> {
        self.0.store.account_settings(id).await
    }

    /// Sets to whom the account's invoices are made out.
    pub async fn set_buyer(&self, id: AccountId, buyer: Buyer) -> Result<(), BuyerFault> {
        let is_plain =
            |text: &str| text.chars().count() <= BUYER_CHARS && !text.contains(char::is_control);
        if buyer.address.lines().count() > BUYER_LINES || !buyer.address.lines().all(is_plain) {
            return Err(BuyerFault::Address);
        }
        if !is_plain(&buyer.name) || !is_plain(&buyer.tax_id) {
            return Err(BuyerFault::Line);
        }
        Ok(self.0.store.set_buyer(id, buyer).await?)
    }

    /// Sets when members are warned.
    pub async fn set_thresholds(&self, id: AccountId, thresholds: Thresholds) -> Result<()> {
        self.0.store.set_thresholds(id, thresholds).await
    }

    /// Sets whether the shape of refused requests is kept for a week.
    pub async fn set_keeps_error_bodies(&self, id: AccountId, keeps: bool) -> Result<()> {
        self.0.store.set_keeps_error_bodies(id, keeps).await
    }

    /// Sets the zone in which an account's times are shown.
    pub async fn set_time_zone(&self, id: AccountId, zone: &Zone) -> Result<()> {
        self.0.store.set_time_zone(id, zone.name().to_owned()).await
    }

    pub async fn find(&self, id: AccountId) -> Result<Option<Account>> {
        self.0.store.account(id).await
    }
}

/// Builds an account after checking its name.
pub(crate) fn new_account(
    name: &str,
    plan: Plan,
    engine_module: Option<bool>,
    at: Timestamp,
) -> Result<Account, InputError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 120 || name.contains(char::is_control) {
        return Err(InputError::Invalid(
            "--name must have 1 to 120 characters, none of them a control character".to_owned(),
        ));
    }
    Ok(Account {
        id: mint(at),
        name: name.to_owned(),
        plan,
        engine_module,
        created_at: at,
        dialing: Dialing::default(),
        has_own_keys: false,
    })
}

/// The first credits of an account: `credits`, or else the plan's monthly credits.
pub(crate) fn first_credits(
    ctx: &Context,
    account: &Account,
    credits: Option<i64>,
) -> Option<NewLedgerEntry> {
    let (amount, description) = match credits {
        Some(credits) => (credits, EntryText::AccountCreated),
        None => (
            ctx.plans
                .terms(account.plan)
                .credits_per_month
                .map_or(0, i64::from),
            EntryText::FirstCredits(account.plan.to_string()),
        ),
    };
    (amount > 0).then_some(NewLedgerEntry {
        kind: TransactionType::ManualCredit,
        amount,
        description: description.to_string(),
        at: account.created_at,
    })
}
