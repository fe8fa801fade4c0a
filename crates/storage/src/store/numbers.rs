//! Phone numbers.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, AgentStatus, PhoneNumberId, Timestamp};

use super::{mint, read, write};
use crate::queries;
use crate::{NumberChange, PageKey, PhoneNumber, Result, Store, Verdict};

/// What became of a write of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberWrite {
    /// It is written.
    Done(PhoneNumber),
    /// The account has no such number.
    Absent,
    /// The account has the number already.
    AlreadyOurs,
    /// Another account has the number.
    Taken,
    /// The account has no such agent.
    NoSuchAgent,
    /// The agent is archived.
    AgentArchived,
}

impl Store {
    /// Gives a number to an account. With `operator` the audit log tells of it.
    #[boxed]
    pub async fn add_number(&self, number: PhoneNumber, operator: bool) -> Result<NumberWrite> {
        write!(self, |conn| {
            let (account, id, at) = (number.account_id, number.id, number.created_at);
            if let Some(agent) = number.agent_id {
                match queries::locks::hold_agent(conn, account, agent).await? {
                    None => return Ok(Verdict::Rollback(NumberWrite::NoSuchAgent)),
                    Some(AgentStatus::Archived) => {
                        return Ok(Verdict::Rollback(NumberWrite::AgentArchived));
                    }
                    Some(_) => {}
                }
            }
            if !queries::numbers::insert(conn, number.clone()).await? {
                let ours = queries::numbers::has(conn, account, &number.phone_number).await?;
                return Ok(Verdict::Rollback(if ours {
                    NumberWrite::AlreadyOurs
                } else {
                    NumberWrite::Taken
                }));
            }
            if operator {
                let audit_id: offhook_domain::EventId = mint(at);
                let target = id.to_string();
                let words = ("cli", "number.add", target.as_str());
                queries::accounts::audit(conn, audit_id.uuid(), Some(account), words, at).await?;
            }
            Ok(Verdict::Commit(NumberWrite::Done(number)))
        })
    }

    /// A number of the account.
    #[boxed]
    pub async fn number(
        &self,
        account: AccountId,
        id: PhoneNumberId,
    ) -> Result<Option<PhoneNumber>> {
        read!(self, |conn| queries::numbers::find(conn, account, id).await)
    }

    /// A page of the account's numbers, newest first, with one more than `limit` if there is a next page.
    #[boxed]
    pub async fn numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        after: Option<PageKey<PhoneNumberId>>,
        limit: i64,
    ) -> Result<Vec<PhoneNumber>> {
        read!(self, |conn| queries::numbers::page(
            conn, account, agent, after, limit
        )
        .await)
    }

    /// Changes a number.
    #[boxed]
    pub async fn change_number(
        &self,
        account: AccountId,
        id: PhoneNumberId,
        change: NumberChange,
        at: Timestamp,
    ) -> Result<NumberWrite> {
        write!(self, |conn| {
            if queries::numbers::find(conn, account, id).await?.is_none() {
                return Ok(Verdict::Rollback(NumberWrite::Absent));
            }
            if let Some(Some(agent)) = change.agent {
                // Held, so that an archiving under way is seen, and one to come sees the number.
                match queries::locks::hold_agent(conn, account, agent).await? {
                    None => return Ok(Verdict::Rollback(NumberWrite::NoSuchAgent)),
                    Some(AgentStatus::Archived) => {
                        return Ok(Verdict::Rollback(NumberWrite::AgentArchived));
                    }
                    Some(_) => {}
                }
            }
            queries::numbers::change(conn, account, id, change, at).await?;
            Ok(match queries::numbers::find(conn, account, id).await? {
                Some(number) => Verdict::Commit(NumberWrite::Done(number)),
                None => Verdict::Rollback(NumberWrite::Absent),
            })
        })
    }

    /// Takes a number from the account; `false` if it has no such one.
    #[boxed]
    pub async fn delete_number(&self, account: AccountId, id: PhoneNumberId) -> Result<bool> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::numbers::delete(conn, account, id).await?,
            ))
        })
    }

    /// The numbers of these agents of the account, each agent's oldest first.
    #[boxed]
    pub async fn numbers_of_agents(
        &self,
        account: AccountId,
        agents: Vec<AgentId>,
    ) -> Result<Vec<PhoneNumber>> {
        read!(self, |conn| queries::numbers::of_agents(
            conn, account, &agents
        )
        .await)
    }
}
