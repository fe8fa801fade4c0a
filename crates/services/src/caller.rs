//! Who asks.

use crate::prelude::*;

/// The caller: an account, with a valid key or as a signed-in member, and the plan's terms.
#[derive(Debug, Clone)]
pub struct Caller {
    pub account: Account,
    /// The key; `None` for a member signed in to the portal.
    pub key: Option<ApiKey>,
    /// The plan's terms, with the account's overrides.
    pub terms: PlanTerms,
}

impl Caller {
    /// The key as versions of agents name it.
    pub fn actor(&self) -> Actor {
        let key = self.key.as_ref();
        key.map_or(Actor::Operator, |key| Actor::Key(key.id))
    }
}

impl Context {
    /// The terms of the account's plan, with the account's overrides.
    pub(crate) fn terms_for(&self, account: &Account) -> PlanTerms {
        let mut terms = self.plans.terms(account.plan).clone();
        if let Some(engine_module) = account.engine_module {
            terms.engine_module = engine_module;
        }
        terms
    }
}
