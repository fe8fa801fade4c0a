//! Batch calls: states and reasons.

use crate::agent::vocabulary;

vocabulary! {
    /// Where a batch is in its life.
    BatchStatus {
        /// It begins at its time.
        Scheduled => "scheduled",
        /// Its recipients are called.
        Running => "running",
        /// Nobody new is called.
        Paused => "paused",
        /// Every recipient has ended.
        Completed => "completed",
        /// Ended by the customer.
        Cancelled => "cancelled",
        /// It cannot go on: its agent is archived, or its number gone.
        Failed => "failed",
    }
}

impl BatchStatus {
    /// Whether nobody is called any more, unless it is tried again.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

vocabulary! {
    /// Why a batch is paused.
    PausedReason {
        /// The customer asked for it.
        Customer => "customer",
        /// The wallet covers no further call; it goes on by itself when it does.
        NoCredits => "no_credits",
        /// The key's monthly budget covers no further call; it goes on by itself when it does.
        KeyBudget => "key_budget",
        /// The key that made it was revoked; it goes on with the key that resumes it.
        KeyRevoked => "key_revoked",
    }
}

vocabulary! {
    /// What became of a recipient.
    RecipientStatus {
        /// Not called yet.
        Pending => "pending",
        /// The call is placed and has not ended.
        Dialing => "dialing",
        /// The call was answered and ended well.
        Completed => "completed",
        /// The call failed.
        Failed => "failed",
        /// The batch ended before the call.
        Cancelled => "cancelled",
    }
}
