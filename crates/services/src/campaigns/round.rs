//! A round of the scheduler over a campaign: what came of its calls, the calls that it may place now, and when its next
//! round is.

use super::recipients::metadata;
use super::{outcomes_of, settings_of, tell};
use crate::Result;
use crate::agents::corrupt;
use crate::batches::share;
use crate::calls::{Hours, opening};
use crate::gate::{Dial, Rules, Window, count, zones_for};
use crate::prelude::*;
use crate::transact::transact;

/// How soon a running campaign has its next round.
pub(super) const ROUND_EVERY: Duration = Duration::from_millis(250);

/// The pause of a campaign that lacks credits, budget, a number or an active agent.
const LATER: Duration = Duration::from_secs(30);

/// The pause before `next_window` without any window.
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Calls to one recipient at most, however often they ask to be called again.
const CALLS_AT_MOST: i32 = 10;

/// Calls placed at most in a round.
const CALLS: i64 = 50;

/// Recipients judged at most in a round: those whose windows are closed are moved on.
const JUDGED: i64 = 500;

/// A round that came late catches up with the rate for so long.
const BURST: Duration = Duration::from_secs(1);

/// The price of a minute, and the credits to reserve for a call.
type Terms = dyn Fn(&AgentConfig) -> (Price, Credits) + Send + Sync;

/// What the account and the process allow in one round.
pub(crate) struct Round {
    pub(crate) at: Timestamp,
    /// `at` by the process's steady clock: the placed calls wait from then on.
    pub(crate) steady: Timestamp,
    /// The live calls of the account's plan.
    pub(crate) live_calls: u32,
    pub(crate) terms: Box<Terms>,
    pub(crate) lines: Lines,
    /// The number that every account may call from.
    pub(crate) shared_number: Option<E164>,
    pub(crate) is_simulated: bool,
    /// Whether the phone network is out of reach.
    pub(crate) is_down: bool,
}

/// What a round did.
#[derive(Default)]
pub(crate) struct Done {
    /// Calls that it placed.
    pub(crate) calls: i32,
    /// Whether an event is to be delivered.
    pub(crate) tells: bool,
}

/// A locked campaign and what its calls are judged by.
struct Work {
    round: Round,
    campaign: Campaign,
    settings: CampaignSettings,
    window: Option<Window>,
    dialing: Dialing,
    rules: Rules,
}

/// What places the calls of a round.
struct Caller {
    agent: Agent,
    config: AgentConfig,
    from: E164,
    key_budget: Option<Credits>,
}

impl Round {
    /// Places calls. The campaign is locked, and so is the account's row, so that no two rounds use
    /// the same capacity, and no rule changes meanwhile.
    pub(crate) async fn run(
        self,
        store: &Store,
        (account, id): (AccountId, CampaignId),
    ) -> Result<Done> {
        let at = self.at;
        transact!(store, |tx| {
            tx.lock_account(account).await?;
            let campaign = some_or!(tx.lock_campaign(account, id).await?, Done::default());
            let settings = settings_of(&campaign)?;
            let dialing = tx.dialing_of(account).await?;
            let mut work = Work {
                window: settings.window.clone().map(Window::of),
                rules: Rules::of(&dialing)?,
                round: self,
                campaign,
                settings,
                dialing,
            };
            let was = work.campaign.status;
            work.collect(&mut tx).await?;
            let before = work.campaign.dialing;
            let next = work.place_calls(&mut tx).await?;
            tx.save_campaign(&work.campaign, next).await?;
            let tells = tell(&mut tx, &work.campaign, (was, at)).await?;
            Ok(Done {
                calls: work.campaign.dialing - before,
                tells,
            })
        })
    }
}

impl Work {
    /// Takes back the recipients whose calls have ended: to be called again, or done.
    async fn collect(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        let at = self.round.at;
        let called = tx.recipients_called(self.campaign.id).await?;
        if called.is_empty() {
            return Ok(());
        }
        let mut outcomes = outcomes_of(&self.campaign)?;
        for (mut one, call) in called {
            self.campaign.dialing -= 1;
            self.judge_failures(call.outcome);
            self.campaign.seconds += call.seconds;
            self.campaign.credits += call.credits;
            one.outcome = Some(call.outcome);
            one.blocked_by = call.blocked_by;
            one.updated_at = at;
            // Nobody was dialed: the attempt does not count, and a rule that refused it is judged again.
            let is_undialed = matches!(call.outcome, Outcome::Expired | Outcome::Blocked);
            let asked = one.callback_at.take();
            let again = match (is_undialed, asked) {
                (true, _) => {
                    one.attempts -= 1;
                    Some(at)
                }
                (false, Some(asked)) if one.attempts < CALLS_AT_MOST => Some(asked.max(at)),
                (false, _) => self.again(&one, call.outcome),
            };
            one.has_message |= call.outcome == Outcome::Voicemail;
            if !is_undialed {
                *outcomes.entry(call.outcome.to_string()).or_default() += 1;
            }
            match again {
                Some(next) => {
                    one.status = CampaignRecipientStatus::Pending;
                    one.next_at = next;
                    self.campaign.pending += 1;
                }
                None => {
                    one.status = CampaignRecipientStatus::Done;
                    let is_reached = call.outcome.is_success();
                    self.campaign.reached += i32::from(is_reached);
                    self.campaign.unreached += i32::from(!is_reached);
                }
            }
            tx.save_recipient(&one).await?;
        }
        self.campaign.outcomes = serde_json::to_string(&outcomes).unwrap_or_default();
        Ok(())
    }

    /// When a recipient is called again whose call came to this.
    fn again(&self, one: &CampaignRecipient, outcome: Outcome) -> Option<Timestamp> {
        let (at, retries) = (self.round.at, &self.settings.retries);
        if i64::from(one.attempts) >= retries.most_attempts {
            return None;
        }
        match retries.after(outcome) {
            Retry::Never => None,
            Retry::Minutes(minutes) => {
                let seconds = u64::try_from(minutes).unwrap_or(0) * 60;
                Some(at.plus(Duration::from_secs(seconds)))
            }
            Retry::NextWindow => {
                let window = self.window.as_ref().or(self.rules.window());
                let opens = window
                    .zip(zones_for(&one.number, one.time_zone.as_deref()))
                    .and_then(|(window, zones)| window.opens_again(zones, at));
                Some(opens.unwrap_or_else(|| at.plus(DAY)))
            }
        }
    }

    /// Pauses a running campaign if too many of its calls fail.
    fn judge_failures(&mut self, outcome: Outcome) {
        let breaker = &self.settings.breaker;
        let campaign = &mut self.campaign;
        let is_failure = match outcome {
            Outcome::Failed | Outcome::Rejected | Outcome::InvalidNumber => true,
            Outcome::Expired | Outcome::Blocked | Outcome::Cancelled => return,
            _ => false,
        };
        campaign.judged_calls += 1;
        campaign.judged_failures += i32::from(is_failure);
        let trips = breaker.trips(campaign.judged_failures);
        if trips && campaign.status == CampaignStatus::Running {
            campaign.status = CampaignStatus::Paused;
            campaign.paused_reason = Some(CampaignPause::FailureRate);
        }
        if trips || i64::from(campaign.judged_calls) >= breaker.calls {
            (campaign.judged_calls, campaign.judged_failures) = (0, 0);
        }
    }

    /// Places the calls that the campaign may place now. Returns when the next round is, if any.
    async fn place_calls(&mut self, tx: &mut Tx<'_>) -> Result<Option<Timestamp>> {
        let at = self.round.at;
        let waits = match self.campaign.status {
            CampaignStatus::Running => true,
            CampaignStatus::Paused => self
                .campaign
                .paused_reason
                .is_some_and(|reason| reason.heals()),
            CampaignStatus::Draft | CampaignStatus::Completed | CampaignStatus::Cancelled => false,
        };
        if waits && self.campaign.pending > 0 {
            let looked = match self.caller(tx).await? {
                Err(reason) => Err(reason),
                Ok(caller) => match closed_until(&caller.config, at) {
                    Some(opens) => return Ok(Some(self.busy().unwrap_or(opens))),
                    None => self.place_due(tx, &caller).await?,
                },
            };
            match looked {
                Ok(()) => {
                    self.campaign.status = CampaignStatus::Running;
                    self.campaign.paused_reason = None;
                }
                Err(reason) => {
                    self.campaign.status = CampaignStatus::Paused;
                    self.campaign.paused_reason = Some(reason);
                    let later = reason.heals().then(|| at.plus(LATER));
                    return Ok(self.busy().or(later));
                }
            }
        }
        if let Some(busy) = self.busy() {
            return Ok(Some(busy));
        }
        if !waits {
            return Ok(None);
        }
        if self.campaign.pending > 0 {
            let next = tx.next_recipient_at(self.campaign.id).await?;
            return Ok(next.map(|next| next.max(at.plus(ROUND_EVERY))));
        }
        self.campaign.status = CampaignStatus::Completed;
        self.campaign.paused_reason = None;
        self.campaign.ended_at = Some(at);
        Ok(None)
    }

    /// The next round while calls last.
    fn busy(&self) -> Option<Timestamp> {
        (self.campaign.dialing > 0).then(|| self.round.at.plus(ROUND_EVERY))
    }

    /// What the campaign's calls are placed with, or what it lacks.
    async fn caller(&self, tx: &mut Tx<'_>) -> Result<Result<Caller, CampaignPause>> {
        let campaign = &self.campaign;
        let (account, agent) = (campaign.account_id, AgentRef::Id(campaign.agent_id));
        let found = tx.agent_with_config(account, agent, self.round.lines);
        let found = found.await?.filter(|(agent, ..)| {
            agent.status == AgentStatus::Active && agent.published_version > 0
        });
        let Some((agent, stored, usual)) = found else {
            return Ok(Err(CampaignPause::Agent));
        };
        let stored = stored.ok_or_else(|| {
            StoreError::Corrupt("a published version without a configuration".to_owned())
        })?;
        let config = AgentConfig::from_stored(&stored).map_err(corrupt)?;
        let from = match campaign.phone_number_id {
            Some(id) => tx.number_of(account, id).await?,
            None => usual.or_else(|| self.round.shared_number.clone()),
        };
        let from = some_or!(from, Err(CampaignPause::Number));
        let (key_budget, revoked_at) = match campaign.key_id {
            Some(key) => tx.key_bounds(key).await?,
            None => (None, None),
        };
        if revoked_at.is_some() {
            return Ok(Err(CampaignPause::KeyRevoked));
        }
        Ok(Ok(Caller {
            agent,
            config,
            from,
            key_budget,
        }))
    }

    /// Calls the recipients that are due, in their order, as far as capacity and rate go.
    async fn place_due(
        &mut self,
        tx: &mut Tx<'_>,
        caller: &Caller,
    ) -> Result<Result<(), CampaignPause>> {
        let (at, account) = (self.round.at, self.campaign.account_id);
        let (interval, from, allowed) = self.pace();
        let live = capacity(self.round.live_calls, self.settings.live_percent);
        let room = live - tx.open_calls(account).await?;
        let most = room.min(allowed).min(CALLS);
        if most <= 0 || self.round.is_down {
            return Ok(Ok(()));
        }
        let due = tx.recipients_due(self.campaign.id, JUDGED, at).await?;
        let numbers: Vec<E164> = due.iter().map(|one| one.number.clone()).collect();
        let facts = tx.dial_facts((account, &self.dialing), &numbers, at);
        let mut facts = facts.await?;
        let (price, reserve) = (self.round.terms)(&caller.config);
        let (mut placed, mut looked) = (0, Ok(()));
        for mut one in due {
            if placed == most {
                break;
            }
            let dial = Dial {
                to: &one.number,
                has_consent: one.consent.is_some(),
                reserve,
                hours: None,
                is_transfer: false,
                window: self.window.as_ref(),
                zone: one.time_zone.as_deref(),
            };
            one.updated_at = at;
            if let Some(blocked) = self.rules.judge(&facts, &dial, at) {
                one.blocked_by = Some(blocked.rule);
                match blocked.until {
                    Some(until) => one.next_at = until.max(at.plus(ROUND_EVERY)),
                    None => {
                        one.status = CampaignRecipientStatus::Done;
                        one.outcome = Some(Outcome::Blocked);
                        self.campaign.pending -= 1;
                        self.campaign.blocked += 1;
                    }
                }
                tx.save_recipient(&one).await?;
                continue;
            }
            let call = self.call(caller, &one, (price, reserve));
            looked = match tx.try_reserve(&call).await? {
                Reserve::Held => Ok(()),
                Reserve::WalletTooLow => Err(CampaignPause::NoCredits),
                Reserve::BudgetTooLow => Err(CampaignPause::KeyBudget),
            };
            if looked.is_err() {
                break;
            }
            tx.place_reserved(&call).await?;
            count(&mut facts, &one.number, reserve, at);
            one.status = CampaignRecipientStatus::Dialing;
            one.attempts += 1;
            one.blocked_by = None;
            one.conversation_id = Some(call.id);
            tx.save_recipient(&one).await?;
            self.campaign.pending -= 1;
            self.campaign.dialing += 1;
            placed += 1;
        }
        if placed > 0 {
            let micros = from.micros() + placed * interval;
            self.campaign.paced_at = Timestamp::from_micros(micros);
        }
        Ok(looked)
    }

    /// The microseconds between two calls, from when they count, and how many the rate allows now.
    fn pace(&self) -> (i64, Timestamp, i64) {
        let at = self.round.at;
        let interval = 60_000_000 / self.settings.calls_per_minute.max(1);
        let from = self.campaign.paced_at.max(at.minus(BURST));
        let allowed = match from <= at {
            true => (at.micros() - from.micros()) / interval + 1,
            false => 0,
        };
        (interval, from, allowed)
    }

    fn call(
        &self,
        caller: &Caller,
        one: &CampaignRecipient,
        (price, reserve): (Price, Credits),
    ) -> NewCall {
        let campaign = &self.campaign;
        let window = CallWindow {
            window: self.settings.window.clone(),
            time_zone: one.time_zone.clone(),
        };
        NewCall {
            id: mint(self.round.at),
            account_id: campaign.account_id,
            agent_id: campaign.agent_id,
            agent_ref: campaign.agent_id.to_string(),
            agent_version: caller.agent.published_version,
            runtime: Runtime::Engine,
            key_id: campaign.key_id,
            key_budget: caller.key_budget,
            from: caller.from.clone(),
            to: one.number.clone(),
            metadata: metadata(&one.variables, &one.name)
                .as_json_text()
                .to_owned(),
            price,
            reserve,
            at: self.round.at,
            steady: self.round.steady,
            event: None,
            simulated: self.round.is_simulated,
            consent: one.consent.clone(),
            campaign: Some(OfCampaign {
                id: campaign.id,
                window: window.to_stored(),
            }),
            idempotency: None,
        }
    }
}

/// Up to how many calls of the account a campaign places its own.
pub(super) fn capacity(live_calls: u32, percent: i64) -> i64 {
    let all = i64::from(live_calls);
    (all * percent / 100).max(1).min(share(live_calls))
}

/// Until when the agent's calling hours are closed. Hours that never open are looked at again.
fn closed_until(config: &AgentConfig, at: Timestamp) -> Option<Timestamp> {
    let hours = config.conversation.calling_hours.as_ref()?;
    match opening(hours, at) {
        Hours::Open => None,
        Hours::ClosedFor(seconds) => Some(at.plus(Duration::from_secs(seconds))),
        Hours::Never => Some(at.plus(DAY)),
    }
}
