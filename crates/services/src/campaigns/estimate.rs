//! What a campaign will probably take, before it starts.

use super::round::capacity;
use super::{Campaigns, settings_of};
use crate::agents::corrupt;
use crate::calls::{Hours, opening};
use crate::error::Result;
use crate::gate::{Rules, Window, zones_for};
use crate::prelude::*;

/// The recipients whose time zones stand for all.
const SAMPLE: i64 = 1_000;

/// What is assumed of an agent with fewer ended calls.
const CALLS_KNOWN: i64 = 10;
const ASSUMED_ANSWERED_PERMILLE: i64 = 500;
const ASSUMED_SECONDS: i64 = 120;

/// How long a call rings.
const RING_SECONDS: i64 = 20;

/// How far ahead, and how finely, the end is looked for.
const STEP: Duration = Duration::from_secs(1_800);
const STEPS: usize = 60 * 48;

/// What is left of a campaign, by the agent's latest calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignEstimate {
    /// Recipients that are to be called.
    pub recipients: i64,
    /// Calls to them, with the repeated ones.
    pub calls: i64,
    /// Minutes of talk.
    pub minutes: i64,
    pub credits: Credits,
    /// Credits of the wallet that nothing has reserved.
    pub credits_available: Credits,
    /// Whether the agent has too few calls to tell: then half of them are taken to be answered, for two minutes.
    pub assumed: bool,
    /// When everybody has been called, if it started now; none within 60 days.
    pub finishes_at: Option<Timestamp>,
}

/// Recipients whose windows open together.
struct Group {
    zones: String,
    calls: i64,
}

#[boxed]
impl Campaigns {
    pub async fn estimate(&self, caller: &Caller, id: CampaignId) -> Result<CampaignEstimate> {
        let account = caller.account.id;
        let campaign = self.get(account, id).await?;
        let settings = settings_of(&campaign)?;
        let store = &self.0.store;
        let agent = AgentRef::Id(campaign.agent_id);
        let found = store.agent_to_call(account, agent, self.1.lines()).await?;
        let (agent, stored, _) = found.ok_or(UseCaseError::AgentNotFound)?;
        let config = stored.map(|stored| AgentConfig::from_stored(&stored).map_err(corrupt));
        let config = config.transpose()?.unwrap_or_default();
        let providers = self.1.of_account(&self.0, &caller.account).await?;
        let (price, _) = providers.terms_of(caller.account.plan, &config);
        let known = store.agent_calls(account, agent.id).await?;
        let assumed = known.calls < CALLS_KNOWN;
        let (answered_permille, seconds) = match assumed {
            true => (ASSUMED_ANSWERED_PERMILLE, ASSUMED_SECONDS),
            false => (
                known.answered * 1_000 / known.calls,
                known.seconds / known.answered.max(1),
            ),
        };
        let filter = CampaignRecipientFilter {
            status: Some(CampaignRecipientStatus::Pending),
            outcome: None,
        };
        let sample = store.campaign_recipients((account, id), filter, None, SAMPLE);
        let sample = sample.await?.ok_or(UseCaseError::NotFound)?;
        let wallet = store.wallet(account).await?;
        let recipients = i64::from(campaign.pending);
        let calls = calls(recipients, answered_permille, &settings);
        // Rounded up: a short list is no free one.
        let answered = (calls * answered_permille + 999) / 1_000;
        let talk = answered * seconds;
        let live = capacity(caller.terms.live_calls, settings.live_percent);
        let line_seconds = RING_SECONDS + answered_permille * seconds / 1_000;
        let per_step = i64::try_from(STEP.as_secs()).unwrap_or(0);
        let by_lines = live * per_step / line_seconds.max(1);
        let by_rate = settings.calls_per_minute * per_step / 60;
        let groups = groups(&sample, calls);
        let rules = Rules::of(&caller.account.dialing)?;
        let window = settings.window.clone().map(Window::of);
        let is_open = |group: &Group, at: Timestamp| {
            let mut windows = window.iter().chain(rules.window());
            windows.all(|window| window.closed(&group.zones, at).is_none())
        };
        let hours = config.conversation.calling_hours.as_ref();
        let works = |at| hours.is_none_or(|hours| opening(hours, at) == Hours::Open);
        let now = self.0.clock.now();
        Ok(CampaignEstimate {
            recipients,
            calls,
            minutes: talk.div_euclid(60) + i64::from(talk % 60 > 0),
            credits: credits(price, answered, seconds),
            credits_available: wallet.map_or(0, |wallet| wallet.within_reach()),
            assumed,
            finishes_at: ends(groups, by_lines.min(by_rate), now, |group, at| {
                works(at) && is_open(group, at)
            }),
        })
    }
}

/// Each call is charged for itself.
fn credits(price: Price, answered: i64, seconds: i64) -> Credits {
    answered * price.of_seconds(seconds)
}

/// The calls to so many recipients: those that do not answer are called again.
fn calls(recipients: i64, answered_permille: i64, settings: &CampaignSettings) -> i64 {
    let retries = &settings.retries;
    let repeats = retries.no_answer != Retry::Never || retries.busy != Retry::Never;
    let most = if repeats { retries.most_attempts } else { 1 };
    let (mut left, mut calls) = (recipients, 0);
    for _ in 0..most {
        calls += left;
        left = left * (1_000 - answered_permille) / 1_000;
    }
    calls
}

fn groups(sample: &[CampaignRecipient], calls: i64) -> Vec<Group> {
    let mut counts: HashMap<String, i64> = HashMap::new();
    for one in sample {
        let zones = zones_for(&one.number, one.time_zone.as_deref());
        *counts
            .entry(zones.unwrap_or_default().to_owned())
            .or_default() += 1;
    }
    let all = i64::try_from(sample.len()).unwrap_or(i64::MAX).max(1);
    let group = |(zones, count): (String, i64)| Group {
        zones,
        calls: (calls * count + all - 1) / all,
    };
    counts.into_iter().map(group).collect()
}

/// When the last call is placed, with so many in a step while a group is open.
fn ends(
    mut groups: Vec<Group>,
    per_step: i64,
    now: Timestamp,
    is_open: impl Fn(&Group, Timestamp) -> bool,
) -> Option<Timestamp> {
    let mut at = now;
    for _ in 0..STEPS {
        let mut room = per_step;
        for group in &mut groups {
            if group.calls > 0 && room > 0 && is_open(group, at) {
                let placed = group.calls.min(room);
                group.calls -= placed;
                room -= placed;
            }
        }
        if groups.iter().all(|group| group.calls == 0) {
            let used = u64::try_from(per_step - room).unwrap_or(0);
            let seconds = STEP.as_secs() * used / u64::try_from(per_step).unwrap_or(1).max(1);
            return Some(at.plus(Duration::from_secs(seconds)));
        }
        at = at.plus(STEP);
    }
    None
}
