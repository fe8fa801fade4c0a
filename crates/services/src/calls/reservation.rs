//! The credits that a placed call reserves before it begins.

use super::Calls;
use crate::error::Result;
use crate::prelude::*;

/// Seconds of credits held at most before the call begins.
pub(crate) const RESERVED_SECONDS: i64 = 600;

impl Calls {
    /// Refuses what the transaction would refuse.
    pub(super) async fn check_wallet(&self, caller: &Caller, reserve: Credits) -> Result<()> {
        if reserve == 0 {
            return Ok(());
        }
        let wallet = self.ctx.store.wallet(caller.account.id).await?;
        let free = wallet.map_or(0, |wallet| wallet.within_reach());
        if free < reserve {
            Err(UseCaseError::PaymentRequired("this call"))
        } else {
            Ok(())
        }
    }
}

impl Providers {
    /// The price per minute, and the credits to hold: for min(max_duration, 10 min), at least a minute. The price is
    /// fixed now, before it is known which models the call will use, so it is that of the most expensive ones.
    pub(crate) fn terms_of(&self, plan: Plan, config: &AgentConfig) -> (Price, Credits) {
        let price = self.price_of_a_minute(plan, config);
        let seconds = config
            .conversation
            .max_duration_s
            .clamp(60, RESERVED_SECONDS);
        (price, price.of_seconds(seconds))
    }
}
