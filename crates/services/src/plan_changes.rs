//! Moves an account to another plan, and lists the losses first.

use crate::prelude::*;
use crate::retention::{HELD, of_days, renewed};

/// Why an account was not moved.
#[derive(Debug, thiserror::Error)]
pub enum PlanChangeError {
    #[error("no such account")]
    NotFound,
    /// Its plan has changed since the preview.
    #[error("the account's plan has just been changed by another: look again")]
    Changed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A preview of a move to another plan.
#[derive(Debug, Clone)]
pub struct PlanChange {
    /// The account before the move.
    pub account: Account,
    /// The new plan.
    pub to: Plan,
    /// How many conversations would be hidden at once.
    pub hidden: i64,
    /// Conversations from before this are hidden; `None` if the window does not shrink.
    pub hidden_before: Option<Timestamp>,
    /// When they would be deleted.
    pub deleted_from: Option<Timestamp>,
    /// Whether knowledge would be turned off.
    pub loses_engine_module: bool,
    /// Whether the API would be closed.
    pub loses_api: bool,
    window: RetentionWindow,
}

impl PlanChange {
    /// The losses as sentences; empty if there are none.
    pub fn losses(&self) -> Vec<String> {
        let mut losses = Vec::new();
        if let (Some(before), Some(deleted)) = (self.hidden_before, self.deleted_from) {
            losses.push(format!(
                "conversations from before {before} are hidden at once ({} as of now) and deleted from {deleted} on",
                self.hidden
            ));
        }
        if self.loses_engine_module {
            losses.push("knowledge is turned off from the next call on".to_owned());
        }
        if self.loses_api {
            losses.push("the API is closed".to_owned());
        }
        losses
    }
}

#[derive(Clone)]
pub struct PlanChanges(pub(crate) Arc<Context>);

#[boxed]
impl PlanChanges {
    /// Previews moving the account to `to`.
    pub async fn look(&self, id: AccountId, to: Plan) -> Result<PlanChange, PlanChangeError> {
        let store = &self.0.store;
        let account = store.account(id).await?.ok_or(PlanChangeError::NotFound)?;
        let now = self.0.clock.now();
        let (old, new) = (self.terms(&account, account.plan), self.terms(&account, to));
        // First the current window, then the new one: a window not recorded yet is the old plan's.
        let noted = store.retention_window(id).await?;
        let present = renewed(id, noted, old.retention_days, now);
        let window = renewed(id, Some(present), new.retention_days, now);
        let shorter = new
            .retention_days
            .filter(|new| old.retention_days.is_none_or(|old| *new < old));
        let hidden_before =
            shorter.map(|days| now.minus(of_days(i32::try_from(days).unwrap_or(i32::MAX))));
        let hidden = match hidden_before {
            Some(before) => store.conversations_before(id, before).await?,
            None => 0,
        };
        Ok(PlanChange {
            to,
            hidden,
            hidden_before,
            deleted_from: hidden_before.map(|_| now.plus(HELD)),
            loses_engine_module: old.engine_module && !new.engine_module,
            loses_api: old.api && !new.api,
            account,
            window,
        })
    }

    /// Moves the account as previewed, and returns it. [`PlanChangeError::Changed`] if it is no longer on the plan of
    /// the preview.
    pub async fn make(&self, change: PlanChange) -> Result<Account, PlanChangeError> {
        let PlanChange {
            account,
            to,
            window,
            ..
        } = change;
        let at = self.0.clock.now();
        let moved = self
            .0
            .store
            .set_plan(account.id, (account.plan, to), window, at)
            .await?;
        if !moved {
            return Err(PlanChangeError::Changed);
        }
        Ok(Account {
            plan: to,
            ..account
        })
    }

    /// The account's terms on a plan, with the account's overrides.
    fn terms(&self, account: &Account, plan: Plan) -> PlanTerms {
        let mut terms = self.0.plans.terms(plan).clone();
        if let Some(engine_module) = account.engine_module {
            terms.engine_module = engine_module;
        }
        terms
    }
}
