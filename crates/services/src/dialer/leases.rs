//! Renews the leases of this node and of its calls.

use offhook_engine::{EndRequest, Moment};
use offhook_metrics::metrics;
use tokio::time::{Instant, sleep};

use crate::Result;
use crate::leases::{renew_every, renewed_within};
use crate::prelude::*;
use crate::redis_membership::{RedisMembership, renamed};
use crate::workers::every;

/// Leases renewed by one statement.
const RENEWED_TOGETHER: usize = 64;

/// How long paced renewals may take; after that, they go on without pauses.
const RENEWED_CALMLY: Duration = Duration::from_secs(3);

/// Renews the leases of this node and of its calls, and ends the calls if that is not possible in time.
pub(crate) async fn keep_leases(
    (runner, membership): (Arc<Runner>, Arc<RedisMembership>),
    stop: CancellationToken,
) {
    let mut tick = every(renew_every());
    let mut renewed_at = Moment::now();
    let mut redis = membership.redis();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
            // Reported at once, so that the others need not wait for it.
            () = renamed(&mut redis) => {}
        }
        match renew(&runner, &membership).await {
            Ok(()) => {
                renewed_at = Moment::now();
                runner.live.registry.renewals.succeeded(Instant::now());
            }
            Err(error) => {
                runner.live.registry.renewals.failed();
                metrics().calls.renewal_failed();
                tracing::warn!(%error, "leases could not be renewed");
                tick.reset_after(Duration::from_secs(1));
                if renewed_at.elapsed() >= renewed_within() {
                    // Another node may soon consider the leases lost. By then, no call may be live here.
                    runner.live.registry.end_all(EndRequest::Drain);
                }
            }
        }
    }
}

async fn renew(runner: &Runner, membership: &RedisMembership) -> Result<()> {
    let now = runner.clock.now();
    let (shares, redis) = (membership.shares_everything(), membership.name());
    let is_named = redis.is_some();
    let registering = runner.store.register_node(runner.node, shares, redis, now);
    let is_apart = registering.await?;
    if is_named {
        membership.note(is_apart, Instant::now());
    }
    let held = runner.live.registry.renewable();
    if held.is_empty() {
        return Ok(());
    }
    let began = Instant::now();
    for some in held.chunks(RENEWED_TOGETHER) {
        let renewing = Instant::now();
        let kept = runner.store.renew_claims(some).await?;
        for (id, claim) in some {
            // A call that was just settled no longer has a claim in the table, and will shortly leave the registry.
            if !kept.contains(claim) && runner.live.registry.end(*id, EndRequest::ClaimLost) {
                metrics().calls.lease_lost();
            }
        }
        // Renewing thousands of leases in one go would delay requests and turns.
        if began.elapsed() < RENEWED_CALMLY {
            sleep(renewing.elapsed() * 3).await;
        }
    }
    Ok(())
}
