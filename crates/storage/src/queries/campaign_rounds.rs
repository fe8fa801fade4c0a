//! The rows of the scheduler's rounds over campaigns.

use super::wallets::{Draw, insert_reservation};
use super::{calls as call_rows, dialing};
use crate::prelude::*;
use crate::schema::campaign_recipients as people;

/// How a recipient's call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOfRecipient {
    pub outcome: Outcome,
    /// The rule that refused the dial.
    pub blocked_by: Option<DialRule>,
    /// How long it lasted once it was answered.
    pub seconds: i64,
    pub credits: Credits,
}

type Call = (
    ConversationId,
    CallState,
    Option<Outcome>,
    Option<DialRule>,
    Option<i64>,
    Option<Credits>,
);

#[boxed]
impl Tx<'_> {
    /// Whom an account calls.
    pub async fn dialing_of(&mut self, account: AccountId) -> Result<Dialing> {
        let account = accounts::table.find(V(account));
        Ok(account.select(Dialing::as_select()).first(self.0).await?)
    }

    /// What is known about these numbers.
    pub async fn dial_facts(
        &mut self,
        (account, rules): (AccountId, &Dialing),
        numbers: &[E164],
        now: Timestamp,
    ) -> Result<DialFacts> {
        dialing::facts(self.0, (account, rules), numbers, now).await
    }

    /// The published configuration of an agent, and the number that its calls use, as [`Store::agent_to_call`] finds
    /// them.
    pub async fn agent_with_config(
        &mut self,
        account: AccountId,
        agent: AgentRef,
        lines: Lines,
    ) -> Result<Option<(Agent, Option<String>, Option<E164>)>> {
        super::agents::to_call(self.0, (account, agent, lines)).await
    }

    /// Recipients whose calls have ended, with what came of them. A call that is gone counts as failed.
    pub async fn recipients_called(
        &mut self,
        campaign: CampaignId,
    ) -> Result<Vec<(CampaignRecipient, CallOfRecipient)>> {
        let dialing: Vec<CampaignRecipient> = people::table
            .filter(people::campaign_id.eq(V(campaign)))
            .filter(people::status.eq(V(CampaignRecipientStatus::Dialing)))
            .order(people::place)
            .select(CampaignRecipient::as_select())
            .load(self.0)
            .await?;
        ensure!(!dialing.is_empty(), Vec::new());
        let ids = dialing.iter().filter_map(|one| one.conversation_id);
        let found: Vec<Call> = calls::table
            .filter(calls::id.eq_any(ids.map(V)))
            .select((
                calls::id,
                calls::state,
                calls::outcome,
                calls::blocked_by,
                calls::duration_seconds,
                calls::credits,
            ))
            .load(self.0)
            .await?;
        let found: HashMap<ConversationId, Call> =
            found.into_iter().map(|call| (call.0, call)).collect();
        let ended = dialing.into_iter().filter_map(|one| {
            let call = one.conversation_id.and_then(|id| found.get(&id));
            let gone = (CallState::Failed, None, None, None, None);
            let (state, outcome, blocked_by, seconds, credits) =
                call.map_or(gone, |call| (call.1, call.2, call.3, call.4, call.5));
            if !state.is_terminal() {
                return None;
            }
            let ended = CallOfRecipient {
                outcome: outcome.unwrap_or(Outcome::Failed),
                blocked_by,
                seconds: seconds.unwrap_or_default(),
                credits: credits.unwrap_or_default(),
            };
            Some((one, ended))
        });
        Ok(ended.collect())
    }

    /// Up to `most` recipients that may be called now, in their order.
    pub async fn recipients_due(
        &mut self,
        campaign: CampaignId,
        most: i64,
        now: Timestamp,
    ) -> Result<Vec<CampaignRecipient>> {
        Ok(people::table
            .filter(people::campaign_id.eq(V(campaign)))
            .filter(is_pending())
            .filter(people::next_at.le(V(now)))
            .order((people::next_at, people::place))
            .limit(most)
            .select(CampaignRecipient::as_select())
            .load(self.0)
            .await?)
    }

    /// When the campaign's next recipient may be called.
    pub async fn next_recipient_at(&mut self, campaign: CampaignId) -> Result<Option<Timestamp>> {
        Ok(people::table
            .filter(people::campaign_id.eq(V(campaign)))
            .filter(is_pending())
            .order((people::next_at, people::place))
            .select(people::next_at)
            .found(self.0)
            .await?)
    }

    /// Writes what became of a recipient.
    pub async fn save_recipient(&mut self, one: &CampaignRecipient) -> Result<()> {
        diesel::update(people::table.find(V(one.id)))
            .set(row! {
                people of one: status, outcome, blocked_by, attempts, has_message, callback_at, next_at, conversation_id,
                updated_at
            })
            .run(self.0)
            .await
    }

    /// Writes an event of no conversation. Returns the endpoints that now have deliveries.
    pub async fn emit(
        &mut self,
        account: AccountId,
        event: NewEvent,
        at: Timestamp,
    ) -> Result<Vec<EndpointId>> {
        super::events::emit(self.0, account, None, event, at).await
    }

    /// Writes a call whose credits are reserved. `call.initiated` is only for POST /v1/calls.
    pub async fn place_reserved(&mut self, call: &NewCall) -> Result<()> {
        call_rows::row(self.0.db(), call).run(self.0).await?;
        insert_reservation(self.0, call.id, &Draw::of_call(call), call.reserve).await
    }
}

/// Written out for the partial index.
fn is_pending() -> diesel::expression::SqlLiteral<Bool> {
    sql("campaign_recipients.status = 'pending'")
}

impl Store {
    /// Claims up to `most` campaigns that are due for a round. Each belongs to the caller for `lease`.
    pub fn claim_due_campaigns(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<(AccountId, CampaignId)>> {
        claim_due!(self, campaigns as CampaignId, most, lease, now)
    }

    /// The recipient whom a campaign's call reaches.
    pub fn recipient_of_call(
        &self,
        campaign: CampaignId,
        call: ConversationId,
        number: E164,
    ) -> Answer<'_, Option<CampaignRecipient>> {
        read!(self, |conn| {
            let recipient = people::table
                .filter(people::campaign_id.eq(V(campaign)))
                .filter(people::number.eq(V(&number)))
                .filter(people::conversation_id.eq(V(call)))
                .select(CampaignRecipient::as_select());
            Ok(recipient.found(conn).await?)
        })
    }

    /// Writes when a recipient asked to be called again. `false` if its call is over.
    pub fn ask_callback(
        &self,
        recipient: CampaignRecipientId,
        call: ConversationId,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let written = diesel::update(people::table.find(V(recipient)))
                .filter(people::conversation_id.eq(V(call)))
                .filter(people::status.eq(V(CampaignRecipientStatus::Dialing)))
                .set(people::callback_at.eq(V(at)))
                .execute(conn)
                .await?;
            Ok(written > 0)
        })
    }

    /// Deletes recipients of campaigns that ended before a time, and the campaigns that have none: up to so many of each
    /// in a transaction. Returns how many it deleted.
    pub fn delete_campaigns(
        &self,
        account: AccountId,
        before: Timestamp,
        most: i64,
    ) -> Answer<'_, usize> {
        transact!(self, |conn| {
            let ended: Option<CampaignId> = campaigns::table
                .filter(campaigns::account_id.eq(V(account)))
                .filter(campaigns::ended_at.lt(V(before)))
                .filter(campaigns::dialing.eq(0))
                .select(campaigns::id)
                .limit(1)
                .found(conn)
                .await?;
            let ended = some_or!(ended, Rollback(0));
            let old: Vec<CampaignRecipientId> = people::table
                .filter(people::campaign_id.eq(V(ended)))
                .limit(most)
                .select(people::id)
                .load(conn)
                .await?;
            delete(
                conn,
                people::table.filter(people::id.eq_any(old.iter().map(|id| V(*id)))),
            )
            .await?;
            let is_empty = i64::try_from(old.len()).is_ok_and(|deleted| deleted < most);
            if is_empty {
                delete(conn, campaigns::table.find(V(ended))).await?;
            }
            Ok(Commit(old.len() + usize::from(is_empty)))
        })
    }

    /// Whether any campaign is due. A read, so that an idle scheduler does not block writes.
    pub fn has_due_campaigns(&self, now: Timestamp) -> Answer<'_, bool> {
        campaigns::table
            .filter(campaigns::look_at.le(V(now)))
            .order(campaigns::look_at)
            .select(campaigns::id)
            .read_exists(self)
    }
}
