//! Campaigns and their recipients.

use crate::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub struct Campaign {
    pub id: CampaignId,
    pub account_id: AccountId,
    pub name: String,
    pub agent_id: AgentId,
    /// The number to call from. `None` uses the agent's or the account's.
    pub phone_number_id: Option<PhoneNumberId>,
    /// The key that made it, whose budget its calls use. `None` if a member made it in the portal.
    pub key_id: Option<KeyId>,
    pub status: CampaignStatus,
    pub paused_reason: Option<CampaignPause>,
    /// How it calls ([`CampaignSettings::to_stored`]).
    pub settings: String,
    /// The number of recipients. The counts of the five below add up to it.
    pub total: i32,
    /// To be called, for the first time or again.
    pub pending: i32,
    /// Being called.
    pub dialing: i32,
    /// Called, and they spoke.
    pub reached: i32,
    /// Called as often as the campaign calls, and not reached.
    pub unreached: i32,
    /// Not called, or not again, because a rule refuses it for good.
    pub blocked: i32,
    /// How many of its calls came to what, as a JSON object.
    pub outcomes: String,
    /// How long its answered calls lasted, together.
    pub seconds: i64,
    /// What its calls cost.
    pub credits: Credits,
    /// Calls that ended since the circuit breaker last judged.
    pub judged_calls: i32,
    /// Those of them that failed.
    pub judged_failures: i32,
    /// The next call may be placed then.
    pub paced_at: Timestamp,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl Campaign {
    /// A campaign without recipients, as it usually calls.
    #[must_use]
    pub fn draft(
        (account_id, id): (AccountId, CampaignId),
        name: &str,
        agent_id: AgentId,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            account_id,
            name: name.to_owned(),
            agent_id,
            phone_number_id: None,
            key_id: None,
            status: CampaignStatus::Draft,
            paused_reason: None,
            settings: CampaignSettings::default().to_stored(),
            total: 0,
            pending: 0,
            dialing: 0,
            reached: 0,
            unreached: 0,
            blocked: 0,
            outcomes: "{}".to_owned(),
            seconds: 0,
            credits: 0,
            judged_calls: 0,
            judged_failures: 0,
            paced_at: at,
            created_at: at,
            started_at: None,
            ended_at: None,
        }
    }
}

/// One recipient of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = campaign_recipients)]
pub struct CampaignRecipient {
    pub id: CampaignRecipientId,
    /// Its position in the campaign.
    pub place: i32,
    pub number: E164,
    /// May be empty.
    pub name: String,
    /// The call's variables, as JSON text.
    pub variables: String,
    /// The IANA name of the customer's time zone, if it is known.
    pub time_zone: Option<String>,
    /// What the customer agreed to ([`Consent::to_stored`]).
    pub consent: Option<String>,
    pub status: CampaignRecipientStatus,
    /// What came of the latest call.
    pub outcome: Option<Outcome>,
    /// The rule that refuses it.
    pub blocked_by: Option<DialRule>,
    /// How often it was called.
    pub attempts: i32,
    /// Whether a machine has been left a message, or hung up on: another call leaves none.
    pub has_message: bool,
    /// When the customer asked to be called again, in the call under way.
    pub callback_at: Option<Timestamp>,
    /// Called then at the earliest, while it is pending.
    pub next_at: Timestamp,
    /// The latest call.
    pub conversation_id: Option<ConversationId>,
    pub updated_at: Timestamp,
}

impl CampaignRecipient {
    /// When it is called at the earliest, if it is to be called.
    #[must_use]
    pub fn next_at(&self) -> Option<Timestamp> {
        (self.status == CampaignRecipientStatus::Pending).then_some(self.next_at)
    }
}

#[derive(Debug, Clone)]
pub struct NewCampaignRecipient {
    pub id: CampaignRecipientId,
    pub number: E164,
    pub name: String,
    /// The call's variables, as JSON text.
    pub variables: String,
    pub time_zone: Option<String>,
    /// What the customer agreed to ([`Consent::to_stored`]).
    pub consent: Option<String>,
}

/// Which campaigns a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct CampaignFilter {
    pub status: Option<CampaignStatus>,
    pub agent: Option<AgentId>,
}

/// Which recipients of a campaign a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct CampaignRecipientFilter {
    pub status: Option<CampaignRecipientStatus>,
    pub outcome: Option<Outcome>,
}

/// A customer's action on a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignStep {
    /// Begin to call.
    Start,
    /// Start no new calls.
    Pause,
    /// Continue calling.
    Resume,
    Cancel,
}

/// The latest calls of an agent that ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentCalls {
    pub calls: i64,
    /// Those that were answered.
    pub answered: i64,
    /// How long those lasted, together.
    pub seconds: i64,
}
