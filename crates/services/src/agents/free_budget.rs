//! What an account gets for free, such as a voice's preview, is limited per minute.

use parking_lot::Mutex;

use crate::error::Result;
use crate::prelude::*;

/// Free requests of an account per minute, in one process.
const PER_MINUTE: u32 = 20;

const MINUTE_MICROS: i64 = 60_000_000;

/// The requests of the current minute, by account.
#[derive(Clone, Default)]
pub(super) struct FreeBudget(Arc<Mutex<(i64, HashMap<AccountId, u32>)>>);

impl FreeBudget {
    /// Counts a request.
    ///
    /// # Errors
    /// The minute's requests are used up.
    pub(super) fn take(&self, account: AccountId, now: Timestamp) -> Result<()> {
        let minute = now.micros().div_euclid(MINUTE_MICROS);
        let mut window = self.0.lock();
        if window.0 != minute {
            *window = (minute, HashMap::new());
        }
        let used = window.1.entry(account).or_default();
        if *used >= PER_MINUTE {
            return Err(UseCaseError::Conflict(Refusal::TooManyPreviews));
        }
        *used += 1;
        Ok(())
    }
}
