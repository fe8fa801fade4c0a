//! Campaigns: the calls of an engine agent to many recipients.

mod call_back;
mod estimate;
mod recipients;
mod results;
pub(crate) mod round;
mod scheduler;
mod steps;

use futures_util::stream::{self, Stream};
use std::collections::BTreeMap;

use offhook_domain::body::{Id, Name, Nested, Optional, Or, Required, Text};

use crate::calls::reference;
use crate::error::Result;
use crate::events;
use crate::prelude::*;

pub(crate) use call_back::{CALL_BACK, with_call_back};
pub use estimate::CampaignEstimate;
pub use recipients::{
    AddedRecipients, CampaignRecipientRequest, ROWS_AT_MOST as CAMPAIGN_ROWS_AT_MOST,
    RecipientsPreview, RecipientsUpload,
};
pub(crate) use scheduler::keep_calling;

body! {
    /// The body of `POST /v1/campaigns`.
    #[derive(Debug)]
    pub CampaignRequest {
        name: String, Required(Name(120)), "The campaign's name.";
        agent_id: String, Required(Text(1..=255)), "The engine agent that calls. Each call uses the version that is published then.";
        phone_number_id: Option<PhoneNumberId>, Optional(Id::of()), "The number to call from; by default the agent's, else the account's oldest.";
        settings: CampaignSettings, Or(Nested::of(), CampaignSettings::default()), "How it calls.";
    }
}

/// How often a campaign is looked at that somebody follows.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Campaigns(pub(crate) Arc<Context>, pub(crate) Arc<Providers>);

#[boxed]
impl Campaigns {
    /// Lists campaigns, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        filter: CampaignFilter,
        page: PageRequest<CampaignId>,
    ) -> Result<Page<Campaign>> {
        let store = &self.0.store;
        let page = page.read(|after, limit| store.campaigns(account, filter, after, limit));
        Ok(page.await?)
    }

    pub async fn get(&self, account: AccountId, id: CampaignId) -> Result<Campaign> {
        let campaign = self.0.store.campaign(account, id).await?;
        campaign.ok_or(UseCaseError::NotFound)
    }

    /// Lists a campaign's recipients after place `after`, in the order they were added.
    pub async fn recipients(
        &self,
        whose: (AccountId, CampaignId),
        filter: CampaignRecipientFilter,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<CampaignRecipient>> {
        let rows = self
            .0
            .store
            .campaign_recipients(whose, filter, after, i64::from(limit));
        let rows = rows.await?.ok_or(UseCaseError::NotFound)?;
        Ok(Page::of(rows, limit))
    }

    /// Follows a campaign's state, until nothing of it changes any more.
    pub fn follow(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> impl Stream<Item = Result<Campaign, StoreError>> + Send + use<> {
        let begins = Some((self.0.store.clone(), None::<Campaign>));
        stream::unfold(begins, move |following| async move {
            let (store, last) = following?;
            loop {
                let now = match store.campaign(account, id).await {
                    Ok(now) => now?,
                    Err(error) => return Some((Err(error), None)),
                };
                if last.as_ref() != Some(&now) {
                    let is_over = now.status.is_over() && now.dialing == 0;
                    let next = (!is_over).then(|| (store, Some(now.clone())));
                    return Some((Ok(now), next));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        })
    }

    /// Creates a draft: `{name, agent_id, phone_number_id?, settings?}`.
    pub async fn create(&self, caller: &Caller, body: &Json) -> Result<Campaign> {
        let request = CampaignRequest::of(body, &())?;
        let (account, at) = (caller.account.id, self.0.clock.now());
        let store = &self.0.store;
        let agent = reference(&request.agent_id);
        let found = store.agent_to_call(account, agent, self.1.lines()).await?;
        let (agent, ..) = found.ok_or_else(|| FieldError::new("agent_id", Fault::NoAgent))?;
        if agent.runtime != Runtime::Engine {
            return Err(UseCaseError::UnsupportedRuntime(
                Refusal::CampaignOfLegacyAgent,
            ));
        }
        if let Some(number) = request.phone_number_id {
            self.number(account, number).await?;
        }
        let campaign = Campaign {
            phone_number_id: request.phone_number_id,
            key_id: caller.key.as_ref().map(|key| key.id),
            settings: request.settings.to_stored(),
            ..Campaign::draft((account, mint(at)), &request.name, agent.id, at)
        };
        store.insert_campaign(campaign.clone()).await?;
        Ok(campaign)
    }

    /// A number of the account that engine agents can call from here.
    async fn number(&self, account: AccountId, id: PhoneNumberId) -> Result<E164> {
        let fault = |fault| FieldError::new("phone_number_id", fault);
        let found = self.0.store.number(account, id).await?;
        let number = found.ok_or_else(|| fault(Fault::NoNumber))?;
        let carrier = self.1.lines().carrier;
        if !number.is_proven || carrier.is_some_and(|carrier| carrier != number.provider) {
            return Err(fault(Fault::NumberNotCarried).into());
        }
        Ok(number.phone_number)
    }
}

/// How a campaign calls.
fn settings_of(campaign: &Campaign) -> Result<CampaignSettings, StoreError> {
    let corrupt = |error| StoreError::Corrupt(format!("a campaign's settings: {error}"));
    CampaignSettings::from_stored(&campaign.settings).map_err(corrupt)
}

/// How many of a campaign's calls came to what.
fn outcomes_of(campaign: &Campaign) -> Result<BTreeMap<String, i64>, StoreError> {
    let read = serde_json::from_str(&campaign.outcomes);
    read.map_err(|error| StoreError::Corrupt(format!("a campaign's outcomes: {error}")))
}

/// Writes the event of a campaign that was in another status until `at`. Returns whether an endpoint receives it.
async fn tell(
    tx: &mut Tx<'_>,
    campaign: &Campaign,
    (was, at): (CampaignStatus, Timestamp),
) -> Result<bool, StoreError> {
    let tells = matches!(
        campaign.status,
        CampaignStatus::Completed | CampaignStatus::Paused
    );
    if !tells || campaign.status == was {
        return Ok(false);
    }
    let event = events::of_campaign(campaign, at);
    Ok(!tx.emit(campaign.account_id, event, at).await?.is_empty())
}

/// When the next round of a campaign is that has changed at `at`, if it needs one.
fn round_of(campaign: &Campaign, at: Timestamp) -> Option<Timestamp> {
    let heals = campaign.paused_reason.is_some_and(|reason| reason.heals());
    let is_due = campaign.dialing > 0
        || campaign.status == CampaignStatus::Running
        || (campaign.status == CampaignStatus::Paused && heals);
    is_due.then_some(at)
}
