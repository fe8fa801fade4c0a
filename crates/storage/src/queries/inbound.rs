//! Inbound calls: the conversation is claimed as it is written.

use offhook_boxed::boxed;
use offhook_domain::{AgentStatus, Channel, E164, NumberProvider, Runtime};
use offhook_failpoints as failpoints;

use super::calls::{Row, queued};
use super::numbers::{self, Among};
use super::wallets::{self, Draw, Reserve};
use super::{claims, locks};
use crate::database::RunQueryDsl;
use crate::dialect::dialect;
use crate::mint;
use crate::store::{Answer, lease, read, write};
use crate::{CalledNumber, NewInboundCall, Result, Store, StoreError, Taken, Verdict};

#[boxed]
impl Store {
    /// The owner of a number whose calls this carrier delivers; `None` if no account has it. The caller names no
    /// account, because an inbound call does not know one.
    pub fn called_number(
        &self,
        number: E164,
        carrier: NumberProvider,
    ) -> Answer<'_, Option<CalledNumber>> {
        let among = Among::All(carrier);
        read!(self, |conn| numbers::who_has(conn, number, among).await)
    }

    /// Accepts an inbound call in one transaction: the plan's limit of live calls, the agent, the reservation, and the
    /// conversation, already claimed. A process that dies after that leaves an orphan, which others report.
    ///
    /// After `StoreError::UnknownCommit` the call may have been written and was not found; after other errors it was
    /// not.
    pub async fn take_call(&self, call: NewInboundCall) -> Result<Taken> {
        let offset = self.offset();
        let unheard = (call.id, call.node);
        let taken = write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let (id, account) = (call.id, call.account_id);
            // The lock serializes the calls of one account, so that the count of live calls is right.
            locks::lock_account(conn, account).await?;
            if claims::live_calls(conn, account).await? >= i64::from(call.live_calls) {
                return Ok(Verdict::Rollback(Taken::LinesBusy));
            }
            if locks::hold_agent(conn, account, call.agent_id).await? != Some(AgentStatus::Active) {
                return Ok(Verdict::Rollback(Taken::AgentUnavailable));
            }
            let draw = Draw {
                account,
                key: None,
                budget: None,
                month: call.at.utc_month(),
                at: call.at,
            };
            if call.reserve > 0 && wallets::hold(conn, &draw, call.reserve).await? != Reserve::Held
            {
                return Ok(Verdict::Rollback(Taken::WalletTooLow));
            }
            let row = Row {
                id,
                account_id: account,
                agent_id: call.agent_id,
                agent_ref: call.agent_id.to_string(),
                agent_version: call.agent_version,
                key_id: None,
                runtime: Runtime::Engine,
                channel: Channel::Phone,
                customer: call.from.clone(),
                from: call.from,
                to: Some(call.to),
                metadata: "{}".to_owned(),
                price: call.price,
                at: call.at,
                steady: call.steady,
                dialog: call.dialog,
                simulated: false,
            };
            queued(conn.db(), row).execute(conn).await?;
            if call.reserve > 0 {
                wallets::insert_reservation(conn, id, &draw, call.reserve).await?;
            }
            let claimed =
                claims::claim_one(conn, (id, mint(call.at)), (call.at, lease), call.node).await?;
            let claimed = claimed.ok_or_else(|| {
                StoreError::Corrupt("a conversation that was just written is gone".to_owned())
            })?;
            Ok(Verdict::Commit(Taken::Claimed(Box::new(claimed))))
        })
        .await;
        let taken = match taken {
            Err(StoreError::UnknownCommit(_)) => {
                let found = self.claimed_unheard(unheard.0, unheard.1).await;
                found.map(Taken::Claimed).map_or(taken, Ok)
            }
            taken => taken,
        };
        if matches!(taken, Ok(Taken::Claimed(_))) {
            failpoints::hit(failpoints::ANSWER_AFTER_COMMIT);
        }
        taken
    }
}
