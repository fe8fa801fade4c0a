//! How conversations that are answered here begin: limits, reserved credits, rows and claims. Lock order: the widget's
//! row, the account's, the agent's, the wallet's.

use super::{
    calls::{Row, queued},
    chats, claims, moments,
    wallets::{self, Draw, Reserve},
};
use crate::prelude::*;
use crate::schema::chat_sessions as sessions;

/// How long a commit with an unknown result may take to become visible.
const VISIBLE_WITHIN: Duration = Duration::from_secs(1);

#[boxed]
impl Tx<'_> {
    /// How many calls of the account are dialing, live or closing. Serializes the account's transactions, so that the
    /// count stays right.
    pub async fn lock_live_calls(&mut self, account: AccountId) -> Result<i64> {
        locks::lock_account(self.0, account).await?;
        claims::live_calls(self.0, account).await
    }

    /// How many of these web pages use.
    pub async fn page_calls(&mut self, account: AccountId) -> Result<i64> {
        Ok(calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(claims::is_claimed())
            .filter(calls::channel.eq(V(Channel::WidgetVoice)))
            .count()
            .get_result(self.0)
            .await?)
    }

    /// The status of an agent of the account. Waits for an archiving in progress; a later one waits for this
    /// transaction.
    pub async fn lock_agent(
        &mut self,
        account: AccountId,
        agent: AgentId,
    ) -> Result<Option<AgentStatus>> {
        locks::hold_agent(self.0, account, agent).await
    }

    /// Reserves a conversation's credits and writes it: a spoken one queued, a text conversation live. `false` if the
    /// wallet does not cover the credits.
    pub async fn begin(&mut self, new: &NewConversation) -> Result<bool> {
        let draw = Draw::of(new.account_id, new.at);
        if wallets::hold(self.0, &draw, new.reserve).await? != Reserve::Held {
            return Ok(false);
        }
        let row = Row {
            id: new.id,
            account_id: new.account_id,
            agent_id: new.agent_id,
            agent_ref: new.agent_id.to_string(),
            agent_version: new.agent_version,
            key_id: None,
            runtime: Runtime::Engine,
            channel: new.channel,
            customer: new.from.clone(),
            from: new.from.clone(),
            to: new.to.clone(),
            metadata: new.metadata.clone(),
            price: new.price,
            at: new.at,
            steady: new.steady,
            dialog: new.dialog.clone(),
            simulated: false,
            consent: None,
            campaign: None,
        };
        let is_text = row.is_text();
        queued(self.0.db(), row).execute(self.0).await?;
        if is_text {
            moments::entered(self.0, new.id, 1, CallState::Live, new.at).await?;
        }
        wallets::insert_reservation(self.0, new.id, &draw, new.reserve).await?;
        Ok(true)
    }

    /// Claims a spoken conversation that this transaction has begun.
    pub async fn claim_begun(
        &mut self,
        (id, claim): (ConversationId, ClaimId),
        (at, lease_now): (Timestamp, Timestamp),
        node: NodeId,
    ) -> Result<Conversation> {
        let times = (at, lease_now.plus(lease()));
        let claimed = claims::claim_one(self.0, (id, claim), times, node).await?;
        claimed.ok_or_else(|| {
            StoreError::Corrupt("a conversation that was just written is gone".to_owned())
        })
    }

    /// Opens the session of a text conversation that this transaction has begun.
    pub async fn open_session(
        &mut self,
        new: &NewConversation,
        session: NewChatSession,
    ) -> Result<()> {
        if let Some(text) = session.first_message {
            let first = NewTurn::written("agent", text, new.at);
            chats::append(self.0, new.id, first).await?;
        }
        diesel::insert_into(sessions::table)
            .values(row! {
                sessions of session: conversation_id = new.id, account_id = new.account_id,
                agent_id = new.agent_id, origin, token_digest, token_expires_at, is_open = true,
                is_settled = false, active_at = new.at, held_day, answers = 0
            })
            .run(self.0)
            .await
    }
}

#[boxed]
impl Store {
    /// Finds a conversation that this process claimed as it began, and whose commit has an unknown result. It reads
    /// twice, because the database may still be committing.
    pub async fn find_begun(&self, id: ConversationId, node: NodeId) -> Option<Conversation> {
        for wait in [Duration::ZERO, VISIBLE_WITHIN] {
            tokio::time::sleep(wait).await;
            let found = read!(self, |conn| {
                let claimed: Option<Conversation> = calls::table
                    .find(V(id))
                    .filter(calls::state.eq(V(CallState::Dialing)))
                    .filter(calls::node_id.eq(V(node)))
                    .select(Conversation::as_select())
                    .found(conn)
                    .await?;
                Ok(claimed)
            });
            if let Ok(Some(call)) = found.await {
                return Some(call);
            }
        }
        None
    }
}
