//! The scheduler: polls due campaigns and places their calls, a few at a time. Nodes share the work.

use super::Campaigns;
use super::round::{ROUND_EVERY, Round};
use crate::Result;
use crate::prelude::*;
use crate::workers::{Turns, counted};

/// Its name in the metrics: each poll is a run of it, and each campaign handled.
const JOB: &str = "campaigns";

/// How long a node may take for a campaign before another node may claim it.
const LEASE: Duration = Duration::from_secs(10);

/// Campaigns claimed at once.
const AT_ONCE: i64 = 32;

/// Places the calls of campaigns until `stop`.
pub(crate) async fn keep_calling(campaigns: Campaigns, stop: CancellationToken) {
    let mut turns = Turns::new(ROUND_EVERY, &stop);
    while turns.next_or(&campaigns.0.wakes.campaigns).await {
        if let Err(error) = counted(JOB, due_rounds(&campaigns).await) {
            tracing::warn!(%error, "the rounds of due campaigns failed");
            tokio::time::sleep(ROUND_EVERY).await;
        }
    }
}

async fn due_rounds(campaigns: &Campaigns) -> Result<()> {
    let ctx = &campaigns.0;
    let now = ctx.clock.now();
    if !ctx.store.has_due_campaigns(now).await? {
        return Ok(());
    }
    for (account, id) in ctx.store.claim_due_campaigns(AT_ONCE, LEASE, now).await? {
        if let Err(error) = counted(JOB, round(campaigns, account, id).await) {
            // The lease expires, and the campaign is due again.
            tracing::warn!(%error, campaign = %id, "a campaign's round failed");
        }
    }
    Ok(())
}

async fn round(campaigns: &Campaigns, account: AccountId, id: CampaignId) -> Result<()> {
    let Campaigns(ctx, providers) = campaigns;
    let row = some_or!(ctx.store.account(account).await?, ());
    let (plan, of) = (row.plan, providers.of_account(ctx, &row).await?);
    let round = Round {
        at: ctx.clock.now(),
        steady: ctx.clock.steady(),
        live_calls: ctx.plans.terms(plan).live_calls,
        terms: Box::new(move |config| of.terms_of(plan, config)),
        lines: providers.lines(),
        shared_number: providers.shared_number(Runtime::Engine),
        is_simulated: !providers.network.is_spoken(),
        is_down: providers.network.is_down(),
    };
    let done = round.run(&ctx.store, (account, id)).await?;
    if done.calls > 0 {
        ctx.wakes.dialer.notify_one();
    }
    if done.tells {
        ctx.wakes.dispatcher.notify_one();
    }
    Ok(())
}
