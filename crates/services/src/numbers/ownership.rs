//! Which account has a number, and which agent answers and calls from it. A number belongs to one account.

use crate::error::Result;
use crate::prelude::*;
use crate::transact::transact;

/// Gives a number to an account; `None` if it has the number already. With `operator`, the audit log records it.
pub(crate) async fn give(
    store: &Store,
    number: PhoneNumber,
    operator: bool,
) -> Result<Option<PhoneNumber>> {
    transact!(store, |tx| {
        let (account, at) = (number.account_id, number.created_at);
        check_agent(&mut tx, account, number.agent_id).await?;
        let proven = match number.is_proven {
            true => tx.prove_number(&number).await?,
            false => None,
        };
        let given = match proven {
            Some(proven) => proven,
            None if tx.insert_number(number.clone()).await? => number,
            // A number that the account's own credential opens uses that credential, whichever way the account got
            // it.
            None if tx.use_credential(&number).await? => return Ok(None),
            None => return Err(UseCaseError::Conflict(Refusal::NumberOfAnother)),
        };
        if operator {
            tx.audit(account, "number.add", given.id.to_string(), at)
                .await?;
        }
        Ok(Some(given))
    })
}

pub(crate) async fn change(
    store: &Store,
    (account, id): (AccountId, PhoneNumberId),
    change: NumberChange,
    at: Timestamp,
) -> Result<PhoneNumber> {
    transact!(store, |tx| {
        let number = tx
            .number(account, id)
            .await?
            .ok_or(UseCaseError::NotFound)?;
        let agent = change.agent.flatten();
        check_agent(&mut tx, account, agent).await?;
        // Only the legacy provider's agents call from a number that the account has not proved to own.
        if let (Some(agent), false) = (agent, number.is_proven) {
            let agent = tx.agent(account, agent).await?;
            if agent.is_some_and(|agent| agent.runtime != Runtime::Legacy) {
                return Err(UseCaseError::Conflict(Refusal::NumberUnproven));
            }
        }
        let changed = tx.change_number(account, id, change, at).await?;
        changed.ok_or(UseCaseError::NotFound)
    })
}

/// Locks the agent: an archiving in progress is seen here, and a later one sees the number.
async fn check_agent(tx: &mut Tx<'_>, account: AccountId, agent: Option<AgentId>) -> Result<()> {
    let agent = some_or!(agent, ());
    match tx.lock_agent(account, agent).await? {
        None => Err(FieldError::new("agent_id", Fault::NoAgent).into()),
        Some(AgentStatus::Archived) => Err(UseCaseError::Conflict(Refusal::NumberOfArchived)),
        Some(_) => Ok(()),
    }
}
