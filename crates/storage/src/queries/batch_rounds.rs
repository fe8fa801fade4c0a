//! The rows of the scheduler's rounds over batches.

use super::wallets::{Draw, insert_reservation};
use super::{agents, calls as call_rows, claims, numbers as number_rows};
use crate::prelude::*;
use crate::schema::batch_calls as batches;

#[boxed]
impl Tx<'_> {
    /// Serializes transactions of one account. Rows that refer to the account can be written meanwhile.
    pub async fn lock_account(&mut self, account: AccountId) -> Result<()> {
        locks::lock_account(self.0, account).await
    }

    /// How many calls of the account are queued, dialing, live or closing.
    pub async fn open_calls(&mut self, account: AccountId) -> Result<i64> {
        let live = claims::live_calls(self.0, account).await?;
        let queued: i64 = calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(claims::is_queued())
            .counted(self.0)
            .await?;
        Ok(live + queued)
    }

    /// An agent, and the number that its calls use, as [`Store::agent_to_call`] finds them.
    pub async fn agent_to_call(
        &mut self,
        account: AccountId,
        agent: AgentRef,
        lines: Lines,
    ) -> Result<Option<(Agent, Option<E164>)>> {
        let found = agents::to_call(self.0, (account, agent, lines)).await?;
        Ok(found.map(|(agent, _, usual)| (agent, usual)))
    }

    pub async fn number_of(
        &mut self,
        account: AccountId,
        id: PhoneNumberId,
    ) -> Result<Option<E164>> {
        let number = number_rows::find(self.0, account, id).await?;
        Ok(number.map(|number| number.phone_number))
    }

    /// A key's monthly budget, and when it was revoked.
    pub async fn key_bounds(&mut self, key: KeyId) -> Result<(Option<Credits>, Option<Timestamp>)> {
        let bounds = (api_keys::monthly_credit_budget, api_keys::revoked_at);
        let key = api_keys::table.find(V(key));
        Ok(key.select(bounds).first(self.0).await?)
    }

    /// A batch's next recipients.
    pub async fn next_recipients(&mut self, batch: BatchId, most: i64) -> Result<Vec<Recipient>> {
        Ok(recipients::table
            .filter(recipients::batch_id.eq(V(batch)))
            .filter(recipients::status.eq(V(RecipientStatus::Pending)))
            .order(recipients::place)
            .limit(most)
            .select(Recipient::as_select())
            .load(self.0)
            .await?)
    }

    /// Writes the call of a recipient, whose credits are reserved. `call.initiated` is only for POST /v1/calls.
    pub async fn place_batch_call(&mut self, recipient: &Recipient, call: &NewCall) -> Result<()> {
        call_rows::row(self.0.db(), call).run(self.0).await?;
        insert_reservation(self.0, call.id, &Draw::of_call(call), call.reserve).await?;
        insert! {
            self.0, tries: recipient_id = recipient.id, attempt = recipient.attempt,
            conversation_id = call.id
        }?;
        diesel::update(recipients::table.find(V(recipient.id)))
            .set(row! { recipients: status = RecipientStatus::Dialing, conversation_id = call.id })
            .run(self.0)
            .await
    }
}

impl Store {
    /// Claims up to `most` batches that are due for a round. Each belongs to the caller for `lease`.
    pub fn claim_due_batches(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<(AccountId, BatchId)>> {
        claim_due!(self, batches as BatchId, most, lease, now)
    }

    /// Whether any batch is due. A read, so that an idle scheduler does not block writes.
    pub fn has_due_batches(&self, now: Timestamp) -> Answer<'_, bool> {
        batches::table
            .filter(batches::look_at.le(V(now)))
            .order(batches::look_at)
            .select(batches::id)
            .read_exists(self)
    }
}
