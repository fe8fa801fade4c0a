//! Plans and their terms.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Price;

/// The plan of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// Without the API; its keys can only use `GET /v1/me`.
    Free,
    /// The first plan with the API.
    Starter,
    /// Includes the Engine module.
    Pro,
    /// For larger teams.
    Scale,
    /// By contract.
    Enterprise,
}

/// What a plan grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTerms {
    /// The account's requests per minute; a `free` account has the same limit as Starter.
    pub requests_per_minute: u32,
    /// Whether the API is available.
    pub api: bool,
    /// Days for which conversations stay readable; `None` means without limit.
    pub retention_days: Option<u32>,
    /// Seats; `None` means unlimited.
    pub seats_max: Option<u32>,
    /// Whether knowledge is available.
    pub engine_module: bool,
    /// Concurrent calls that are dialing, ringing, live or closing.
    pub live_calls: u32,
    /// The price in USD; `None` means by contract.
    pub usd_per_month: Option<u32>,
    /// The credits granted per month; `None` means by contract.
    pub credits_per_month: Option<u32>,
}

/// The configured terms of every plan, and the operator's prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans {
    terms: [PlanTerms; 5],
    /// Prices per minute that override the catalog's, by the catalog's model id; `legacy` is the price of legacy
    /// agents.
    pub prices: BTreeMap<String, Price>,
}

impl Plan {
    /// All plans, smallest first.
    pub const ALL: [Self; 5] = [
        Self::Free,
        Self::Starter,
        Self::Pro,
        Self::Scale,
        Self::Enterprise,
    ];

    /// Returns the name in configuration, on the command line and in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Starter => "starter",
            Self::Pro => "pro",
            Self::Scale => "scale",
            Self::Enterprise => "enterprise",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Plan {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Self, UnknownPlan> {
        Self::ALL
            .into_iter()
            .find(|plan| plan.as_str() == text)
            .ok_or(UnknownPlan)
    }
}

/// The text is no plan name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be free, starter, pro, scale or enterprise")]
pub struct UnknownPlan;

impl Plans {
    /// Returns the terms of `plan`.
    #[must_use]
    pub const fn terms(&self, plan: Plan) -> &PlanTerms {
        &self.terms[plan as usize]
    }

    /// Returns the terms of `plan`, to be changed by configuration.
    pub const fn terms_mut(&mut self, plan: Plan) -> &mut PlanTerms {
        &mut self.terms[plan as usize]
    }
}

impl Default for Plans {
    fn default() -> Self {
        let terms = |rpm, retention, seats, engine_module, live_calls, usd, credits| PlanTerms {
            requests_per_minute: rpm,
            api: true,
            retention_days: retention,
            seats_max: seats,
            engine_module,
            live_calls,
            usd_per_month: usd,
            credits_per_month: credits,
        };
        let free = terms(10, Some(7), Some(1), false, 0, Some(0), Some(0));
        let terms = [
            PlanTerms { api: false, ..free },
            terms(10, Some(30), Some(3), false, 5, Some(49), Some(500)),
            terms(40, Some(90), Some(10), true, 20, Some(199), Some(2_500)),
            terms(120, Some(365), Some(25), true, 100, Some(799), Some(12_000)),
            terms(120, None, None, true, 500, None, None),
        ];
        let prices = BTreeMap::new();
        Self { terms, prices }
    }
}
