//! Phone numbers.

use offhook_domain::{AccountId, AgentStatus, PhoneNumberId, Timestamp};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{NumberChange, PhoneNumber, Store, Verdict};

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
    pub fn add_number(&self, number: PhoneNumber, operator: bool) -> Answer<'_, NumberWrite> {
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
    pub fn number(&self, account: AccountId, id: PhoneNumberId) -> Answer<'_, Option<PhoneNumber>> {
        read!(self, |conn| queries::numbers::find(conn, account, id).await)
    }

    /// Changes a number.
    pub fn change_number(
        &self,
        account: AccountId,
        id: PhoneNumberId,
        change: NumberChange,
        at: Timestamp,
    ) -> Answer<'_, NumberWrite> {
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
}
