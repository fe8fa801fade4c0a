//! The context URLs of agents: their secrets, and what became of the requests.

use super::moments::kept;
use crate::prelude::*;
use crate::schema::{agent_secrets as secrets, conversation_contexts as contexts};

#[boxed]
impl Store {
    /// Seals and stores the secret of an agent of the account, in place of an earlier one; `false` if there is no such
    /// agent.
    pub async fn set_agent_secret(
        &self,
        account: AccountId,
        agent: AgentId,
        secret: &str,
    ) -> Result<bool> {
        let sealed = self.master_key.seal(secret, &agent.uuid())?;
        transact!(self, |conn| {
            let is_ours = own!(agents, account, agent)
                .select(agents::id)
                .exists(conn)
                .await?;
            ensure!(is_ours, Rollback(false));
            diesel::insert_into(secrets::table)
                .values(row! { secrets: agent_id = agent, sealed = sealed.clone() })
                .on_conflict(secrets::agent_id)
                .do_update()
                .set(row! { secrets: sealed })
                .run(conn)
                .await?;
            Ok(Commit(true))
        })
        .await
    }

    /// The secret of an agent, if it has one. `StoreError::Corrupt` if it cannot be opened.
    pub async fn agent_secret(&self, agent: AgentId) -> Result<Option<String>> {
        let sealed: Option<Vec<u8>> = secrets::table
            .find(V(agent))
            .select(secrets::sealed)
            .read_first(self)
            .await?;
        sealed
            .map(|sealed| self.master_key.open(&sealed, &agent.uuid()))
            .transpose()
    }

    /// Writes what became of a conversation's request; the first one counts.
    pub fn note_context(&self, note: ContextNote) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let detail = kept(&note.detail);
            let row = row! {
                contexts of note: conversation_id, at, took_ms, result, detail = &*detail
            };
            diesel::insert_into(contexts::table)
                .values(row)
                .on_conflict_do_nothing()
                .run(conn)
                .await
        })
    }

    /// What became of a conversation's request. The caller has looked it up for its account.
    pub fn context_note(&self, id: ConversationId) -> Answer<'_, Option<ContextNote>> {
        contexts::table
            .find(V(id))
            .select(ContextNote::as_select())
            .read_first(self)
    }
}

#[boxed]
impl Tx<'_> {
    /// Gives a call that is not answered yet to another agent's version, at this price; `false` if the claim is lost.
    pub async fn hand_call_to(
        &mut self,
        (id, claim): (ConversationId, ClaimId),
        (agent, version): (AgentId, i32),
        price: Price,
    ) -> Result<bool> {
        diesel::update(calls::table.find(V(id)))
            .filter(calls::state.eq(V(CallState::Dialing)))
            .filter(calls::claim_id.eq(V(claim)))
            .set(row! {
                calls: agent_id = agent, agent_ref = agent.to_string(), agent_version = version,
                price_millicredits = price.millicredits_per_minute()
            })
            .changes(self.0)
            .await
    }
}
