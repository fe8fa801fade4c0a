//! Campaigns.

use offhook_services::store::{Campaign, CampaignRecipient};
use offhook_services::{AddedRecipients, CampaignEstimate};

use super::{raw, shown};
use crate::prelude::*;

shown! {
    CampaignView(campaign: Campaign) {
        id,
        name,
        agent_id,
        phone_number_id,
        status,
        paused_reason,
        settings = raw(&campaign.settings).ok(),
        counts = CampaignCounts(campaign),
        outcomes = raw(&campaign.outcomes).ok(),
        talk_seconds = campaign.seconds,
        credits,
        created_at,
        started_at,
        ended_at,
    }
}

shown! {
    CampaignCounts(campaign: Campaign) {
        total,
        pending,
        dialing,
        reached,
        unreached,
        blocked,
    }
}

shown! {
    /// A recipient with its variables as the client wrote them.
    CampaignRecipientView(one: CampaignRecipient) {
        id,
        to = &one.number,
        name,
        variables = raw(&one.variables).ok(),
        time_zone,
        consent = one.consent.as_deref().and_then(|consent| raw(consent).ok()),
        status,
        outcome,
        rule = one.blocked_by,
        attempts,
        next_at = one.next_at(),
        call_id = one.conversation_id.map(CallHandle),
        updated_at,
    }
}

impl CampaignRecipientView<'_> {
    /// Fails unless every row of a page can be printed.
    pub(crate) fn check(recipients: &[CampaignRecipient]) -> Result<(), ApiError> {
        recipients.iter().try_for_each(|one| {
            if let Some(consent) = &one.consent {
                Consent::from_stored(consent)
                    .map_err(|error| ApiError::internal(error.to_string()))?;
            }
            raw(&one.variables).map(drop)
        })
    }
}

shown! {
    EstimateBody(estimate: CampaignEstimate) {
        recipients,
        calls,
        minutes,
        credits,
        credits_available,
        assumed,
        finishes_at,
    }
}

shown! {
    /// What came of recipients.
    AddedBody(done: AddedRecipients) {
        added,
        duplicates,
        bad_rows,
        bad = done.bad.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }
}
