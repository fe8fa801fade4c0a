//! Thresholds of the month's cost and of the balance: each is told once per month, also if it is passed while no process
//! runs.

use super::Billing;
use crate::prelude::*;
use crate::{Result, events};

const JOB: &str = "thresholds";

/// How often costs and balances are compared.
const EVERY: Duration = Duration::from_secs(60);

/// Thresholds per read, and reads per run.
const BATCH: i64 = 100;
const BATCHES: usize = 20;

#[boxed]
impl Billing {
    /// Writes an event for each threshold that was passed since the last run, and returns how many. A process that
    /// stops in between leaves the others to the next run.
    pub async fn note_thresholds(&self) -> Result<usize> {
        note_thresholds(&self.0).await
    }
}

async fn note_thresholds(ctx: &Context) -> Result<usize> {
    let (now, mut noted) = (ctx.clock.now(), 0);
    let month = now.utc_month();
    for _ in 0..BATCHES {
        let passed = ctx.store.passed_thresholds(month, BATCH).await?;
        if passed.is_empty() {
            break;
        }
        for threshold in passed {
            let event = events::threshold(&threshold, now);
            let is_first = ctx.store.pass_threshold(threshold, month, event, now);
            noted += usize::from(is_first.await?);
        }
    }
    if noted > 0 {
        ctx.wakes.dispatcher.notify_one();
    }
    Ok(noted)
}

/// The same in one process at a time, at most once a minute.
pub(crate) async fn keep_noting_thresholds(ctx: &Context) -> Result<()> {
    if ctx.take_job(JOB).await? {
        note_thresholds(ctx).await?;
        ctx.finish_job(JOB, EVERY).await?;
    }
    Ok(())
}
