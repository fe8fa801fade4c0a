//! What customers do with a campaign: they start, pause, resume and cancel it.

use super::{Campaigns, round_of, tell};
use crate::calls::{check_takes_calls, no_number};
use crate::error::Result;
use crate::prelude::*;
use crate::transact::transact;

#[boxed]
impl Campaigns {
    /// Starts, pauses, resumes or cancels a campaign. Calls under way continue to their end.
    pub async fn step(
        &self,
        caller: &Caller,
        id: CampaignId,
        step: CampaignStep,
    ) -> Result<Campaign> {
        let (account, at) = (caller.account.id, self.0.clock.now());
        if step == CampaignStep::Start {
            let campaign = self.get(account, id).await?;
            if campaign.status == CampaignStatus::Draft {
                self.check(caller, &campaign).await?;
            }
        }
        let key = caller.key.as_ref().map(|key| key.id);
        let stepped: Result<(Campaign, bool)> = transact!(self.0.store, |tx| {
            let found = tx.lock_campaign(account, id).await?;
            let mut campaign = found.ok_or(UseCaseError::NotFound)?;
            let was = campaign.status;
            make_step(&mut campaign, (step, key), at)?;
            let round_at = round_of(&campaign, at);
            tx.save_campaign(&campaign, round_at).await?;
            let tells = tell(&mut tx, &campaign, (was, at)).await?;
            Ok((campaign, tells))
        });
        let (campaign, tells) = stepped?;
        tracing::info!(campaign = %id, status = %campaign.status, "campaign changed");
        self.0.wakes.campaigns.notify_one();
        if tells {
            self.0.wakes.dispatcher.notify_one();
        }
        Ok(campaign)
    }

    /// Refuses to start a campaign whose agent could not call now.
    async fn check(&self, caller: &Caller, campaign: &Campaign) -> Result<()> {
        if caller.terms.live_calls == 0 {
            return Err(UseCaseError::PlanLimit(Refusal::NoCalls));
        }
        let (account, agent) = (campaign.account_id, AgentRef::Id(campaign.agent_id));
        let lines = self.1.lines();
        let found = self.0.store.agent_to_call(account, agent, lines).await?;
        let (agent, _, usual) = found.ok_or(UseCaseError::AgentNotFound)?;
        check_takes_calls(&agent)?;
        if let Some(number) = campaign.phone_number_id {
            self.number(account, number).await?;
        } else if usual.is_none() && self.1.shared_number(Runtime::Engine).is_none() {
            return Err(UseCaseError::Conflict(no_number(Runtime::Engine)));
        }
        Ok(())
    }
}

/// Changes a locked campaign.
fn make_step(
    campaign: &mut Campaign,
    (step, key): (CampaignStep, Option<KeyId>),
    at: Timestamp,
) -> Result<()> {
    use CampaignStatus::{Cancelled, Draft, Paused, Running};
    let reason = campaign.paused_reason;
    match (step, campaign.status) {
        (CampaignStep::Start, Draft) => {
            if campaign.total == 0 {
                return Err(UseCaseError::Conflict(Refusal::CampaignEmpty));
            }
            campaign.status = Running;
            campaign.started_at = Some(at);
            campaign.paced_at = at;
        }
        (CampaignStep::Pause, Running | Paused) if reason != Some(CampaignPause::Customer) => {
            campaign.status = Paused;
            campaign.paused_reason = Some(CampaignPause::Customer);
        }
        (CampaignStep::Resume, Paused) => {
            campaign.status = Running;
            campaign.paused_reason = None;
            (campaign.judged_calls, campaign.judged_failures) = (0, 0);
            if reason == Some(CampaignPause::KeyRevoked) {
                campaign.key_id = key;
            }
        }
        (CampaignStep::Cancel, Draft | Running | Paused) => {
            campaign.status = Cancelled;
            campaign.paused_reason = None;
            campaign.ended_at = Some(at);
        }
        (_, now) => {
            let refusal = match step {
                CampaignStep::Start => Refusal::CampaignStarted,
                CampaignStep::Pause => Refusal::CampaignNotPausable,
                CampaignStep::Resume => Refusal::CampaignNotResumable,
                CampaignStep::Cancel => Refusal::CampaignNotCancellable,
            };
            return Err(UseCaseError::Conflict(refusal(now)));
        }
    }
    Ok(())
}
