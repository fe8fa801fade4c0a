//! Who would be called: the same judgement as when a call is placed and claimed, without a call.

use offhook_domain::body::{Form as _, Instant, Nested, Optional, Own, Phone, Required, Text};
use offhook_domain::config::AgentConfig;
use offhook_domain::json::item_path;

use super::{Blocked, Dial, Gate, Rules, count, zones_of};
use crate::agents::corrupt;
use crate::calls::reference;
use crate::error::Result;
use crate::prelude::*;
use crate::refusal::DialRefusal;

/// Numbers of one check.
const NUMBERS_AT_MOST: usize = 10_000;

body! {
    /// The body of `POST /v1/dial-checks`.
    #[derive(Debug)]
    pub DialCheckRequest {
        to: Vec<E164>, Required(Own(numbers)), "A number, E.164, or at most 10,000 of them.";
        agent_id: Option<String>, Optional(Text(1..=255)), "The agent that would call: its calling hours and its reserved credits count.";
        consent: Option<Consent>, Optional(Nested::of()), "What the customers agreed to, as the calls would have it.";
        at: Option<Timestamp>, Optional(Instant), "When they would be called; now by default.";
    }
}

/// A number, or a list of them.
fn numbers(fields: &mut Fields<'_>, name: &str) -> Result<Vec<E164>, FieldError> {
    if !matches!(fields.peek(name), Some(Json::Array(_))) {
        return Ok(vec![Phone.read(fields, name)?]);
    }
    let items = fields.optional_array(name, 1..=NUMBERS_AT_MOST)?;
    let path = fields.path_of(name);
    let read = |(at, item): (usize, &Json)| {
        let fault = |fault: Fault| FieldError::new(item_path(&path, at), fault);
        let text = item.as_str().ok_or_else(|| fault(Fault::NotText))?;
        text.parse().map_err(|error| fault(Fault::Phone(error)))
    };
    items
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(read)
        .collect()
}

/// Whether a number would be called.
#[derive(Debug)]
pub struct DialCheck {
    pub to: E164,
    /// The rule that refuses it.
    pub rule: Option<DialRule>,
    /// Why, in words.
    pub refusal: Option<Refusal>,
    /// When it would be called; `None` if time alone does not help.
    pub allowed_at: Option<Timestamp>,
    /// The zones that it may be in.
    pub time_zones: Vec<&'static str>,
}

#[boxed]
impl Gate {
    /// Judges numbers as if they were called one after another: those that pass count as attempts for those after them.
    pub async fn check(&self, caller: &Caller, body: &Json) -> Result<Vec<DialCheck>> {
        let request = DialCheckRequest::of(body, &())?;
        let now = self.ctx.clock.now();
        let at = request.at.unwrap_or(now);
        let agent = match &request.agent_id {
            Some(agent) => Some(self.agent(caller, reference(agent)).await?),
            None => None,
        };
        let (config, reserve) = agent.unwrap_or((None, 0));
        let hours = config
            .as_ref()
            .and_then(|config| config.conversation.calling_hours.as_ref());
        let dialing = &caller.account.dialing;
        let rules = Rules::of(dialing)?;
        let store = &self.ctx.store;
        let (account, to) = (caller.account.id, request.to);
        let mut facts = store
            .dial_facts(account, dialing.clone(), to.clone(), at)
            .await?;
        let is_here = |to: &E164| may_call(&self.ctx.calls.allowed_prefixes, to);
        let check = |to: E164| {
            let dial = Dial {
                to: &to,
                has_consent: request.consent.is_some(),
                reserve,
                hours,
                is_transfer: false,
                window: None,
                zone: None,
            };
            let blocked = match is_here(&to) {
                true => rules.judge(&facts, &dial, at),
                false => Some(Blocked {
                    rule: DialRule::AllowedPrefixes,
                    until: None,
                }),
            };
            if blocked.is_none() {
                count(&mut facts, &to, reserve, at);
            }
            DialCheck {
                rule: blocked.map(|blocked| blocked.rule),
                refusal: blocked.map(|blocked| blocked.refusal(at)),
                allowed_at: blocked.map_or(Some(at), |blocked| blocked.until),
                time_zones: zones_of(&to).map_or_else(Vec::new, |zones| zones.split(',').collect()),
                to,
            }
        };
        Ok(to.into_iter().map(check).collect())
    }

    /// The configuration of an agent, unless it is legacy, and the credits that its calls reserve.
    async fn agent(
        &self,
        caller: &Caller,
        agent: AgentRef,
    ) -> Result<(Option<AgentConfig>, Credits)> {
        let lines = self.providers.lines();
        let found = self
            .ctx
            .store
            .agent_to_call(caller.account.id, agent, lines);
        let (_, stored, _) = found.await?.ok_or(UseCaseError::AgentNotFound)?;
        let stored = some_or!(stored, (None, self.providers.legacy_terms().1));
        let config = AgentConfig::from_stored(&stored).map_err(corrupt)?;
        let providers = self
            .providers
            .of_account(&self.ctx, &caller.account)
            .await?;
        let (_, reserve) = providers.terms_of(caller.account.plan, &config);
        Ok((Some(config), reserve))
    }
}

impl Context {
    /// What the account's rules have to know of a number that is about to be called.
    pub(crate) async fn dial_facts(&self, caller: &Caller, to: &E164) -> Result<DialFacts> {
        let dialing = &caller.account.dialing;
        if !dialing.refuses() {
            return Ok(DialFacts::default());
        }
        let (account, now) = (caller.account.id, self.clock.now());
        let facts = self
            .store
            .dial_facts(account, dialing.clone(), vec![to.clone()], now);
        Ok(facts.await?)
    }

    /// Refuses a call that the account's rules refuse now.
    pub(crate) fn check_dial(
        &self,
        caller: &Caller,
        facts: &DialFacts,
        dial: &Dial<'_>,
    ) -> Result<()> {
        let now = self.clock.now();
        let rules = Rules::of(&caller.account.dialing)?;
        match rules.judge(facts, dial, now) {
            None => Ok(()),
            Some(blocked) => Err(UseCaseError::Conflict(blocked.refusal(now))),
        }
    }
}

/// Judges the numbers to which a conversation's tools transfer.
pub(crate) struct Transfers {
    pub(crate) ctx: Arc<Context>,
    pub(crate) account: AccountId,
}

impl Transfers {
    /// Why the account does not call a number now, for the model.
    pub(crate) async fn refusal(&self, to: &E164) -> Option<String> {
        let refusal = match self.judge(to).await {
            Ok(None) => return None,
            Ok(Some(blocked)) => DialRefusal::from(blocked.rule).to_string(),
            Err(error) => {
                tracing::error!(%error, account = %self.account, "a transfer cannot be judged");
                "whether it is allowed cannot be read now".to_owned()
            }
        };
        Some(format!("The transfer is not possible: {refusal}."))
    }

    async fn judge(&self, to: &E164) -> crate::Result<Option<Blocked>> {
        let store = &self.ctx.store;
        let account = store.account(self.account).await?;
        let dialing = account.map(|account| account.dialing).unwrap_or_default();
        if !dialing.refuses() {
            return Ok(None);
        }
        let now = self.ctx.clock.now();
        let facts = store.dial_facts(self.account, dialing.clone(), vec![to.clone()], now);
        let dial = Dial {
            to,
            has_consent: false,
            reserve: 0,
            hours: None,
            is_transfer: true,
            window: None,
            zone: None,
        };
        Ok(Rules::of(&dialing)?.judge(&facts.await?, &dial, now))
    }
}

impl Blocked {
    /// The refusal, with the seconds until a retry can succeed.
    pub(crate) fn refusal(self, now: Timestamp) -> Refusal {
        let seconds = |until: Timestamp| until.since(now).as_millis().div_ceil(1_000).max(1);
        let after = self
            .until
            .map(|until| u64::try_from(seconds(until)).unwrap_or(u64::MAX));
        Refusal::DialRefused(self.rule.as_str(), self.rule.into(), after)
    }
}

/// Whether the operator allows calls to a number.
pub(crate) fn may_call(prefixes: &[String], number: &E164) -> bool {
    prefixes.is_empty()
        || prefixes
            .iter()
            .any(|prefix| number.as_str().starts_with(prefix))
}
