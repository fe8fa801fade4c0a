//! Plans and their terms.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Price;

/// What an account has subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// No API; its keys may ask `GET /v1/me`.
    Free,
    /// The first plan with the API.
    Starter,
    /// With the Engine module.
    Pro,
    /// For larger teams.
    Scale,
    /// By contract.
    Enterprise,
}

/// What a plan grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTerms {
    /// Requests per minute of the account bucket; a `free` account has the Starter bucket.
    pub requests_per_minute: u32,
    /// Whether the API is open at all.
    pub api: bool,
    /// Days that conversations stay readable; `None` is for ever.
    pub retention_days: Option<u32>,
    /// Seats; `None` is unlimited.
    pub seats_max: Option<u32>,
    /// Whether knowledge is available.
    pub engine_module: bool,
    /// Calls that may be dialing, ringing, talking or closing at once.
    pub live_calls: u32,
    /// Price in USD; `None` is by contract.
    pub usd_per_month: Option<u32>,
    /// Credits granted a month; `None` is by contract.
    pub credits_per_month: Option<u32>,
}

/// The terms of every plan, as configured, and what the operator has priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans {
    terms: [PlanTerms; 5],
    /// Prices of a minute that are others than the catalog's, by the model's id there; `legacy` is a legacy agent's.
    pub prices: BTreeMap<String, Price>,
}

impl Plan {
    /// Every plan, the smallest first.
    pub const ALL: [Self; 5] = [
        Self::Free,
        Self::Starter,
        Self::Pro,
        Self::Scale,
        Self::Enterprise,
    ];

    /// The name in configuration, on the command line and on the wire.
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

/// The text names no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be free, starter, pro, scale or enterprise")]
pub struct UnknownPlan;

impl Plans {
    /// The terms of `plan`.
    #[must_use]
    pub const fn terms(&self, plan: Plan) -> &PlanTerms {
        &self.terms[plan as usize]
    }

    /// The terms of `plan`, to be changed by configuration.
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
