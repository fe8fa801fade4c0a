//! Batch calls: statuses and reasons.

use crate::agent::vocabulary;

vocabulary! {
    /// The status of a batch.
    BatchStatus {
        /// It starts at its scheduled time.
        Scheduled => "scheduled",
        /// Its recipients are being called.
        Running => "running",
        /// No new calls are started.
        Paused => "paused",
        /// Every recipient has ended.
        Completed => "completed",
        /// Canceled by the customer.
        Cancelled => "cancelled",
        /// It cannot continue: its agent is archived, or its number is gone.
        Failed => "failed",
    }
}

impl BatchStatus {
    /// The status in Spanish.
    #[must_use]
    pub const fn in_spanish(self) -> &'static str {
        match self {
            Self::Scheduled => "Programado",
            Self::Running => "Llamando",
            Self::Paused => "En pausa",
            Self::Completed => "Completado",
            Self::Cancelled => "Cancelado",
            Self::Failed => "Falló",
        }
    }

    /// Returns whether no more calls are placed, unless the batch is retried.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed)
    }
}

vocabulary! {
    /// Why a batch is paused.
    PausedReason {
        /// The customer paused it.
        Customer => "customer",
        /// The wallet does not cover another call; the batch resumes once it does.
        NoCredits => "no_credits",
        /// The key's monthly budget does not cover another call; the batch resumes once it does.
        KeyBudget => "key_budget",
        /// The key that created it was revoked; the key that resumes the batch takes over.
        KeyRevoked => "key_revoked",
    }
}

vocabulary! {
    /// The status of a recipient.
    RecipientStatus {
        /// Not called yet.
        Pending => "pending",
        /// The call was placed and has not ended.
        Dialing => "dialing",
        /// The call was answered and ended normally.
        Completed => "completed",
        /// The call failed.
        Failed => "failed",
        /// The batch ended before the call.
        Cancelled => "cancelled",
    }
}
