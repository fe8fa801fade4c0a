//! Campaigns: their statuses, and those of their recipients.

use crate::agent::vocabulary;

vocabulary! {
    /// The status of a campaign.
    CampaignStatus {
        /// It was not started yet.
        Draft => "draft",
        /// Its recipients are being called.
        Running => "running",
        /// No new calls are started.
        Paused => "paused",
        /// Every recipient was called as often as the campaign calls.
        Completed => "completed",
        /// Canceled by the customer.
        Cancelled => "cancelled",
    }
}

impl CampaignStatus {
    /// The status in Spanish.
    #[must_use]
    pub const fn in_spanish(self) -> &'static str {
        match self {
            Self::Draft => "Borrador",
            Self::Running => "Llamando",
            Self::Paused => "En pausa",
            Self::Completed => "Completada",
            Self::Cancelled => "Cancelada",
        }
    }

    /// Returns whether it calls nobody any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }
}

vocabulary! {
    /// Why a campaign is paused.
    CampaignPause {
        /// The customer paused it.
        Customer => "customer",
        /// The wallet does not cover another call; it resumes once it does.
        NoCredits => "no_credits",
        /// The key's monthly budget does not cover another call; it resumes once it does.
        KeyBudget => "key_budget",
        /// The key that created it was revoked; the key that resumes it takes over.
        KeyRevoked => "key_revoked",
        /// The agent takes no calls; it resumes once the agent does.
        Agent => "agent",
        /// There is no number to call from; it resumes once there is.
        Number => "number",
        /// Too many calls failed.
        FailureRate => "failure_rate",
    }
}

impl CampaignPause {
    /// Returns whether the campaign resumes by itself once the reason is gone.
    #[must_use]
    pub const fn heals(self) -> bool {
        matches!(
            self,
            Self::NoCredits | Self::KeyBudget | Self::Agent | Self::Number
        )
    }
}

vocabulary! {
    /// The status of a campaign's recipient.
    CampaignRecipientStatus {
        /// To be called, for the first time or again.
        Pending => "pending",
        /// The call was placed and has not ended.
        Dialing => "dialing",
        /// Not to be called again.
        Done => "done",
    }
}
