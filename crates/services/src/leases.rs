//! Leases of claimed work: the owner renews a claim, gives the work up before others may claim it, and others take it
//! over from an owner that is gone. Tests of dead processes run all of it faster.

use offhook_engine::Moment;
use offhook_failpoints::scaled;

use crate::Result;
use crate::prelude::*;
use crate::workers::every;

pub(crate) fn renew_every() -> Duration {
    scaled(Duration::from_secs(10))
}

/// An owner that could not renew its claim for this long gives the work up: another may claim it soon.
pub(crate) fn renewed_within() -> Duration {
    scaled(Duration::from_secs(40))
}

/// A node judges others' leases only after this long of its own successful renewals. When a database comes back, each
/// owner has had time to renew by then.
pub(crate) fn judge_after() -> Duration {
    scaled(Duration::from_secs(45))
}

/// Renews a claim; resolves when another owner has it, or may have it.
pub(crate) async fn keep<F: Future<Output = Result<Fenced>>>(renew: impl Fn() -> F) {
    let mut tick = every(renew_every());
    tick.reset();
    let mut renewed_at = Moment::now();
    loop {
        tick.tick().await;
        match renew().await {
            Ok(Fenced::Done) => renewed_at = Moment::now(),
            Ok(Fenced::Lost) => return,
            Err(_) if renewed_at.elapsed() < renewed_within() => {}
            Err(_) => return,
        }
    }
}
